//! Matrices as coloured rectangles with one colour bar for the whole figure. Missing cells are hatched, never coloured.

use plotters::chart::{ChartBuilder, LabelAreaPosition};
use plotters::element::{PathElement, Rectangle};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontTransform};

use super::axis::{Ruler, Scale};
use super::elements::Cells;
use super::figure::{Colors, Content, Heat, Panel};
use super::layout::{Margins, widest};
use super::style::{HATCH, INK, MISSING, PAPER, Rgb, size, viridis};
use super::xy::{TICK, stroke};
use crate::drawing::backend::{Drawn, area, text_style, units};
use crate::drawing::font::{self, Weight};
use crate::drawing::scene::{Anchor, Scene};

/// Width of the bar itself.
const BAR: f64 = 8.0;
/// Steps of colour in matrices and bar: enough for the eye, few enough for small files.
const STEPS: f64 = 128.0;
/// A matrix of more cells than this becomes one picture instead of rectangles.
const MAX_RECTANGLES: usize = 4096;

pub(crate) fn margins(h: &Heat) -> Margins {
    let label = |t: &str| if t.is_empty() { 0.0 } else { size::TICK * 1.25 + 1.0 };
    Margins { left: label(&h.y_label) + 0.5, right: 0.5, top: 1.0, bottom: label(&h.x_label) + 1.0 }
}

/// The shared scale over all matrices.
pub(crate) fn ruler(c: &Colors, panels: &[Panel], height: f64) -> Ruler {
    let mut axis = c.axis.clone();
    if axis.range.is_none() {
        let log = axis.scale == Scale::Log;
        let values = panels.iter().flat_map(|p| match &p.content {
            Content::Heat(h) => h.data.iter().copied().collect::<Vec<_>>(),
            _ => vec![],
        });
        let (a, b) = values
            .filter(|v| v.is_finite() && (!log || *v > 0.0))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        axis.range = (a < b).then_some((a, b));
    }
    Ruler::fit(&axis, std::iter::empty(), (height / 20.0).max(4.0) as usize)
}

/// Space the bar needs at the right, with its ticks, its name and the key for missing cells.
pub(crate) fn bar_width(c: &Colors, r: &Ruler, missing: bool) -> f64 {
    let label = if c.label.is_empty() { 0.0 } else { size::LABEL + 4.0 };
    let key = if missing { font::width("missing", size::TICK, Weight::Regular) } else { 0.0 };
    8.0 + (BAR + 2.0 * TICK + widest(r) + label).max(key)
}

fn color(r: &Ruler, v: f64) -> Rgb {
    let t = r.place(v).unwrap_or(0.0).clamp(0.0, 1.0);
    viridis((t * STEPS).round() / STEPS)
}

