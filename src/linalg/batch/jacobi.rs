//! Jacobi's eigenvalue and singular value iterations for a batch of small matrices, one per lane, without branches.
//!
//! Decompositions of 15 x 15 matrices one by one leave most of a vector unit idle. In a batch every rotation has one angle
//! per lane, and the iteration ends when every lane has converged. Lanes are independent: the result of a lane does not
//! depend on the contents of the others, except for the number of sweeps.

use super::LANES;
use super::lane::{dot, row, row_mut, stride, tiled, zip};
use super::null_space::complete_null_spaces;
use num_traits::Float;

/// The most sweeps an iteration makes; six to ten are usual.
const SWEEPS: usize = 30;
/// How many rotations of disjoint pairs compute their angles together, so that none waits for the result of another.
const TOGETHER: usize = 8;

/// The i-th pair of a round of a tournament of `n` players (n even; i below n / 2): every two meet once in n - 1 rounds.
#[inline(always)]
fn pair(n: usize, round: usize, i: usize) -> (usize, usize) {
    let wrap = |x: usize| if x >= n - 1 { x - (n - 1) } else { x };
    let (a, b) = if i == 0 { (n - 1, round) } else { (wrap(round + i), wrap(round + n - 1 - i)) };
    (a.min(b), a.max(b))
}

/// Cosine, sine and tangent of the rotation that annihilates `off` between diagonal entries `p` and `q`.
/// Lanes with off^2 <= `floor` stay as they are.
#[inline(always)]
fn rotation<T: Float, const L: usize>(p: &[T; L], q: &[T; L], off: &[T; L], floor: &[T; L]) -> [[T; L]; 3] {
    let (zero, one) = (T::zero(), T::one());
    let (mut cos, mut sin, mut tan) = ([one; L], [zero; L], [zero; L]);
    for l in 0..L {
        let (d, o) = (q[l] - p[l], off[l] + off[l]);
        let below = d.abs() + (d * d + o * o).sqrt();
        let t = o / if below > zero { below } else { one };
        let t = if d < zero { -t } else { t };
        let t = if off[l] * off[l] <= floor[l] { zero } else { t };
        let c = one / (t * t + one).sqrt();
        tan[l] = t;
        cos[l] = c;
        sin[l] = t * c;
    }
    [cos, sin, tan]
}

/// Whether any lane is above its floor.
#[inline(always)]
fn any_above<T: Float, const L: usize>(off: &[T; L], floor: &[T; L]) -> bool {
    (0..L).fold(false, |b, l| b | (off[l] * off[l] > floor[l]))
}

/// Whether a sweep whose rotations had at most these tangents was the last one. Rotations of size t leave errors of size
/// t^2; once these are as small as rounding, another sweep would change nothing.
#[inline(always)]
fn settled<T: Float, const L: usize>(n: usize, rounding: T, turned: &[T; L]) -> bool {
    let n = T::from(n).unwrap_or_else(T::one); // every number of rows is a number
    turned.iter().all(|&t| t * t * n <= rounding)
}

/// Divides each lane by its Frobenius norm, so that no square overflows or underflows. Returns the norms.
#[inline(always)]
fn normalise<T: Float, const L: usize>(m: &mut [[T; L]]) -> [T; L] {
    let (zero, one) = (T::zero(), T::one());
    let mut top = [zero; L];
    for x in m.iter() {
        top = zip(&top, x, |t, x| t.max(x.abs()));
    }
    let safe = zip(&top, &top, |t, _| if t > zero { one / t } else { one });
    let mut sum = [zero; L];
    for x in m.iter() {
        for l in 0..L {
            sum[l] = sum[l] + (x[l] * safe[l]) * (x[l] * safe[l]);
        }
    }
    let norm = zip(&sum, &top, |s, t| if t > zero { s.sqrt() * t } else { one });
    for x in m.iter_mut() {
        *x = zip(x, &norm, |x, norm| x / norm);
    }
    norm
}

/// Rows p < q: (x, y) <- (c x - s y, s x + c y).
#[inline(always)]
fn rotate_rows<T: Float, const L: usize>(m: &mut [[T; L]], stride: usize, p: usize, q: usize, c: &[T; L], s: &[T; L]) {
    let (c, s) = (tiled(c), tiled(s));
    let (head, tail) = m.split_at_mut(q * stride);
    for (x, y) in row_mut(head, p, stride).iter_mut().zip(row_mut(tail, 0, stride)) {
        for l in 0..LANES {
            let (a, b) = (x[l], y[l]);
            x[l] = c[l] * a - s[l] * b;
            y[l] = s[l] * a + c[l] * b;
        }
    }
}

#[inline(always)]
fn set_identity<T: Float, const L: usize>(m: &mut [[T; L]], n: usize, stride: usize) {
    m.fill([T::zero(); L]);
    for i in 0..n {
        m[i * stride + i] = [T::one(); L];
    }
}

