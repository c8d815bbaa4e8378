//! Sixteen small matrices at once, one per lane: Jacobi's eigenvalue and singular value iterations without branches.
//!
//! A batch of 15 x 15 decompositions leaves a vector unit idle if done one by one. Here entry (i, j) of all sixteen
//! matrices is one array, each rotation has sixteen angles, and the iteration ends when every lane has converged.
//! Lanes are independent: a lane's result does not depend on what the others hold, except for the number of sweeps.

use num_traits::Float;

/// Matrices per batch.
pub const LANES: usize = 16;
/// One entry of all matrices of a batch.
pub type Lane<T> = [T; LANES];

const SWEEPS: usize = 30;

#[inline(always)]
fn zip<T: Float>(a: &Lane<T>, b: &Lane<T>, f: impl Fn(T, T) -> T) -> Lane<T> {
    let mut out = [T::zero(); LANES];
    for l in 0..LANES {
        out[l] = f(a[l], b[l]);
    }
    out
}

/// Cosine and sine of the rotation that annihilates `off` between diagonal entries `p` and `q`.
/// Lanes with |off| <= `floor` stay as they are.
#[inline(always)]
fn rotation<T: Float>(p: &Lane<T>, q: &Lane<T>, off: &Lane<T>, floor: &Lane<T>) -> (Lane<T>, Lane<T>, Lane<T>) {
    let (one, half) = (T::one(), T::one() / (T::one() + T::one()));
    let (mut cos, mut sin, mut tan) = ([one; LANES], [T::zero(); LANES], [T::zero(); LANES]);
    for l in 0..LANES {
        let small = off[l].abs() <= floor[l];
        let divisor = if small { one } else { off[l] };
        let theta = (q[l] - p[l]) * half / divisor;
        let t = one / (theta.abs() + (theta * theta + one).sqrt());
        let t = if theta < T::zero() { -t } else { t };
        let t = if small { T::zero() } else { t };
        let c = one / (t * t + one).sqrt();
        tan[l] = t;
        cos[l] = c;
        sin[l] = t * c;
    }
    (cos, sin, tan)
}

/// (x, y) <- (c x - s y, s x + c y).
#[inline(always)]
fn rotate<T: Float>(x: &mut Lane<T>, y: &mut Lane<T>, c: &Lane<T>, s: &Lane<T>) {
    for l in 0..LANES {
        let (a, b) = (x[l], y[l]);
        x[l] = c[l] * a - s[l] * b;
        y[l] = s[l] * a + c[l] * b;
    }
}

/// Rotates two rows of `n` entries each.
#[inline(always)]
fn rotate_rows<T: Float>(m: &mut [Lane<T>], n: usize, p: usize, q: usize, c: &Lane<T>, s: &Lane<T>) {
    let (head, tail) = m.split_at_mut(q * n);
    for (x, y) in head[p * n..(p + 1) * n].iter_mut().zip(&mut tail[..n]) {
        rotate(x, y, c, s);
    }
}

#[inline(always)]
fn set_identity<T: Float>(m: &mut [Lane<T>], n: usize) {
    m.fill([T::zero(); LANES]);
    for i in 0..n {
        m[i * n + i] = [T::one(); LANES];
    }
}

/// A = V^T diag(w) V for symmetric A (n, n): on return `w` holds the eigenvalues and the **rows** of `v` the vectors.
/// `a` is destroyed.
#[inline(always)]
pub(crate) fn eigh_body<T: Float>(n: usize, a: &mut [Lane<T>], w: &mut [Lane<T>], v: &mut [Lane<T>]) {
    set_identity(v, n);
    let mut scale = [T::zero(); LANES];
    for x in a.iter() {
        scale = zip(&scale, x, |s, x| s + x * x);
    }
    let floor = zip(&scale, &scale, |s, _| s.sqrt() * T::epsilon() / (T::one() + T::one()));
    for _ in 0..SWEEPS {
        let mut busy = false;
        for p in 0..n {
            for q in p + 1..n {
                let off = a[p * n + q];
                if !(0..LANES).fold(false, |b, l| b | (off[l].abs() > floor[l])) {
                    continue;
                }
                busy = true;
                let (c, s, t) = rotation(&a[p * n + p], &a[q * n + q], &off, &floor);
                let (pp, qq) = (a[p * n + p], a[q * n + q]);
                rotate_rows(a, n, p, q, &c, &s);
                for k in 0..n {
                    let (x, y) = (a[p * n + k], a[q * n + k]);
                    a[k * n + p] = x;
                    a[k * n + q] = y;
                }
                let mut zero = off;
                for l in 0..LANES {
                    let small = off[l].abs() <= floor[l];
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
        w[i] = a[i * n + i];
    }
}

/// M = U^T diag(s) V for square M (n, n), given as its **columns** in the rows of `u`. On return the rows of `u` and `v`
/// are the singular vectors and `s` holds the values, unsorted. Vectors of vanishing values are completed to a basis.
#[inline(always)]
pub(crate) fn svd_body<T: Float>(n: usize, u: &mut [Lane<T>], s: &mut [Lane<T>], v: &mut [Lane<T>]) {
    set_identity(v, n);
    let dot = |u: &[Lane<T>], p: usize, q: usize| {
        let mut sum = [T::zero(); LANES];
        for k in 0..n {
            for l in 0..LANES {
                sum[l] = sum[l] + u[p * n + k][l] * u[q * n + k][l];
            }
        }
        sum
    };
    let four = T::one() + T::one() + T::one() + T::one();
    for i in 0..n {
        s[i] = dot(u, i, i);
    }
    for _ in 0..SWEEPS {
        let mut busy = false;
        for p in 0..n {
            for q in p + 1..n {
                let off = dot(u, p, q);
                let floor = zip(&s[p], &s[q], |a, b| (a * b).max(T::zero()).sqrt() * T::epsilon() * four);
                if !(0..LANES).fold(false, |b, l| b | (off[l].abs() > floor[l])) {
                    continue;
                }
                busy = true;
                let (c, sin, t) = rotation(&s[p], &s[q], &off, &floor);
                rotate_rows(u, n, p, q, &c, &sin);
                rotate_rows(v, n, p, q, &c, &sin);
                for l in 0..LANES {
                    s[p][l] = (s[p][l] - t[l] * off[l]).max(T::zero());
                    s[q][l] = s[q][l] + t[l] * off[l];
                }
            }
        }
        // Norms kept by updates drift: start each sweep from the true ones.
        for i in 0..n {
            s[i] = dot(u, i, i);
        }
        if !busy {
            break;
        }
    }
    let mut top = [T::zero(); LANES];
    for i in 0..n {
        s[i] = zip(&s[i], &s[i], |x, _| x.sqrt());
        top = zip(&top, &s[i], T::max);
    }
    let tiny = T::epsilon() * four;
    for i in 0..n {
        let inverse = zip(&s[i], &top, |x, top| if x > tiny * top { T::one() / x } else { T::zero() });
        for k in 0..n {
            u[i * n + k] = zip(&u[i * n + k], &inverse, |x, f| x * f);
        }
    }
    for l in 0..LANES {
        for i in 0..n {
            if s[i][l] <= tiny * top[l] {
                complete(n, u, i, l);
            }
        }
    }
}

/// Row i of lane l becomes a unit vector orthogonal to all other rows (rows not yet known are zero).
fn complete<T: Float>(n: usize, u: &mut [Lane<T>], i: usize, l: usize) {
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
