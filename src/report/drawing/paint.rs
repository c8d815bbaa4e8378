//! From a [`Scene`] to pixels or SVG, through plotters' backends: one painter for both, so both show the same.

use plotters::backend::BitMapBackend;
use plotters_backend::{BackendColor, BackendCoord, BackendStyle, DrawingBackend, DrawingErrorKind};

use crate::charts::style::{DASHES, PAPER, Rgb};
use crate::drawing::font;
use crate::drawing::png;
use crate::drawing::scene::{Scene, Shape, Text};
use crate::drawing::svg::SvgSurface;
use crate::error::Error;

/// Whole numbers per point in SVG files: 0.05 pt is finer than any printer.
const SVG_PER_POINT: f64 = 20.0;
/// Resolution of PNG files.
pub const DPI: f64 = 200.0;
/// Each pixel is the mean of this many squared: plotters draws lines and polygons without smoothing.
const OVERSAMPLE: usize = 3;

type Done<B> = Result<(), DrawingErrorKind<<B as DrawingBackend>::ErrorType>>;

/// What we need beyond plotters' backend: text from our own font, and grids of cells.
pub trait Surface: DrawingBackend {
    /// Draw a line of text; `k` device units per point.
    fn text(&mut self, t: &Text, k: f64) -> Done<Self>;
    /// Draw a grid of cells.
    fn cells(&mut self, area: [f64; 4], rows: usize, cols: usize, colors: &[Option<Rgb>], k: f64) -> Done<Self>;
}

struct Pen {
    color: BackendColor,
    width: u32,
}

impl BackendStyle for Pen {
    fn color(&self) -> BackendColor {
        self.color
    }
    fn stroke_width(&self) -> u32 {
        self.width
    }
}

fn opaque(c: Rgb) -> BackendColor {
    BackendColor { alpha: 1.0, rgb: (c.0, c.1, c.2) }
}

impl Surface for BitMapBackend<'_> {
    fn text(&mut self, t: &Text, k: f64) -> Done<Self> {
        let (x, y) = t.origin();
        let (x, y) = ((x * k).round() as i32, (y * k).round() as i32);
        let (w, h) = self.get_size();
        let color = opaque(t.color);
        let mut result = Ok(());
        font::raster(&t.text, t.size * k, t.weight, |dx, dy, coverage| {
            let (px, py) = if t.up { (x + dy, y - dx) } else { (x + dx, y + dy) };
            if result.is_ok() && px >= 0 && py >= 0 && px < w as i32 && py < h as i32 {
                result = self.draw_pixel((px, py), color.mix(f64::from(coverage)));
            }
        });
        result
    }

    fn cells(
        &mut self,
        [x, y, w, h]: [f64; 4],
        rows: usize,
        cols: usize,
        colors: &[Option<Rgb>],
        k: f64,
    ) -> Done<Self> {
        let edge = |from: f64, len: f64, i: usize, n: usize| ((from + len * i as f64 / n as f64) * k).round() as i32;
        for (i, c) in colors.iter().enumerate() {
            let Some(c) = c else { continue };
            let (r, q) = (i / cols, i % cols);
            let a = (edge(x, w, q, cols), edge(y, h, r, rows));
            let b = (edge(x, w, q + 1, cols), edge(y, h, r + 1, rows));
            self.draw_rect(a, b, &opaque(*c), true)?;
        }
        Ok(())
    }
}

/// Cut a polyline into the drawn pieces of a dash pattern (lengths in points).
fn dashes(points: &[(f64, f64)], pattern: &[f64]) -> Vec<Vec<(f64, f64)>> {
    // Coordinates come from fitted axes and are finite; a hand-made scene must not hang the painter.
    if points.len() < 2 || points.iter().any(|p| !p.0.is_finite() || !p.1.is_finite()) {
        return vec![];
    }
    if pattern.is_empty() {
        return vec![points.to_vec()];
    }
    let (mut out, mut piece) = (Vec::new(), vec![points[0]]);
    let (mut at, mut left) = (0, pattern[0]);
    for pair in points.windows(2) {
        let (mut a, b) = (pair[0], pair[1]);
        loop {
            let len = (b.0 - a.0).hypot(b.1 - a.1);
            if len <= left {
                left -= len;
                piece.push(b);
                break;
            }
            let t = left / len;
            a = (a.0 + t * (b.0 - a.0), a.1 + t * (b.1 - a.1));
            piece.push(a);
            if at % 2 == 0 {
                out.push(std::mem::take(&mut piece));
            }
            piece = vec![a];
            at = (at + 1) % pattern.len();
            left = pattern[at];
        }
    }
    if at % 2 == 0 && piece.len() > 1 {
        out.push(piece);
    }
    out
}

