//! Forward and backward pass through a layer whose operators are kept apart: one operator at a time, all samples at once.
//!
//! P_s = sum_k (A_k X_s) A_k^T, dA_k = sum_s D_s^T (A_k X_s) + D_s (A_k X_s^T) and dX_s = sum_k A_k^T D_s A_k, as in
//! [`crate::work`]. While one k is worked on, A_k and its gradient stay in the first cache, and what all samples add to
//! that gradient is a single product: with T kept as T[k][s][a][i] and D as D[s][a][c], the sum over samples and rows is
//! one long inner dimension.

use crate::layout::Layer;
use linalg::Real;
use linalg::kernels::small_gemm;

/// Rows of a symmetric output computed together.
const STRIP: usize = 8;

/// `out` (+)= T W^T for T (q, n) and W^T (n, q). Of a symmetric result each strip of rows is computed up to the diagonal.
pub(crate) fn add_output<T: Real>(
    (q, n): (usize, usize),
    t: &[T],
    flipped: &[T],
    out: &mut [T],
    half: bool,
    add: bool,
) {
    let strip = if half { STRIP } else { q };
    for row in (0..q).step_by(strip) {
        let end = (row + strip).min(q);
        let columns = if half { end } else { q };
        small_gemm((end - row, columns, n), &t[row * n..], (n, 1), flipped, q, &mut out[row * q..], q, add);
    }
}

/// Copies the lower half of a (q, q) matrix to the upper one.
pub(crate) fn mirror<T: Real>(q: usize, out: &mut [T]) {
    for i in 1..q {
        for j in 0..i {
            out[j * q + i] = out[i * q + j];
        }
    }
}

/// T and the outputs of the samples `x`; `w` as it is kept, `flipped` with each operator transposed.
pub(crate) fn forward<'x, T: Real + 'x>(
    &Layer { q, p, .. }: &Layer,
    (w, flipped): (&[T], &[T]),
    x: impl Iterator<Item = &'x [T]> + Clone,
    t: &mut [T],
    out: &mut [T],
    symmetric: bool,
) {
    let size = q * p;
    let count = x.clone().count();
    let operators = w.chunks_exact(size).zip(flipped.chunks_exact(size)).zip(t.chunks_exact_mut(count * size));
    for (k, ((a, flipped), t)) in operators.enumerate() {
        for ((x, t), out) in x.clone().zip(t.chunks_exact_mut(size)).zip(out.chunks_exact_mut(q * q)) {
            small_gemm((q, p, p), a, (p, 1), x, p, t, p, false);
            add_output((q, p), t, flipped, out, symmetric, k > 0);
        }
    }
    if symmetric {
        out.chunks_exact_mut(q * q).take(count).for_each(|out| mirror(q, out));
    }
}

/// Adds sum_s D_s^T T_s to the gradient, for `count` samples.
pub(crate) fn gradient<T: Real>(&Layer { q, p, .. }: &Layer, count: usize, d: &[T], t: &[T], grad: &mut [T]) {
    for (t, grad) in t.chunks_exact(count * q * p).zip(grad.chunks_exact_mut(q * p)) {
        small_gemm((q, p, count * q), d, (1, q), t, p, grad, p, true);
    }
}

/// Adds D (A_k X^T) of one sample to the gradient, given X^T; `room` for one product.
pub(crate) fn other_gradient<T: Real>(
    &Layer { q, p, .. }: &Layer,
    w: &[T],
    d: &[T],
    flipped_x: &[T],
    room: &mut [T],
    grad: &mut [T],
) {
    for (a, grad) in w.chunks_exact(q * p).zip(grad.chunks_exact_mut(q * p)) {
        small_gemm((q, p, p), a, (p, 1), flipped_x, p, room, p, false);
        small_gemm((q, p, q), d, (q, 1), room, p, grad, p, true);
    }
}

/// dX = sum_k A_k^T D A_k of one sample; `room` for one product.
pub(crate) fn before<T: Real>(&Layer { q, p, .. }: &Layer, w: &[T], d: &[T], room: &mut [T], dx: &mut [T]) {
    for (k, a) in w.chunks_exact(q * p).enumerate() {
        small_gemm((q, p, q), d, (q, 1), a, p, room, p, false);
        small_gemm((p, p, q), a, (1, p), room, p, dx, p, k > 0);
    }
}
