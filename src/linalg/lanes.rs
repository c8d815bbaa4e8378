//! Many small matrices at once, one per lane: Jacobi's eigenvalue and singular value iterations without branches.
//!
//! A batch of 15 x 15 decompositions leaves a vector unit idle if done one by one. Here entry (i, j) of all L matrices
//! (sixteen, or four where a batch is that small: roots and quotients of short vectors are faster) is one array, each
//! rotation has L angles, and the iteration ends when every lane has converged.
//! Lanes are independent: a lane's result does not depend on what the others hold, except for the number of sweeps.

use num_traits::Float;

/// Matrices per batch.
pub const LANES: usize = 16;
/// Matrices per batch where there are no more.
pub(crate) const FEW: usize = 4;
/// One entry of all matrices of a batch.
pub type Lane<T> = [T; LANES];

const SWEEPS: usize = 30;

#[inline(always)]
fn zip<T: Float, const L: usize>(a: &[T; L], b: &[T; L], f: impl Fn(T, T) -> T) -> [T; L] {
    let mut out = [T::zero(); L];
    for l in 0..L {
        out[l] = f(a[l], b[l]);
    }
    out
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

/// Divides each lane by its Frobenius norm, so that no square over- or underflows; the norms.
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

/// (x, y) <- (c x - s y, s x + c y).
#[inline(always)]
fn rotate<T: Float, const L: usize>(x: &mut [T; L], y: &mut [T; L], c: &[T; L], s: &[T; L]) {
    for l in 0..L {
        let (a, b) = (x[l], y[l]);
        x[l] = c[l] * a - s[l] * b;
        y[l] = s[l] * a + c[l] * b;
    }
}

/// Rotates two rows of `n` entries each.
#[inline(always)]
fn rotate_rows<T: Float, const L: usize>(m: &mut [[T; L]], n: usize, p: usize, q: usize, c: &[T; L], s: &[T; L]) {
    let (head, tail) = m.split_at_mut(q * n);
    for (x, y) in head[p * n..(p + 1) * n].iter_mut().zip(&mut tail[..n]) {
        rotate(x, y, c, s);
    }
}

#[inline(always)]
fn set_identity<T: Float, const L: usize>(m: &mut [[T; L]], n: usize) {
    m.fill([T::zero(); L]);
    for i in 0..n {
        m[i * n + i] = [T::one(); L];
    }
}

/// A = V^T diag(w) V for symmetric A (n, n): on return `w` holds the eigenvalues and the **rows** of `v` the vectors.
/// `a` is destroyed.
#[inline(always)]
pub(crate) fn eigh_body<T: Float, const L: usize>(n: usize, a: &mut [[T; L]], w: &mut [[T; L]], v: &mut [[T; L]]) {
    set_identity(v, n);
    let norm = normalise(a);
    let half = T::epsilon() / (T::one() + T::one());
    let floor = [half * half; L];
    for _ in 0..SWEEPS {
        let mut busy = false;
        for p in 0..n {
            for q in p + 1..n {
                let off = a[p * n + q];
                if !any_above(&off, &floor) {
                    continue;
                }
                busy = true;
                let [c, s, t] = rotation(&a[p * n + p], &a[q * n + q], &off, &floor);
                let (pp, qq) = (a[p * n + p], a[q * n + q]);
                rotate_rows(a, n, p, q, &c, &s);
                for k in 0..n {
                    let (x, y) = (a[p * n + k], a[q * n + k]);
                    a[k * n + p] = x;
                    a[k * n + q] = y;
                }
                let mut zero = off;
                for l in 0..L {
                    let small = off[l] * off[l] <= floor[l];
                    a[p * n + p][l] = pp[l] - t[l] * off[l];
                    a[q * n + q][l] = qq[l] + t[l] * off[l];
                    zero[l] = if small { off[l] } else { T::zero() };
                }
                a[p * n + q] = zero;
                a[q * n + p] = zero;
                rotate_rows(v, n, p, q, &c, &s);
            }
        }
        if !busy {
            break;
        }
    }
    for i in 0..n {
        w[i] = zip(&a[i * n + i], &norm, |x, norm| x * norm);
    }
}

/// M = U^T diag(s) V for square M (n, n), given as its **columns** in the rows of `u`. On return the rows of `u` and `v`
/// are the singular vectors and `s` holds the values, unsorted. Vectors of vanishing values are completed to a basis.
#[inline(always)]
pub(crate) fn svd_body<T: Float, const L: usize>(n: usize, u: &mut [[T; L]], s: &mut [[T; L]], v: &mut [[T; L]]) {
    set_identity(v, n);
    let norm = normalise(u);
    let four = T::one() + T::one() + T::one() + T::one();
    let tiny = T::epsilon() * four;
    for i in 0..n {
        s[i] = dot(n, u, i, i);
    }
    for _ in 0..SWEEPS {
        let mut busy = false;
        for p in 0..n {
            for q in p + 1..n {
                let off = dot(n, u, p, q);
                let floor = zip(&s[p], &s[q], |a, b| (a * b).max(T::zero()) * (tiny * tiny));
                if !any_above(&off, &floor) {
                    continue;
                }
                busy = true;
                let [c, sin, t] = rotation(&s[p], &s[q], &off, &floor);
                rotate_rows(u, n, p, q, &c, &sin);
                rotate_rows(v, n, p, q, &c, &sin);
                for l in 0..L {
                    s[p][l] = (s[p][l] - t[l] * off[l]).max(T::zero());
                    s[q][l] = s[q][l] + t[l] * off[l];
                }
            }
        }
        // Norms kept by updates drift: start each sweep from the true ones.
        for i in 0..n {
            s[i] = dot(n, u, i, i);
        }
        if !busy {
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
            u[i * n + k] = zip(&u[i * n + k], &inverse, |x, f| x * f);
        }
    }
    for l in 0..L {
        for i in 0..n {
            if s[i][l] <= tiny * top[l] {
                complete(n, u, i, l);
            }
        }
    }
    for s in s.iter_mut() {
        *s = zip(s, &norm, |s, norm| s * norm);
    }
}

/// The product of rows p and q.
#[inline(always)]
fn dot<T: Float, const L: usize>(n: usize, u: &[[T; L]], p: usize, q: usize) -> [T; L] {
    // Two running sums, so that one addition need not wait for the other.
    let (mut even, mut odd) = ([T::zero(); L], [T::zero(); L]);
    let mut pairs = u[p * n..(p + 1) * n].iter().zip(&u[q * n..(q + 1) * n]);
    while let Some((x, y)) = pairs.next() {
        for l in 0..L {
            even[l] = even[l] + x[l] * y[l];
        }
        if let Some((x, y)) = pairs.next() {
            for l in 0..L {
                odd[l] = odd[l] + x[l] * y[l];
            }
        }
    }
    zip(&even, &odd, |a, b| a + b)
}

/// Row i of lane l becomes a unit vector orthogonal to all other rows (rows not yet known are zero).
fn complete<T: Float, const L: usize>(n: usize, u: &mut [[T; L]], i: usize, l: usize) {
    let mut best = (T::zero(), 0);
    for axis in 0..n {
        let share = (0..n).filter(|&j| j != i).fold(T::zero(), |s, j| s + u[j * n + axis][l] * u[j * n + axis][l]);
        if T::one() - share > best.0 {
            best = (T::one() - share, axis);
        }
    }
    for k in 0..n {
        u[i * n + k][l] = if k == best.1 { T::one() } else { T::zero() };
    }
    // Twice, because once leaves rounding of the size of what was removed.
    for _ in 0..2 {
        for j in (0..n).filter(|&j| j != i) {
            let d = (0..n).fold(T::zero(), |s, k| s + u[i * n + k][l] * u[j * n + k][l]);
            for k in 0..n {
                u[i * n + k][l] = u[i * n + k][l] - d * u[j * n + k][l];
            }
        }
        let norm = (0..n).fold(T::zero(), |s, k| s + u[i * n + k][l] * u[i * n + k][l]).sqrt();
        for k in 0..n {
            u[i * n + k][l] = u[i * n + k][l] / norm;
        }
    }
}