pub(crate) fn draw(s: &mut Scene, h: &Heat, r: &Ruler, [x, y, w, tall]: [f64; 4]) -> Drawn {
    let (rows, cols) = h.data.dim();
    let (high, wide) = (rows as f64, cols as f64);
    // Cells stay square: the matrix keeps its own height inside the row.
    let tall = (w * high / wide).min(tall);
    let m = margins(h);
    let on = area(s, [x - m.left, y, w + m.left, tall + m.bottom]);
    let mut chart = ChartBuilder::on(&on)
        .set_label_area_size(LabelAreaPosition::Left, units(m.left))
        .set_label_area_size(LabelAreaPosition::Bottom, units(m.bottom))
        .build_cartesian_2d(0.0..wide, high..0.0)?;
    let names = text_style(size::TICK, Weight::Regular, INK);
    chart
        .configure_mesh()
        .disable_mesh()
        .disable_axes()
        .axis_desc_style(names)
        .x_desc(&h.x_label)
        .y_desc(&h.y_label)
        .draw()?;
    let at = |i: usize, j: usize| (j as f64, i as f64);
    let gaps = h.data.indexed_iter().filter(|(_, v)| v.is_nan());
    if gaps.clone().next().is_some() {
        chart.draw_series([Rectangle::new([(0.0, 0.0), (wide, high)], MISSING.filled())])?;
        if rows * cols <= MAX_RECTANGLES {
            chart.draw_series(
                gaps.map(|((i, j), _)| PathElement::new(vec![at(i + 1, j), at(i, j + 1)], stroke(HATCH, 0.35))),
            )?;
        }
    }
    let colors: Vec<Option<Rgb>> = h.data.iter().map(|v| (!v.is_nan()).then(|| color(r, *v))).collect();
    if rows * cols <= MAX_RECTANGLES {
        // By colour, so that the SVG writes the cells of one colour as one path.
        let mut cells: Vec<(Rgb, usize)> = colors.iter().enumerate().filter_map(|(i, c)| Some(((*c)?, i))).collect();
        cells.sort_by_key(|(c, i)| (c.0, c.1, c.2, *i));
        chart.draw_series(cells.iter().map(|(c, k)| {
            let (i, j) = (k / cols, k % cols);
            Rectangle::new([at(i, j), at(i + 1, j + 1)], c.filled())
        }))?;
    } else {
        chart.draw_series([Cells { corners: [(0.0, 0.0), (wide, high)], rows, cols, colors }])?;
    }
    if let Some(b) = h.block {
        let across = (b..rows).step_by(b).map(|i| vec![at(i, 0), at(i, cols)]);
        let down = (b..cols).step_by(b).map(|j| vec![at(0, j), at(rows, j)]);
        chart.draw_series(across.chain(down).map(|line| PathElement::new(line, stroke(PAPER, 0.45))))?;
    }
    chart.draw_series([Rectangle::new([(0.0, 0.0), (wide, high)], stroke(INK, 0.5))])?;
    Ok(())
}

/// The colour bar with its labels on the right, and the key for missing cells below it.
pub(crate) fn draw_bar(s: &mut Scene, c: &Colors, r: &Ruler, missing: bool, [x, y, _, h]: [f64; 4]) -> Drawn {
    let tall = h - if missing { BAR + size::TICK * 1.4 + 8.0 } else { 0.0 };
    let labels = 2.0 * TICK + widest(r);
    {
        let on = area(s, [x, y, BAR + labels, tall]);
        let mut chart = ChartBuilder::on(&on)
            .set_label_area_size(LabelAreaPosition::Right, units(labels))
            .build_cartesian_2d(0.0..1.0, 0.0..STEPS)?;
        let step = |i: usize| {
            Rectangle::new([(0.0, i as f64), (1.0, i as f64 + 1.0)], viridis((i as f64 + 0.5) / STEPS).filled())
        };
        chart.draw_series((0..STEPS as usize).map(step))?;
        let mut chart = ChartBuilder::on(&on)
            .set_label_area_size(LabelAreaPosition::Right, units(labels))
            .build_cartesian_2d(0.0..1.0, r.clone())?;
        chart
            .configure_mesh()
            .disable_mesh()
            .y_labels(r.labels())
            .axis_style(stroke(INK, 0.5))
            .set_tick_mark_size(LabelAreaPosition::Right, units(TICK))
            .label_style(text_style(size::TICK, Weight::Regular, INK))
            .draw()?;
        let (low, high) = r.ends();
        chart.draw_series([Rectangle::new([(0.0, low), (1.0, high)], stroke(INK, 0.5))])?;
        let name = text_style(size::LABEL, Weight::Regular, INK).transform(FontTransform::Rotate270);
        let at = (units(BAR + labels + 2.0), units(tall / 2.0));
        on.draw_text(&c.label, &name.pos(Pos::new(HPos::Center, VPos::Top)), at)?;
    }
    if missing {
        let square = [x, y + tall + 8.0, BAR, BAR];
        s.rect(square, Some(MISSING), Some((INK, 0.5)));
        s.line(vec![(square[0], square[1] + BAR), (square[0] + BAR, square[1])], 0.35, HATCH);
        let base = square[1] + BAR + size::TICK * 1.1;
        s.text("missing", x, base, Anchor::Start, size::TICK, Weight::Regular, INK);
    }
    Ok(())
}
