//! Elements that plotters does not have: our markers, bars side by side with their numbers, and a matrix of many cells as one picture.

use std::iter::{Once, once};

use plotters::element::{Drawable, PointCollection};
use plotters::style::{Color, ShapeStyle};
use plotters_backend::text_anchor::{HPos, Pos, VPos};
use plotters_backend::{BackendCoord, DrawingBackend, DrawingErrorKind};

use super::style::{INK, Marker, PAPER, Rgb, size};
use crate::drawing::backend::{Pen, text_style, units};
use crate::drawing::font::Weight;

/// A marker with a thin rim of paper, so that it stands off from lines and other markers.
pub(crate) struct Dot<C> {
    /// Where.
    pub at: C,
    /// Moved to the right by so many points, beside the others of its group.
    pub shift: f64,
    pub marker: Marker,
    /// Radius in points.
    pub r: f64,
    pub color: Rgb,
}

impl<'a, C> PointCollection<'a, C> for &'a Dot<C> {
    type Point = &'a C;
    type IntoIter = Once<&'a C>;
    fn point_iter(self) -> Once<&'a C> {
        once(&self.at)
    }
}

impl<C, DB: DrawingBackend> Drawable<DB> for Dot<C> {
    fn draw<I: Iterator<Item = BackendCoord>>(
        &self,
        mut at: I,
        to: &mut DB,
        _: (u32, u32),
    ) -> Result<(), DrawingErrorKind<DB::ErrorType>> {
        let Some((x, y)) = at.next() else { return Ok(()) };
        let x = x + units(self.shift);
        let (ink, paper): (ShapeStyle, ShapeStyle) = (self.color.filled(), PAPER.filled());
        let near = |k: f64, (a, b): (f64, f64)| (x + units(k * self.r * a), y + units(k * self.r * b));
        let disc = |k: f64| units(k * self.r) as u32;
        let corners: &[(f64, f64)] = match self.marker {
            Marker::Disc => {
                to.draw_circle((x, y), disc(1.25), &paper, true)?;
                return to.draw_circle((x, y), disc(1.0), &ink, true);
            }
            Marker::Ring => {
                to.draw_circle((x, y), disc(1.0), &ink, true)?;
                return to.draw_circle((x, y), disc(0.55), &paper, true);
            }
            Marker::Cross => {
                let stroke = ink.stroke_width(units(0.5 * self.r) as u32);
                to.draw_path([near(0.8, (-1.0, -1.0)), near(0.8, (1.0, 1.0))], &stroke)?;
                return to.draw_path([near(0.8, (-1.0, 1.0)), near(0.8, (1.0, -1.0))], &stroke);
            }
            Marker::Square => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
            Marker::Triangle => &[(0.0, -1.15), (1.05, 0.8), (-1.05, 0.8)],
            Marker::Down => &[(0.0, 1.15), (1.05, -0.8), (-1.05, -0.8)],
            Marker::Diamond => &[(0.0, -1.2), (1.2, 0.0), (0.0, 1.2), (-1.2, 0.0)],
        };
        to.fill_polygon(corners.iter().map(|c| near(1.3, *c)), &paper)?;
        to.fill_polygon(corners.iter().map(|c| near(1.0, *c)), &ink)
    }
}

/// A bar between two heights, with a number at its far end.
pub(crate) struct Bar<C> {
    /// Where it begins and ends.
    pub ends: [C; 2],
    /// Moved to the right by so many points, beside the others of its group.
    pub shift: f64,
    /// Width in points.
    pub width: f64,
    pub color: Rgb,
    pub label: String,
}

impl<'a, C> PointCollection<'a, C> for &'a Bar<C> {
    type Point = &'a C;
    type IntoIter = std::slice::Iter<'a, C>;
    fn point_iter(self) -> Self::IntoIter {
        self.ends.iter()
    }
}

impl<C, DB: DrawingBackend> Drawable<DB> for Bar<C> {
    fn draw<I: Iterator<Item = BackendCoord>>(
        &self,
        mut at: I,
        to: &mut DB,
        _: (u32, u32),
    ) -> Result<(), DrawingErrorKind<DB::ErrorType>> {
        let (Some((x, base)), Some((_, end))) = (at.next(), at.next()) else { return Ok(()) };
        let (x, half) = (x + units(self.shift), units(self.width / 2.0));
        let ink: ShapeStyle = self.color.filled();
        to.draw_rect((x - half, base.min(end)), (x + half, base.max(end)), &ink, true)?;
        // Upwards on the page is towards zero.
        let (side, gap) = if end <= base { (VPos::Bottom, -0.8) } else { (VPos::Top, 0.8) };
        let style = text_style(size::TICK * 0.86, Weight::Regular, INK).pos(Pos::new(HPos::Center, side));
        to.draw_text(&self.label, &style, (x, end + units(gap)))
    }
}

/// A grid of coloured cells between two corners. Thousands of rectangles would make a large file; this becomes one picture.
pub(crate) struct Cells {
    pub corners: [(f64, f64); 2],
    pub rows: usize,
    pub cols: usize,
    /// Row by row; `None` is a missing cell.
    pub colors: Vec<Option<Rgb>>,
}

impl<'a> PointCollection<'a, (f64, f64)> for &'a Cells {
    type Point = &'a (f64, f64);
    type IntoIter = std::slice::Iter<'a, (f64, f64)>;
    fn point_iter(self) -> Self::IntoIter {
        self.corners.iter()
    }
}

impl<'p> Drawable<Pen<'p>> for Cells {
    fn draw<I: Iterator<Item = BackendCoord>>(
        &self,
        mut at: I,
        to: &mut Pen<'p>,
        _: (u32, u32),
    ) -> Result<(), DrawingErrorKind<std::convert::Infallible>> {
        if let (Some(from), Some(end)) = (at.next(), at.next()) {
            to.cells(from, end, self.rows, self.cols, self.colors.clone());
        }
        Ok(())
    }
}
