//! Forward and backward pass through a large layer: one operator at a time, all samples of the chunk at once.
//!
//! With V_k = A_k^T (p, q) and U_ks = X_s^T V_k: P_s = sum_k U_ks^T V_k, dV_k = sum_s U_ks D_s + X_s V_k D_s^T and
//! dX_s = sum_k V_k D_s V_k^T, as in [`super::per_sample`]. While one k is worked on, V_k and its gradient stay in the first
//! cache. U is kept as U[k][i][s][a]: the gradient over all samples is then a single product, whose inner dimension is
//! the rows of all D_s. All rows have length q, because the 40 of the paper's large map fill registers of eight, while
//! rows of p = 100 would leave half a register empty.

use crate::gradient::parameter_layout::Layer;
use linalg::Real;
use linalg::small::small_gemm;

/// Rows of a symmetric output that are computed together.
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

/// The first part of the gradient, sum_s U_s D_s over `count` samples; added to `grad` where `add` is set.
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

/// Adds the second part of the gradient, X V_k D^T, of one sample, given D^T. `scratch` holds one product.
pub(crate) fn second_gradient<T: Real>(
    &Layer { q, p, .. }: &Layer,
    v: &[T],
    d_transposed: &[T],
    x: &[T],
    scratch: &mut [T],
    grad: &mut [T],
) {
    for (v, grad) in v.chunks_exact(q * p).zip(grad.chunks_exact_mut(q * p)) {
        small_gemm((p, q, p), x, (p, 1), v, q, scratch, q, false);
        small_gemm((p, q, q), scratch, (q, 1), d_transposed, q, grad, q, true);
    }
}

/// dX = sum_k V_k D V_k^T of one sample, given V_k^T = A_k. `scratch` holds one product.
pub(crate) fn input_gradient<T: Real>(
    &Layer { q, p, .. }: &Layer,
    (v, a): (&[T], &[T]),
    d: &[T],
    scratch: &mut [T],
    dx: &mut [T],
) {
    for (k, (v, a)) in v.chunks_exact(q * p).zip(a.chunks_exact(q * p)).enumerate() {
        small_gemm((p, q, q), v, (q, 1), d, q, scratch, q, false);
        small_gemm((p, p, q), scratch, (q, 1), a, p, dx, p, k > 0);
    }
}
