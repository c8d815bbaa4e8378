//! Panels of curves and points: a plotters chart with mesh, bands, lines and markers, and labels of vertical marks above it.

use plotters::chart::{ChartBuilder, ChartContext, LabelAreaPosition};
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::ranged1d::{Ranged, ValueFormatter};
use plotters::element::Polygon;
use plotters::series::{DashedLineSeries, LineSeries};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, ShapeStyle};

use super::axis::Ruler;
use super::elements::Dot;
use super::figure::{Line, Xy};
use super::layout::{Margins, widest};
use super::style::{DASHES, GRID, INK, Rgb, SOFT, size};
use crate::drawing::backend::{Area, Drawn, Pen, Refused, area, text_style, units};
use crate::drawing::font::{self, Weight};
use crate::drawing::scene::Scene;

/// Length of a tick; plotters sets labels twice as far from the axis.
pub(crate) const TICK: f64 = 2.1;
/// Height of a row of labels above the frame.
const MARK_ROW: f64 = size::TICK * 1.25;
/// Least distance of two markers of a curve along the page, in points.
const MARKERS_APART: f64 = 5.5;

pub(crate) type Chart<'a, X> = ChartContext<'a, Pen<'a>, Cartesian2d<X, Ruler>>;

/// A line of this width and colour.
pub(crate) fn stroke(color: Rgb, width: f64) -> ShapeStyle {
    color.stroke_width(units(width).max(1) as u32)
}

/// Space that a vertical axis needs on the left.
pub(crate) fn left_margin(y: &Ruler, label: &str) -> f64 {
    2.0 * TICK + widest(y) + if label.is_empty() { 0.0 } else { size::LABEL + 3.0 }
}

