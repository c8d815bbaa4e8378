//! Singular values by rotations of pairs of columns (one-sided Jacobi): slow, and it always converges.
//!
//! [`faer`] stops without a result on a few matrices whose singular values come in equal pairs, Q (I + S) with S skew, as a
//! descent on rotations meets them. `svd` turns to this file then.

use super::Svd;
use crate::Real;
use ndarray::{Array1, Array2, ArrayView2};

/// More sweeps than any matrix of double precision needs; six to ten are usual.
const SWEEPS: usize = 60;

/// Thin singular value decomposition of a finite matrix; `None` if columns are not orthogonal after all sweeps.
pub(super) fn svd<T: Real>(a: ArrayView2<'_, T>) -> Option<Svd<T>> {
    let wide = a.nrows() < a.ncols();
    // Columns are rows here, so that both vectors of a pair are contiguous.
    let tall = if wide { a } else { a.reversed_axes() };
    let largest = tall.iter().fold(0.0f64, |m, v| m.max(v.as_f64().abs()));
    let scale = if largest > 0.0 { largest } else { 1.0 };
    let mut rows = tall.mapv(|v| v.as_f64() / scale);
    let (k, m) = rows.dim();
    let mut turned = Array2::<f64>::eye(k);
    let done = (0..SWEEPS).any(|_| !sweep(&mut rows, &mut turned));
    if !done {
        return None;
    }
    let length: Vec<f64> = rows.outer_iter().map(|r| r.iter().map(|v| v * v).sum::<f64>().sqrt()).collect();
    let mut order: Vec<usize> = (0..k).collect();
    order.sort_by(|&i, &j| length[j].total_cmp(&length[i]));
    let mut left = Array2::<f64>::zeros((k, m));
    for (to, &from) in order.iter().enumerate() {
        let unit = if length[from] > 0.0 { &rows.row(from) / length[from] } else { another(&left, to) };
        left.row_mut(to).assign(&unit);
    }
    let right = turned.select(ndarray::Axis(0), &order);
    let s = Array1::from_shape_fn(k, |i| T::of(length[order[i]] * scale));
    let (left, right) = (left.mapv(T::of), right.mapv(T::of));
    let (u, vt) = if wide { (right.reversed_axes(), left) } else { (left.reversed_axes(), right) };
    Some(Svd { u: u.as_standard_layout().into_owned(), s, vt })
}

/// Makes each pair of rows orthogonal once; `turned` gets the same rotations. Whether any pair was rotated.
fn sweep(rows: &mut Array2<f64>, turned: &mut Array2<f64>) -> bool {
    let mut rotated = false;
    for p in 0..rows.nrows() {
        for q in p + 1..rows.nrows() {
            let (mut a, mut b, mut c) = (0.0, 0.0, 0.0);
            for (x, y) in rows.row(p).iter().zip(rows.row(q)) {
                (a, b, c) = (a + x * x, b + y * y, c + x * y);
            }
            if c.abs() <= 4.0 * f64::EPSILON * (a * b).sqrt() {
                continue;
            }
            rotated = true;
            let z = (b - a) / (2.0 * c);
            let t = z.signum() / (z.abs() + (1.0 + z * z).sqrt());
            let cos = 1.0 / (1.0 + t * t).sqrt();
            for m in [&mut *rows, &mut *turned] {
                for j in 0..m.ncols() {
                    let (x, y) = (m[(p, j)], m[(q, j)]);
                    m[(p, j)] = cos * (x - t * y);
                    m[(q, j)] = cos * (y + t * x);
                }
            }
        }
    }
    rotated
}

/// A unit vector orthogonal to the first `n` rows: what is left of the unit vector of which most is left.
fn another(rows: &Array2<f64>, n: usize) -> Array1<f64> {
    let m = rows.ncols();
    let known = |i: usize| (0..n).map(|r| rows[(r, i)] * rows[(r, i)]).sum::<f64>();
    let start = (0..m).min_by(|&i, &j| known(i).total_cmp(&known(j))).unwrap_or(0);
    let mut v = Array1::<f64>::zeros(m);
    v[start] = 1.0;
    // Twice: what the first pass leaves of the known rows is rounding, and the second takes it away.
    for _ in 0..2 {
        for row in rows.outer_iter().take(n) {
            let along: f64 = row.iter().zip(&v).map(|(a, b)| a * b).sum();
            v.zip_mut_with(&row, |v, r| *v -= along * r);
        }
        let length = v.iter().map(|v| v * v).sum::<f64>().sqrt();
        v /= length;
    }
    v
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    fn check(a: &Array2<f64>) {
        let d = svd(a.view()).unwrap();
        let k = a.nrows().min(a.ncols());
        let back = d.u.dot(&Array2::from_diag(&d.s)).dot(&d.vt);
        let size = d.s[0].max(1e-300);
        assert!((&back - a).iter().all(|v| v.abs() <= 1e-13 * size), "{a:?}");
        let close = |g: Array2<f64>| (g - Array2::<f64>::eye(k)).iter().all(|v| v.abs() < 1e-13);
        assert!(close(d.u.t().dot(&d.u)) && close(d.vt.dot(&d.vt.t())), "{a:?}");
        assert!(d.s.windows(2).into_iter().all(|w| w[0] >= w[1]) && d.s[k - 1] >= 0.0);
    }

    #[test]
    fn matrices_of_every_shape_and_rank() {
        check(&array![[3.0, 1.0], [1.0, 3.0], [0.0, 2.0]]);
        check(&array![[3.0, 1.0, 0.0], [1.0, 3.0, 2.0]]);
        check(&array![[1.0, 1.0], [1.0, 1.0]]);
        check(&Array2::zeros((3, 3)));
        check(&array![[1e200, 0.0], [0.0, 1e-200]]);
        let wave = Array2::from_shape_fn((22, 22), |(i, j)| ((3 * i + 7 * j * j) as f64).sin());
        check(&wave);
        check(&(Array2::<f64>::eye(22) + &wave - wave.t()));
    }
}
