//! Layout: title line, grid of panels, colour bar, legend. All places are computed from the font's widths, so nothing overlaps
//! and nothing is cut off; the legend always stands below the panels and covers nothing.

use super::axis::Ruler;
use super::figure::{Body, Content, Figure, Heat, Panel, Source};
use super::style::{INK, SOFT, WARN, size};
use super::{bars, heat, legend, xy};
use crate::drawing::backend::Refused;
use crate::drawing::font::{self, Weight};
use crate::drawing::scene::{Anchor, Scene, Shape};
use crate::error::Error;

/// Outer margin of every figure in points.
pub(crate) const EDGE: f64 = 3.0;
/// Higher than any figure, in points.
const TALL: f64 = 20_000.0;
/// Space between neighbouring panels.
const GUTTER: f64 = 10.0;

/// Space a panel needs around its plotting area.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Margins {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

impl Margins {
    fn join(self, o: Margins) -> Margins {
        Margins {
            left: self.left.max(o.left),
            right: self.right.max(o.right),
            top: self.top.max(o.top),
            bottom: self.bottom.max(o.bottom),
        }
    }
}

/// A panel with its axes fitted.
pub(crate) enum Ready<'a> {
    Xy(xy::Fitted<'a>),
    Bars(bars::Fitted<'a>),
    Heat(&'a Heat),
}

impl Ready<'_> {
    fn margins(&self) -> Margins {
        match self {
            Ready::Xy(p) => p.margins(),
            Ready::Bars(p) => p.margins(),
            Ready::Heat(p) => heat::margins(p),
        }
    }
}

/// Lay a figure out.
pub fn scene(figure: &Figure) -> Result<Scene, Error> {
    check(figure)?;
    place(figure).map_err(|e| Error::Drawing { figure: figure.title.clone(), why: e.to_string() })
}

fn place(figure: &Figure) -> Result<Scene, Refused> {
    let width = figure.width.points();
    // The height is known at the end; plotters needs a canvas that reaches far enough.
    let mut s = Scene::new(width, TALL);
    let mut y = title(&mut s, figure);
    match &figure.body {
        Body::Drawing(d) => {
            for shape in &d.shapes {
                s.shapes.push(shifted(shape, (width - d.width) / 2.0, y));
            }
            y += d.height;
        }
        Body::Panels { panels, columns, height } => y = grid(&mut s, figure, panels, *columns, *height, y)?,
    }
    let keys = match (&figure.legend, &figure.body) {
        (Some(keys), _) => keys.clone(),
        (None, Body::Panels { panels, .. }) if !figure.own_legends => legend::collect(panels),
        _ => vec![],
    };
    y = legend::draw(&mut s, &keys, y, EDGE, width - 2.0 * EDGE)?;
    s.height = y + EDGE;
    Ok(s)
}

fn check(figure: &Figure) -> Result<(), Error> {
    let wrong = |why: String| Err(Error::Figure { figure: figure.title.clone(), why });
    let Body::Panels { panels, columns, .. } = &figure.body else { return Ok(()) };
    if panels.is_empty() || *columns == 0 {
        return wrong("it has no panels".into());
    }
    for (i, p) in panels.iter().enumerate() {
        match &p.content {
            Content::Xy(xy) => {
                for l in &xy.lines {
                    let band = l.band.as_ref().is_none_or(|(a, b)| a.len() == l.x.len() && b.len() == l.x.len());
                    if l.x.len() != l.y.len() || !band {
                        return wrong(format!(
                            "curve `{}` in panel {} has x, y or band of different lengths",
                            l.name,
                            i + 1
                        ));
                    }
                }
            }
            Content::Bars(d) => {
                if let Some(s) = d.series.iter().find(|s| s.1.len() != d.cases.len()) {
                    return wrong(format!("bars `{}` in panel {} do not match the cases", s.0, i + 1));
                }
            }
            Content::Heat(h) => {
                if h.data.is_empty() || h.block == Some(0) {
                    return wrong(format!("the matrix in panel {} is empty or has blocks of size 0", i + 1));
                }
                if figure.colors.is_none() {
                    return wrong("it has matrices but no colour scale".into());
                }
            }
        }
    }
    Ok(())
}

/// Title on the left, source on the right or on a line of its own; returns where the body begins.
fn title(s: &mut Scene, figure: &Figure) -> f64 {
    let room = s.width - 2.0 * EDGE;
    let mut y = EDGE;
    let lines = font::wrap(&figure.title, size::TITLE, Weight::Bold, room);
    for line in &lines {
        y += size::TITLE * 1.0;
        s.text(line.clone(), EDGE, y, Anchor::Start, size::TITLE, Weight::Bold, INK);
        y += size::TITLE * 0.35;
    }
    let (color, weight) =
        if figure.source == Source::Simulated { (WARN, Weight::Bold) } else { (SOFT, Weight::Regular) };
    let source = figure.source.to_string();
    let last = lines.last().map_or(0.0, |l| font::width(l, size::TITLE, Weight::Bold));
    if !lines.is_empty() && last + 12.0 + font::width(&source, size::TICK, weight) <= room {
        s.text(source, s.width - EDGE, y - size::TITLE * 0.35, Anchor::End, size::TICK, weight, color);
    } else {
        for line in font::wrap(&source, size::TICK, weight, room) {
            y += size::TICK;
            s.text(line, EDGE, y, Anchor::Start, size::TICK, weight, color);
            y += size::TICK * 0.35;
        }
    }
    y + 4.0
}

fn grid(
    s: &mut Scene,
    figure: &Figure,
    panels: &[Panel],
    columns: usize,
    height: f64,
    top: f64,
) -> Result<f64, Refused> {
    let columns = columns.min(panels.len()).max(1);
    let rows = panels.len().div_ceil(columns);
    let bar = figure.colors.as_ref().map(|c| (c, heat::ruler(c, panels, height)));
    let missing = panels.iter().any(|p| matches!(&p.content, Content::Heat(h) if h.data.iter().any(|v| v.is_nan())));
    let bar_width = bar.as_ref().map_or(0.0, |(c, r)| heat::bar_width(c, r, missing));
    let room = s.width - 2.0 * EDGE - bar_width - GUTTER * (columns - 1) as f64;
    let about = room / columns as f64;
    let ready: Vec<Ready> = panels
        .iter()
        .map(|p| match &p.content {
            Content::Xy(xy) => Ready::Xy(xy::Fitted::new(xy, about - 40.0, height)),
            Content::Bars(d) => Ready::Bars(bars::Fitted::new(d, about - 40.0, height)),
            Content::Heat(h) => Ready::Heat(h),
        })
        .collect();
    let margins: Vec<Margins> = ready.iter().map(Ready::margins).collect();
    let of = |wanted: &dyn Fn(usize) -> bool| {
        margins.iter().enumerate().filter(|(i, _)| wanted(*i)).fold(Margins::default(), |a, (_, m)| a.join(*m))
    };
    let column: Vec<Margins> = (0..columns).map(|c| of(&|i| i % columns == c)).collect();
    // All plotting areas are equally wide, whatever their labels need.
    let plot = (room - column.iter().map(|m| m.left + m.right).sum::<f64>()) / columns as f64;
    let mut y = top;
    let mut first_plot_top = None;
    let mut last_bottom = top;
    for r in 0..rows {
        let m = of(&|i| i / columns == r);
        let titles: Vec<Vec<String>> = (0..columns)
            .filter_map(|c| panels.get(r * columns + c))
            .enumerate()
            .map(|(c, p)| {
                let letter = if panels.len() > 1 { letter_width() } else { 0.0 };
                font::wrap(&p.title, size::PANEL, Weight::Regular, plot + column[c].right - letter)
            })
            .collect();
        let lines = titles.iter().map(Vec::len).max().unwrap_or(0).max(usize::from(panels.len() > 1));
        let head = lines as f64 * size::PANEL * 1.3 + if lines > 0 { 2.0 } else { 0.0 };
        let tall = (0..columns)
            .filter_map(|c| ready.get(r * columns + c))
            .map(|p| match p {
                Ready::Heat(h) => plot * h.data.nrows() as f64 / h.data.ncols() as f64,
                _ => height,
            })
            .fold(0.0, f64::max);
        let area_top = y + head + m.top;
        first_plot_top.get_or_insert(area_top);
        let mut x = EDGE;
        for c in 0..columns {
            let i = r * columns + c;
            let Some(p) = ready.get(i) else { break };
            x += column[c].left;
            let area = [x, area_top, plot, tall];
            panel_title(s, panels.len(), i, &titles[c], x, y);
            match p {
                Ready::Xy(f) => f.draw(s, area)?,
                Ready::Bars(f) => f.draw(s, area)?,
                Ready::Heat(h) => {
                    if let Some((_, ruler)) = &bar {
                        heat::draw(s, h, ruler, area)?;
                    }
                }
            }
            x += plot + column[c].right + GUTTER;
        }
        last_bottom = area_top + tall;
        let below = last_bottom + m.bottom;
        let mut lowest = below;
        if figure.own_legends {
            let mut x = EDGE;
            for c in 0..columns {
                let Some(p) = panels.get(r * columns + c) else { break };
                let keys = legend::collect(std::slice::from_ref(p));
                let room = column[c].left + plot + column[c].right;
                lowest = lowest.max(legend::draw(s, &keys, below, x, room)?);
                x += room + GUTTER;
            }
        }
        y = lowest + if r + 1 < rows { 5.0 } else { 0.0 };
    }
    if let Some((c, ruler)) = &bar {
        let top = first_plot_top.unwrap_or(top);
        heat::draw_bar(
            s,
            c,
            ruler,
            missing,
            [s.width - EDGE - bar_width + 8.0, top, bar_width - 8.0, last_bottom - top],
        )?;
    }
    Ok(y + 2.0)
}

fn letter_width() -> f64 {
    font::width("(m) ", size::PANEL, Weight::Bold) + 1.0
}

fn panel_title(s: &mut Scene, of: usize, i: usize, lines: &[String], x: f64, y: f64) {
    let mut left = x;
    let base = y + size::PANEL;
    if of > 1 {
        let letter = format!("({})", char::from(b'a' + (i % 26) as u8));
        s.text(letter, x, base, Anchor::Start, size::PANEL, Weight::Bold, INK);
        left += letter_width();
    }
    for (k, line) in lines.iter().enumerate() {
        s.text(
            line.clone(),
            left,
            base + k as f64 * size::PANEL * 1.3,
            Anchor::Start,
            size::PANEL,
            Weight::Regular,
            INK,
        );
    }
}

/// Tick labels of a vertical axis: the widest one's width.
pub(crate) fn widest(r: &Ruler) -> f64 {
    r.ticks().iter().map(|t| font::width(&t.1, size::TICK, Weight::Regular)).fold(0.0, f64::max)
}

fn shifted(shape: &Shape, dx: f64, dy: f64) -> Shape {
    let mv = |p: &mut Vec<(f64, f64)>| p.iter_mut().for_each(|q| *q = (q.0 + dx, q.1 + dy));
    let mut s = shape.clone();
    match &mut s {
        Shape::Line { points, .. } | Shape::Fill { points, .. } => mv(points),
        Shape::Disc { at, .. } => *at = (at.0 + dx, at.1 + dy),
        Shape::Cells { area, .. } | Shape::Rect { area, .. } => {
            area[0] += dx;
            area[1] += dy;
        }
        Shape::Text(t) => {
            t.x += dx;
            t.y += dy;
        }
    }
    s
}
