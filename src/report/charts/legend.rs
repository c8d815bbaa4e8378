//! The legend: below the panels, in even columns, one entry per name. It cannot cover anything.

use plotters::element::{DashedPathElement, PathElement, Rectangle};
use plotters::style::Color;

use super::elements::Dot;
use super::figure::{Content, Key, Look, Panel};
use super::style::{DASHES, INK, PALETTE, Stroke, size};
use super::xy::stroke;
use crate::drawing::backend::{Drawn, Refused, area, units};
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
                xy.lines.iter().for_each(|l| add(&l.name, Look::Line(l.look())));
                xy.points.iter().for_each(|q| add(&q.name, Look::Point(q.stroke)));
            }
            Content::Bars(d) => {
                d.series.iter().enumerate().for_each(|(i, s)| add(&s.0, Look::Box(PALETTE[i % PALETTE.len()])));
            }
            Content::Heat(_) => {}
        }
    }
    keys
}

/// Draw the entries from `y` downwards, between `left` and `left + room`; returns the new bottom.
pub(crate) fn draw(s: &mut Scene, keys: &[Key], y: f64, left: f64, room: f64) -> Result<f64, Refused> {
    if keys.is_empty() {
        return Ok(y);
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
            look(s, k.look, x, middle, sample)?;
            let base = middle + size::LABEL * 0.36;
            s.text(k.name.clone(), x + sample + 4.0, base, Anchor::Start, size::LABEL, Weight::Regular, INK);
        }
        x += w[c] + gap;
    }
    Ok(y + 4.0 + rows as f64 * pitch)
}

fn look(s: &mut Scene, look: Look, x: f64, y: f64, sample: f64) -> Drawn {
    let dot = |stroke: Stroke, r: f64| {
        let at = (units(sample / 2.0), units(4.0));
        stroke.marker.map(|marker| Dot { at, shift: 0.0, marker, r, color: stroke.color })
    };
    let on = area(s, [x, y - 4.0, sample, 8.0]);
    let marker = match look {
        Look::Line(line) => {
            let (style, (dash, gap)) = (stroke(line.color, line.width), DASHES[line.dash]);
            let ends = vec![(0, units(4.0)), (units(sample), units(4.0))];
            if dash > 0.0 {
                on.draw(&DashedPathElement::new(ends, units(dash), units(gap), style))?;
            } else {
                on.draw(&PathElement::new(ends, style))?;
            }
            dot(line, 1.9)
        }
        Look::Point(point) => dot(point, 2.2),
        Look::Box(color) => {
            let (left, right) = (units(sample / 2.0 - 3.5), units(sample / 2.0 + 3.5));
            on.draw(&Rectangle::new([(left, units(1.0)), (right, units(7.0))], color.filled()))?;
            None
        }
    };
    marker.map_or(Ok(()), |m| on.draw(&m))
}
