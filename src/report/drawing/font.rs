//! The embedded font: widths for the layout, outlines for the pictures.
//!
//! Two weights of a subset of Inter (SIL Open Font License, see `fonts/OFL.txt`) are part of the program, so figures need no
//! system font and have the same bytes on every machine. The outlines are read from text that `fonts/outlines.py` made of the font
//! files, so no font parser is built: the one that plotters offers (ttf-parser, RUSTSEC-2026-0192) is not maintained.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use ab_glyph_rasterizer::{Point, Rasterizer, point};

/// The two weights of the house style.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Weight {
    /// Labels, ticks, legends.
    Regular,
    /// Titles and panel letters.
    Bold,
}

/// The font's name in plotters' text styles.
pub const FAMILY: &str = "Repro Sans";

/// Height above the baseline that a line of text needs, as a share of its size.
pub const ASCENT: f64 = 0.77;
/// Depth below the baseline that a line of text needs, as a share of its size.
pub const DESCENT: f64 = 0.21;

const OUTLINES: [&str; 2] = [include_str!("fonts/regular.txt"), include_str!("fonts/semibold.txt")];

#[derive(Clone, Copy, Debug, Default)]
struct Glyph {
    advance: f64,
    path: &'static str,
}

#[derive(Debug)]
struct Face {
    units_per_em: f64,
    glyphs: BTreeMap<char, Glyph>,
}

impl Face {
    /// Lines that do not read are left out; the test `embedded_outlines_read` finds them.
    fn read(text: &'static str) -> Face {
        let (em, lines) = text.split_once('\n').unwrap_or((text, ""));
        let glyph = |line: &'static str| {
            let mut parts = line.splitn(3, ' ');
            let code = u32::from_str_radix(parts.next()?, 16).ok().and_then(char::from_u32)?;
            let advance = parts.next()?.parse().ok()?;
            Some((code, Glyph { advance, path: parts.next().unwrap_or("") }))
        };
        Face { units_per_em: em.parse().unwrap_or(1000.0), glyphs: lines.lines().filter_map(glyph).collect() }
    }

    /// A character that the font does not have takes the place of the box at code point 0.
    fn glyph(&self, c: char) -> Glyph {
        self.glyphs.get(&c).or_else(|| self.glyphs.get(&'\0')).copied().unwrap_or_default()
    }
}

static FACES: LazyLock<[Face; 2]> = LazyLock::new(|| OUTLINES.map(Face::read));

fn face(weight: Weight) -> &'static Face {
    &FACES[weight as usize]
}

/// Font units per em; all outlines and advances below are in these units.
pub fn units_per_em(weight: Weight) -> f64 {
    face(weight).units_per_em
}

/// Advance width of `text` at `size` points, in points.
///
/// ```
/// use report::font::{width, Weight};
/// assert!((width("ab", 16.0, Weight::Regular) - 2.0 * width("ab", 8.0, Weight::Regular)).abs() < 1e-9);
/// ```
pub fn width(text: &str, size: f64, weight: Weight) -> f64 {
    let units: f64 = text.chars().map(|c| face(weight).glyph(c).advance).sum();
    units * size / units_per_em(weight)
}

/// The characters of a line that have an outline, each with its offset from the line's start in font units.
pub fn line(text: &str, weight: Weight) -> Vec<(char, f64)> {
    let mut x = 0.0;
    let mut out = Vec::new();
    for c in text.chars() {
        let glyph = face(weight).glyph(c);
        if !glyph.path.is_empty() {
            out.push((c, x));
        }
        x += glyph.advance;
    }
    out
}

/// SVG path data of a character in font units, y upwards.
pub fn path(c: char, weight: Weight) -> &'static str {
    face(weight).glyph(c).path
}

