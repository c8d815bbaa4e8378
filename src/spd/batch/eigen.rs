//! Eigenvalues and eigenvectors of eight symmetric matrices at once: A = Z diag(d) Z^T.
//!
//! Householder tridiagonalisation (`tridiagonal.rs`), then QL iterations (`ql.rs`). Eigenvalues come unsorted. Each absolute error is of
//! the order of the rounding unit times the norm.

use crate::Error;
use crate::batch::ql::{ql_values, ql_vectors};
use crate::batch::tridiagonal::{accumulate, tridiagonalise};
use crate::batch::{LANES, V, vectorised};
use std::cmp::Ordering;

/// Why the decomposition of eight matrices failed.
pub(crate) enum Fault {
    NoConvergence,
    /// The first lane whose matrix is not positive definite.
    NotPositive(usize),
}

impl Fault {
    /// The error to report; `index` turns a lane into the number of its matrix.
    pub fn error(self, what: &'static str, index: impl Fn(usize) -> usize) -> Error {
        match self {
            Fault::NoConvergence => Error::Eigen { what },
            Fault::NotPositive(lane) => Error::NotPositiveDefinite { what, index: index(lane) },
        }
    }
}

/// Buffers for matrices of one size; made once per block of work.
pub(crate) struct Eigen {
    n: usize,
    /// Eigenvalues after a solve.
    pub d: Vec<V>,
    /// Eigenvectors after [`Eigen::vectors`]: column k of Z at `z[k * n ..]`.
    pub z: Vec<V>,
    pub e: Vec<V>,
    pub tau: Vec<V>,
    pub w: Vec<V>,
    /// (s, c) of the rotations of one sweep.
    turns: Vec<(V, V)>,
}

impl Eigen {
    pub fn new(n: usize, with_vectors: bool) -> Self {
        let row = || vec![V::ZERO; n];
        let z = vec![V::ZERO; if with_vectors { n * n } else { 0 }];
        Eigen { n, d: row(), z, e: row(), tau: row(), w: row(), turns: vec![(V::ZERO, V::ONE); n] }
    }

    /// Eigenvalues of the positive definite matrices whose lower triangles are the columns of `a` (destroyed).
    pub fn values(&mut self, a: &mut [V]) -> Result<(), Fault> {
        let scale = to_safe_range(a, largest_diagonal(self.n, a));
        let converged = vectorised(
            #[inline(always)]
            || {
                tridiagonalise(self.n, a, &mut self.d, &mut self.e, &mut self.tau, &mut self.w);
                ql_values(self.n, &mut self.d, &mut self.e)
            },
        );
        undo_scale(&mut self.d, scale);
        if converged { Ok(()) } else { Err(Fault::NoConvergence) }
    }

    /// Eigenvalues and eigenvectors; `a` is destroyed.
    pub fn vectors(&mut self, a: &mut [V]) -> Result<(), Fault> {
        let scale = to_safe_range(a, largest_entry(self.n, a));
        vectorised(
            #[inline(always)]
            || tridiagonalise(self.n, a, &mut self.d, &mut self.e, &mut self.tau, &mut self.w),
        );
        self.finish(a)?;
        undo_scale(&mut self.d, scale);
        Ok(())
    }

    /// The second half of [`Eigen::vectors`], after the tridiagonal form.
    pub fn finish(&mut self, a: &[V]) -> Result<(), Fault> {
        let converged = vectorised(
            #[inline(always)]
            || {
                accumulate(self.n, a, &self.tau, &mut self.z);
                ql_vectors(self.n, &mut self.d, &mut self.e, &mut self.turns, &mut self.z)
            },
        );
        if converged { Ok(()) } else { Err(Fault::NoConvergence) }
    }

    /// The lower triangle (by columns) of Z diag(f) Z^T, f one vector per eigenvalue.
    pub fn rebuild(&mut self, f: &[V], out: &mut [V]) {
        vectorised(
            #[inline(always)]
            || rebuild(self.n, &self.z, f, &mut self.w, out),
        )
    }
}

