//! Matrices as coloured cells with one colour bar for the whole figure. Missing cells are hatched, never coloured.

use crate::charts::axis::Ruler;
use crate::charts::figure::{Colors, Content, Heat, Panel};
use crate::charts::layout::{Margins, widest};
use crate::charts::style::{HATCH, INK, MISSING, PAPER, size, viridis};
use crate::charts::xy::TICK;
use crate::drawing::font::{self, Weight};
use crate::drawing::scene::{Anchor, Scene, Shape};

/// Width of the bar itself.
const BAR: f64 = 8.0;
/// Steps of colour in matrices and bar: enough for the eye, few enough for small files.
const STEPS: f64 = 128.0;

pub(crate) fn margins(h: &Heat) -> Margins {
    let label = |t: &str| if t.is_empty() { 0.0 } else { size::TICK * 1.25 + 1.0 };
    Margins { left: label(&h.y_label) + 0.5, right: 0.5, top: 1.0, bottom: label(&h.x_label) + 1.0 }
}

/// The shared scale over all matrices.
pub(crate) fn ruler(c: &Colors, panels: &[Panel], height: f64) -> Ruler {
    let values = panels.iter().flat_map(|p| match &p.content {
        Content::Heat(h) => h.data.iter().copied().collect::<Vec<_>>(),
        _ => vec![],
    });
    let mut axis = c.axis.clone();
    if axis.range.is_none() {
        let log = axis.scale == crate::charts::axis::Scale::Log;
        let (a, b) = values
            .filter(|v| v.is_finite() && (!log || *v > 0.0))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        axis.range = (a < b).then_some((a, b));
    }
    Ruler::fit(&axis, std::iter::empty(), (height / 24.0).max(4.0) as usize)
}

/// Space the bar needs at the right, with its ticks, its name and the key for missing cells.
pub(crate) fn bar_width(c: &Colors, r: &Ruler, missing: bool) -> f64 {
    let label = if c.label.is_empty() { 0.0 } else { size::LABEL + 4.0 };
    let key = if missing { font::width("missing", size::TICK, Weight::Regular) } else { 0.0 };
    8.0 + (BAR + TICK + 2.0 + widest(r) + label).max(key)
}

fn color(r: &Ruler, v: f64) -> crate::charts::style::Rgb {
    let t = r.place(v).unwrap_or(0.0).clamp(0.0, 1.0);
    viridis((t * STEPS).round() / STEPS)
}

fn hatch(s: &mut Scene, [x, y, w, h]: [f64; 4]) {
    s.line(vec![(x, y + h), (x + w, y)], 0.35, HATCH, 0);
}

pub(crate) fn draw(s: &mut Scene, h: &Heat, r: &Ruler, [x, y, w, tall]: [f64; 4]) {
    let (rows, cols) = h.data.dim();
    // Cells stay square (or as given by the shape): the matrix keeps its own height inside the row.
    let high = (w * rows as f64 / cols as f64).min(tall);
    let area = [x, y, w, high];
    if h.data.iter().any(|v| v.is_nan()) {
        s.rect(area, Some(MISSING), None);
        let (cw, ch) = (w / cols as f64, high / rows as f64);
        if rows * cols <= 4096 {
            for ((i, j), v) in h.data.indexed_iter() {
                if v.is_nan() {
                    hatch(s, [x + j as f64 * cw, y + i as f64 * ch, cw, ch]);
                }
            }
        }
    }
    let colors = h.data.iter().map(|v| (!v.is_nan()).then(|| color(r, *v))).collect();
    s.shapes.push(Shape::Cells { area, rows, cols, colors });
    if let Some(b) = h.block {
        for i in (b..rows).step_by(b) {
            let at = y + high * i as f64 / rows as f64;
            s.line(vec![(x, at), (x + w, at)], 0.45, PAPER, 0);
        }
        for j in (b..cols).step_by(b) {
            let at = x + w * j as f64 / cols as f64;
            s.line(vec![(at, y), (at, y + high)], 0.45, PAPER, 0);
        }
    }
    s.rect(area, None, Some((INK, 0.5)));
    let base = y + high + size::TICK * 1.2;
    s.text(h.x_label.clone(), x + w / 2.0, base, Anchor::Middle, size::TICK, Weight::Regular, INK);
    s.text_up(h.y_label.clone(), x - 3.0, y + high / 2.0, size::TICK, INK);
}

pub(crate) fn draw_bar(s: &mut Scene, c: &Colors, r: &Ruler, missing: bool, [x, y, _, h]: [f64; 4]) {
    let key = if missing { BAR + size::TICK * 1.4 + 8.0 } else { 0.0 };
    let high = h - key;
    let n = STEPS as usize;
    let colors = (0..n).map(|i| Some(viridis(1.0 - (i as f64 + 0.5) / STEPS))).collect();
    s.shapes.push(Shape::Cells { area: [x, y, BAR, high], rows: n, cols: 1, colors });
    s.rect([x, y, BAR, high], None, Some((INK, 0.5)));
    for (v, label) in &r.ticks {
        let Some(t) = r.place(*v) else { continue };
        let at = y + high * (1.0 - t);
        s.line(vec![(x + BAR, at), (x + BAR + TICK, at)], 0.6, INK, 0);
        let base = (at + size::TICK * 0.36).clamp(y + size::TICK * 0.7, y + high);
        s.text(label.clone(), x + BAR + TICK + 1.5, base, Anchor::Start, size::TICK, Weight::Regular, INK);
    }
    let at = x + BAR + TICK + 2.0 + widest(r) + size::LABEL * 0.8 + 3.0;
    s.text_up(c.label.clone(), at, y + high / 2.0, size::LABEL, INK);
    if missing {
        let square = [x, y + high + 8.0, BAR, BAR];
        s.rect(square, Some(MISSING), Some((INK, 0.5)));
        hatch(s, square);
        let base = y + high + 8.0 + BAR + size::TICK * 1.1;
        s.text("missing", x, base, Anchor::Start, size::TICK, Weight::Regular, INK);
    }
}
