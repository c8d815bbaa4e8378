//! Figure 1: the partial trace. A qm x qm matrix of m x m blocks; the trace of each block is one entry of the q x q result.

use ndarray::Array2;

use crate::charts::figure::Figure;
use crate::charts::style::{INK, PALETTE, PAPER, Width, luminance, size, viridis};
use crate::drawing::font::Weight;
use crate::drawing::scene::{Anchor, Scene};
use crate::tables::number::minus;

/// Draw the partial trace of `matrix` (side `q * m`) over its m x m blocks; diagonals of the blocks are outlined, and each
/// block's trace stands in the result.
pub fn partial_trace(matrix: &Array2<f64>, m: usize) -> Figure {
    let n = matrix.nrows().min(matrix.ncols());
    let m = m.clamp(1, n.max(1));
    let q = n / m;
    let result = Array2::from_shape_fn((q, q), |(i, j)| (0..m).map(|k| matrix[[i * m + k, j * m + k]]).sum::<f64>());
    let width = Width::OneColumn.points();
    let side = 112.0;
    let mut s = Scene::new(width, side + 22.0);
    let top = 3.0;
    let x0 = 8.0;
    let cell = side / (q * m).max(1) as f64;
    let _ = cells(&mut s, matrix, q * m, [x0, top, side, side]);
    for b in 0..q * q {
        let (i, j) = (b / q, b % q);
        for k in 0..m {
            let at = [x0 + (j * m + k) as f64 * cell, top + (i * m + k) as f64 * cell, cell, cell];
            s.rect([at[0] + 0.6, at[1] + 0.6, cell - 1.2, cell - 1.2], None, Some((PALETTE[1], 1.1)));
        }
    }
    for i in 0..=q {
        let d = i as f64 * m as f64 * cell;
        s.line(vec![(x0 + d, top), (x0 + d, top + side)], 1.0, PAPER);
        s.line(vec![(x0, top + d), (x0 + side, top + d)], 1.0, PAPER);
    }
    s.rect([x0, top, side, side], None, Some((INK, 0.7)));
    let base = top + side + size::LABEL * 1.35;
    let label = format!("{n} × {n}, blocks of {m} × {m}", n = q * m);
    s.text(label, x0 + side / 2.0, base, Anchor::Middle, size::LABEL, Weight::Regular, INK);

    // The result is drawn with cells as large as half a block, so that numbers fit.
    let small = (side * 0.55).max(1.0);
    let x1 = width - small - 8.0;
    let y1 = top + (side - small) / 2.0;
    let mid = (x0 + side + x1) / 2.0;
    let middle = top + side / 2.0;
    s.line(vec![(x0 + side + 8.0, middle), (x1 - 11.0, middle)], 1.0, INK);
    s.fill(vec![(x1 - 6.0, middle), (x1 - 12.0, middle - 3.0), (x1 - 12.0, middle + 3.0)], INK, 1.0);
    s.text("trace of", mid, middle - 13.0, Anchor::Middle, size::LABEL, Weight::Regular, INK);
    s.text("each block", mid, middle - 4.5, Anchor::Middle, size::LABEL, Weight::Regular, INK);
    let scale = cells(&mut s, &result, q, [x1, y1, small, small]);
    s.rect([x1, y1, small, small], None, Some((INK, 0.7)));
    let step = small / q.max(1) as f64;
    for ((i, j), v) in result.indexed_iter() {
        let c = viridis(scale(*v));
        let ink = if luminance(c) > 0.3 { INK } else { PAPER };
        let at = (x1 + (j as f64 + 0.5) * step, y1 + (i as f64 + 0.5) * step + size::TICK * 0.36);
        s.text(minus(&format!("{v:.1}")), at.0, at.1, Anchor::Middle, size::TICK, Weight::Regular, ink);
    }
    let below = y1 + small + size::LABEL * 1.35;
    s.text(format!("{q} × {q}"), x1 + small / 2.0, below, Anchor::Middle, size::LABEL, Weight::Regular, INK);
    let alt = format!(
        "A {n} by {n} matrix of {m} by {m} blocks; the trace of each block gives one entry of a {q} by {q} matrix."
    );
    Figure::drawing("figure1", "The partial trace", Width::OneColumn, s).words(alt, "")
}

/// Draw the leading `n` x `n` part; returns the map from value to [0, 1].
fn cells(s: &mut Scene, a: &Array2<f64>, n: usize, area: [f64; 4]) -> impl Fn(f64) -> f64 + use<> {
    let (lo, hi) = a.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
    let span = if hi > lo { hi - lo } else { 1.0 };
    let place = move |v: f64| (v - lo) / span;
    let [x, y, w, h] = area;
    let (w, h) = (w / n.max(1) as f64, h / n.max(1) as f64);
    for (i, j) in (0..n * n).map(|k| (k / n, k % n)) {
        s.rect([x + j as f64 * w, y + i as f64 * h, w, h], Some(viridis(place(a[[i, j]]))), None);
    }
    place
}
