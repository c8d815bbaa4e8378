//! Eigenvalues and eigenvectors of eight symmetric matrices at once: A = Z diag(d) Z^T.
//!
//! Householder tridiagonalisation (`tridiagonal.rs`), then QL with Wilkinson shifts: the square-root free form of Pal, Walker and Kahan when
//! only eigenvalues are wanted (as LAPACK's `dsterf`), the implicit form with rotations otherwise. All lanes deflate in
//! lockstep: a lane that has converged keeps its value behind an exact zero and works ahead on its next rows.
//! Eigenvalues come unsorted. Each absolute error is of the order of the rounding unit times the norm.

use crate::Error;
use crate::batch::tridiagonal::{accumulate, tridiagonalise};
use crate::batch::{LANES, V, vectorised};
use std::cmp::Ordering;

/// Sweeps allowed for one eigenvalue; two or three are typical.
const MAX_SWEEPS: usize = 80;
/// Number of rows among which a lane looks for its shift: a lane that has converged at row l takes the shift of the next of
/// these rows that has not, and so works ahead.
const AHEAD: usize = 3;
/// The rounding unit.
const EPS: f64 = f64::EPSILON * 0.5;

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

/// Squares of off-diagonals below this are zero: eps^2 |d_i d_i+1| plus a floor far below eps times the norm.
#[inline(always)]
fn negligible(d: &[V], i: usize, floor: V) -> V {
    let product = (d[i] * d[i + 1]).map(f64::abs);
    product.fma(V::splat(EPS * EPS), floor)
}

/// Wilkinson's shift from rows i and i + 1 with off-diagonal e (not zero).
#[inline(always)]
fn shift(d: &[V], i: usize, e: V) -> V {
    let g = (d[i + 1] - d[i]) / (e + e);
    let r = g.fma(g, V::ONE).sqrt();
    d[i] - e / (g + r.map2(g, f64::copysign))
}

/// The shift of a sweep at row l: that of the first of [`AHEAD`] rows which has not converged; d[l] where all have.
/// `off_diagonal` gives the off-diagonal entry from what `e` holds.
#[inline(always)]
fn shift_of_sweep(n: usize, l: usize, d: &[V], e: &[V], off_diagonal: impl Fn(V) -> V) -> V {
    let mut sigma = d[l];
    for i in (l..(l + AHEAD).min(n - 1)).rev() {
        sigma = e[i].if_zero(sigma, shift(d, i, off_diagonal(e[i])));
    }
    sigma
}

/// Off-diagonals whose square is below this floor are zero; it is far below eps times the norm.
#[inline(always)]
fn floor_of(n: usize, d: &[V], e2: impl Fn(usize) -> V) -> V {
    let mut largest = V::ZERO;
    for i in 0..n {
        largest = largest.map2(d[i] * d[i], f64::max).map2(e2(i), f64::max);
    }
    largest * V::splat(0.01 * EPS * EPS)
}

#[inline(always)]
fn ql_values(n: usize, d: &mut [V], e: &mut [V]) -> bool {
    for x in e.iter_mut() {
        *x = *x * *x;
    }
    let floor = floor_of(n, d, |i| e[i]);
    for l in 0..n.saturating_sub(1) {
        let mut sweep = 0;
        loop {
            for i in l..(l + AHEAD).min(n - 1) {
                e[i] = e[i].map2(negligible(d, i, floor), |x, small| if x <= small { 0.0 } else { x });
            }
            if e[l].all_zero() {
                break;
            }
            sweep += 1;
            if sweep > MAX_SWEEPS {
                return false;
            }
            let sigma = shift_of_sweep(n, l, d, e, V::sqrt);
            let (done, value) = (e[l], d[l]);
            let (mut c, mut s) = (V::ONE, V::ZERO);
            let mut gamma = d[n - 1] - sigma;
            let mut p = gamma * gamma;
            for i in (l..n - 1).rev() {
                let bb = e[i];
                let r = p + bb;
                e[i + 1] = s * r;
                let old_c = c;
                let inverse = V::ONE / r;
                c = r.if_zero(V::ONE, p * inverse);
                s = r.if_zero(V::ZERO, bb * inverse);
                let old_gamma = gamma;
                gamma = c.fma(d[i] - sigma, -(s * old_gamma));
                d[i + 1] = old_gamma + (d[i] - gamma);
                p = c.if_zero(old_c * bb, gamma * gamma / c);
            }
            e[l] = s * p;
            d[l] = done.if_zero(value, sigma + gamma);
        }
    }
    true
}

