//! A small plot for the terminal, in braille dots: enough to see a curve fall without leaving the shell.

use crate::charts::axis::{Axis, Ruler, Scale};
use crate::tables::number::plain;

/// Plot y over its index or x as text, `columns` x `rows` characters for the dots plus labels; plain text, no colour.
///
/// ```
/// let text = report::term::plot("loss", &[(0.0, 1.0), (1.0, 0.1), (2.0, 0.01)], report::axis::Scale::Log, 20, 4);
/// assert!(text.starts_with("loss") && text.lines().count() == 6);
/// ```
pub fn plot(title: &str, points: &[(f64, f64)], scale: Scale, columns: usize, rows: usize) -> String {
    let (columns, rows) = (columns.max(4), rows.max(2));
    let axis = Axis { scale, ..Axis::linear("") };
    let x = Ruler::fit(&Axis::linear(""), points.iter().map(|p| p.0), 4);
    let y = Ruler::fit(&axis, points.iter().map(|p| p.1), rows);
    let (w, h) = (columns * 2, rows * 4);
    let mut dots = vec![0u32; columns * rows];
    let mut set = |i: usize, j: usize| {
        // Bits of a braille cell: left column 1 2 3 7, right column 4 5 6 8.
        const BIT: [[u32; 2]; 4] = [[0, 3], [1, 4], [2, 5], [6, 7]];
        dots[(j / 4) * columns + i / 2] |= 1 << BIT[j % 4][i % 2];
    };
    let place = |p: &(f64, f64)| {
        let (tx, ty) = (x.place(p.0)?, y.place(p.1)?);
        let inside = |t: f64| (0.0..=1.0).contains(&t);
        (inside(tx) && inside(ty)).then(|| (tx * (w - 1) as f64, (1.0 - ty) * (h - 1) as f64))
    };
    for pair in points.windows(2) {
        if let (Some(a), Some(b)) = (place(&pair[0]), place(&pair[1])) {
            let steps = (b.0 - a.0).abs().max((b.1 - a.1).abs()).ceil().max(1.0) as usize;
            for k in 0..=steps {
                let t = k as f64 / steps as f64;
                set((a.0 + t * (b.0 - a.0)).round() as usize, (a.1 + t * (b.1 - a.1)).round() as usize);
            }
        }
    }
    for p in points.iter().filter_map(place) {
        set(p.0.round() as usize, p.1.round() as usize);
    }
    let mut label = vec![String::new(); rows];
    for (v, text) in &y.ticks() {
        if let Some(t) = y.place(*v).filter(|t| (0.0..=1.0).contains(t)) {
            label[((1.0 - t) * (rows - 1) as f64).round() as usize] = text.clone();
        }
    }
    let wide = label.iter().map(|l| l.chars().count()).max().unwrap_or(0);
    let mut out = format!("{title}\n");
    for r in 0..rows {
        let pad = " ".repeat(wide - label[r].chars().count());
        // 0x2800 + 8 bits is always a braille sign.
        let line: String =
            (0..columns).map(|c| char::from_u32(0x2800 + dots[r * columns + c]).unwrap_or(' ')).collect();
        out.push_str(&format!("{pad}{} ┤{line}\n", label[r]));
    }
    let (low, high) = x.ends();
    let (first, last) = (plain(low), plain((high * 100.0).round() / 100.0));
    let space = columns.saturating_sub(first.chars().count() + last.chars().count());
    out.push_str(&format!("{} └{first}{}{last}\n", " ".repeat(wide), "─".repeat(space)));
    out
}
