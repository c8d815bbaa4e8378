//! Writes a [`Scene`] as SVG with text as outlines.
//!
//! Why not plotters' own SVG backend: it writes text as `<text>` and leaves the font to the reader's machine, so labels
//! move and overlap elsewhere. An embedded web font would help browsers only: LaTeX, Inkscape and code hosts ignore or block it.
//! Outlines look the same everywhere. Each glyph is written once and referenced; title and description carry the words for
//! screen readers and search.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::backend::PER_POINT;
use super::font::{self, Weight};
use super::png;
use super::scene::{Scene, Shape, Text};
use crate::charts::style::{PAPER, Rgb};
use crate::page::escape::xml;

/// The body of a file as it grows. Coordinates are whole numbers, [`PER_POINT`] of them to a point.
#[derive(Default)]
struct Body {
    text: String,
    glyphs: BTreeSet<(Weight, char)>,
    /// Consecutive shapes of one look become one path: dashes, grids and cells stay small.
    open: Option<(String, String)>,
}

fn hex(c: Rgb) -> String {
    format!("#{:02x}{:02x}{:02x}", c.0, c.1, c.2)
}

fn opacity(name: &str, alpha: f64) -> String {
    if alpha < 1.0 { format!(" {name}-opacity=\"{alpha:.2}\"") } else { String::new() }
}

fn whole(v: f64) -> i64 {
    (v * PER_POINT).round() as i64
}

fn path_data(points: &[(f64, f64)]) -> String {
    let mut d = String::new();
    let mut last: Option<(i64, i64)> = None;
    for p in points {
        let (x, y) = (whole(p.0), whole(p.1));
        // Writing to a String cannot fail, here and below.
        let _ = match last {
            None => write!(d, "M{x} {y}"),
            Some(at) if at.1 == y => write!(d, "H{x}"),
            Some(at) if at.0 == x => write!(d, "V{y}"),
            Some(_) => write!(d, "L{x} {y}"),
        };
        last = Some((x, y));
    }
    d
}

fn glyph_name(weight: Weight, c: char) -> String {
    format!("{}{:x}", if weight == Weight::Regular { "r" } else { "b" }, c as u32)
}

impl Body {
    fn path(&mut self, look: String, d: &str) {
        match &mut self.open {
            Some((same, all)) if *same == look => all.push_str(d),
            _ => {
                self.close();
                self.open = Some((look, d.to_string()));
            }
        }
    }

    fn close(&mut self) {
        if let Some((look, d)) = self.open.take() {
            let _ = writeln!(self.text, "<path {look} d=\"{d}\"/>");
        }
    }

    fn element(&mut self, element: &str) {
        self.close();
        self.text.push_str(element);
        self.text.push('\n');
    }

    fn shape(&mut self, shape: &Shape) -> Result<(), ::png::EncodingError> {
        match shape {
            Shape::Line { points, width, color, alpha } => {
                let look = format!(
                    "fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"{}",
                    hex(*color),
                    whole(*width).max(1),
                    opacity("stroke", *alpha)
                );
                self.path(look, &path_data(points));
            }
            Shape::Fill { points, color, alpha } => {
                // Each polygon is its own path: two of one colour may overlap.
                let look = format!("fill=\"{}\"{}", hex(*color), opacity("fill", *alpha));
                self.element(&format!("<path {look} d=\"{}Z\"/>", path_data(points)));
            }
            Shape::Rect { area: [x, y, w, h], color, alpha } => {
                let look =
                    format!("shape-rendering=\"crispEdges\" fill=\"{}\"{}", hex(*color), opacity("fill", *alpha));
                let (left, top) = (whole(*x), whole(*y));
                let (w, h) = (whole(x + w) - left, whole(y + h) - top);
                self.path(look, &format!("M{left} {top}h{w}v{h}h-{w}z"));
            }
            Shape::Disc { at, r, color } => self.element(&format!(
                "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\"/>",
                whole(at.0),
                whole(at.1),
                whole(*r).max(1),
                hex(*color)
            )),
            Shape::Cells { area: [x, y, w, h], rows, cols, colors } => {
                let picture = png::cells(*rows, *cols, colors)?;
                self.element(&format!(
                    "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" \
                     style=\"image-rendering:pixelated\" href=\"{picture}\"/>",
                    whole(*x),
                    whole(*y),
                    whole(*w),
                    whole(*h)
                ));
            }
            Shape::Text(t) => self.letters(t),
        }
        Ok(())
    }

    fn letters(&mut self, t: &Text) {
        let (x, y) = t.origin();
        let scale = t.size * PER_POINT / font::units_per_em(t.weight);
        let turn = if t.up { " rotate(-90)" } else { "" };
        let place = format!("translate({} {}){turn} scale({scale:.5} -{scale:.5})", whole(x), whole(y));
        let mut group = format!("<g fill=\"{}\" transform=\"{place}\">", hex(t.color));
        for (c, x) in font::line(&t.text, t.weight) {
            self.glyphs.insert((t.weight, c));
            let name = glyph_name(t.weight, c);
            let _ = match x.round() as i64 {
                0 => write!(group, "<use href=\"#{name}\"/>"),
                x => write!(group, "<use href=\"#{name}\" x=\"{x}\"/>"),
            };
        }
        group.push_str("</g>");
        self.element(&group);
    }
}

/// The whole file.
pub fn write(scene: &Scene, title: &str, description: &str) -> Result<String, ::png::EncodingError> {
    let mut body = Body::default();
    body.shape(&Shape::Rect { area: [0.0, 0.0, scene.width, scene.height], color: PAPER, alpha: 1.0 })?;
    for shape in &scene.shapes {
        body.shape(shape)?;
    }
    body.close();
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.2}pt\" height=\"{:.2}pt\" viewBox=\"0 0 {} {}\" role=\"img\" \
         aria-labelledby=\"title desc\">\n<title id=\"title\">{}</title>\n<desc id=\"desc\">{}</desc>\n<defs>\n",
        scene.width,
        scene.height,
        whole(scene.width),
        whole(scene.height),
        xml(title),
        xml(description)
    );
    for &(weight, c) in &body.glyphs {
        let _ = writeln!(out, "<path id=\"{}\" d=\"{}\"/>", glyph_name(weight, c), font::path(c, weight));
    }
    out.push_str("</defs>\n");
    out.push_str(&body.text);
    out.push_str("</svg>\n");
    Ok(out)
}