/// A = V^T diag(w) V for symmetric A (n, n): on return `w` holds the eigenvalues and the **rows** of `v` the vectors.
/// `a` is destroyed. Rows of all matrices are [`stride`] entries apart.
#[inline(always)]
pub(crate) fn eigh_body<T: Float, const L: usize>(n: usize, a: &mut [[T; L]], w: &mut [[T; L]], v: &mut [[T; L]]) {
    let wide = stride(n, L);
    set_identity(v, n, wide);
    let norm = normalise(a);
    let half = T::epsilon() / (T::one() + T::one());
    let floor = [half * half; L];
    for _ in 0..SWEEPS {
        let mut turned = [T::zero(); L];
        for p in 0..n {
            for q in p + 1..n {
                let off = a[p * wide + q];
                if !any_above(&off, &floor) {
                    continue;
                }
                let [c, s, t] = rotation(&a[p * wide + p], &a[q * wide + q], &off, &floor);
                let (pp, qq) = (a[p * wide + p], a[q * wide + q]);
                // Only entries above the diagonal are kept, so that each number is computed once.
                for k in (0..n).filter(|&k| k != p && k != q) {
                    let (i, j) = (k.min(p) * wide + k.max(p), k.min(q) * wide + k.max(q));
                    for l in 0..L {
                        let (x, y) = (a[i][l], a[j][l]);
                        a[i][l] = c[l] * x - s[l] * y;
                        a[j][l] = s[l] * x + c[l] * y;
                    }
                }
                let mut zero = off;
                for l in 0..L {
                    let small = off[l] * off[l] <= floor[l];
                    a[p * wide + p][l] = pp[l] - t[l] * off[l];
                    a[q * wide + q][l] = qq[l] + t[l] * off[l];
                    turned[l] = turned[l].max(t[l].abs());
                    zero[l] = if small { off[l] } else { T::zero() };
                }
                a[p * wide + q] = zero;
                rotate_rows(v, wide, p, q, &c, &s);
            }
        }
        if settled(n, half, &turned) {
            break;
        }
    }
    for i in 0..n {
        w[i] = zip(&a[i * wide + i], &norm, |x, norm| x * norm);
    }
}

/// M = U^T diag(s) V for square M (n, n), given as its **columns** in the rows of `u`. On return the rows of `u` and `v`
/// are the singular vectors and `s` holds the values, unsorted. Vectors of vanishing
/// values follow the rule of [`super::null_space`].
#[inline(always)]
pub(crate) fn svd_body<T: Float, const L: usize>(n: usize, u: &mut [[T; L]], s: &mut [[T; L]], v: &mut [[T; L]]) {
    let wide = stride(n, L);
    set_identity(v, n, wide);
    let norm = normalise(u);
    let four = T::one() + T::one() + T::one() + T::one();
    let tiny = T::epsilon() * four;
    for i in 0..n {
        s[i] = dot(row(u, i, wide), row(u, i, wide));
    }
    let even = n.next_multiple_of(2);
    for _ in 0..SWEEPS {
        let mut turned = [T::zero(); L];
        let rounds = (0..even - 1).flat_map(|round| (0..even / 2).step_by(TOGETHER).map(move |first| (round, first)));
        for (round, first) in rounds {
            let met = first..(first + TOGETHER).min(even / 2);
            let mut turns = [[[T::zero(); L]; 4]; TOGETHER];
            let mut any = false;
            for i in met.clone() {
                let (p, q) = pair(even, round, i);
                if q < n {
                    let off = dot(row(u, p, wide), row(u, q, wide));
                    let floor = zip(&s[p], &s[q], |a, b| (a * b).max(T::zero()) * (tiny * tiny));
                    any |= any_above(&off, &floor);
                    let [c, sin, t] = rotation(&s[p], &s[q], &off, &floor);
                    turns[i - first] = [c, sin, t, off];
                }
            }
            if !any {
                continue;
            }
            for i in met {
                let ((p, q), [c, sin, t, off]) = (pair(even, round, i), &turns[i - first]);
                // With an odd number of rows, one row has no partner in each round.
                if q < n {
                    rotate_rows(u, wide, p, q, c, sin);
                    rotate_rows(v, wide, p, q, c, sin);
                    for l in 0..L {
                        s[p][l] = (s[p][l] - t[l] * off[l]).max(T::zero());
                        s[q][l] = s[q][l] + t[l] * off[l];
                        turned[l] = turned[l].max(t[l].abs());
                    }
                }
            }
        }
        // Updated norms drift away from the true ones, so each sweep starts from norms computed anew.
        for i in 0..n {
            s[i] = dot(row(u, i, wide), row(u, i, wide));
        }
        if settled(n, tiny, &turned) {
            break;
        }
    }
    let mut top = [T::zero(); L];
    for i in 0..n {
        s[i] = zip(&s[i], &s[i], |x, _| x.sqrt());
        top = zip(&top, &s[i], T::max);
    }
    for i in 0..n {
        let inverse = zip(&s[i], &top, |x, top| if x > tiny * top { T::one() / x } else { T::zero() });
        for k in 0..n {
            u[i * wide + k] = zip(&u[i * wide + k], &inverse, |x, f| x * f);
        }
    }
    for l in 0..L {
        complete_null_spaces(n, u, v, s, tiny * top[l], l);
    }
    for s in s.iter_mut() {
        *s = zip(s, &norm, |s, norm| s * norm);
    }
}
