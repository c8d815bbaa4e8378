//! Distances between symmetric positive definite matrices.
//!
//! | metric | d(A, B)^2 |
//! |---|---|
//! | [`Metric::AffineInvariant`] | sum_k log^2 lambda_k(A^-1 B) |
//! | [`Metric::LogEuclidean`] | \|\|log A - log B\|\|_F^2 |
//! | [`Metric::BuresWasserstein`] | tr A + tr B - 2 tr (A^1/2 B A^1/2)^1/2 |
//!
//! Only eigenvalues are computed. Each A is factored once; each group of eight B is interleaved once and meets every A.

use crate::batch::eigen::{Eigen, positive};
use crate::batch::triangular::{cholesky, congruence_shared, flip_transpose, invert_lower};
use crate::batch::{LANES, V, pack};
use crate::check;
use crate::manifold::function::logm;
use crate::{Error, Result};
use ndarray::{Array2, ArrayView2, ArrayView3, Axis};
use rayon::prelude::*;

/// A geometry on symmetric positive definite matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Metric {
    /// Invariant under A -> W A W^T and A -> A^-1.
    #[default]
    AffineInvariant,
    /// Flat after the matrix logarithm.
    LogEuclidean,
    /// Optimal transport between centred Gaussians.
    BuresWasserstein,
}

/// All distances between the matrices of `a` (k, n, n) and `b` (m, n, n): (k, m).
///
/// ```
/// use spd::{Metric, pairwise_distances};
/// let a = ndarray::arr3(&[[[1.0, 0.0], [0.0, 1.0]]]);
/// let b = ndarray::arr3(&[[[2.0, 0.0], [0.0, 0.5]]]);
/// let d = pairwise_distances(a.view(), b.view(), Metric::AffineInvariant).unwrap();
/// assert!((d[[0, 0]] - 2f64.sqrt() * 2f64.ln()).abs() < 1e-14);
/// ```
pub fn pairwise_distances(a: ArrayView3<'_, f64>, b: ArrayView3<'_, f64>, metric: Metric) -> Result<Array2<f64>> {
    let n = check::symmetric_pair("pairwise_distances", &a, &b)?;
    match metric {
        Metric::LogEuclidean => Ok(flat_distances(logm(a)?.view(), logm(b)?.view())),
        _ => eigen_distances(n, a, b, metric, |_| a.len_of(Axis(0))),
    }
}

/// All distances among the matrices of `x` (k, n, n): (k, k), symmetric with a zero diagonal.
pub fn self_distances(x: ArrayView3<'_, f64>, metric: Metric) -> Result<Array2<f64>> {
    let n = check::symmetric("self_distances", &x)?;
    let k = x.len_of(Axis(0));
    let mut d = match metric {
        Metric::LogEuclidean => {
            let logs = logm(x)?;
            flat_distances(logs.view(), logs.view())
        }
        _ => eigen_distances(n, x, x, metric, |group| ((group + 1) * LANES).min(k))?,
    };
    for i in 0..k {
        d[[i, i]] = 0.0;
        for j in 0..i {
            d[[i, j]] = d[[j, i]];
        }
    }
    Ok(d)
}

/// The distance between two matrices.
pub fn distance(a: ArrayView2<'_, f64>, b: ArrayView2<'_, f64>, metric: Metric) -> Result<f64> {
    Ok(pairwise_distances(a.insert_axis(Axis(0)), b.insert_axis(Axis(0)), metric)?[[0, 0]])
}

fn flat_distances(a: ArrayView3<'_, f64>, b: ArrayView3<'_, f64>) -> Array2<f64> {
    let mut out = Array2::zeros((a.len_of(Axis(0)), b.len_of(Axis(0))));
    out.axis_iter_mut(Axis(0)).into_par_iter().zip(a.axis_iter(Axis(0))).for_each(|(mut row, x)| {
        for (d, y) in row.iter_mut().zip(b.axis_iter(Axis(0))) {
            let ss: f64 = x.iter().zip(&y).map(|(u, v)| (u - v) * (u - v)).sum();
            *d = ss.sqrt();
        }
    });
    out
}

