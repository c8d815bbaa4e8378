//! Orthogonal Tucker decomposition of a four-way array by higher-order orthogonal iteration.
//!
//! C (n1, n2, n3, n4) ~ S x1 U1 x2 U2 x3 U3 x4 U4 with orthonormal columns U_k (n_k, r_k): each U_k in turn holds the
//! leading left singular vectors of C projected on the other three (L. De Lathauwer, B. De Moor, J. Vandewalle,
//! *On the best rank-1 and rank-(R1, ..., RN) approximation of higher-order tensors*, SIAM J. Matrix Analysis 2000).

use crate::Result;
use linalg::small::small_gemm;
use linalg::{eigh, matmul};
use ndarray::{Array2, Array4, ArrayView2, ArrayView4, Axis, CowArray, Ix4, s};
use std::borrow::Cow;

/// Sweeps stop when the squared norm of the projection grows by less than this share. More precision is of no use: HOPLS takes the factors
/// as loadings, and the Tucker network takes them as a start.
const CONVERGED: f64 = 1e-4;
/// Most sweeps.
const MAX_SWEEPS: usize = 10;

/// The three sizes of a row-major array around one mode: product of the lengths before it, its length, product of the lengths after it.
fn around(shape: &[usize], mode: usize) -> (usize, usize, usize) {
    (shape[..mode].iter().product(), shape[mode], shape[mode + 1..].iter().product())
}

/// The elements row by row. They are copied only where they lie in another order.
fn flat<'a>(a: &'a ArrayView4<'_, f64>) -> Cow<'a, [f64]> {
    match a.as_slice() {
        Some(elements) => Cow::Borrowed(elements),
        None => Cow::Owned(a.iter().copied().collect()),
    }
}

/// The unfolding along `mode`: (n_mode, product of the others in their order).
pub(crate) fn unfold(a: ArrayView4<'_, f64>, mode: usize) -> Array2<f64> {
    let (before, n, after) = around(a.shape(), mode);
    let elements = flat(&a);
    let mut out = Array2::zeros((n, before * after));
    for (k, mut row) in out.rows_mut().into_iter().enumerate() {
        let row = row.as_slice_mut().expect("a new array is row-major");
        for (b, to) in row.chunks_exact_mut(after.max(1)).enumerate() {
            to.copy_from_slice(&elements[(b * n + k) * after..][..after]);
        }
    }
    out
}

/// A x_mode U^T: the mode of length n becomes one of length r. U is (n, r).
///
/// Nothing is permuted: the last mode takes one product, each other mode one small product per index of the modes before it.
pub(crate) fn project(a: ArrayView4<'_, f64>, mode: usize, u: ArrayView2<'_, f64>) -> Array4<f64> {
    let (before, n, after) = around(a.shape(), mode);
    let r = u.ncols();
    let mut shape = [a.shape()[0], a.shape()[1], a.shape()[2], a.shape()[3]];
    shape[mode] = r;
    let (elements, u) = (flat(&a), u.as_standard_layout());
    let factor = u.as_slice().expect("standard layout");
    let mut out = vec![0.0; before * r * after];
    if after == 1 {
        small_gemm((before, r, n), &elements, (n, 1), factor, r, &mut out, r, false);
    } else {
        let blocks = elements.chunks_exact((n * after).max(1)).zip(out.chunks_exact_mut((r * after).max(1)));
        blocks.for_each(|(from, to)| small_gemm((r, after, n), factor, (1, r), from, after, to, after, false));
    }
    Array4::from_shape_vec(shape, out).expect("as many elements as the shape says")
}

/// Leading r left singular vectors of the unfolding along `mode`.
fn leading(a: ArrayView4<'_, f64>, mode: usize, r: usize) -> Result<Array2<f64>> {
    let n = a.len_of(Axis(mode));
    if r >= n {
        return Ok(Array2::eye(n));
    }
    let flat = unfold(a, mode);
    let e = eigh(matmul(flat.view(), flat.t()).view())?;
    let mut u = e.vectors.slice(s![.., n - r..;1]).to_owned();
    u.invert_axis(Axis(1));
    Ok(u)
}

