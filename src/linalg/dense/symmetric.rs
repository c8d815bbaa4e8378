//! Symmetric matrices: f(A) = V f(diag w) V^T, and the isometry svec between symmetric matrices and vectors.

use crate::{Error, Real, Result, eigh, matmul};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};

/// f applied to the eigenvalues of a symmetric matrix.
///
/// ```
/// let a = ndarray::array![[2.0, 1.0], [1.0, 2.0]];
/// let root = linalg::sym_fn(a.view(), f64::sqrt).unwrap();
/// assert!((&root.dot(&root) - &a).iter().all(|e| e.abs() < 1e-14));
/// ```
pub fn sym_fn<T: Real>(a: ArrayView2<'_, T>, f: impl Fn(T) -> T) -> Result<Array2<T>> {
    let e = eigh(a)?;
    let scaled = &e.vectors * &e.values.mapv(f);
    Ok(matmul(scaled.view(), e.vectors.t()))
}

/// (A + A^T) / 2.
pub fn symmetrise<T: Real>(a: ArrayView2<'_, T>) -> Array2<T> {
    (&a + &a.t()).mapv(|v| v * T::of(0.5))
}

/// Whether |A - A^T| <= tol max|A| everywhere. False for a matrix that is not square.
pub fn is_symmetric<T: Real>(a: ArrayView2<'_, T>, tol: f64) -> bool {
    if !a.is_square() {
        return false;
    }
    // Most matrices are symmetric to the bit, and need no scale. An infinity minus itself is not zero.
    let n = a.nrows();
    if let Some(flat) = a.as_slice() {
        let equal = |i: usize| (0..i).all(|j| flat[i * n + j] - flat[j * n + i] == T::of(0.0));
        if (0..n).all(equal) {
            return true;
        }
    }
    let scale = a.iter().fold(0.0f64, |m, v| m.max(v.as_f64().abs()));
    (0..n).all(|i| (0..i).all(|j| (a[[i, j]] - a[[j, i]]).as_f64().abs() <= tol * scale))
}

/// The half-vectorisation that keeps inner products: the upper triangle row by row, off-diagonal entries times sqrt 2.
pub fn svec<T: Real>(a: ArrayView2<'_, T>) -> Array1<T> {
    let (n, root2) = (a.nrows(), T::of(std::f64::consts::SQRT_2));
    let entry = |(i, j): (usize, usize)| if i == j { a[[i, j]] } else { a[[i, j]] * root2 };
    (0..n).flat_map(|i| (i..n).map(move |j| (i, j))).map(entry).collect()
}

/// The inverse of [`svec`]: the symmetric n x n matrix with that half-vectorisation.
pub fn smat<T: Real>(v: ArrayView1<'_, T>, n: usize) -> Result<Array2<T>> {
    if v.len() != n * (n + 1) / 2 {
        return Err(Error::Shape { what: "smat", left: vec![v.len()], right: vec![n, n] });
    }
    let mut a = Array2::zeros((n, n));
    let inv_root2 = T::of(std::f64::consts::FRAC_1_SQRT_2);
    let pairs = (0..n).flat_map(|i| (i..n).map(move |j| (i, j)));
    for ((i, j), &x) in pairs.zip(v) {
        let x = if i == j { x } else { x * inv_root2 };
        a[[i, j]] = x;
        a[[j, i]] = x;
    }
    Ok(a)
}
