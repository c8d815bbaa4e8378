//! From a [`Scene`] to a file: SVG by our own writer, PNG by plotters' bitmap backend, smoothed and with our text.

use plotters::backend::BitMapBackend;
use plotters_backend::{BackendColor, BackendCoord, BackendStyle, DrawingBackend, DrawingErrorKind};

use crate::charts::style::Rgb;
use crate::drawing::backend::PER_POINT;
use crate::drawing::scene::{Scene, Shape, Text};
use crate::drawing::{font, png, svg};
use crate::error::Error;

/// Resolution of PNG files.
pub const DPI: f64 = 200.0;
/// Each pixel is the mean of this many squared: plotters draws lines and polygons without smoothing.
const OVERSAMPLE: usize = 3;

struct Ink {
    color: BackendColor,
    width: u32,
}

impl BackendStyle for Ink {
    fn color(&self) -> BackendColor {
        self.color
    }
    fn stroke_width(&self) -> u32 {
        self.width
    }
}

fn ink(c: Rgb, alpha: f64) -> BackendColor {
    BackendColor { alpha, rgb: (c.0, c.1, c.2) }
}

type Done<B> = Result<(), DrawingErrorKind<<B as DrawingBackend>::ErrorType>>;

/// Draws the shapes on a bitmap of `k` pixels per point.
fn paint<B: DrawingBackend>(scene: &Scene, b: &mut B, k: f64) -> Done<B> {
    // Through the units of the recording, so that shapes that share an edge share its pixels.
    let px = |v: f64| ((v * PER_POINT).round() / PER_POINT * k).round() as i32;
    let at = |p: &(f64, f64)| -> BackendCoord { (px(p.0), px(p.1)) };
    for shape in &scene.shapes {
        match shape {
            Shape::Line { points, width, color, alpha } => {
                let mut path: Vec<_> = points.iter().map(at).collect();
                path.dedup();
                if path.len() > 1 {
                    b.draw_path(path, &Ink { color: ink(*color, *alpha), width: (px(*width) as u32).max(1) })?;
                }
            }
            Shape::Fill { points, color, alpha } => b.fill_polygon(points.iter().map(at), &ink(*color, *alpha))?,
            Shape::Rect { area: [x, y, w, h], color, alpha } => {
                b.draw_rect((px(*x), px(*y)), (px(x + w), px(y + h)), &ink(*color, *alpha), true)?;
            }
            Shape::Disc { at: c, r, color } => {
                b.draw_circle(at(c), (px(*r) as u32).max(1), &ink(*color, 1.0), true)?;
            }
            Shape::Cells { area: [x, y, w, h], rows, cols, colors } => {
                let edge = |from: f64, length: f64, i: usize, n: usize| px(from + length * i as f64 / n as f64);
                for (i, color) in colors.iter().enumerate() {
                    let Some(color) = color else { continue };
                    let (r, c) = (i / cols, i % cols);
                    let from = (edge(*x, *w, c, *cols), edge(*y, *h, r, *rows));
                    let to = (edge(*x, *w, c + 1, *cols), edge(*y, *h, r + 1, *rows));
                    b.draw_rect(from, to, &ink(*color, 1.0), true)?;
                }
            }
            Shape::Text(t) => text(t, b, k)?,
        }
    }
    Ok(())
}

fn text<B: DrawingBackend>(t: &Text, b: &mut B, k: f64) -> Done<B> {
    let (x, y) = t.origin();
    let (x, y) = ((x * k).round() as i32, (y * k).round() as i32);
    let (w, h) = b.get_size();
    let mut result = Ok(());
    font::raster(&t.text, t.size * k, t.weight, |dx, dy, coverage| {
        let (px, py) = if t.up { (x + dy, y - dx) } else { (x + dx, y + dy) };
        if result.is_ok() && px >= 0 && py >= 0 && px < w as i32 && py < h as i32 {
            result = b.draw_pixel((px, py), ink(t.color, f64::from(coverage)));
        }
    });
    result
}

/// The scene as an SVG file.
pub fn svg(scene: &Scene, title: &str, description: &str) -> Result<String, Error> {
    svg::write(scene, title, description).map_err(|e| Error::Drawing { figure: title.into(), why: e.to_string() })
}

/// The scene as a PNG file at [`DPI`].
pub fn png(scene: &Scene, title: &str) -> Result<Vec<u8>, Error> {
    let (w, h) = ((scene.width * DPI / 72.0).round() as usize, (scene.height * DPI / 72.0).round() as usize);
    let (wide, high) = (w * OVERSAMPLE, h * OVERSAMPLE);
    let mut large = vec![255u8; wide * high * 3];
    let failed = |e: &dyn std::fmt::Display| Error::Drawing { figure: title.into(), why: e.to_string() };
    {
        let size = (wide as u32, high as u32);
        let mut b: BitMapBackend = BitMapBackend::with_buffer_and_format(&mut large, size).map_err(|e| failed(&e))?;
        paint(scene, &mut b, DPI / 72.0 * OVERSAMPLE as f64).map_err(|e| failed(&e))?;
    }
    let mut small = vec![0u8; w * h * 3];
    let n = (OVERSAMPLE * OVERSAMPLE) as u32;
    for (i, out) in small.iter_mut().enumerate() {
        let (y, x, c) = (i / 3 / w, i / 3 % w, i % 3);
        let row = |j: usize| ((y * OVERSAMPLE + j) * wide + x * OVERSAMPLE) * 3 + c;
        let sum: u32 = (0..OVERSAMPLE)
            .flat_map(|j| (0..OVERSAMPLE).map(move |k| (j, k)))
            .map(|(j, k)| u32::from(large[row(j) + 3 * k]))
            .sum();
        *out = ((sum + n / 2) / n) as u8;
    }
    png::encode(w, h, 3, &small, DPI).map_err(|e| failed(&e))
}
