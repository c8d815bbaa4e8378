//! The embedded font: widths for the layout, outlines for the pictures.
//!
//! Two weights of a subset of Inter (SIL Open Font License, see `fonts/OFL.txt`) are part of the program, so figures need no
//! system font and have the same bytes on every machine. Text is measured and drawn from these outlines in both formats.

use std::sync::LazyLock;

use ab_glyph::{Font, FontRef, OutlineCurve};

/// The two weights of the house style.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Weight {
    /// Labels, ticks, legends.
    Regular,
    /// Titles and panel letters.
    Bold,
}

/// Bytes of the regular weight (TrueType).
pub const REGULAR: &[u8] = include_bytes!("fonts/regular.ttf");
/// Bytes of the semi-bold weight (TrueType).
pub const BOLD: &[u8] = include_bytes!("fonts/semibold.ttf");
/// Name under which the font is registered with plotters.
pub const FAMILY: &str = "Repro Sans";

/// Height above the baseline that a line of text needs, as a share of its size.
pub const ASCENT: f64 = 0.77;
/// Depth below the baseline that a line of text needs, as a share of its size.
pub const DESCENT: f64 = 0.21;

// `expect` cannot fire: the two byte strings are compiled in, and `embedded_fonts_parse` below reads both.
static FONTS: LazyLock<[FontRef<'static>; 2]> = LazyLock::new(|| {
    [REGULAR, BOLD].map(|bytes| FontRef::try_from_slice(bytes).expect("the embedded font is a valid TrueType file"))
});

/// Register the font with plotters, so that its own text elements can be used, too. Calling it twice does no harm.
pub fn register() {
    use plotters::style::{FontStyle, register_font};
    // Registration fails only on bytes that are no font; ours are read by a test.
    let _ = register_font(FAMILY, FontStyle::Normal, REGULAR);
    let _ = register_font(FAMILY, FontStyle::Bold, BOLD);
    let _ = register_font("sans-serif", FontStyle::Normal, REGULAR);
}

fn face(weight: Weight) -> &'static FontRef<'static> {
    &FONTS[weight as usize]
}

/// Font units per em; all outlines and advances below are in these units.
pub fn units_per_em(weight: Weight) -> f64 {
    f64::from(face(weight).units_per_em().unwrap_or(1000.0))
}

/// Advance width of `text` at `size` points, in points.
///
/// ```
/// use report::font::{width, Weight};
/// assert!((width("ab", 16.0, Weight::Regular) - 2.0 * width("ab", 8.0, Weight::Regular)).abs() < 1e-9);
/// ```
pub fn width(text: &str, size: f64, weight: Weight) -> f64 {
    let f = face(weight);
    let units: f64 = text.chars().map(|c| f64::from(f.h_advance_unscaled(f.glyph_id(c)))).sum();
    units * size / units_per_em(weight)
}

/// One glyph placed on a line: its id, and its x offset in font units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    /// Glyph number in the font.
    pub id: u16,
    /// Offset from the line's start.
    pub x: f64,
}

/// The glyphs of a line that have an outline (no spaces).
pub fn line(text: &str, weight: Weight) -> Vec<Placed> {
    let f = face(weight);
    let mut x = 0.0;
    let mut out = Vec::new();
    for c in text.chars() {
        let id = f.glyph_id(c);
        if !c.is_whitespace() {
            out.push(Placed { id: id.0, x });
        }
        x += f64::from(f.h_advance_unscaled(id));
    }
    out
}

/// SVG path data of a glyph in font units, y upwards.
pub fn path(id: u16, weight: Weight) -> String {
    let Some(outline) = face(weight).outline(ab_glyph::GlyphId(id)) else { return String::new() };
    let mut d = String::new();
    let mut at: Option<(f32, f32)> = None;
    let n = |v: f32| v.round() as i32;
    for curve in &outline.curves {
        let (start, end) = match curve {
            OutlineCurve::Line(a, b) => (a, b),
            OutlineCurve::Quad(a, _, b) => (a, b),
            OutlineCurve::Cubic(a, _, _, b) => (a, b),
        };
        if at != Some((start.x, start.y)) {
            d.push_str(&format!("M{} {}", n(start.x), n(start.y)));
        }
        match curve {
            OutlineCurve::Line(_, b) => d.push_str(&format!("L{} {}", n(b.x), n(b.y))),
            OutlineCurve::Quad(_, c, b) => d.push_str(&format!("Q{} {} {} {}", n(c.x), n(c.y), n(b.x), n(b.y))),
            OutlineCurve::Cubic(_, c, e, b) => {
                d.push_str(&format!("C{} {} {} {} {} {}", n(c.x), n(c.y), n(e.x), n(e.y), n(b.x), n(b.y)));
            }
        }
        at = Some((end.x, end.y));
    }
    d
}

/// Pixels covered by a line of text whose baseline starts at (0, 0): calls `put(x, y, coverage)`, `px` pixels per em.
pub fn raster(text: &str, px: f64, weight: Weight, mut put: impl FnMut(i32, i32, f32)) {
    let f = face(weight);
    // ab_glyph's scale is the line height (ascent - descent), not the em.
    let scale = px * f64::from(f.height_unscaled()) / units_per_em(weight);
    for g in line(text, weight) {
        let x = g.x * px / units_per_em(weight);
        let glyph = ab_glyph::GlyphId(g.id).with_scale_and_position(scale as f32, ab_glyph::point(x as f32, 0.0));
        if let Some(outlined) = f.outline_glyph(glyph) {
            let b = outlined.px_bounds();
            outlined.draw(|i, j, c| put(b.min.x as i32 + i as i32, b.min.y as i32 + j as i32, c));
        }
    }
}

/// The characters of `text` that the embedded subset does not have.
pub fn missing(text: &str) -> Vec<char> {
    let f = face(Weight::Regular);
    text.chars().filter(|&c| f.glyph_id(c).0 == 0).collect()
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
    fn embedded_fonts_parse() {
        for bytes in [REGULAR, BOLD] {
            assert!(FontRef::try_from_slice(bytes).is_ok());
        }
        assert!(REGULAR.len() + BOLD.len() < 100 * 1024);
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
