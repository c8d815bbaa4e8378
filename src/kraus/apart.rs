//! Forward and backward pass through a layer whose operators are kept apart: one operator at a time, all samples at once.
//!
//! With V_k = A_k^T (p, q) and U_ks = X_s^T V_k: P_s = sum_k U_ks^T V_k, dV_k = sum_s U_ks D_s + X_s V_k D_s^T and
//! dX_s = sum_k V_k D_s V_k^T, as in [`crate::work`]. While one k is worked on, V_k and its gradient stay in the first
//! cache. U is kept as U[k][i][s][a], so that what all samples add to a gradient is a single product, whose inner
//! dimension is all rows of all D_s. All rows are q long: the 40 of the paper's large map fill registers of eight, while
//! rows of p = 100 would leave half of one empty.

use crate::layout::Layer;
use linalg::Real;
use linalg::kernels::small_gemm;

/// Rows of a symmetric output computed together.
const STRIP: usize = 8;

/// Copies the lower half of a (q, q) matrix to the upper one.
pub(crate) fn mirror<T: Real>(q: usize, out: &mut [T]) {
    for i in 1..q {
        for j in 0..i {
            out[j * q + i] = out[i * q + j];
        }
    }
}

/// U and the outputs of the samples `x`. Of a symmetric output each strip of rows is computed up to the diagonal.
pub(crate) fn forward<'x, T: Real + 'x>(
    &Layer { q, p, .. }: &Layer,
    v: &[T],
    x: impl Iterator<Item = &'x [T]> + Clone,
    u: &mut [T],
    out: &mut [T],
    symmetric: bool,
) {
    let count = x.clone().count();
    let row = count * q;
    let strip = if symmetric { STRIP } else { q };
    for (k, (v, u)) in v.chunks_exact(q * p).zip(u.chunks_exact_mut(p * row)).enumerate() {
        for ((s, x), out) in x.clone().enumerate().zip(out.chunks_exact_mut(q * q)) {
            let u = &mut u[s * q..];
            // A symmetric X is read along its rows.
            let strides = if symmetric { (p, 1) } else { (1, p) };
            small_gemm((p, q, p), x, strides, v, q, u, row, false);
            for top in (0..q).step_by(strip) {
                let end = (top + strip).min(q);
                let columns = if symmetric { end } else { q };
                small_gemm((end - top, columns, p), &u[top..], (1, row), v, q, &mut out[top * q..], q, k > 0);
            }
        }
    }
    if symmetric {
        out.chunks_exact_mut(q * q).take(count).for_each(|out| mirror(q, out));
    }
}

/// dV (+)= sum_s U_s D_s, for `count` samples.
pub(crate) fn gradient<T: Real>(
    &Layer { q, p, .. }: &Layer,
    count: usize,
    d: &[T],
    u: &[T],
    grad: &mut [T],
    add: bool,
) {
    for (u, grad) in u.chunks_exact(count * q * p).zip(grad.chunks_exact_mut(q * p)) {
        small_gemm((p, q, count * q), u, (count * q, 1), d, q, grad, q, add);
    }
}

/// Adds X V_k D^T of one sample to the gradient, given D^T; `room` for one product.
pub(crate) fn other_gradient<T: Real>(
    &Layer { q, p, .. }: &Layer,
    v: &[T],
    flipped_d: &[T],
    x: &[T],
    room: &mut [T],
    grad: &mut [T],
) {
    for (v, grad) in v.chunks_exact(q * p).zip(grad.chunks_exact_mut(q * p)) {
        small_gemm((p, q, p), x, (p, 1), v, q, room, q, false);
        small_gemm((p, q, q), room, (q, 1), flipped_d, q, grad, q, true);
    }
}

/// dX = sum_k V_k D V_k^T of one sample, given V_k^T = A_k; `room` for one product.
pub(crate) fn before<T: Real>(
    &Layer { q, p, .. }: &Layer,
    (v, a): (&[T], &[T]),
    d: &[T],
    room: &mut [T],
    dx: &mut [T],
) {
    for (k, (v, a)) in v.chunks_exact(q * p).zip(a.chunks_exact(q * p)).enumerate() {
        small_gemm((p, q, q), v, (q, 1), d, q, room, q, false);
        small_gemm((p, p, q), room, (q, 1), a, p, dx, p, k > 0);
    }
}
