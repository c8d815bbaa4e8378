//! Logarithms of eight symmetric positive definite matrices at once, without eigenvectors.
//!
//! With A = Q T Q^T (`tridiagonal.rs`) log A = Q log(T) Q^T. For x near c, the Gauss-Legendre rule t_q, w_q on [0, 1] applied to
//! log x = log c + int_0^1 (x - c) / (c + t (x - c)) dt gives
//!
//! log T = (log c + sum_q w_q / t_q) I - sum_q (c w_q / t_q^2) (T + c (1 - t_q) / t_q I)^-1,
//!
//! the Pade approximant of Dieci, Morini and Papini (1996) in partial fractions. A tridiagonal inverse S costs one division per row:
//! T + s I = L diag(p) L^T with l_i = e_i / p_i has S_ii = 1 / p_i + l_i^2 S_i+1,i+1 and S_ji = -l_i S_j,i+1, j > i.
//! For eigenvalues in [lo, hi], c = sqrt(lo hi), b = sqrt(hi / lo), the error falls like ((sqrt b - 1) / (sqrt b + 1))^2q:
//! 20 nodes reach rounding for hi = 40 lo. lo = 1 / \|\|T^-1\|\|_F and Gershgorin's hi bound the spectrum in O(n).
//! Matrices of a spread that would need more than [`MOST`] nodes go through their eigenvectors.

use crate::batch::eigen::{Eigen, Fault, largest_diagonal, positive, to_safe_range};
use crate::batch::tridiagonal::{restore, tridiagonalise};
use crate::batch::{LANES, V, vectorised};
use std::sync::OnceLock;

/// Nodes taken together: their recurrences are independent and hide each other's latency.
const TILE: usize = 4;
/// Most nodes of a rule. With 96 nodes a logarithm costs as much as eigenvectors do; they suffice for a spread of about 12000.
const MOST: usize = 96;
/// Allowed error of the rule at the ends of the spectrum, relative to the logarithm there.
const ERROR: f64 = 1e-16;

/// (1 - t) / t and w / t^2 of every node, and the sum of w / t.
struct Rule {
    nodes: Vec<(f64, f64)>,
    total: f64,
}

impl Rule {
    fn new(count: usize) -> Rule {
        let (mut nodes, mut total) = (Vec::with_capacity(count), 0.0);
        for k in 0..count {
            // Newton's method on Legendre's polynomial from the usual guess.
            let mut x = -linalg::math::cos(std::f64::consts::PI * (k as f64 + 0.75) / (count as f64 + 0.5));
            let mut slope = 1.0;
            for _ in 0..6 {
                let (mut p, mut before) = (x, 1.0);
                for m in 2..=count {
                    let m = m as f64;
                    (p, before) = (((2.0 * m - 1.0) * x * p - (m - 1.0) * before) / m, p);
                }
                slope = count as f64 * (x * p - before) / (x * x - 1.0);
                x -= p / slope;
            }
            let (t, w) = (0.5 + 0.5 * x, 1.0 / ((1.0 - x * x) * slope * slope));
            nodes.push(((1.0 - t) / t, w / (t * t)));
            total += w / t;
        }
        Rule { nodes, total }
    }

    /// The smallest rule for a spectrum of hi / lo = `spread`.
    fn of(spread: f64) -> Option<&'static Rule> {
        static RULES: [OnceLock<Rule>; MOST / TILE] = [const { OnceLock::new() }; MOST / TILE];
        let root = spread.sqrt().sqrt();
        let rate = ((root - 1.0) / (root + 1.0)).powi(2);
        let tiles =
            if rate > 0.0 { (linalg::math::ln(ERROR) / linalg::math::ln(rate) / TILE as f64).ceil() } else { 1.0 };
        // A NaN is not within.
        let within = tiles <= (MOST / TILE) as f64;
        within.then(|| RULES[tiles.max(1.0) as usize - 1].get_or_init(|| Rule::new(tiles.max(1.0) as usize * TILE)))
    }
}

/// Buffers for matrices of one size.
pub(crate) struct Logarithm {
    n: usize,
    pub eigen: Eigen,
    /// -l_i of the nodes of one tile.
    link: Vec<[V; TILE]>,
    /// 1 / p_i, then the weighted S_ii.
    diagonal: Vec<[V; TILE]>,
}

impl Logarithm {
    pub fn new(n: usize) -> Self {
        let row = || vec![[V::ZERO; TILE]; n];
        Logarithm { n, eigen: Eigen::new(n, true), link: row(), diagonal: row() }
    }

