//! Curves: error against rank (figure 2), against the missing level (figures 6 and 7), and the bound of theorem 4.

use crate::charts::axis::Axis;
use crate::charts::figure::{Content, Figure, Line, Mark, Panel, Source, Xy};
use crate::charts::style::{PALETTE, Stroke, Width};

/// A named curve: mean with an optional deviation.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Name in the legend.
    pub name: String,
    /// Abscissae.
    pub x: Vec<f64>,
    /// Means.
    pub mean: Vec<f64>,
    /// Lower and upper edge of the band.
    pub band: Option<(Vec<f64>, Vec<f64>)>,
    /// Look; by position when `None`.
    pub stroke: Option<Stroke>,
}

impl Curve {
    /// A curve with mean +- deviation as its band.
    pub fn with_sd(name: impl Into<String>, x: Vec<f64>, mean: Vec<f64>, sd: &[f64]) -> Self {
        let low = mean.iter().zip(sd).map(|(m, s)| m - s).collect();
        let high = mean.iter().zip(sd).map(|(m, s)| m + s).collect();
        Curve { name: name.into(), x, mean, band: Some((low, high)), stroke: None }
    }

    fn line(&self, i: usize) -> Line {
        Line {
            name: self.name.clone(),
            x: self.x.clone(),
            y: self.mean.clone(),
            band: self.band.clone(),
            stroke: self.stroke.unwrap_or(Stroke::nth(i)),
        }
    }
}

/// A panel of curves.
#[derive(Clone, Debug, PartialEq)]
pub struct CurvePanel {
    /// Panel title.
    pub title: String,
    /// Vertical axis.
    pub y: Axis,
    /// Its curves; one name has one look in all panels.
    pub curves: Vec<Curve>,
}

/// A curve of figure 2.
#[derive(Clone, Debug, PartialEq)]
pub struct RankCurve {
    /// Number of training samples l.
    pub samples: usize,
    /// Kraus rank of the generating map.
    pub true_rank: usize,
    /// Model ranks.
    pub rank: Vec<f64>,
    /// Test error at each.
    pub mse: Vec<f64>,
    /// Smallest and largest over seeds.
    pub band: Option<(Vec<f64>, Vec<f64>)>,
}

/// A panel of figure 2: one pair (p, q).
#[derive(Clone, Debug, PartialEq)]
pub struct RankPanel {
    /// Panel title.
    pub title: String,
    /// Its curves.
    pub curves: Vec<RankCurve>,
}

/// Figure 2: test error against the model's Kraus rank, true ranks marked. Colour is the sample size, dash the true rank.
pub fn error_against_rank(id: &str, title: &str, panels: &[RankPanel], source: Source) -> Figure {
    let sorted = |f: &dyn Fn(&RankCurve) -> usize| {
        let mut v: Vec<usize> = panels.iter().flat_map(|p| &p.curves).map(f).collect();
        v.sort_unstable();
        v.dedup();
        v
    };
    let (samples, ranks) = (sorted(&|c| c.samples), sorted(&|c| c.true_rank));
    let index = |v: &[usize], x: usize| v.iter().position(|y| *y == x).unwrap_or(0);
    let made = panels
        .iter()
        .map(|p| {
            let mut xy = Xy::new(Axis::log("Kraus rank of the model"), Axis::log("test mean squared error"));
            let mut true_ranks: Vec<usize> = p.curves.iter().map(|c| c.true_rank).collect();
            true_ranks.sort_unstable();
            true_ranks.dedup();
            xy.marks = true_ranks.iter().map(|r| Mark { x: *r as f64, label: format!("true rank {r}") }).collect();
            for c in &p.curves {
                xy.lines.push(Line {
                    name: format!("l = {}, true rank {}", c.samples, c.true_rank),
                    x: c.rank.clone(),
                    y: c.mse.clone(),
                    band: c.band.clone(),
                    stroke: Stroke::crossed(index(&samples, c.samples), index(&ranks, c.true_rank)),
                });
            }
            Panel { title: p.title.clone(), content: Content::Xy(xy) }
        })
        .collect();
    let columns = panels.len().clamp(1, 2);
    let width = if columns == 1 { Width::OneColumn } else { Width::TwoColumns };
    Figure::panels(id, title, source, width, columns, 130.0, made).words(
        format!(
            "Test error against Kraus rank on logarithmic axes, {} panels; vertical lines mark the true ranks.",
            panels.len()
        ),
        "",
    )
}

/// Figures 6 and 7: quantities against the share of missing samples.
pub fn missing_level(id: &str, title: &str, panels: &[CurvePanel], columns: usize, source: Source) -> Figure {
    // One look per name over the whole figure, by first appearance.
    let mut names: Vec<String> = Vec::new();
    for c in panels.iter().flat_map(|p| &p.curves) {
        if !names.contains(&c.name) {
            names.push(c.name.clone());
        }
    }
    // More names than colours: each panel gets its own legend and starts the palette anew.
    let own = names.len() > PALETTE.len();
    let made = panels
        .iter()
        .map(|p| {
            let mut xy = Xy::new(Axis::linear("missing samples (%)"), p.y.clone());
            for (i, c) in p.curves.iter().enumerate() {
                xy.lines.push(c.line(if own { i } else { names.iter().position(|n| *n == c.name).unwrap_or(0) }));
            }
            Panel { title: p.title.clone(), content: Content::Xy(xy) }
        })
        .collect();
    let width = if columns == 1 { Width::OneColumn } else { Width::TwoColumns };
    let mut f = Figure::panels(id, title, source, width, columns, 105.0, made);
    f.own_legends = own;
    f.words(format!("Curves against the share of missing samples, {} panels.", panels.len()), "")
}

/// Theorem 4: empirical risk, measured gap and the theorem's term against the rank r. The term has several forms, each with
/// its name and the ranks at which it says something.
pub fn bound(rank: &[f64], risk: &[f64], gap: &[f64], terms: &[(&str, &[f64], &[f64])], source: Source) -> Figure {
    let mut xy = Xy::new(Axis::log("Kraus rank r"), Axis::log("risk"));
    let measured = [("empirical risk", rank, risk), ("measured gap", rank, gap)];
    for (i, (name, x, y)) in measured.iter().chain(terms).enumerate() {
        let (name, stroke) = ((*name).into(), Stroke::nth(i));
        xy.lines.push(Line { name, x: x.to_vec(), y: y.to_vec(), band: None, stroke });
    }
    let panel = Panel { title: String::new(), content: Content::Xy(xy) };
    Figure::panels("bound", "Theorem 4 beside the measured gap", source, Width::OneColumn, 1, 120.0, vec![panel]).words(
        "Empirical risk, measured generalisation gap and both forms of the bound’s term against the Kraus rank.",
        "",
    )
}
