//! A plotters backend that writes SVG with text as outlines.
//!
//! Why not plotters' own SVG backend: it writes text as `<text>` and leaves the font to the reader's machine, so labels
//! move and overlap elsewhere. An embedded web font would help browsers only: LaTeX, Inkscape and code hosts ignore or block it.
//! Outlines look the same everywhere. Each glyph is written once and referenced; title and description carry the words for
//! screen readers and search.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fmt::Write;

use plotters_backend::{BackendColor, BackendCoord, BackendStyle, DrawingBackend, DrawingErrorKind};

use crate::charts::style::Rgb;
use crate::drawing::font::{self, Weight};
use crate::drawing::paint::Surface;
use crate::drawing::png;
use crate::drawing::scene::Text;
use crate::page::escape::xml;

type Done = Result<(), DrawingErrorKind<Infallible>>;

/// Grids with more cells than this are written as an embedded image: one small file instead of thousands of paths.
const MAX_VECTOR_CELLS: usize = 4096;

/// Collects the body of an SVG file. Coordinates are whole numbers, `per_point` of them to a point.
pub struct SvgSurface {
    size: (u32, u32),
    per_point: f64,
    body: String,
    glyphs: BTreeSet<(Weight, u16)>,
    /// Consecutive strokes of one style become one path: dashes and grids stay small.
    stroke: Option<(String, String)>,
}

fn hex((r, g, b): (u8, u8, u8)) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

impl SvgSurface {
    /// A canvas of `width` x `height` points.
    pub fn new(width: f64, height: f64, per_point: f64) -> Self {
        let size = ((width * per_point).round() as u32, (height * per_point).round() as u32);
        SvgSurface { size, per_point, body: String::new(), glyphs: BTreeSet::new(), stroke: None }
    }

    fn flush(&mut self) {
        if let Some((style, d)) = self.stroke.take() {
            // Writing to a String cannot fail, here and below.
            let _ = writeln!(self.body, "<path fill=\"none\" {style} d=\"{d}\"/>");
        }
    }

    fn add(&mut self, element: &str) {
        self.flush();
        self.body.push_str(element);
        self.body.push('\n');
    }

    /// The finished file.
    pub fn finish(mut self, title: &str, description: &str) -> String {
        self.flush();
        let (w, h) = self.size;
        let (pw, ph) = (f64::from(w) / self.per_point, f64::from(h) / self.per_point);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{pw}pt\" height=\"{ph}pt\" viewBox=\"0 0 {w} {h}\" role=\"img\" \
             aria-labelledby=\"title desc\">\n<title id=\"title\">{}</title>\n<desc id=\"desc\">{}</desc>\n<defs>\n",
            xml(title),
            xml(description)
        );
        for &(weight, id) in &self.glyphs {
            let _ = writeln!(out, "<path id=\"{}\" d=\"{}\"/>", glyph_name(weight, id), font::path(id, weight));
        }
        out.push_str("</defs>\n");
        out.push_str(&self.body);
        out.push_str("</svg>\n");
        out
    }
}

fn glyph_name(weight: Weight, id: u16) -> String {
    format!("{}{id}", if weight == Weight::Regular { "r" } else { "b" })
}

fn opacity(name: &str, c: BackendColor) -> String {
    if c.alpha < 1.0 { format!(" {name}-opacity=\"{:.2}\"", c.alpha) } else { String::new() }
}

fn path_data(points: impl IntoIterator<Item = BackendCoord>) -> String {
    let mut d = String::new();
    let mut last: Option<BackendCoord> = None;
    for p in points {
        match last {
            None => {
                let _ = write!(d, "M{} {}", p.0, p.1);
            }
            Some(q) if q.1 == p.1 => {
                let _ = write!(d, "H{}", p.0);
            }
            Some(q) if q.0 == p.0 => {
                let _ = write!(d, "V{}", p.1);
            }
            Some(_) => {
                let _ = write!(d, "L{} {}", p.0, p.1);
            }
        }
        last = Some(p);
    }
    d
}

