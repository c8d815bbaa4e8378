//! Panels of curves and points: frame, ticks, bands, lines, markers, vertical marks with labels above the frame.

use crate::charts::axis::Ruler;
use crate::charts::figure::{Line, Xy};
use crate::charts::layout::{Margins, widest};
use crate::charts::style::{GRID, INK, SOFT, Stroke, size};
use crate::drawing::font::{self, Weight};
use crate::drawing::scene::{Anchor, Scene};

/// Length of a tick.
pub(crate) const TICK: f64 = 2.6;

/// A panel with its axes fitted.
pub(crate) struct Fitted<'a> {
    xy: &'a Xy,
    x: Ruler,
    y: Ruler,
    mark_rows: Vec<usize>,
}

impl<'a> Fitted<'a> {
    /// Fit the axes to the data for a plotting area of about `width` x `height`.
    pub fn new(xy: &'a Xy, width: f64, height: f64) -> Self {
        let xs = xy.lines.iter().flat_map(|l| l.x.iter().copied());
        let xs = xs.chain(xy.points.iter().flat_map(|p| p.at.iter().map(|a| a.0))).chain(xy.marks.iter().map(|m| m.x));
        let ys = xy.lines.iter().flat_map(|l| {
            let band = l.band.iter().flat_map(|(a, b)| a.iter().chain(b).copied());
            l.y.iter().copied().chain(band)
        });
        let ys = ys.chain(xy.points.iter().flat_map(|p| p.at.iter().map(|a| a.1)));
        let mut x = Ruler::fit(&xy.x, xs, (width / 32.0).floor() as usize);
        x.thin(width, |t| font::width(t, size::TICK, Weight::Regular) + 5.0);
        let y = Ruler::fit(&xy.y, ys, (height / 19.0).floor() as usize);
        // Labels of marks: each in the first row where it does not touch its neighbours.
        let mut ends: Vec<f64> = Vec::new();
        let mut mark_rows = Vec::new();
        for m in &xy.marks {
            let half = font::width(&m.label, size::TICK, Weight::Regular) / 2.0 + 2.0;
            let at = x.place(m.x).unwrap_or(0.0) * width;
            let row = ends.iter().position(|e| at - half >= *e).unwrap_or(ends.len());
            if row == ends.len() {
                ends.push(0.0);
            }
            ends[row] = at + half;
            mark_rows.push(row);
        }
        Fitted { xy, x, y, mark_rows }
    }

    pub fn margins(&self) -> Margins {
        let rows = self.mark_rows.iter().max().map_or(0, |r| r + 1);
        let last = self.x.ticks.last().map_or(0.0, |t| font::width(&t.1, size::TICK, Weight::Regular) / 2.0);
        let label = if self.xy.y.label.is_empty() { 0.0 } else { size::LABEL + 4.0 };
        Margins {
            left: widest(&self.y) + TICK + 2.5 + label,
            right: last.max(2.0),
            top: rows as f64 * size::TICK * 1.25 + 2.0,
            bottom: TICK + 2.0 + size::TICK + if self.xy.x.label.is_empty() { 2.0 } else { size::LABEL + 5.0 },
        }
    }

    pub fn draw(&self, s: &mut Scene, area: [f64; 4]) {
        let [x0, y0, w, h] = area;
        let px = |v: f64| self.x.place(v).map(|t| x0 + t * w);
        let py = |v: f64| self.y.place(v).map(|t| y0 + h - t * h);
        for (v, _) in &self.y.ticks {
            if let Some(y) = py(*v) {
                s.line(vec![(x0, y), (x0 + w, y)], 0.4, GRID, 0);
            }
        }
        for (i, m) in self.xy.marks.iter().enumerate() {
            let Some(x) = px(m.x) else { continue };
            let base = y0 - 3.0 - self.mark_rows[i] as f64 * size::TICK * 1.25;
            s.line(vec![(x, y0), (x, y0 + h)], 0.7, SOFT, 2);
            let half = font::width(&m.label, size::TICK, Weight::Regular) / 2.0;
            let x = x.clamp(x0 + half - 20.0, (x0 + w - half).max(x0 + half));
            s.text(m.label.clone(), x, base, Anchor::Middle, size::TICK, Weight::Regular, SOFT);
        }
        for l in &self.xy.lines {
            if let Some((lo, hi)) = &l.band {
                for poly in band(l, lo, hi, &px, &py, (y0, y0 + h)) {
                    s.fill(poly, l.stroke.color, 0.16);
                }
            }
        }
        for l in &self.xy.lines {
            self.curve(s, l, area, &px, &py);
        }
        for p in &self.xy.points {
            for &(a, b) in &p.at {
                if let (Some(x), Some(y), Some(m)) = (px(a), py(b), p.stroke.marker)
                    && inside(area, x, y)
                {
                    s.marker(m, (x, y), 1.7, p.stroke.color);
                }
            }
        }
        for n in &self.xy.notes {
            if let (Some(x), Some(y)) = (px(n.at.0), py(n.at.1)) {
                s.text(n.text.clone(), x, y, Anchor::Start, size::TICK, Weight::Regular, SOFT);
            }
        }
        frame(s, area);
        y_axis(s, &self.y, &self.xy.y.label, area);
        for (v, label) in &self.x.ticks {
            if let Some(x) = px(*v) {
                s.line(vec![(x, y0 + h), (x, y0 + h + TICK)], 0.6, INK, 0);
                s.text(
                    label.clone(),
                    x,
                    y0 + h + TICK + 1.5 + size::TICK * 0.8,
                    Anchor::Middle,
                    size::TICK,
                    Weight::Regular,
                    INK,
                );
            }
        }
        for v in &self.x.minor {
            if let Some(x) = px(*v) {
                s.line(vec![(x, y0 + h), (x, y0 + h + TICK * 0.6)], 0.4, INK, 0);
            }
        }
        let base = y0 + h + TICK + 2.5 + size::TICK + size::LABEL;
        s.text(self.xy.x.label.clone(), x0 + w / 2.0, base, Anchor::Middle, size::LABEL, Weight::Regular, INK);
    }

