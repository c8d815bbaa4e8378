//! Groups of points over named cases, on a logarithmic axis: ratios, where bars from zero would lie.

use plotters::coord::ranged1d::{IntoSegmentedCoord, SegmentValue};

use super::axis::Ruler;
use super::elements::Dot;
use super::figure::Dots;
use super::layout::Margins;
use super::style::{MARKERS, PALETTE, size};
use super::xy::{TICK, chart, left_margin};
use crate::drawing::backend::{Drawn, area};
use crate::drawing::font::{self, Weight};
use crate::drawing::scene::Scene;

/// A panel with its axis fitted.
pub(crate) struct Fitted<'a> {
    dots: &'a Dots,
    y: Ruler,
    /// Names of the cases, broken to the width of a group.
    names: Vec<String>,
    lines: usize,
}

impl<'a> Fitted<'a> {
    pub fn new(dots: &'a Dots, width: f64, height: f64) -> Self {
        let values = dots.series.iter().flat_map(|(_, v)| v.iter().copied());
        let y = Ruler::fit(&dots.y, values, (height / 15.0) as usize);
        let group = width / dots.cases.len().max(1) as f64;
        let wrapped: Vec<Vec<String>> =
            dots.cases.iter().map(|c| font::wrap(c, size::TICK, Weight::Regular, group - 3.0)).collect();
        let lines = wrapped.iter().map(Vec::len).max().unwrap_or(1);
        Fitted { dots, y, names: wrapped.iter().map(|lines| lines.join("\n")).collect(), lines }
    }

    pub fn margins(&self) -> Margins {
        Margins {
            left: left_margin(&self.y, &self.dots.y.label),
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
        let mut chart = chart(&on, &m, (cases, "", count + 1), (&self.y, &self.dots.y.label), &words)?;
        let pitch = (w / count.max(1) as f64 * 0.76 / self.dots.series.len().max(1) as f64).min(26.0);
        for (i, (_, values)) in self.dots.series.iter().enumerate() {
            let shift = (i as f64 + 0.5 - self.dots.series.len() as f64 / 2.0) * pitch;
            let (marker, color) = (MARKERS[i % MARKERS.len()], PALETTE[i % PALETTE.len()]);
            let shown = values.iter().enumerate().filter(|(_, v)| self.y.shows(**v));
            let dot = |(c, v): (usize, &f64)| Dot { at: (SegmentValue::CenterOf(c), *v), shift, marker, r: 2.2, color };
            chart.draw_series(shown.map(dot))?;
        }
        Ok(())
    }
}
