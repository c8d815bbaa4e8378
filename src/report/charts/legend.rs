//! The legend: below the panels, in even columns, one entry per name. It cannot cover anything.

use crate::charts::figure::{Content, Key, Look, Panel};
use crate::charts::style::{HATCH, INK, MARKERS, MISSING, PALETTE, Stroke, size};
use crate::drawing::font::{self, Weight};
use crate::drawing::scene::{Anchor, Scene};

/// Length of a sample line.
const SAMPLE: f64 = 18.0;

/// The entries that the panels' curves, points and bars need, in order of first appearance.
pub(crate) fn collect(panels: &[Panel]) -> Vec<Key> {
    let mut keys: Vec<Key> = Vec::new();
    let mut add = |name: &str, look: Look| {
        if !name.is_empty() && !keys.iter().any(|k| k.name == name) {
            keys.push(Key { name: name.to_string(), look });
        }
    };
    for p in panels {
        match &p.content {
            Content::Xy(xy) => {
                xy.lines.iter().for_each(|l| add(&l.name, Look::Line(l.stroke)));
                xy.points.iter().for_each(|q| add(&q.name, Look::Point(q.stroke)));
            }
            Content::Bars(b) => {
                let log = b.y.scale == crate::charts::axis::Scale::Log;
                for (i, s) in b.series.iter().enumerate() {
                    let stroke = Stroke { marker: Some(MARKERS[i % MARKERS.len()]), ..Stroke::nth(i) };
                    add(&s.0, if log { Look::Point(stroke) } else { Look::Box(PALETTE[i % PALETTE.len()]) });
                }
            }
            Content::Heat(_) => {}
        }
    }
    keys
}

/// Draw the entries from `y` downwards, between `left` and `left + room`; returns the new bottom.
pub(crate) fn draw(s: &mut Scene, keys: &[Key], y: f64, left: f64, room: f64) -> f64 {
    if keys.is_empty() {
        return y;
    }
    let sample = if keys.iter().any(|k| matches!(k.look, Look::Line(_))) { SAMPLE } else { 8.0 };
    let entry = |k: &Key| sample + 4.0 + font::width(&k.name, size::LABEL, Weight::Regular);
    // The largest number of columns that fits, each as wide as its widest entry.
    let gap = 12.0;
    let widths = |columns: usize| -> Vec<f64> {
        let rows = keys.len().div_ceil(columns);
        keys.chunks(rows).map(|c| c.iter().map(entry).fold(0.0, f64::max)).collect()
    };
    let fits = |columns: &usize| {
        let w = widths(*columns);
        w.iter().sum::<f64>() + gap * (w.len() - 1) as f64 <= room
    };
    let columns = (1..=keys.len()).rev().find(fits).unwrap_or(1);
    let rows = keys.len().div_ceil(columns);
    let w = widths(columns);
    let total = w.iter().sum::<f64>() + gap * (w.len() - 1) as f64;
    let pitch = size::LABEL * 1.35;
    let mut x = left + ((room - total) / 2.0).max(0.0);
    for (c, column) in keys.chunks(rows).enumerate() {
        for (r, k) in column.iter().enumerate() {
            let middle = y + 4.0 + (r as f64 + 0.5) * pitch;
            look(s, k.look, x, middle, sample);
            let base = middle + size::LABEL * 0.36;
            s.text(k.name.clone(), x + sample + 4.0, base, Anchor::Start, size::LABEL, Weight::Regular, INK);
        }
        x += w[c] + gap;
    }
    y + 4.0 + rows as f64 * pitch
}

fn look(s: &mut Scene, look: Look, x: f64, y: f64, sample: f64) {
    match look {
        Look::Line(stroke) => {
            s.line(vec![(x, y), (x + sample, y)], stroke.width, stroke.color, stroke.dash);
            if let Some(m) = stroke.marker {
                s.marker(m, (x + sample / 2.0, y), 1.9, stroke.color);
            }
        }
        Look::Point(stroke) => {
            if let Some(m) = stroke.marker {
                s.marker(m, (x + sample / 2.0, y), 2.2, stroke.color);
            }
        }
        Look::Box(c) => s.rect([x + sample / 2.0 - 3.5, y - 3.0, 7.0, 6.0], Some(c), None),
        Look::Missing => {
            let b = [x + sample / 2.0 - 3.5, y - 3.5, 7.0, 7.0];
            s.rect(b, Some(MISSING), Some((INK, 0.4)));
            s.line(vec![(b[0], b[1] + 7.0), (b[0] + 7.0, b[1])], 0.4, HATCH, 0);
        }
    }
}