/// A chart whose plotting area is `plot`, with axes, grid lines and labels drawn.
pub(crate) fn chart<'a, X: Ranged + ValueFormatter<X::ValueType>>(
    on: &Area<'a>,
    m: &Margins,
    (x, x_label, x_labels): (X, &str, usize),
    (y, y_label): (&Ruler, &str),
    x_words: &dyn Fn(&X::ValueType) -> String,
) -> Result<Chart<'a, X>, Refused> {
    let mut chart = ChartBuilder::on(on)
        .set_label_area_size(LabelAreaPosition::Left, units(m.left))
        .set_label_area_size(LabelAreaPosition::Bottom, units(m.bottom))
        .build_cartesian_2d(x, y.clone())?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(x_labels)
        .y_labels(y.labels())
        .max_light_lines(1)
        .bold_line_style(stroke(GRID, 0.4))
        .axis_style(stroke(INK, 0.6))
        .set_tick_mark_size(LabelAreaPosition::Left, units(TICK))
        .set_tick_mark_size(LabelAreaPosition::Bottom, units(TICK))
        .label_style(text_style(size::TICK, Weight::Regular, INK))
        .axis_desc_style(text_style(size::LABEL, Weight::Regular, INK))
        .x_label_formatter(x_words)
        .x_desc(x_label)
        .y_desc(y_label)
        .draw()?;
    Ok(chart)
}

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
        let x = Ruler::fit(&xy.x, xs, (width / 20.0).floor() as usize);
        let y = Ruler::fit(&xy.y, ys, (height / 17.0).floor() as usize);
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
        let last = self.x.ticks().last().map_or(0.0, |t| font::width(&t.1, size::TICK, Weight::Regular) / 2.0);
        Margins {
            left: left_margin(&self.y, &self.xy.y.label),
            right: last.max(2.0),
            top: rows as f64 * MARK_ROW + 2.0,
            bottom: 2.0 * TICK + size::TICK + if self.xy.x.label.is_empty() { 0.0 } else { size::LABEL + 2.0 },
        }
    }

    pub fn draw(&self, s: &mut Scene, [x, y, w, h]: [f64; 4]) -> Drawn {
        let m = self.margins();
        let on = area(s, [x - m.left, y, w + m.left, h + m.bottom]);
        let words = |v: &f64| self.x.format_ext(v);
        let horizontal = (self.x.clone(), self.xy.x.label.as_str(), self.x.labels());
        let mut chart = chart(&on, &m, horizontal, (&self.y, &self.xy.y.label), &words)?;
        let (bottom, top) = self.y.ends();
        for (mark, row) in self.xy.marks.iter().zip(&self.mark_rows) {
            let line = [(mark.x, bottom), (mark.x, top)];
            chart.draw_series(DashedLineSeries::new(
                line,
                units(DASHES[2].0),
                units(DASHES[2].1),
                stroke(SOFT, 0.7),
            ))?;
            let half = units(font::width(&mark.label, size::TICK, Weight::Regular) / 2.0);
            // Relative to the panel; a label near an end moves inwards.
            let at = chart.plotting_area().map_coordinate(&(mark.x, top)).0 - units(x - m.left);
            let at = at.clamp(units(m.left) + half - units(20.0), (units(m.left + w) - half).max(units(m.left) + half));
            let style = text_style(size::TICK, Weight::Regular, SOFT).pos(Pos::new(HPos::Center, VPos::Bottom));
            on.draw_text(&mark.label, &style, (at, -units(1.5 + *row as f64 * MARK_ROW)))?;
        }
        for l in &self.xy.lines {
            self.band(&mut chart, l)?;
        }
        for l in &self.xy.lines {
            self.curve(&mut chart, l)?;
        }
        for p in &self.xy.points {
            let Some(marker) = p.stroke.marker else { continue };
            let shown = p.at.iter().filter(|a| self.shows(a));
            chart.draw_series(shown.map(|a| Dot { at: *a, shift: 0.0, marker, r: 1.7, color: p.stroke.color }))?;
        }
        Ok(())
    }

    fn shows(&self, (x, y): &(f64, f64)) -> bool {
        self.x.shows(*x) && self.y.shows(*y)
    }

    /// The band of a curve, one polygon per run without gaps: plotters' AreaSeries fills down to one height, not to a second curve. A lower edge that a logarithmic axis cannot show goes to the bottom.
    fn band<'c>(&self, chart: &mut Chart<'c, Ruler>, l: &Line) -> Drawn {
        let Some((low, high)) = &l.band else { return Ok(()) };
        let edges: Vec<(f64, f64, f64)> =
            l.x.iter().zip(low.iter().zip(high)).map(|(x, (a, b))| (*x, *a, *b)).collect();
        for run in edges.split(|(x, a, b)| a.is_nan() || !self.shows(&(*x, *b))).filter(|run| run.len() > 1) {
            let upper = run.iter().map(|e| (e.0, e.2));
            let lower = run.iter().rev().map(|e| (e.0, e.1.max(self.y.ends().0)));
            let corners: Vec<(f64, f64)> = upper.chain(lower).collect();
            chart.draw_series([Polygon::new(corners, l.look().color.mix(0.16).filled())])?;
        }
        Ok(())
    }

    fn curve<'c>(&self, chart: &mut Chart<'c, Ruler>, l: &Line) -> Drawn {
        let points: Vec<(f64, f64)> = l.x.iter().copied().zip(l.y.iter().copied()).collect();
        let look = l.look();
        let (style, (dash, gap)) = (stroke(look.color, look.width), DASHES[look.dash]);
        for run in points.split(|p| !self.shows(p)) {
            if dash > 0.0 {
                chart.draw_series(DashedLineSeries::new(run.to_vec(), units(dash), units(gap), style))?;
            } else {
                chart.draw_series(LineSeries::new(run.to_vec(), style))?;
            }
        }
        if let Some(marker) = look.marker {
            // Where points lie close together on the page only some get a marker, so that the line stays visible.
            let mut last: Option<i32> = None;
            let mut apart = |p: &&(f64, f64)| {
                let x = chart.plotting_area().map_coordinate(p).0;
                let far = last.is_none_or(|before| (x - before).abs() >= units(MARKERS_APART));
                last = if far { Some(x) } else { last };
                far
            };
            let marked: Vec<(f64, f64)> =
                points.iter().filter(|p| self.shows(p)).filter(|p| apart(p)).copied().collect();
            let dot = |at| Dot { at, shift: 0.0, marker, r: 1.9, color: look.color };
            chart.draw_series(marked.into_iter().map(dot))?;
        }
        Ok(())
    }
}
