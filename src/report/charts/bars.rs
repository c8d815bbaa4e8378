//! Groups of bars over named cases, on a logarithmic axis: ratios, drawn from one upwards or downwards, each with its number.

use plotters::coord::ranged1d::{IntoSegmentedCoord, SegmentValue};

use super::axis::Ruler;
use super::elements::Bar;
use super::figure::Bars;
use super::layout::Margins;
use super::style::{PALETTE, size};
use super::xy::{TICK, chart, left_margin};
use crate::drawing::backend::{Drawn, area};
use crate::drawing::font::{self, Weight};
use crate::drawing::scene::Scene;

/// A panel with its axis fitted.
pub(crate) struct Fitted<'a> {
    bars: &'a Bars,
    y: Ruler,
    /// Names of the cases, broken to the width of a group.
    names: Vec<String>,
    lines: usize,
}

impl<'a> Fitted<'a> {
    pub fn new(bars: &'a Bars, width: f64, height: f64) -> Self {
        let values = bars.series.iter().flat_map(|(_, v)| v.iter().copied());
        let y = Ruler::fit(&bars.y, values, (height / 15.0) as usize);
        let group = width / bars.cases.len().max(1) as f64;
        let wrapped: Vec<Vec<String>> =
            bars.cases.iter().map(|c| font::wrap(c, size::TICK, Weight::Regular, group - 3.0)).collect();
        let lines = wrapped.iter().map(Vec::len).max().unwrap_or(1);
        Fitted { bars, y, names: wrapped.iter().map(|lines| lines.join("\n")).collect(), lines }
    }

    pub fn margins(&self) -> Margins {
        Margins {
            left: left_margin(&self.y, &self.bars.y.label),
            right: 2.0,
            top: 2.0,
            bottom: 2.0 * TICK + self.lines as f64 * size::TICK * 1.2,
        }
    }

    pub fn draw(&self, s: &mut Scene, [x, y, w, h]: [f64; 4]) -> Drawn {
        let m = self.margins();
        let on = area(s, [x - m.left, y, w + m.left, h + m.bottom]);
        let count = self.names.len();
        let words = |v: &SegmentValue<usize>| match v {
            SegmentValue::CenterOf(i) | SegmentValue::Exact(i) => self.names.get(*i).cloned().unwrap_or_default(),
            SegmentValue::Last => String::new(),
        };
        let cases = (0..count.saturating_sub(1)).into_segmented();
        let mut chart = chart(&on, &m, (cases, "", count + 1), (&self.y, &self.bars.y.label), &words)?;
        let group = w / count.max(1) as f64;
        let pitch = (group * 0.86 / self.bars.series.len().max(1) as f64).min(24.0);
        for c in 0..count {
            // A group is as wide as it has bars, so that it stands above its name.
            let values = self.bars.series.iter().map(|(_, values)| values[c]).enumerate();
            let shown: Vec<(usize, f64)> = values.filter(|(_, v)| self.y.shows(*v)).collect();
            let bars = shown.iter().enumerate().map(|(k, &(i, v))| Bar {
                ends: [(SegmentValue::CenterOf(c), 1.0), (SegmentValue::CenterOf(c), v)],
                shift: (k as f64 + 0.5 - shown.len() as f64 / 2.0) * pitch,
                width: pitch * 0.88,
                color: PALETTE[i % PALETTE.len()],
                label: if v < 9.95 { format!("{v:.1}") } else { format!("{v:.0}") },
            });
            chart.draw_series(bars)?;
        }
        Ok(())
    }
}
