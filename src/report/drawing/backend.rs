//! The plotters backend that records what a chart draws as shapes of a [`Scene`].
//!
//! Why a backend of our own: plotters' SVG backend leaves text to the reader's fonts, its bitmap backend needs a system font or an
//! unmaintained parser, and neither tells where text ended up. From one recorded scene come SVG and PNG with text as outlines, and the
//! checks that no two labels overlap and nothing is cut off.

use std::convert::Infallible;

use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::style::{FontStyle, IntoFont, TextStyle};
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind, FontTransform,
};

use super::font::{self, Weight};
use super::scene::{Anchor, Scene, Shape, Text};
use crate::charts::style::Rgb;

/// Plotters counts in whole numbers; 20 to a point is finer than any printer.
pub const PER_POINT: f64 = 20.0;

/// Points as plotters counts them.
pub fn units(points: f64) -> i32 {
    (points * PER_POINT).round() as i32
}

fn points(units: i32) -> f64 {
    f64::from(units) / PER_POINT
}

fn place((x, y): BackendCoord) -> (f64, f64) {
    (points(x), points(y))
}

/// The embedded font as a style of plotters' texts.
pub fn text_style(size: f64, weight: Weight, color: Rgb) -> TextStyle<'static> {
    let style = if weight == Weight::Bold { FontStyle::Bold } else { FontStyle::Normal };
    (font::FAMILY, size * PER_POINT, style).into_font().color(&color)
}

/// Draws onto a scene on behalf of plotters.
pub struct Pen<'a>(&'a mut Scene);

/// A part of a scene that plotters draws on.
pub type Area<'a> = DrawingArea<Pen<'a>, Shift>;

/// What plotters says when it cannot draw; the pen itself never fails.
pub type Refused = DrawingAreaErrorKind<Infallible>;

/// The result of drawing.
pub type Drawn = Result<(), Refused>;

/// The rectangle (x, y, width, height in points) of a scene, for plotters to draw on.
pub fn area(scene: &mut Scene, [x, y, w, h]: [f64; 4]) -> Area<'_> {
    Pen(scene).into_drawing_area().shrink((units(x), units(y)), (units(w), units(h)))
}

type Done = Result<(), DrawingErrorKind<Infallible>>;

fn rgb(c: BackendColor) -> Rgb {
    plotters::style::RGBColor(c.rgb.0, c.rgb.1, c.rgb.2)
}

impl Pen<'_> {
    /// A grid of cells as one shape, for matrices of many cells.
    pub fn cells(&mut self, from: BackendCoord, to: BackendCoord, rows: usize, cols: usize, colors: Vec<Option<Rgb>>) {
        let ((x, y), (right, bottom)) = (place(from), place(to));
        self.0.shapes.push(Shape::Cells { area: [x, y, right - x, bottom - y], rows, cols, colors });
    }
}

impl DrawingBackend for Pen<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        (units(self.0.width) as u32, units(self.0.height) as u32)
    }

    fn ensure_prepared(&mut self) -> Done {
        Ok(())
    }

    fn present(&mut self) -> Done {
        Ok(())
    }

    fn draw_pixel(&mut self, at: BackendCoord, color: BackendColor) -> Done {
        self.draw_rect(at, (at.0 + 1, at.1 + 1), &color, true)
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> Done {
        self.draw_path([from, to], style)
    }

    fn draw_rect<S: BackendStyle>(&mut self, a: BackendCoord, b: BackendCoord, style: &S, fill: bool) -> Done {
        if !fill {
            return self.draw_path([a, (b.0, a.1), b, (a.0, b.1), a], style);
        }
        let (from, to) = ((a.0.min(b.0), a.1.min(b.1)), (a.0.max(b.0), a.1.max(b.1)));
        let area = [points(from.0), points(from.1), points(to.0 - from.0), points(to.1 - from.1)];
        self.0.shapes.push(Shape::Rect { area, color: rgb(style.color()), alpha: style.color().alpha });
        Ok(())
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, path: I, style: &S) -> Done {
        let mut path: Vec<BackendCoord> = path.into_iter().collect();
        path.dedup();
        // Plotters draws some outlines fully transparent, as "no outline".
        if path.len() > 1 && style.color().alpha > 0.0 {
            let (color, alpha) = (rgb(style.color()), style.color().alpha);
            let width = f64::from(style.stroke_width()) / PER_POINT;
            self.0.shapes.push(Shape::Line { points: path.into_iter().map(place).collect(), width, color, alpha });
        }
        Ok(())
    }

    fn draw_circle<S: BackendStyle>(&mut self, at: BackendCoord, r: u32, style: &S, _fill: bool) -> Done {
        // Our markers are made of filled discs only.
        self.0.shapes.push(Shape::Disc { at: place(at), r: f64::from(r) / PER_POINT, color: rgb(style.color()) });
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, vert: I, style: &S) -> Done {
        self.0.fill(vert.into_iter().map(place).collect(), rgb(style.color()), style.color().alpha);
        Ok(())
    }

    /// Lines of text one below the other; `pos` is where plotters anchors the first.
    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, pos: BackendCoord) -> Done {
        let (size, anchor) = (style.size() / PER_POINT, style.anchor());
        let weight = if matches!(style.style(), FontStyle::Bold) { Weight::Bold } else { Weight::Regular };
        let up = matches!(style.transform(), FontTransform::Rotate270);
        // From the anchor down to the baseline: capitals and digits are 0.73 of the size high.
        let down = size
            * match anchor.v_pos {
                VPos::Top => font::ASCENT,
                VPos::Center => 0.36,
                VPos::Bottom => -font::DESCENT,
            };
        let (x, y) = place(pos);
        let anchor = match anchor.h_pos {
            HPos::Left => Anchor::Start,
            HPos::Center => Anchor::Middle,
            HPos::Right => Anchor::End,
        };
        for (i, line) in text.lines().enumerate() {
            let down = down + i as f64 * size * 1.2;
            let (x, y) = if up { (x + down, y) } else { (x, y + down) };
            let color = rgb(style.color());
            self.0.shapes.push(Shape::Text(Text { text: line.into(), x, y, anchor, size, weight, color, up }));
        }
        Ok(())
    }

    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        style: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<Infallible>> {
        let weight = if matches!(style.style(), FontStyle::Bold) { Weight::Bold } else { Weight::Regular };
        Ok((font::width(text, style.size(), weight).round() as u32, style.size().round() as u32))
    }
}