/// The factor that each A contributes: L^-1, or J L^T J for Bures-Wasserstein; (k, n * n).
fn factors(n: usize, a: ArrayView3<'_, f64>, metric: Metric) -> Result<Vec<f64>> {
    let a = check::contiguous(&a);
    let mut out = vec![0.0; a.len()];
    let mut l = vec![0.0; n * n];
    let mut flat = vec![0.0; n * n];
    for (index, (to, x)) in out.chunks_exact_mut(n * n).zip(a.axis_iter(Axis(0))).enumerate() {
        flat.iter_mut().zip(&x).for_each(|(t, v)| *t = *v);
        if !cholesky(n, &flat, &mut l) {
            return Err(Error::NotPositiveDefinite { what: "pairwise_distances", index });
        }
        match metric {
            Metric::BuresWasserstein => flip_transpose(n, &l, to),
            _ => invert_lower(n, &l, to),
        }
    }
    Ok(out)
}

/// Refuses a matrix whose least eigenvalue is rounding: its Cholesky factor may exist, but its inverse means nothing.
fn all_positive(n: usize, a: ArrayView3<'_, f64>, what: &'static str) -> Result<()> {
    let k = a.len_of(Axis(0));
    let mut work = Eigen::new(n, false);
    let mut packed = vec![V::ZERO; n * n];
    for first in (0..k).step_by(LANES) {
        pack(a, first, false, &mut packed);
        let solved = work.values(&mut packed).and_then(|()| positive(&work.d));
        solved.map_err(|fault| fault.error(what, |lane| (first + lane).min(k - 1)))?;
    }
    Ok(())
}

/// Distances of group g of eight B to the first `rows(g)` of A; other entries stay zero.
fn eigen_distances(
    n: usize,
    a: ArrayView3<'_, f64>,
    b: ArrayView3<'_, f64>,
    metric: Metric,
    rows: impl Fn(usize) -> usize + Sync,
) -> Result<Array2<f64>> {
    let what = "pairwise_distances";
    let (k, m) = (a.len_of(Axis(0)), b.len_of(Axis(0)));
    all_positive(n, a, what)?;
    let factor = factors(n, a, metric)?;
    let bures = metric == Metric::BuresWasserstein;
    let trace = |x: ArrayView3<'_, f64>| -> Vec<f64> { x.axis_iter(Axis(0)).map(|x| x.diag().sum()).collect() };
    let (trace_a, trace_b) = (trace(a), trace(b));
    let groups = m.div_ceil(LANES);
    let mut strips = vec![V::ZERO; groups * k];
    let results = strips
        .par_chunks_mut(k)
        .enumerate()
        .map(|(g, strip)| {
            let mut work = Eigen::new(n, false);
            let square = || vec![V::ZERO; n * n];
            let (mut packed, mut t, mut w) = (square(), square(), square());
            pack(b, g * LANES, bures, &mut packed);
            for (i, d) in strip.iter_mut().enumerate().take(rows(g)) {
                congruence_shared(n, &factor[i * n * n..(i + 1) * n * n], &packed, &mut t, &mut w);
                let solved = work.values(&mut w).and_then(|()| positive(&work.d));
                solved.map_err(|fault| fault.error(what, |lane| (g * LANES + lane).min(m - 1)))?;
                *d = if bures {
                    let roots = work.d.iter().fold(V::ZERO, |s, x| s + x.sqrt());
                    let both = V(std::array::from_fn(|lane| trace_a[i] + trace_b[(g * LANES + lane).min(m - 1)]));
                    (both - roots - roots).map(|x| x.max(0.0).sqrt())
                } else {
                    work.d.iter().map(|x| x.map(linalg::math::ln)).fold(V::ZERO, |s, x| s + x * x).sqrt()
                };
            }
            Ok(())
        })
        .collect::<Vec<Result<()>>>();
    results.into_iter().collect::<Result<Vec<()>>>()?;
    Ok(Array2::from_shape_fn((k, m), |(i, j)| strips[(j / LANES) * k + i].0[j % LANES]))
}
