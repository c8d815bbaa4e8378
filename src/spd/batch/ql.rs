//! Eigenvalues of eight tridiagonal matrices at once, by QL iterations with Wilkinson's shifts.
//!
//! [`ql_values`] is the square-root free form of Pal, Walker and Kahan (as LAPACK's `dsterf`), [`ql_vectors`] the implicit form with
//! rotations. All lanes deflate in lockstep: a lane that has converged keeps its value behind an exact zero and works ahead on its
//! next rows. Eigenvalues come unsorted.

use crate::batch::V;

/// Sweeps allowed for one eigenvalue; two or three are typical.
const MAX_SWEEPS: usize = 80;
/// Number of rows among which a lane looks for its shift: a lane that has converged at row l takes the shift of the next of
/// these rows that has not, and so works ahead.
const AHEAD: usize = 3;
/// The rounding unit.
const EPS: f64 = f64::EPSILON * 0.5;

/// A square of an off-diagonal below this is zero in a sweep. A lane that has converged long ago goes on with the others, and each sweep makes
/// its off-diagonals smaller: without this they end where their inverse is infinite.
const VANISHING: f64 = 1e-250;

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

/// Eigenvalues of tridiagonal matrices with diagonals d and off-diagonals e, into d. False where an iteration did not converge.
#[inline(always)]
pub(crate) fn ql_values(n: usize, d: &mut [V], e: &mut [V]) -> bool {
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
                let bb = e[i].map(|x| if x < VANISHING { 0.0 } else { x });
                let r = p + bb;
                e[i + 1] = s * r;
                let old_c = c;
                let inverse = V::ONE / r;
                c = bb.if_zero(V::ONE, p * inverse);
                s = bb.if_zero(V::ZERO, bb * inverse);
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

/// As [`ql_values`], and the rotations of all sweeps applied to the columns of `z`. `turns` is scratch.
#[inline(always)]
pub(crate) fn ql_vectors(n: usize, d: &mut [V], e: &mut [V], turns: &mut [(V, V)], z: &mut [V]) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A lane that is the identity up to rounding beside lanes that take many sweeps: its off-diagonals became so small that their inverse was
    /// infinite, and the distance of a matrix to itself was refused.
    #[test]
    fn a_lane_that_has_converged_waits_for_the_others() {
        let n = 22;
        for seed in 0..200 {
            let number = |i: usize, lane: usize| linalg::math::sin((1 + i * 8 + lane + 977 * seed) as f64 * 1.7);
            let row = |f: &dyn Fn(usize, usize) -> f64| {
                (0..n)
                    .map(|i| {
                        let mut v = V::ZERO;
                        for lane in 0..8 {
                            v.0[lane] = f(i, lane);
                        }
                        v
                    })
                    .collect::<Vec<V>>()
            };
            let size = |lane: usize| if lane == 3 { 4e-16 } else { 0.4 };
            let mut d = row(&|i, lane| 1.0 + size(lane) * number(i, lane));
            let mut e = row(&|i, lane| if i + 1 < n { 0.5 * size(lane) * number(i + 50, lane) } else { 0.0 });
            assert!(ql_values(n, &mut d, &mut e), "seed {seed}");
            assert!(d.iter().all(|v| (v.0[3] - 1.0).abs() < 1e-14), "seed {seed}: {d:?}");
        }
    }
}