/// Entries up to this size, and down to its inverse, can be squared and multiplied by rounding units without leaving the range
/// of f64.
const SAFE: f64 = 1e75;

/// The largest diagonal entry: in a positive definite matrix no entry is larger.
pub(crate) fn largest_diagonal(n: usize, a: &[V]) -> V {
    (0..n).fold(V::ZERO, |m, j| m.map2(a[j * n + j], |m, x| m.max(x.abs())))
}

/// The largest entry of the lower triangle, in absolute value.
fn largest_entry(n: usize, a: &[V]) -> V {
    let lower = (0..n).flat_map(|j| &a[j * n + j..(j + 1) * n]);
    lower.fold(V::ZERO, |m, v| m.map2(*v, |m, x| m.max(x.abs())))
}

/// Multiplies the lanes whose largest entry lies outside the safe range by a power of two, which changes no digit. Returns the
/// powers, or nothing where all lanes are safe.
pub(crate) fn to_safe_range(a: &mut [V], largest: V) -> Option<V> {
    let safe = |x: f64| x == 0.0 || !x.is_finite() || (1.0 / SAFE..=SAFE).contains(&x);
    if largest.0.iter().all(|&x| safe(x)) {
        return None;
    }
    // 2^1000 keeps the smallest numbers far inside the range, and its inverse is no subnormal number.
    let power =
        |x: f64| if safe(x) { 1.0 } else { 2f64.powi((-linalg::math::log2(x).floor()).clamp(-1000.0, 1000.0) as i32) };
    let scale = largest.map(power);
    a.iter_mut().for_each(|v| *v = *v * scale);
    Some(scale)
}

/// Divides the eigenvalues by the powers of two of [`to_safe_range`].
pub(crate) fn undo_scale(d: &mut [V], scale: Option<V>) {
    if let Some(scale) = scale {
        d.iter_mut().for_each(|v| *v = *v / scale);
    }
}

#[inline(always)]
fn rebuild(n: usize, z: &[V], f: &[V], row: &mut [V], out: &mut [V]) {
    for j in 0..n {
        for k in 0..n {
            row[k] = f[k] * z[k * n + j];
        }
        let mut i = j;
        while i + 4 <= n {
            rebuild_tile::<4>(n, z, row, i, &mut out[j * n..]);
            i += 4;
        }
        while i < n {
            rebuild_tile::<1>(n, z, row, i, &mut out[j * n..]);
            i += 1;
        }
    }
}

#[inline(always)]
fn rebuild_tile<const W: usize>(n: usize, z: &[V], row: &[V], i: usize, out: &mut [V]) {
    let mut sum = [V::ZERO; W];
    for k in 0..n {
        let zk = &z[k * n + i..k * n + i + W];
        for (s, x) in sum.iter_mut().zip(zk) {
            *s = row[k].fma(*x, *s);
        }
    }
    out[i..i + W].copy_from_slice(&sum);
}

/// Checks that the n eigenvalues in each lane are positive: the least must exceed n eps times the largest.
///
/// Below that an eigenvalue is rounding, and its logarithm means nothing. The first lane that fails is the fault; NaN fails.
pub(crate) fn positive(d: &[V]) -> Result<(), Fault> {
    let (mut least, mut largest) = (V::splat(f64::INFINITY), V::ZERO);
    for v in d {
        // A NaN must not be forgotten, as `f64::min` would.
        least = least.map2(*v, |least, v| if v < least || v.is_nan() { v } else { least });
        largest = largest.map2(*v, f64::max);
    }
    let rounding = linalg::tolerances::definite(d.len());
    let bad =
        (0..LANES).find(|&lane| least.0[lane].partial_cmp(&(rounding * largest.0[lane])) != Some(Ordering::Greater));
    bad.map_or(Ok(()), |lane| Err(Fault::NotPositive(lane)))
}
