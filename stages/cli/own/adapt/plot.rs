//! `--plot`: both domains in the plane, before and after the map.

use super::super::output;
use super::sources::Domain;
use anyhow::{Result, ensure};
use ndarray::{Array3, Axis, concatenate};
use report::Source;
use report::figures::Cloud;
use spd::{MeanParams, Metric, Plane};
use std::io::Write;
use std::path::Path;

/// Draws the embedding. Colour is the class where labels are known, marker the domain.
pub fn draw(path: &Path, sources: &[Domain], target: &Domain, mapped: &Array3<f64>) -> Result<()> {
    let parts: Vec<_> = sources.iter().map(|s| s.matrices.view()).collect();
    let from = concatenate(Axis(0), &parts)?;
    ensure!(
        from.dim().1 == target.matrices.dim().1,
        "--plot needs source and target with the same channels, to show them in one plane"
    );
    let params = MeanParams::default().check()?;
    let at = spd::mean(target.matrices.view(), None, Metric::AffineInvariant, &params)?.matrix;
    let plane = Plane::fit(&[from.view(), target.matrices.view()], at.view())?;
    let to = plane.points(target.matrices.view())?;
    let label = |d: &Domain, i: usize| d.labels.as_ref().map(|l| l[i]);
    let labels: Vec<Option<i64>> =
        sources.iter().chain([target]).flat_map(|d| (0..d.matrices.dim().0).map(move |i| label(d, i))).collect();
    let mut classes = labels.clone();
    classes.sort_unstable();
    classes.dedup();
    let class: Vec<usize> = labels.iter().map(|l| classes.partition_point(|c| c < l)).collect();
    let names: Vec<String> =
        classes.iter().map(|c| c.map_or_else(|| "no label".to_owned(), |c| format!("class {c}"))).collect();
    let cloud = |x: &Array3<f64>| -> Result<Cloud> {
        let mut points = plane.points(x.view())?;
        let session = (0..points.len() + to.len()).map(|i| usize::from(i >= points.len())).collect();
        points.extend(&to);
        Ok(Cloud { at: points, class: class.clone(), session })
    };
    let panels = [("as recorded".to_owned(), cloud(&from)?), ("source mapped".to_owned(), cloud(mapped)?)];
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let title = format!("{} and {} before and after the learned map", sources[0].name, target.name);
    let own = Source::None;
    let figure = report::figures::embedding("adapt", &title, &panels, &names, &["source", "target"], own);
    let bytes = match path.extension().is_some_and(|e| e.eq_ignore_ascii_case("png")) {
        true => figure.png()?,
        false => figure.svg()?.into_bytes(),
    };
    output::write(path, |out| Ok(out.write_all(&bytes)?))
}