/// Pixels covered by a line of text whose baseline starts at (0, 0): calls `put(x, y, coverage)`, `px` pixels per em.
pub fn raster(text: &str, px: f64, weight: Weight, mut put: impl FnMut(i32, i32, f32)) {
    let scale = px / units_per_em(weight);
    let (up, down) = ((px * 1.1).ceil(), (px * 0.4).ceil());
    let mut ink = Rasterizer::new((width(text, px, weight) + px).ceil() as usize, (up + down) as usize);
    // Half an em on the left: an outline may begin before its place on the line.
    let left = (px / 2.0).ceil();
    for (c, offset) in line(text, weight) {
        trace(path(c, weight), &mut ink, |x, y| point(((offset + x) * scale + left) as f32, (up - y * scale) as f32));
    }
    let wide = ink.dimensions().0;
    ink.for_each_pixel(|i, coverage| {
        if coverage > 0.0 {
            put((i % wide) as i32 - left as i32, (i / wide) as i32 - up as i32, coverage.min(1.0));
        }
    });
}

/// Draws path data of M, L, Q and Z onto a rasterizer.
fn trace(data: &str, ink: &mut Rasterizer, place: impl Fn(f64, f64) -> Point) {
    let (mut start, mut at) = (point(0.0, 0.0), point(0.0, 0.0));
    let mut rest = data;
    while let Some(letter) = rest.chars().next() {
        let body = &rest[1..];
        let end = body.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(body.len());
        let numbers: Vec<f64> = body[..end].split(' ').filter_map(|n| n.parse().ok()).collect();
        let points: Vec<Point> = numbers.chunks_exact(2).map(|p| place(p[0], p[1])).collect();
        match (letter, points.as_slice()) {
            ('M', [p]) => (start, at) = (*p, *p),
            ('L', [p]) => {
                ink.draw_line(at, *p);
                at = *p;
            }
            ('Q', [c, p]) => {
                ink.draw_quad(at, *c, *p);
                at = *p;
            }
            _ => {
                ink.draw_line(at, start);
                at = start;
            }
        }
        rest = &body[end..];
    }
}

/// The characters of `text` that the embedded subset does not have.
pub fn missing(text: &str) -> Vec<char> {
    text.chars().filter(|c| !face(Weight::Regular).glyphs.contains_key(c)).collect()
}

/// Break `text` at spaces into lines no wider than `max` points (a longer single word stays whole).
pub fn wrap(text: &str, size: f64, weight: Weight, max: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(last) if width(&format!("{last} {word}"), size, weight) <= max => {
                last.push(' ');
                last.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_outlines_read() {
        for (text, face) in OUTLINES.iter().zip(FACES.iter()) {
            assert_eq!(face.glyphs.len(), text.lines().count() - 1);
            assert!(face.glyphs.values().all(|g| g.path.is_empty() || g.path.ends_with('Z')));
        }
        // A letter with a hole: ink on its ring, none in its middle.
        let mut pixels = BTreeMap::new();
        raster("o", 60.0, Weight::Regular, |x, y, c| {
            pixels.insert((x, y), c);
        });
        let (w, middle) = (width("o", 60.0, Weight::Regular) as i32, -16);
        assert!(!pixels.contains_key(&(w / 2, middle)));
        assert!(pixels.keys().any(|(x, y)| *x < w / 2 - 8 && *y == middle));
    }

    #[test]
    fn has_what_the_figures_write() {
        assert_eq!(missing("10⁻⁰¹²³⁴⁵⁶⁷⁸⁹ ± × → − ≤ ≥ χ² λ Φ Σ ∞ ✓ ✗ ≈ √ · … – —"), vec![]);
        assert_eq!(missing("a漢"), vec!['漢']);
    }

    #[test]
    fn wrapping_respects_the_width() {
        let text = "completion error against the share of missing samples";
        let lines = wrap(text, 8.0, Weight::Regular, 90.0);
        assert!(lines.len() > 1);
        assert!(lines.iter().all(|l| width(l, 8.0, Weight::Regular) <= 90.0));
        assert_eq!(lines.join(" "), text);
    }
}