fn paint<B: Surface>(scene: &Scene, b: &mut B, k: f64) -> Done<B> {
    let at = |p: &(f64, f64)| -> BackendCoord { ((p.0 * k).round() as i32, (p.1 * k).round() as i32) };
    let wide = |w: f64| ((w * k).round() as u32).max(1);
    b.ensure_prepared()?;
    for shape in &scene.shapes {
        match shape {
            Shape::Line { points, width, color, dash } => {
                let pen = Pen { color: opaque(*color), width: wide(*width) };
                for piece in dashes(points, DASHES[*dash]) {
                    let mut p: Vec<_> = piece.iter().map(at).collect();
                    p.dedup();
                    if p.len() > 1 {
                        b.draw_path(p, &pen)?;
                    }
                }
            }
            Shape::Fill { points, color, alpha } => {
                b.fill_polygon(points.iter().map(at), &BackendColor { alpha: *alpha, ..opaque(*color) })?;
            }
            Shape::Disc { at: c, r, color, filled } => {
                if *filled {
                    b.draw_circle(at(c), wide(*r), &opaque(*color), true)?;
                } else {
                    b.draw_circle(at(c), wide(*r), &opaque(*color), true)?;
                    b.draw_circle(at(c), wide(r * 0.55), &opaque(PAPER), true)?;
                }
            }
            Shape::Cells { area, rows, cols, colors } => b.cells(*area, *rows, *cols, colors, k)?,
            Shape::Text(t) => b.text(t, k)?,
        }
    }
    b.present()
}

/// The scene as an SVG file.
pub fn svg(scene: &Scene, title: &str, description: &str) -> Result<String, Error> {
    let mut s = SvgSurface::new(scene.width, scene.height, SVG_PER_POINT);
    let (w, h) = s.get_size();
    let drawn = s
        .draw_rect((0, 0), (w as i32, h as i32), &opaque(PAPER), true)
        .and_then(|()| paint(scene, &mut s, SVG_PER_POINT));
    drawn.map_err(|e| Error::Drawing { figure: title.into(), why: e.to_string() })?;
    Ok(s.finish(title, description))
}

/// The scene as a PNG file at [`DPI`].
pub fn png(scene: &Scene, title: &str) -> Result<Vec<u8>, Error> {
    let (w, h) = ((scene.width * DPI / 72.0).round() as usize, (scene.height * DPI / 72.0).round() as usize);
    let (bw, bh) = (w * OVERSAMPLE, h * OVERSAMPLE);
    let mut big = vec![255u8; bw * bh * 3];
    let failed = |e: String| Error::Drawing { figure: title.into(), why: e };
    {
        let mut b = BitMapBackend::with_buffer_and_format(&mut big, (bw as u32, bh as u32))
            .map_err(|e| failed(e.to_string()))?;
        paint(scene, &mut b, DPI / 72.0 * OVERSAMPLE as f64).map_err(|e| failed(e.to_string()))?;
    }
    let mut small = vec![0u8; w * h * 3];
    for y in 0..h {
        for x in 0..w {
            for c in 0..3 {
                let mut sum = 0u32;
                for j in 0..OVERSAMPLE {
                    for i in 0..OVERSAMPLE {
                        sum += u32::from(big[((y * OVERSAMPLE + j) * bw + x * OVERSAMPLE + i) * 3 + c]);
                    }
                }
                let n = (OVERSAMPLE * OVERSAMPLE) as u32;
                small[(y * w + x) * 3 + c] = ((sum + n / 2) / n) as u8;
            }
        }
    }
    Ok(png::encode(w, h, 3, &small, DPI))
}