    fn curve(
        &self,
        s: &mut Scene,
        l: &Line,
        area: [f64; 4],
        px: &dyn Fn(f64) -> Option<f64>,
        py: &dyn Fn(f64) -> Option<f64>,
    ) {
        let place = |i: usize| Some((px(l.x[i])?, py(l.y[i])?));
        let mut run: Vec<(f64, f64)> = Vec::new();
        let Stroke { color, dash, marker, width } = l.stroke;
        for i in 0..l.x.len() {
            match place(i) {
                Some(p) => match run.last().copied() {
                    Some(q) => match clip(q, p, area) {
                        Some((a, b)) => {
                            if a != q {
                                run = vec![a];
                            }
                            run.push(b);
                            if b != p {
                                s.line(std::mem::take(&mut run), width, color, dash);
                                run = vec![p];
                            }
                        }
                        None => {
                            s.line(std::mem::take(&mut run), width, color, dash);
                            run = vec![p];
                        }
                    },
                    None => run.push(p),
                },
                None => s.line(std::mem::take(&mut run), width, color, dash),
            }
        }
        s.line(run, width, color, dash);
        // On dense curves only some points get a marker, so that the line stays visible.
        let every = l.x.len().div_ceil(24).max(1);
        if let Some(m) = marker {
            for (x, y) in (0..l.x.len()).step_by(every).filter_map(place) {
                if inside(area, x, y) {
                    s.marker(m, (x, y), 1.9, color);
                }
            }
        }
    }
}

fn inside([x0, y0, w, h]: [f64; 4], x: f64, y: f64) -> bool {
    x >= x0 - 0.01 && x <= x0 + w + 0.01 && y >= y0 - 0.01 && y <= y0 + h + 0.01
}

/// The part of a segment inside the plotting area (Liang and Barsky).
fn clip(a: (f64, f64), b: (f64, f64), [x0, y0, w, h]: [f64; 4]) -> Option<((f64, f64), (f64, f64))> {
    let d = (b.0 - a.0, b.1 - a.1);
    let (mut t0, mut t1) = (0.0f64, 1.0f64);
    for (p, q) in [(-d.0, a.0 - x0), (d.0, x0 + w - a.0), (-d.1, a.1 - y0), (d.1, y0 + h - a.1)] {
        if p == 0.0 {
            if q < -0.01 {
                return None;
            }
        } else if p < 0.0 {
            t0 = t0.max(q / p);
        } else {
            t1 = t1.min(q / p);
        }
    }
    let at = |t: f64| {
        if t == 0.0 {
            a
        } else if t == 1.0 {
            b
        } else {
            (a.0 + t * d.0, a.1 + t * d.1)
        }
    };
    (t0 <= t1).then(|| (at(t0), at(t1)))
}

/// Polygons of an error band, one per gap-free run, cut to the area's height. A lower edge that a log axis cannot show
/// (zero or below) goes to the bottom.
fn band(
    l: &Line,
    lo: &[f64],
    hi: &[f64],
    px: &dyn Fn(f64) -> Option<f64>,
    py: &dyn Fn(f64) -> Option<f64>,
    (top, bottom): (f64, f64),
) -> Vec<Vec<(f64, f64)>> {
    let mut out = Vec::new();
    let (mut up, mut down): (Vec<(f64, f64)>, Vec<(f64, f64)>) = (vec![], vec![]);
    let mut close = |up: &mut Vec<(f64, f64)>, down: &mut Vec<(f64, f64)>| {
        if up.len() > 1 {
            out.push(up.drain(..).chain(down.drain(..).rev()).collect());
        }
        up.clear();
        down.clear();
    };
    for i in 0..l.x.len() {
        match (px(l.x[i]), py(hi[i])) {
            (Some(x), Some(h)) if !lo[i].is_nan() => {
                up.push((x, h.clamp(top, bottom)));
                down.push((x, py(lo[i]).unwrap_or(bottom).clamp(top, bottom)));
            }
            _ => close(&mut up, &mut down),
        }
    }
    close(&mut up, &mut down);
    out
}

/// The two axis lines.
pub(crate) fn frame(s: &mut Scene, [x0, y0, w, h]: [f64; 4]) {
    s.line(vec![(x0, y0), (x0, y0 + h), (x0 + w, y0 + h)], 0.7, INK, 0);
}

/// Ticks, labels and name of a vertical axis on the left.
pub(crate) fn y_axis(s: &mut Scene, r: &Ruler, label: &str, [x0, y0, _, h]: [f64; 4]) {
    let py = |v: f64| r.place(v).map(|t| y0 + h - t * h);
    for (v, text) in &r.ticks {
        if let Some(y) = py(*v) {
            s.line(vec![(x0 - TICK, y), (x0, y)], 0.6, INK, 0);
            s.text(text.clone(), x0 - TICK - 1.5, y + size::TICK * 0.36, Anchor::End, size::TICK, Weight::Regular, INK);
        }
    }
    for v in &r.minor {
        if let Some(y) = py(*v) {
            s.line(vec![(x0 - TICK * 0.6, y), (x0, y)], 0.4, INK, 0);
        }
    }
    let x = x0 - TICK - 2.5 - widest(r) - 2.5;
    s.text_up(label, x, y0 + h / 2.0, size::LABEL, INK);
}