    /// The lower triangle (by columns) of log A into `out`, and bounds of the eigenvalues of A; `a` is destroyed.
    pub fn solve(&mut self, a: &mut [V], out: &mut [V]) -> Result<(V, V), Fault> {
        let Logarithm { n, eigen, link, diagonal } = self;
        let n = *n;
        let scale = to_safe_range(a, largest_diagonal(n, a));
        let (lo, hi) = vectorised(
            #[inline(always)]
            || {
                tridiagonalise(n, a, &mut eigen.d, &mut eigen.e, &mut eigen.tau, &mut eigen.w);
                bounds(n, &eigen.d, &eigen.e, link, diagonal)
            },
        );
        if let Some(lane) = (0..LANES).find(|&lane| lo.0[lane].is_nan()) {
            return Err(Fault::NotPositive(lane));
        }
        // Each lane has a rule of its own, so that no matrix depends on its neighbours.
        let rules = (hi / lo).0.map(Rule::of);
        let centre = (lo * hi).sqrt();
        let total = V(rules.map(|rule| rule.map_or(0.0, |rule| rule.total)));
        let constant = centre.map(linalg::math::ln) + total;
        let most = rules.iter().flatten().map(|rule| rule.nodes.len()).max().unwrap_or(0);
        vectorised(
            #[inline(always)]
            || {
                out.fill(V::ZERO);
                for j in 0..n {
                    out[j * n + j] = constant;
                }
                for first in (0..most).step_by(TILE) {
                    let nodes = tile(&rules, first, centre);
                    resolvents(n, &eigen.d, &eigen.e, &nodes, link, diagonal, out);
                }
                restore(n, a, &eigen.tau, &mut eigen.w, out);
            },
        );
        if rules.iter().any(Option::is_none) {
            eigen.finish(a)?;
            positive(&eigen.d)?;
            let logs: Vec<V> = eigen.d.iter().map(|d| d.map(linalg::math::ln)).collect();
            eigen.rebuild(&logs, a);
            for (lane, _) in rules.iter().enumerate().filter(|(_, rule)| rule.is_none()) {
                out.iter_mut().zip(&*a).for_each(|(to, v)| to.0[lane] = v.0[lane]);
            }
        }
        let Some(scale) = scale else { return Ok((lo, hi)) };
        // log A = log(s A) - log(s) I.
        let shift = scale.map(linalg::math::ln);
        for j in 0..n {
            out[j * n + j] = out[j * n + j] - shift;
        }
        Ok((lo / scale, hi / scale))
    }
}

/// Shifts c (1 - t) / t and weights -c w / t^2 of four nodes; a lane whose rule has ended gets weight zero, which adds nothing.
#[inline(always)]
fn tile(rules: &[Option<&Rule>; LANES], first: usize, c: V) -> [(V, V); TILE] {
    let mut out = [(V::ONE, V::ZERO); TILE];
    for (q, (shift, weight)) in out.iter_mut().enumerate() {
        for (lane, rule) in rules.iter().enumerate() {
            if let Some(&(s, w)) = rule.and_then(|rule| rule.nodes.get(first + q)) {
                (shift.0[lane], weight.0[lane]) = (c.0[lane] * s, -(c.0[lane] * w));
            }
        }
    }
    out
}

/// lo = 1 / ||T^-1||_F, NaN in lanes that are not positive definite, and Gershgorin's hi.
#[inline(always)]
fn bounds(n: usize, d: &[V], e: &[V], link: &mut [[V; TILE]], diagonal: &mut [[V; TILE]]) -> (V, V) {
    let (mut hi, mut least, mut before) = (V::ZERO, V::splat(f64::INFINITY), V::ZERO);
    let mut pivot = d[0];
    for i in 0..n {
        let beside = e[i].map(f64::abs);
        hi = hi.map2(d[i] + beside + before, f64::max);
        before = beside;
        // A NaN pivot makes all that follow NaN; the minimum alone would forget it.
        least = least.map2(pivot, |least, p| if p > 0.0 { least.min(p) } else { -1.0 });
        let inverse = V::ONE / pivot;
        let l = -(e[i] * inverse);
        (link[i][0], diagonal[i][0]) = (l, inverse);
        if i + 1 < n {
            pivot = l.fma(e[i], d[i + 1]);
        }
    }
    // reach[i]: sum of squares of row i of L^-1 left of its diagonal.
    let mut reach = V::ZERO;
    for i in 0..n {
        diagonal[i][1] = reach;
        reach = link[i][0] * link[i][0] * (reach + V::ONE);
    }
    let (mut s, mut squares) = (V::ZERO, V::ZERO);
    for i in (0..n).rev() {
        s = (link[i][0] * link[i][0]).fma(s, diagonal[i][0]);
        squares = (s * s).fma(diagonal[i][1] + diagonal[i][1] + V::ONE, squares);
    }
    let lo = V::ONE / squares.sqrt();
    (lo.map2(least, |lo, least| if least > 0.0 { lo } else { f64::NAN }), hi)
}