impl DrawingBackend for SvgSurface {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        self.size
    }

    fn ensure_prepared(&mut self) -> Done {
        Ok(())
    }

    fn present(&mut self) -> Done {
        Ok(())
    }

    fn draw_pixel(&mut self, (x, y): BackendCoord, color: BackendColor) -> Done {
        self.draw_rect((x, y), (x + 1, y + 1), &color, true)
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> Done {
        self.draw_path([from, to], style)
    }

    fn draw_rect<S: BackendStyle>(&mut self, a: BackendCoord, b: BackendCoord, style: &S, fill: bool) -> Done {
        let corners = [a, (b.0, a.1), b, (a.0, b.1)];
        if fill { self.fill_polygon(corners, style) } else { self.draw_path(corners.into_iter().chain([a]), style) }
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, path: I, style: &S) -> Done {
        let c = style.color();
        let mut look = format!("stroke=\"{}\" stroke-width=\"{}\"", hex(c.rgb), style.stroke_width());
        look.push_str(" stroke-linejoin=\"round\"");
        look.push_str(&opacity("stroke", c));
        let d = path_data(path);
        match &mut self.stroke {
            Some((same, all)) if *same == look => all.push_str(&d),
            _ => {
                self.flush();
                self.stroke = Some((look, d));
            }
        }
        Ok(())
    }

    fn draw_circle<S: BackendStyle>(&mut self, (x, y): BackendCoord, r: u32, style: &S, fill: bool) -> Done {
        let c = style.color();
        let look = if fill {
            format!("fill=\"{}\"{}", hex(c.rgb), opacity("fill", c))
        } else {
            format!("fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"", hex(c.rgb), style.stroke_width())
        };
        self.add(&format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\" {look}/>"));
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, points: I, style: &S) -> Done {
        let c = style.color();
        self.add(&format!("<path fill=\"{}\"{} d=\"{}Z\"/>", hex(c.rgb), opacity("fill", c), path_data(points)));
        Ok(())
    }
}

impl Surface for SvgSurface {
    fn text(&mut self, t: &Text, k: f64) -> Done {
        let (x, y) = t.origin();
        let scale = t.size * k / font::units_per_em(t.weight);
        let turn = if t.up { " rotate(-90)" } else { "" };
        let mut g = format!(
            "<g fill=\"{}\" transform=\"translate({} {}){turn} scale({scale:.5} -{scale:.5})\">",
            hex((t.color.0, t.color.1, t.color.2)),
            (x * k).round() as i64,
            (y * k).round() as i64
        );
        for p in font::line(&t.text, t.weight) {
            self.glyphs.insert((t.weight, p.id));
            let name = glyph_name(t.weight, p.id);
            let _ = match p.x.round() as i64 {
                0 => write!(g, "<use href=\"#{name}\"/>"),
                x => write!(g, "<use href=\"#{name}\" x=\"{x}\"/>"),
            };
        }
        g.push_str("</g>");
        self.add(&g);
        Ok(())
    }

    fn cells(&mut self, area: [f64; 4], rows: usize, cols: usize, colors: &[Option<Rgb>], k: f64) -> Done {
        let [x, y, w, h] = area.map(|v| v * k);
        let place = format!("translate({x:.1} {y:.1}) scale({:.4} {:.4})", w / cols as f64, h / rows as f64);
        if rows * cols > MAX_VECTOR_CELLS {
            let uri = png::data_uri(&png::cells(rows, cols, colors));
            self.add(&format!(
                "<image x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" preserveAspectRatio=\"none\" \
                 style=\"image-rendering:pixelated\" href=\"{uri}\"/>"
            ));
            return Ok(());
        }
        let mut by_color: std::collections::BTreeMap<(u8, u8, u8), String> = Default::default();
        for (i, c) in colors.iter().enumerate() {
            if let Some(c) = c {
                let d = by_color.entry((c.0, c.1, c.2)).or_default();
                let _ = write!(d, "M{} {}h1v1h-1z", i % cols, i / cols);
            }
        }
        self.add(&format!("<g transform=\"{place}\" shape-rendering=\"crispEdges\">"));
        for (c, d) in by_color {
            self.add(&format!("<path fill=\"{}\" d=\"{d}\"/>", hex(c)));
        }
        self.add("</g>");
        Ok(())
    }
}
