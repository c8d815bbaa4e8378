//! Curves: error against rank (figure 2), against the missing level (figures 6 and 7), and the bound of theorem 4.

use crate::charts::axis::Axis;
use crate::charts::figure::{Content, Figure, Line, Mark, Panel, Source, Xy};
use crate::charts::style::{PALETTE, Stroke, Width};
use crate::error::Error;
use crate::frames::Results;
use polars::prelude::DataFrame;

/// Figure 2: test error against the model's Kraus rank, true ranks marked. Colour is the sample size, dash the true rank.
///
/// One row of `points` is one point, curve by curve and in the order of the panels: `panel` (its title), `l` (training samples), `true_rank`,
/// `rank` (of the model), and the error there: `mean`, `min`, `max`.
pub fn error_against_rank(id: &str, title: &str, points: &DataFrame, source: Source) -> Result<Figure, Error> {
    let (samples, ranks) = (points.distinct("l")?, points.distinct("true_rank")?);
    let index = |v: &[usize], x: usize| v.iter().position(|y| *y == x).unwrap_or(0);
    let mut panels = Vec::new();
    for panel in points.partition_by_stable(["panel"], true)? {
        let mut xy = Xy::new(Axis::log("Kraus rank of the model"), Axis::log("test mean squared error"));
        let mark = |r: usize| Mark { x: r as f64, label: format!("true rank {r}") };
        xy.marks = panel.distinct("true_rank")?.into_iter().map(mark).collect();
        for curve in panel.partition_by_stable(["l", "true_rank"], true)? {
            // The keys of a part are the same in all its rows, and it has one at least.
            let (l, rank) = (curve.distinct("l")?[0], curve.distinct("true_rank")?[0]);
            xy.lines.push(Line {
                name: format!("l = {l}, true rank {rank}"),
                x: curve.numbers("rank")?,
                y: curve.numbers("mean")?,
                band: Some((curve.numbers("min")?, curve.numbers("max")?)),
                stroke: Some(Stroke::crossed(index(&samples, l), index(&ranks, rank))),
            });
        }
        let title = panel.texts("panel")?.swap_remove(0).unwrap_or_default();
        panels.push(Panel { title, content: Content::Xy(xy) });
    }
    let count = panels.len();
    let alt = format!(
        "Test error against Kraus rank on logarithmic axes, {count} panels; vertical lines mark the true ranks."
    );
    let width = if count == 1 { Width::OneColumn } else { Width::TwoColumns };
    Ok(Figure::panels(id, title, source, width, count.clamp(1, 2), 130.0, panels).words(alt, ""))
}

/// Figures 6 and 7: quantities against the share of missing samples. A panel is its title, its vertical axis and its curves; a curve
/// without a look gets one by its name, the same in all panels.
pub fn missing_level(
    id: &str,
    title: &str,
    panels: Vec<(&str, Axis, Vec<Line>)>,
    columns: usize,
    source: Source,
) -> Figure {
    let mut names: Vec<String> = Vec::new();
    for line in panels.iter().flat_map(|p| &p.2) {
        if !names.contains(&line.name) {
            names.push(line.name.clone());
        }
    }
    // More names than colours: each panel gets its own legend and starts the palette anew.
    let own = names.len() > PALETTE.len();
    let alt = format!("Curves against the share of missing samples, {} panels.", panels.len());
    let panel = |(title, y, mut lines): (&str, Axis, Vec<Line>)| {
        for (i, line) in lines.iter_mut().enumerate() {
            let nth = if own { i } else { names.iter().position(|n| *n == line.name).unwrap_or(0) };
            line.stroke = line.stroke.or(Some(Stroke::nth(nth)));
        }
        let xy = Xy { lines, ..Xy::new(Axis::linear("missing samples (%)"), y) };
        Panel { title: title.into(), content: Content::Xy(xy) }
    };
    let made = panels.into_iter().map(panel).collect();
    let width = if columns == 1 { Width::OneColumn } else { Width::TwoColumns };
    let mut f = Figure::panels(id, title, source, width, columns, 105.0, made).words(alt, "");
    f.own_legends = own;
    f
}

/// Theorem 4: empirical risk, measured gap and the theorem's term against the rank r. The term has several forms, each with
/// its name and the ranks at which it says something.
pub fn bound(rank: &[f64], risk: &[f64], gap: &[f64], terms: &[(&str, &[f64], &[f64])], source: Source) -> Figure {
    let mut xy = Xy::new(Axis::log("Kraus rank r"), Axis::log("risk"));
    let measured = [("empirical risk", rank, risk), ("measured gap", rank, gap)];
    for (i, (name, x, y)) in measured.iter().chain(terms).enumerate() {
        let (name, stroke) = ((*name).into(), Some(Stroke::nth(i)));
        xy.lines.push(Line { name, x: x.to_vec(), y: y.to_vec(), band: None, stroke });
    }
    let panel = Panel { title: String::new(), content: Content::Xy(xy) };
    Figure::panels("bound", "Theorem 4 beside the measured gap", source, Width::OneColumn, 1, 120.0, vec![panel]).words(
        "Empirical risk, measured generalisation gap and both forms of the bound’s term against the Kraus rank.",
        "",
    )
}
