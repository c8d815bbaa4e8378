//! The graph of stages as a picture: one box per stage, columns by depth.

use crate::charts::figure::Figure;
use crate::charts::style::{HATCH, INK, PALETTE, PAPER, SOFT, Width, size};
use crate::drawing::font::{self, Weight};
use crate::drawing::scene::{Anchor, Scene};

/// A stage in the picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DagNode {
    /// Name of the stage.
    pub name: String,
    /// Names of the stages it reads from.
    pub inputs: Vec<String>,
    /// The second line of its box.
    pub detail: String,
    /// Seconds spent in all units that ran (0 when none did): the bar in the box.
    pub seconds: f64,
}

/// Seconds for people: `0.4 s`, `95 s`, `3.3 min`.
pub fn seconds(t: f64) -> String {
    match t {
        t if t < 0.05 => "0 s".into(),
        t if t < 10.0 => format!("{t:.1} s"),
        t if t < 119.5 => format!("{t:.0} s"),
        t => format!("{:.1} min", t / 60.0),
    }
}

fn depth(inputs: &[Vec<usize>], i: usize, seen: usize) -> usize {
    // `seen` bounds the walk, so that a description with a cycle still ends.
    if seen == 0 { 0 } else { inputs[i].iter().map(|j| depth(inputs, *j, seen - 1) + 1).max().unwrap_or(0) }
}

/// The places of the nodes of a graph, given the nodes that each one reads: for each column, from the sources on the left, its
/// nodes from top to bottom. A node stands right of all it reads, beside their mean place, which makes fewer crossings.
fn layers(inputs: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let depths: Vec<usize> = (0..inputs.len()).map(|i| depth(inputs, i, inputs.len().min(64))).collect();
    let columns = depths.iter().max().map_or(1, |d| d + 1);
    let mut order: Vec<Vec<usize>> = vec![Vec::new(); columns];
    for c in 0..columns {
        let these: Vec<usize> = (0..inputs.len()).filter(|i| depths[*i] == c).collect();
        let place = |i: &usize| {
            let at: Vec<f64> = inputs[*i]
                .iter()
                .filter_map(|j| {
                    let column = order.get(depths[*j])?;
                    Some((column.iter().position(|k| k == j)? as f64 + 0.5) / column.len() as f64)
                })
                .collect();
            if at.is_empty() { 0.5 } else { at.iter().sum::<f64>() / at.len() as f64 }
        };
        let keys: Vec<f64> = these.iter().map(place).collect();
        let mut by: Vec<usize> = (0..these.len()).collect();
        by.sort_by(|a, b| keys[*a].total_cmp(&keys[*b]));
        order[c] = by.into_iter().map(|k| these[k]).collect();
    }
    order
}

/// Draw the graph, sources on the left.
pub fn dag(title: &str, nodes: &[DagNode]) -> Figure {
    let width = Width::TwoColumns.points();
    let named = |name: &String| nodes.iter().position(|m| m.name == *name);
    let inputs: Vec<Vec<usize>> = nodes.iter().map(|n| n.inputs.iter().filter_map(named).collect()).collect();
    let order = layers(&inputs);
    let columns = order.len();
    let rows = order.iter().map(Vec::len).max().unwrap_or(1).max(1);
    let gap = if columns > 6 { 14.0 } else { 24.0 };
    let (box_w, box_h, pitch) = (((width - 12.0 - gap * (columns - 1) as f64) / columns as f64).min(110.0), 27.0, 34.0);
    let height = rows as f64 * pitch + 4.0;
    let used = columns as f64 * box_w + gap * (columns - 1) as f64;
    let mut s = Scene::new(width, height);
    let mut at = vec![(0.0, 0.0); nodes.len()];
    for (c, column) in order.iter().enumerate() {
        let spread = height / column.len().max(1) as f64;
        for (r, i) in column.iter().enumerate() {
            at[*i] = ((width - used) / 2.0 + c as f64 * (box_w + gap), (r as f64 + 0.5) * spread - box_h / 2.0);
        }
    }
    for (i, reads) in inputs.iter().enumerate() {
        for &j in reads {
            edge(&mut s, (at[j].0 + box_w, at[j].1 + box_h / 2.0), (at[i].0, at[i].1 + box_h / 2.0));
        }
    }
    let slowest = nodes.iter().map(|n| n.seconds).fold(0.0, f64::max);
    for (i, n) in nodes.iter().enumerate() {
        let (x, y) = at[i];
        s.rect([x, y, box_w, box_h], Some(PAPER), Some((INK, 0.7)));
        if slowest > 0.0 && n.seconds > 0.0 {
            s.rect([x + 0.8, y + box_h - 3.2, (box_w - 1.6) * n.seconds / slowest, 2.4], Some(PALETTE[4]), None);
        }
        let full = font::width(&n.name, size::LABEL, Weight::Bold);
        let letters = (size::LABEL * (box_w - 5.0) / full).clamp(5.6, size::LABEL);
        let name = shorten(&n.name, letters, Weight::Bold, box_w - 4.0);
        s.text(name, x + box_w / 2.0, y + 10.0, Anchor::Middle, letters, Weight::Bold, INK);
        let detail = shorten(&n.detail, size::TICK - 0.6, Weight::Regular, box_w - 4.0);
        s.text(detail, x + box_w / 2.0, y + 19.5, Anchor::Middle, size::TICK - 0.6, Weight::Regular, SOFT);
    }
    let words: Vec<String> = nodes.iter().map(|n| format!("{} ({})", n.name, n.detail)).collect();
    Figure::drawing("dag", title, Width::TwoColumns, s).words(format!("Graph of stages: {}.", words.join(", ")), "")
}

/// A smooth curve from right edge to left edge with an arrow head.
fn edge(s: &mut Scene, a: (f64, f64), b: (f64, f64)) {
    let bend = ((b.0 - a.0) * 0.5).max(4.0);
    let tip = b.0 - 3.0;
    let point = |t: f64| {
        let u = 1.0 - t;
        let (c, d) = (a.0 + bend, tip - bend);
        let x = u * u * u * a.0 + 3.0 * u * u * t * c + 3.0 * u * t * t * d + t * t * t * tip;
        let y = (u * u * u + 3.0 * u * u * t) * a.1 + (3.0 * u * t * t + t * t * t) * b.1;
        (x, y)
    };
    let soft = HATCH;
    s.line((0..=16).map(|i| point(f64::from(i) / 16.0)).collect(), 0.7, soft);
    s.fill(vec![b, (b.0 - 4.0, b.1 - 1.9), (b.0 - 4.0, b.1 + 1.9)], soft, 1.0);
}

fn shorten(text: &str, size: f64, weight: Weight, max: f64) -> String {
    if font::width(text, size, weight) <= max {
        return text.to_string();
    }
    let mut kept: String = text.to_string();
    while !kept.is_empty() && font::width(&format!("{kept}…"), size, weight) > max {
        kept.pop();
    }
    format!("{kept}…")
}