/// [`project`] on every listed mode whose factor is not square. A square factor is the identity here and changes nothing.
pub(crate) fn project_on<'a>(a: ArrayView4<'a, f64>, on: &[(usize, &Array2<f64>)]) -> CowArray<'a, f64, Ix4> {
    let mut out = CowArray::from(a);
    for (mode, u) in on.iter().filter(|(_, u)| !u.is_square()) {
        out = CowArray::from(project(out.view(), *mode, u.view()));
    }
    out
}

/// Factors U_k (n_k, min(r_k, n_k)) of the rank-(r1, r2, r3, r4) approximation.
pub(crate) fn hooi(c: ArrayView4<'_, f64>, ranks: [usize; 4]) -> Result<[Array2<f64>; 4]> {
    let start = |mode: usize| leading(c, mode, ranks[mode]);
    let mut u = [start(0)?, start(1)?, start(2)?, start(3)?];
    // Modes of full rank need no search: their factor is the identity.
    if u.iter().all(|u| u.is_square()) {
        return Ok(u);
    }
    let mut captured = 0.0f64;
    for _ in 0..MAX_SWEEPS {
        let mut now = 0.0;
        // The first two modes share the projection on the last two, and the other way round.
        for pair in [[0, 1], [2, 3]] {
            let [a, b] = pair.map(|mode| (mode + 2) % 4);
            let shared = project_on(c, &[(a, &u[a]), (b, &u[b])]);
            for (mode, partner) in [(pair[0], pair[1]), (pair[1], pair[0])] {
                let small = project_on(shared.view(), &[(partner, &u[partner])]);
                u[mode] = leading(small.view(), mode, ranks[mode])?;
                if mode == 3 {
                    now = project_on(small.view(), &[(mode, &u[mode])]).iter().map(|v| v * v).sum();
                }
            }
        }
        if now <= captured * (1.0 + CONVERGED) {
            break;
        }
        captured = now;
    }
    Ok(u)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mode products and unfoldings entry by entry, also of an array that is not row-major.
    #[test]
    fn projections_and_unfoldings_follow_their_definitions() {
        let a = Array4::from_shape_fn((2, 3, 4, 5), |(i, j, k, l)| ((1 + i + 3 * j + 7 * k + 31 * l) as f64).sin());
        let permuted = a.clone().permuted_axes([3, 1, 0, 2]);
        for a in [a.view(), permuted.view()] {
            for mode in 0..4 {
                let n = a.len_of(Axis(mode));
                let u = Array2::from_shape_fn((n, 2), |(i, r)| ((2 + 5 * i + r) as f64).cos());
                let projected = project(a, mode, u.view());
                let expected = u.t().dot(&unfold(a, mode));
                assert!((&unfold(projected.view(), mode) - &expected).iter().all(|e| e.abs() < 1e-13));
                for (k, slice) in a.axis_iter(Axis(mode)).enumerate() {
                    assert!(slice.iter().eq(unfold(a, mode).row(k).iter()), "mode {mode}");
                }
            }
        }
    }

    #[test]
    fn exact_tucker_arrays_are_reproduced() {
        let wave = |k: usize, m: f64| (k as f64 * m).sin();
        let core = Array4::from_shape_fn((2, 1, 2, 2), |(a, b, c, d)| wave(1 + a + 2 * b + 3 * c + 5 * d, 1.7));
        let factor = |n: usize, r: usize, m: f64| Array2::from_shape_fn((r, n), |(i, j)| wave(1 + i + r * j, m));
        let full = [factor(5, 2, 1.1), factor(4, 1, 0.7), factor(3, 2, 2.3), factor(4, 2, 0.9)];
        let c = full.iter().enumerate().fold(core, |c, (mode, f)| project(c.view(), mode, f.view()));
        let u = hooi(c.view(), [2, 1, 2, 2]).unwrap();
        let mut back = c.clone();
        for (mode, f) in u.iter().enumerate() {
            let gram = f.t().dot(f);
            assert!((&gram - &Array2::<f64>::eye(f.ncols())).iter().all(|e| e.abs() < 1e-12));
            back = project(back.view(), mode, f.dot(&f.t()).view());
        }
        assert!((&back - &c).iter().all(|e| e.abs() < 1e-12));
    }
}
