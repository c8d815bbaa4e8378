//! Groups of bars with error bars; on a log axis bars would lie about ratios, so points with error bars are drawn instead.

use crate::charts::axis::{Ruler, Scale};
use crate::charts::figure::Bars;
use crate::charts::layout::{Margins, widest};
use crate::charts::style::{GRID, INK, MARKERS, PALETTE, size};
use crate::charts::xy::{TICK, frame, y_axis};
use crate::drawing::font::{self, Weight};
use crate::drawing::scene::{Anchor, Scene};

/// A bar panel with its axis fitted.
pub(crate) struct Fitted<'a> {
    bars: &'a Bars,
    y: Ruler,
    /// Category names, wrapped to the width of a group.
    names: Vec<Vec<String>>,
}

impl<'a> Fitted<'a> {
    pub fn new(bars: &'a Bars, width: f64, height: f64) -> Self {
        let ends = bars.series.iter().flat_map(|(_, v, d)| {
            v.iter().zip(d).flat_map(|(v, d)| if d.is_finite() { [v - d, v + d] } else { [*v, *v] })
        });
        // Bars start at zero unless the axis says otherwise.
        let zero = (bars.y.scale == Scale::Linear && bars.y.range.is_none()).then_some(0.0);
        let y = Ruler::fit(&bars.y, ends.chain(zero), (height / 19.0) as usize);
        let group = width / bars.categories.len().max(1) as f64;
        let names = bars.categories.iter().map(|c| font::wrap(c, size::TICK, Weight::Regular, group - 3.0)).collect();
        Fitted { bars, y, names }
    }

    pub fn margins(&self) -> Margins {
        let lines = self.names.iter().map(Vec::len).max().unwrap_or(1);
        let label = if self.bars.y.label.is_empty() { 0.0 } else { size::LABEL + 4.0 };
        Margins {
            left: widest(&self.y) + TICK + 2.5 + label,
            right: 2.0,
            top: 2.0,
            bottom: 4.0 + lines as f64 * size::TICK * 1.2,
        }
    }

    pub fn draw(&self, s: &mut Scene, area: [f64; 4]) {
        let [x0, y0, w, h] = area;
        let py = |v: f64| self.y.place(v).map(|t| y0 + h - t.clamp(0.0, 1.0) * h);
        for (v, _) in &self.y.ticks {
            if let Some(y) = py(*v) {
                s.line(vec![(x0, y), (x0 + w, y)], 0.4, GRID, 0);
            }
        }
        let group = w / self.bars.categories.len().max(1) as f64;
        let bar = (group * 0.76 / self.bars.series.len().max(1) as f64).min(26.0);
        for (c, name) in self.names.iter().enumerate() {
            let middle = x0 + (c as f64 + 0.5) * group;
            for (i, (_, values, deviations)) in self.bars.series.iter().enumerate() {
                let x = middle + (i as f64 - self.bars.series.len() as f64 / 2.0) * bar;
                let (v, d) = (values[c], deviations[c]);
                let Some(y) = py(v) else { continue };
                let color = PALETTE[i % PALETTE.len()];
                if self.y.scale == Scale::Linear {
                    let base = py(0.0f64.clamp(self.y.low, self.y.high)).unwrap_or(y0 + h);
                    s.rect([x + 0.5, y.min(base), bar - 1.0, (base - y).abs().max(0.3)], Some(color), None);
                }
                let at = x + bar / 2.0;
                if d.is_finite() && d > 0.0 {
                    let (a, b) = (py(v - d).unwrap_or(y0 + h), py(v + d).unwrap_or(y0));
                    s.line(vec![(at, a), (at, b)], 0.8, INK, 0);
                    for e in [a, b] {
                        s.line(vec![(at - 1.8, e), (at + 1.8, e)], 0.8, INK, 0);
                    }
                }
                if self.y.scale == Scale::Log {
                    s.marker(MARKERS[i % MARKERS.len()], (at, y), 2.2, color);
                }
            }
            for (k, line) in name.iter().enumerate() {
                let base = y0 + h + 3.5 + size::TICK * (0.8 + 1.2 * k as f64);
                s.text(line.clone(), middle, base, Anchor::Middle, size::TICK, Weight::Regular, INK);
            }
        }
        frame(s, area);
        y_axis(s, &self.y, &self.bars.y.label, area);
    }
}