#[inline(always)]
fn ql_vectors(n: usize, d: &mut [V], e: &mut [V], turns: &mut [(V, V)], z: &mut [V]) -> bool {
    let floor = floor_of(n, d, |i| e[i] * e[i]);
    for l in 0..n.saturating_sub(1) {
        let mut sweep = 0;
        loop {
            // Every negligible off-diagonal becomes an exact zero: the chase below starts anew after it.
            for i in l..n - 1 {
                e[i] = e[i].map2(negligible(d, i, floor), |x, small| if x * x <= small { 0.0 } else { x });
            }
            if e[l].all_zero() {
                break;
            }
            sweep += 1;
            if sweep > MAX_SWEEPS {
                return false;
            }
            let sigma = shift_of_sweep(n, l, d, e, |e| e);
            let mut g = d[n - 1] - sigma;
            let (mut s, mut c, mut p) = (V::ONE, V::ONE, V::ZERO);
            // Zero in the lanes whose chase has just begun: their off-diagonal to the right stays zero.
            let mut running = V::ZERO;
            for i in (l..n - 1).rev() {
                let ei = e[i];
                let (f, b) = (s * ei, c * ei);
                let r = f.fma(f, g * g).sqrt();
                let inverse = V::ONE / r;
                let s1 = ei.if_zero(V::ZERO, r.if_zero(V::ZERO, f * inverse));
                let c1 = ei.if_zero(V::ONE, r.if_zero(V::ONE, g * inverse));
                let rest = d[i + 1] - p;
                let t = (d[i] - rest).fma(s1, (c1 + c1) * b);
                let p1 = s1 * t;
                d[i + 1] = rest + p1;
                e[i + 1] = running.if_zero(V::ZERO, ei.if_zero(g, r));
                g = ei.if_zero(d[i] - sigma, c1.fma(t, -b));
                p = ei.if_zero(V::ZERO, p1);
                s = ei.if_zero(V::ONE, s1);
                c = ei.if_zero(V::ONE, c1);
                running = ei.if_zero(V::ZERO, V::ONE);
                turns[i] = (s1, c1);
            }
            d[l] = d[l] - p;
            e[l] = running.if_zero(V::ZERO, g);
            let mut k = 0;
            while k + 2 <= n {
                rotate::<2>(n, &turns[l..n - 1], &mut z[l * n + k..]);
                k += 2;
            }
            if k < n {
                rotate::<1>(n, &turns[l..n - 1], &mut z[l * n + k..]);
            }
        }
    }
    true
}

/// All rotations of one sweep on W rows of Z, last first. One column is carried in registers from turn to turn, so each entry
/// is read and written once; and the dependence keeps the compiler from transposing the lanes.
#[inline(always)]
fn rotate<const W: usize>(n: usize, turns: &[(V, V)], z: &mut [V]) {
    let mut carried = [V::ZERO; W];
    carried.copy_from_slice(&z[turns.len() * n..turns.len() * n + W]);
    for (i, &(s, c)) in turns.iter().enumerate().rev() {
        for w in 0..W {
            let (x, y) = (z[i * n + w], carried[w]);
            z[(i + 1) * n + w] = s.fma(x, c * y);
            carried[w] = s.fma(-y, c * x);
        }
    }
    z[..W].copy_from_slice(&carried);
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
    let rounding = d.len() as f64 * f64::EPSILON;
    let bad =
        (0..LANES).find(|&lane| least.0[lane].partial_cmp(&(rounding * largest.0[lane])) != Some(Ordering::Greater));
    bad.map_or(Ok(()), |lane| Err(Fault::NotPositive(lane)))
}
