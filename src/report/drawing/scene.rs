//! A drawing after layout: shapes in points, origin at the top left, y downwards.
//!
//! Everything a figure shows is here: charts come through plotters ([`Pen`](super::backend::Pen)), titles, legends and free drawings
//! through the functions below. The tests look here for texts that overlap and shapes that are cut off: what they find holds for SVG and PNG alike.

use crate::charts::style::Rgb;
use crate::drawing::font::{self, Weight};

/// Where a text's x stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// At its left end.
    Start,
    /// At its middle.
    Middle,
    /// At its right end.
    End,
}

/// One line of text.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// What it says.
    pub text: String,
    /// Anchor point.
    pub x: f64,
    /// Baseline (before turning).
    pub y: f64,
    /// Where x stands.
    pub anchor: Anchor,
    /// Size in points.
    pub size: f64,
    /// Weight.
    pub weight: Weight,
    /// Colour.
    pub color: Rgb,
    /// Turned a quarter to the left, to be read from below (y axis labels).
    pub up: bool,
}

impl Text {
    /// The line's box (x0, y0, x1, y1).
    pub fn bounds(&self) -> [f64; 4] {
        let w = font::width(&self.text, self.size, self.weight);
        let shift = match self.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => -w / 2.0,
            Anchor::End => -w,
        };
        let (up, down) = (font::ASCENT * self.size, font::DESCENT * self.size);
        if self.up {
            [self.x - up, self.y - shift - w, self.x + down, self.y - shift]
        } else {
            [self.x + shift, self.y - up, self.x + shift + w, self.y + down]
        }
    }

    /// Where the glyphs begin: the left end of the baseline.
    pub fn origin(&self) -> (f64, f64) {
        let b = self.bounds();
        if self.up { (self.x, b[3]) } else { (b[0], self.y) }
    }
}

/// One thing to draw.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A polyline.
    Line {
        /// Corners.
        points: Vec<(f64, f64)>,
        /// Width in points.
        width: f64,
        /// Colour.
        color: Rgb,
        /// Opacity.
        alpha: f64,
    },
    /// A filled polygon.
    Fill {
        /// Corners.
        points: Vec<(f64, f64)>,
        /// Colour.
        color: Rgb,
        /// Opacity.
        alpha: f64,
    },
    /// A filled rectangle with sides along the axes; neighbours show no seam.
    Rect {
        /// x, y, width, height.
        area: [f64; 4],
        /// Colour.
        color: Rgb,
        /// Opacity.
        alpha: f64,
    },
    /// A disc.
    Disc {
        /// Centre.
        at: (f64, f64),
        /// Radius.
        r: f64,
        /// Colour.
        color: Rgb,
    },
    /// A grid of coloured cells; `None` is a missing one.
    Cells {
        /// x, y, width, height.
        area: [f64; 4],
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        cols: usize,
        /// Row by row.
        colors: Vec<Option<Rgb>>,
    },
    /// A line of text.
    Text(Text),
}

/// A drawing.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// Width in points.
    pub width: f64,
    /// Height in points.
    pub height: f64,
    /// In drawing order.
    pub shapes: Vec<Shape>,
}

impl Scene {
    /// An empty drawing.
    pub fn new(width: f64, height: f64) -> Self {
        Scene { width, height, shapes: Vec::new() }
    }

    /// Add a polyline.
    pub fn line(&mut self, points: Vec<(f64, f64)>, width: f64, color: Rgb) {
        if points.len() > 1 {
            self.shapes.push(Shape::Line { points, width, color, alpha: 1.0 });
        }
    }

    /// Add a filled polygon.
    pub fn fill(&mut self, points: Vec<(f64, f64)>, color: Rgb, alpha: f64) {
        if points.len() > 2 {
            self.shapes.push(Shape::Fill { points, color, alpha });
        }
    }

    /// Add a rectangle, filled and/or outlined.
    pub fn rect(&mut self, [x, y, w, h]: [f64; 4], fill: Option<Rgb>, outline: Option<(Rgb, f64)>) {
        if let Some(color) = fill {
            self.shapes.push(Shape::Rect { area: [x, y, w, h], color, alpha: 1.0 });
        }
        if let Some((color, width)) = outline {
            self.line(vec![(x, y), (x + w, y), (x + w, y + h), (x, y + h), (x, y)], width, color);
        }
    }

    /// Add a line of text.
    pub fn text(
        &mut self,
        text: impl Into<String>,
        x: f64,
        y: f64,
        anchor: Anchor,
        size: f64,
        weight: Weight,
        color: Rgb,
    ) {
        let text = Text { text: text.into(), x, y, anchor, size, weight, color, up: false };
        if !text.text.is_empty() {
            self.shapes.push(Shape::Text(text));
        }
    }

    /// All lines of text.
    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        self.shapes.iter().filter_map(|s| match s {
            Shape::Text(t) => Some(t),
            _ => None,
        })
    }
}
