//! Cholesky factors of single matrices, and the congruence R B R^T of eight matrices with a lower triangular R.
//!
//! With A = L L^T, the matrix L^-1 B L^-T has the eigenvalues of A^-1 B: that is all a Riemannian distance needs, at a third
//! of the cost of two square roots.

use crate::batch::{V, vectorised};

/// L with A = L L^T in the lower triangle of `l`; the upper one is set to zero. False when A is not positive definite.
pub(crate) fn cholesky(n: usize, a: &[f64], l: &mut [f64]) -> bool {
    for i in 0..n {
        let (above, row) = l.split_at_mut(i * n);
        for j in 0..i {
            let other = &above[j * n..(j + 1) * n];
            let dot: f64 = row[..j].iter().zip(other).map(|(x, y)| x * y).sum();
            row[j] = (a[i * n + j] - dot) / other[j];
        }
        let dot: f64 = row[..i].iter().map(|x| x * x).sum();
        let pivot = a[i * n + i] - dot;
        // A NaN pivot fails this comparison too.
        if !(pivot > 0.0 && pivot.is_finite()) {
            return false;
        }
        row[i] = pivot.sqrt();
        row[i + 1..n].fill(0.0);
    }
    true
}

/// The inverse of a lower triangular matrix, lower triangular.
pub(crate) fn invert_lower(n: usize, l: &[f64], inv: &mut [f64]) {
    inv.fill(0.0);
    for i in 0..n {
        let d = 1.0 / l[i * n + i];
        let (above, row) = inv.split_at_mut(i * n);
        for k in 0..i {
            let lik = l[i * n + k];
            for (x, y) in row[..=k].iter_mut().zip(&above[k * n..=k * n + k]) {
                *x -= lik * y;
            }
        }
        for x in &mut row[..i] {
            *x *= d;
        }
        row[i] = d;
    }
}

/// J L^T J with J the reversal of the indices: lower triangular, and (J L^T J)(J B J)(J L J) = J (L^T B L) J.
pub(crate) fn flip_transpose(n: usize, l: &[f64], out: &mut [f64]) {
    for i in 0..n {
        for j in 0..n {
            out[i * n + j] = l[(n - 1 - j) * n + n - 1 - i];
        }
    }
}

/// The lower triangle (by columns) of R B R^T, the same R (row-major) for all lanes. `t` is scratch of n * n.
pub(crate) fn congruence_shared(n: usize, r: &[f64], b: &[V], t: &mut [V], out: &mut [V]) {
    vectorised(
        #[inline(always)]
        || congruence(n, false, |at| V::splat(r[at]), b, t, out),
    )
}

/// As [`congruence_shared`] with an R of its own in each lane; with `full` R need not be triangular.
pub(crate) fn congruence_each(n: usize, full: bool, r: &[V], b: &[V], t: &mut [V], out: &mut [V]) {
    vectorised(
        #[inline(always)]
        || congruence(n, full, |at| r[at], b, t, out),
    )
}

#[inline(always)]
fn congruence(n: usize, full: bool, r: impl Fn(usize) -> V + Copy, b: &[V], t: &mut [V], out: &mut [V]) {
    let last = |i: usize| if full { n - 1 } else { i };
    for i in 0..n {
        let mut j = 0;
        while j + 4 <= n {
            left_tile::<4>(n, last(i), r, b, i, j, t);
            j += 4;
        }
        while j < n {
            left_tile::<1>(n, last(i), r, b, i, j, t);
            j += 1;
        }
    }
    for j in 0..n {
        let mut i = j;
        while i + 4 <= n {
            right_tile::<4>(n, last(j), r, t, i, j, out);
            i += 4;
        }
        while i < n {
            right_tile::<1>(n, last(j), r, t, i, j, out);
            i += 1;
        }
    }
}

/// Row `row` of R, up to column `last`, times columns `at .. at + W` of X.
#[inline(always)]
fn row_times_columns<const W: usize>(
    n: usize,
    last: usize,
    r: impl Fn(usize) -> V,
    row: usize,
    x: &[V],
    at: usize,
) -> [V; W] {
    let mut sum = [V::ZERO; W];
    for k in 0..=last {
        let rk = r(row * n + k);
        for (s, x) in sum.iter_mut().zip(&x[k * n + at..k * n + at + W]) {
            *s = rk.fma(*x, *s);
        }
    }
    sum
}

/// (R B)[i, j .. j+W] into t, transposed.
#[inline(always)]
fn left_tile<const W: usize>(
    n: usize,
    last: usize,
    r: impl Fn(usize) -> V + Copy,
    b: &[V],
    i: usize,
    j: usize,
    t: &mut [V],
) {
    let sum = row_times_columns::<W>(n, last, r, i, b, j);
    for (w, s) in sum.into_iter().enumerate() {
        t[(j + w) * n + i] = s;
    }
}

/// (R B R^T)[i .. i+W, j] from t = (R B)^T.
#[inline(always)]
fn right_tile<const W: usize>(
    n: usize,
    last: usize,
    r: impl Fn(usize) -> V + Copy,
    t: &[V],
    i: usize,
    j: usize,
    out: &mut [V],
) {
    let sum = row_times_columns::<W>(n, last, r, j, t, i);
    out[j * n + i..j * n + i + W].copy_from_slice(&sum);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factor_times_itself_is_the_matrix_and_its_inverse_undoes_it() {
        let a = [4.0, 2.0, 0.6, 2.0, 5.0, 1.0, 0.6, 1.0, 3.0];
        let (mut l, mut inv, mut flip) = ([0.0; 9], [0.0; 9], [0.0; 9]);
        assert!(cholesky(3, &a, &mut l));
        invert_lower(3, &l, &mut inv);
        flip_transpose(3, &l, &mut flip);
        for i in 0..3 {
            for j in 0..3 {
                let product: f64 = (0..3).map(|k| l[i * 3 + k] * l[j * 3 + k]).sum();
                assert!((product - a[i * 3 + j]).abs() < 1e-14);
                let unit: f64 = (0..3).map(|k| l[i * 3 + k] * inv[k * 3 + j]).sum();
                assert!((unit - f64::from(u8::from(i == j))).abs() < 1e-14);
                assert_eq!(flip[i * 3 + j], l[(2 - j) * 3 + 2 - i]);
            }
        }
        assert!(!cholesky(2, &[1.0, 2.0, 2.0, 1.0], &mut [0.0; 4]));
        assert!(!cholesky(1, &[f64::NAN], &mut [0.0; 1]));
    }
}
