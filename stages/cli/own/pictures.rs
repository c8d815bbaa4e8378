//! Pictures that `--plot FILE` writes: matrices side by side, curves of the evidence, classes in the plane.
//!
//! The figures are those of the report, so a picture of one's own data looks like the paper's. The end of the name says whether it is SVG or PNG.

use super::output;
use anyhow::Result;
use ndarray::{Array2, ArrayView3};
use report::axis::Axis;
use report::figure::{Content, Line, Mark, Panel, Xy};
use report::figures::Cloud;
use report::style::{Stroke, Width};
use report::{Figure, Source};
use spd::{MeanParams, Metric, Plane};
use std::io::Write;
use std::path::Path;

/// Refuses a name that does not end in .svg or .png, before the work begins.
pub fn check(path: Option<&Path>) -> Result<()> {
    path.map_or(Ok(()), |p| output::check_ends(p, &["svg", "png"]))
}

/// Writes a figure.
pub fn save(path: &Path, figure: &Figure) -> Result<()> {
    let bytes = match path.extension().is_some_and(|e| e.eq_ignore_ascii_case("png")) {
        true => figure.png()?,
        false => figure.svg()?.into_bytes(),
    };
    output::write(path, |out| Ok(out.write_all(&bytes)?))
}

/// A title that names the user's file, without its folders. The program cannot know whether its numbers are real or simulated, so it says neither.
fn titled(what: &str, file: &str) -> String {
    let name: String = file.rsplit(['/', '\\']).next().unwrap_or(file).chars().take(30).collect();
    format!("{what}: {name}")
}

/// Matrices side by side on one colour scale; NaN is hatched.
pub fn matrices(file: &str, title: &str, panels: &[(String, Array2<f64>)]) -> Figure {
    report::figures::completion("matrix", &titled(title, file), panels, panels.len(), None, Source::None)
}

/// One family of models: its name, and pairs (number of operators, relative error on hidden samples).
pub type Family = (String, Vec<(f64, f64)>);

/// Errors on hidden samples against the number of operators, the chosen number marked.
pub fn evidence(file: &str, families: &[Family], chosen: f64) -> Figure {
    let mut xy = Xy::new(Axis::log("operators"), Axis::log("relative error"));
    for (i, (name, points)) in families.iter().enumerate() {
        let (x, y) = points.iter().copied().unzip();
        xy.lines.push(Line { name: name.clone(), x, y, band: None, stroke: Some(Stroke::nth(i)) });
    }
    xy.marks = vec![Mark { x: chosen, label: "chosen".into() }];
    let panel = Panel { title: String::new(), content: Content::Xy(xy) };
    Figure::panels(
        "fit",
        &titled("Error on hidden samples", file),
        Source::None,
        Width::OneColumn,
        1,
        130.0,
        vec![panel],
    )
    .words(
        "Relative error on hidden samples against the number of operators on logarithmic axes, one curve per family.",
        "",
    )
}

/// One set of matrices with a class each.
pub struct Set<'a> {
    /// Its name in the legend.
    pub name: &'a str,
    /// The matrices.
    pub matrices: ArrayView3<'a, f64>,
    /// One class per matrix.
    pub labels: &'a [i64],
}

/// Sets of SPD matrices in the plane of their first principal axes, one panel each; colour is the class.
pub fn classes(file: &str, sets: &[Set<'_>]) -> Result<Figure> {
    let params = MeanParams::default().check()?;
    let at = spd::mean(sets[0].matrices, None, Metric::AffineInvariant, &params)?.matrix; // a picture has one set at least
    let plane = Plane::fit(&sets.iter().map(|s| s.matrices).collect::<Vec<_>>(), at.view())?;
    let mut classes: Vec<i64> = sets.iter().flat_map(|s| s.labels).copied().collect();
    classes.sort_unstable();
    classes.dedup();
    let mut panels = Vec::with_capacity(sets.len());
    for set in sets {
        let at = plane.points(set.matrices)?;
        let class = set.labels.iter().map(|l| classes.partition_point(|c| c < l)).collect();
        panels.push((set.name.to_owned(), Cloud { session: vec![0; at.len()], at, class }));
    }
    let names: Vec<String> = classes.iter().map(|c| format!("class {c}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Ok(report::figures::embedding("mdm", &titled("Classes", file), &panels, &names, &[], Source::None))
}
