//! Brain-computer interface: the covariances in the plane before and after mapping, the transport plan.

use ndarray::Array2;

use crate::charts::axis::Axis;
use crate::charts::figure::{Colors, Content, Figure, Heat, Key, Look, Panel, Points, Source, Xy};
use crate::charts::style::{Marker, PALETTE, SOFT, Stroke, Width};

/// Points of one embedding: coordinates, class and session of each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cloud {
    /// First two principal axes in the tangent space.
    pub at: Vec<(f64, f64)>,
    /// Index into the class names.
    pub class: Vec<usize>,
    /// Index into the session names.
    pub session: Vec<usize>,
}

/// Covariances before and after mapping; colour is the class, marker the session.
pub fn embedding(
    id: &str,
    title: &str,
    panels: &[(String, Cloud)],
    classes: &[&str],
    sessions: &[&str],
    source: Source,
) -> Figure {
    const SHAPES: [Marker; 4] = [Marker::Disc, Marker::Triangle, Marker::Square, Marker::Cross];
    let look = |class: usize, session: usize| Stroke {
        color: PALETTE[class % PALETTE.len()],
        dash: 0,
        marker: Some(SHAPES[session % SHAPES.len()]),
        width: 1.0,
    };
    let made = panels
        .iter()
        .map(|(title, cloud)| {
            let mut xy = Xy::new(Axis::linear("first principal axis"), Axis::linear("second principal axis"));
            // A stride through the points, so that no class or session is drawn last as a whole and hides the others.
            let n = cloud.at.len().min(cloud.class.len()).min(cloud.session.len());
            for k in 0..n {
                let i = interleave(k, n);
                let stroke = look(cloud.class[i], cloud.session[i]);
                match xy.points.last_mut() {
                    Some(p) if p.stroke == stroke => p.at.push(cloud.at[i]),
                    _ => xy.points.push(Points { name: String::new(), at: vec![cloud.at[i]], stroke }),
                }
            }
            Panel { title: title.clone(), content: Content::Xy(xy) }
        })
        .collect();
    let width = if panels.len() > 1 { Width::TwoColumns } else { Width::OneColumn };
    let mut f = Figure::panels(id, title, source, width, panels.len().clamp(1, 3), 150.0, made);
    let mut keys: Vec<Key> = classes
        .iter()
        .enumerate()
        .map(|(i, c)| Key { name: c.to_string(), look: Look::Box(PALETTE[i % PALETTE.len()]) })
        .collect();
    keys.extend(
        sessions
            .iter()
            .enumerate()
            .map(|(i, s)| Key { name: s.to_string(), look: Look::Point(Stroke { color: SOFT, ..look(0, i) }) }),
    );
    f.legend = Some(keys);
    f.words(
        "Covariance matrices in the tangent space, first two principal axes; colour is the class, marker the session.",
        "",
    )
}

/// A transport plan: rows are source trials, columns target trials, both sorted by class by the caller.
pub fn plan(id: &str, title: &str, weights: &Array2<f64>, source: Source) -> Figure {
    let largest = weights.iter().copied().filter(|v| v.is_finite()).fold(0.0, f64::max);
    // Below the scale's lower end there is nothing to see; zero is shown as the lowest colour, not as missing.
    let data = weights.mapv(|v| if v.is_nan() { v } else { v.max(largest * 1e-3) });
    let heat = Heat { data, block: None, x_label: "trials of session E".into(), y_label: "trials of session T".into() };
    let panel = Panel { title: String::new(), content: Content::Heat(heat) };
    let mut f = Figure::panels(id, title, source, Width::OneColumn, 1, 150.0, vec![panel]);
    let top = if largest > 0.0 { largest } else { 1.0 };
    f.colors = Some(Colors { label: "plan weight".into(), axis: Axis::log("").between(top * 1e-3, top) });
    f.words("Transport plan between the trials of the two sessions as a heat map on a logarithmic scale.", "")
}

/// The `k`-th of `n` points in drawing order: one from the first half, one from the second, and so on. Callers list the
/// sessions one after the other.
fn interleave(k: usize, n: usize) -> usize {
    let half = n.div_ceil(2);
    if k.is_multiple_of(2) { k / 2 } else { (half + k / 2).min(n - 1) }
}