/// out += sum_q w_q (T + s_q I)^-1 for one tile of nodes (s, w).
#[inline(always)]
fn resolvents(
    n: usize,
    d: &[V],
    e: &[V],
    nodes: &[(V, V); TILE],
    link: &mut [[V; TILE]],
    diagonal: &mut [[V; TILE]],
    out: &mut [V],
) {
    let mut l = [V::ZERO; TILE];
    for i in 0..n {
        let before = if i > 0 { e[i - 1] } else { V::ZERO };
        for q in 0..TILE {
            let inverse = V::ONE / l[q].fma(before, d[i] + nodes[q].0);
            l[q] = -(e[i] * inverse);
            (link[i][q], diagonal[i][q]) = (l[q], inverse);
        }
    }
    let mut s = [V::ZERO; TILE];
    for i in (0..n).rev() {
        for q in 0..TILE {
            s[q] = (link[i][q] * link[i][q]).fma(s[q], diagonal[i][q]);
            diagonal[i][q] = s[q] * nodes[q].1;
        }
    }
    for j in 0..n {
        let mut s = diagonal[j];
        let to = &mut out[j * n + j];
        *to = *to + ((s[0] + s[1]) + (s[2] + s[3]));
        for i in (0..j).rev() {
            let l = &link[i];
            for q in 0..TILE {
                s[q] = s[q] * l[q];
            }
            let to = &mut out[i * n + j];
            *to = *to + ((s[0] + s[1]) + (s[2] + s[3]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Q diag(values) Q^T with Q a product of reflections, one list of eigenvalues per lane.
    fn matrices(n: usize, values: impl Fn(usize, usize) -> f64) -> Vec<V> {
        let mut a = vec![V::ZERO; n * n];
        for lane in 0..LANES {
            let q = (0..n).map(|k| (0.3 + (k * (lane + 2)) as f64).sin()).collect::<Vec<_>>();
            let squares: f64 = q.iter().map(|x| x * x).sum();
            let h = |i: usize, k: usize| f64::from(u8::from(i == k)) - 2.0 * q[i] * q[k] / squares;
            for i in 0..n {
                for j in 0..n {
                    a[j * n + i].0[lane] = (0..n).map(|k| h(i, k) * values(lane, k) * h(j, k)).sum();
                }
            }
        }
        a
    }

    /// Narrow and wide spectra side by side: the wide ones go through their eigenvectors, and all agree with the truth.
    #[test]
    fn logarithms_are_right_at_every_spread_and_do_not_depend_on_their_neighbours() {
        let n = 9;
        // Lane 0 the unit matrix, lane 7 a spread of 1e7; repeated eigenvalues in each.
        let value = |lane: usize, k: usize| 10f64.powf(lane as f64 * (k / 2) as f64 / 4.0) * 1e-3;
        let mut work = Logarithm::new(n);
        let (mut a, mut out) = (matrices(n, value), vec![V::ZERO; n * n]);
        let (lo, hi) = work.solve(&mut a, &mut out).ok().unwrap();
        let truth = matrices(n, |lane, k| value(lane, k).ln());
        for lane in 0..LANES {
            let spread = value(lane, n - 1) / value(lane, 0);
            assert!(lo.0[lane] <= value(lane, 0) * (1.0 + 1e-9) && hi.0[lane] >= value(lane, n - 1) * (1.0 - 1e-9));
            for j in 0..n {
                for i in j..n {
                    let e = (out[j * n + i].0[lane] - truth[j * n + i].0[lane]).abs();
                    assert!(e < 1e-14 * (20.0 + spread), "lane {lane}, entry {i}, {j}: {e:e}");
                }
            }
        }
        // The same matrix alone.
        let (mut a, mut alone) = (matrices(n, value), vec![V::ZERO; n * n]);
        a.iter_mut().for_each(|v| *v = V::splat(v.0[3]));
        assert!(work.solve(&mut a, &mut alone).is_ok());
        assert!((0..n).all(|j| (j..n).all(|i| alone[j * n + i].0[5] == alone[j * n + i].0[0])));
        let mut a = matrices(n, |lane, k| if lane == 5 && k == 2 { -1.0 } else { 1.0 + k as f64 });
        assert!(matches!(work.solve(&mut a, &mut out), Err(Fault::NotPositive(5))));
    }
}
