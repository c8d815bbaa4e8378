//! The vectors of vanishing singular values: bases of the two null spaces, and which of their vectors belong together.
//!
//! Where singular values of M vanish, U and V hold any orthonormal bases of the null spaces of M^T and of M, and a function of
//! the spectrum that is not 0 at 0, such as a clamp from below, would depend on the choice. The rule here depends on none:
//! the sum of u_i v_i^T over the vanishing values is the partial isometry nearest to the identity, which is the polar factor
//! of P P' with P and P' the projections on the two null spaces. It is the limit of U V^T of M + t I for t > 0 that falls to
//! 0, and on symmetric positive semidefinite M it is the projection on the null space, as the eigenvectors give it.
//!
//! The u_i are rotated until their projections on the null space of M are orthogonal (one-sided Jacobi iteration); the v_i
//! are these projections, scaled to unit length. Directions of one null space that are orthogonal to the other one have no
//! partner: their v_i is 0. The CUDA kernel `pair_null_spaces` of the crate kraus does the same.

use super::lane::stride;
use num_traits::Float;

/// Sweeps over all pairs; each is followed by another only if it has rotated something.
const SWEEPS: usize = 30;

/// Sets the vectors of the values of lane l that are at most `floor`. The others are known, and those rows of `u` are zero.
pub(crate) fn complete_null_spaces<T: Float, const L: usize>(
    n: usize,
    u: &mut [[T; L]],
    v: &mut [[T; L]],
    s: &[[T; L]],
    floor: T,
    l: usize,
) {
    let null = |i: &usize| s[*i][l] <= floor;
    if !(0..n).any(|i| null(&i)) {
        return;
    }
    (0..n).filter(null).for_each(|i| complete(n, u, i, l));
    let wide = stride(n, L);
    for i in (0..n).filter(null) {
        for k in 0..n {
            v[i * wide + k][l] = u[i * wide + k][l];
        }
        // One pass leaves rounding errors as large as what it removed; the second pass removes these.
        for _ in 0..2 {
            for j in (0..n).filter(|j| !null(j)) {
                let d = product(n, v, i, j, l);
                for k in 0..n {
                    v[i * wide + k][l] = v[i * wide + k][l] - d * v[j * wide + k][l];
                }
            }
        }
    }
    let one = T::one();
    let tiny = T::epsilon() * (one + one + one + one);
    for _ in 0..SWEEPS {
        let mut rotated = false;
        for p in (0..n).filter(null) {
            for q in (p + 1..n).filter(null) {
                let (a, b, off) = (product(n, v, p, p, l), product(n, v, q, q, l), product(n, v, p, q, l));
                if off.abs() > (a * b).sqrt() * tiny {
                    let theta = (b - a) / (off + off);
                    let t = theta.signum() / (theta.abs() + (theta * theta + one).sqrt());
                    let c = one / (t * t + one).sqrt();
                    rotate(n, u, (p, q), (c, t * c), l);
                    rotate(n, v, (p, q), (c, t * c), l);
                    rotated = true;
                }
            }
        }
        if !rotated {
            break;
        }
    }
    for i in (0..n).filter(null) {
        let norm = product(n, v, i, i, l).sqrt();
        // Below this length half of the digits of the direction are rounding.
        let scale = if norm > T::epsilon().sqrt() { one / norm } else { T::zero() };
        for k in 0..n {
            v[i * wide + k][l] = v[i * wide + k][l] * scale;
        }
    }
}

/// The scalar product of rows i and j in lane l.
fn product<T: Float, const L: usize>(n: usize, a: &[[T; L]], i: usize, j: usize, l: usize) -> T {
    let wide = stride(n, L);
    (0..n).fold(T::zero(), |sum, k| sum + a[i * wide + k][l] * a[j * wide + k][l])
}

/// Rotates rows p and q of lane l.
fn rotate<T: Float, const L: usize>(n: usize, a: &mut [[T; L]], (p, q): (usize, usize), (c, s): (T, T), l: usize) {
    let wide = stride(n, L);
    for k in 0..n {
        let (x, y) = (a[p * wide + k][l], a[q * wide + k][l]);
        a[p * wide + k][l] = c * x - s * y;
        a[q * wide + k][l] = s * x + c * y;
    }
}

/// Row i of lane l becomes a unit vector orthogonal to all other rows (rows not yet known are zero).
fn complete<T: Float, const L: usize>(n: usize, u: &mut [[T; L]], i: usize, l: usize) {
    let wide = stride(n, L);
    let mut best = (T::zero(), 0);
    for axis in 0..n {
        let share =
            (0..n).filter(|&j| j != i).fold(T::zero(), |s, j| s + u[j * wide + axis][l] * u[j * wide + axis][l]);
        if T::one() - share > best.0 {
            best = (T::one() - share, axis);
        }
    }
    for k in 0..n {
        u[i * wide + k][l] = if k == best.1 { T::one() } else { T::zero() };
    }
    // One pass leaves rounding errors as large as what it removed; the second pass removes these.
    for _ in 0..2 {
        for j in (0..n).filter(|&j| j != i) {
            let d = (0..n).fold(T::zero(), |s, k| s + u[i * wide + k][l] * u[j * wide + k][l]);
            for k in 0..n {
                u[i * wide + k][l] = u[i * wide + k][l] - d * u[j * wide + k][l];
            }
        }
        let norm = (0..n).fold(T::zero(), |s, k| s + u[i * wide + k][l] * u[i * wide + k][l]).sqrt();
        for k in 0..n {
            u[i * wide + k][l] = u[i * wide + k][l] / norm;
        }
    }
}
