//! Decompositions of one matrix: A = V diag(w) V^T, A = U diag(s) V^T, A = L L^T (also pivoted), min ||A X - B||.
//!
//! [`faer`] does the work, with the scalars of `fixed`: the same bits on every machine. Cholesky factors are our own, see `cholesky`.

use super::cholesky::{factor, solve};
use crate::{Error, Real, Result};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt_pivoting::factor as piv_llt;
use faer::linalg::solvers::SolveLstsq;
use faer::{MatRef, Par, Side};
use ndarray::{Array1, Array2, ArrayView2};

/// A = vectors diag(values) vectors^T with ascending values and orthonormal columns.
#[derive(Debug, Clone)]
pub struct Eigh<T> {
    /// Eigenvalues, ascending.
    pub values: Array1<T>,
    /// Eigenvectors, one per column.
    pub vectors: Array2<T>,
}

/// A = u diag(s) vt with descending s, thin: u (m, k), vt (k, n), k = min(m, n).
#[derive(Debug, Clone)]
pub struct Svd<T> {
    /// Left singular vectors, one per column.
    pub u: Array2<T>,
    /// Singular values, descending.
    pub s: Array1<T>,
    /// Right singular vectors, one per row.
    pub vt: Array2<T>,
}

fn finite<T: Real>(what: &'static str, a: &ArrayView2<'_, T>) -> Result<()> {
    if a.iter().all(|v| num_traits::Float::is_finite(*v)) { Ok(()) } else { Err(Error::NotFinite { what }) }
}

fn square<T: Real>(what: &'static str, a: &ArrayView2<'_, T>) -> Result<()> {
    let (rows, cols) = a.dim();
    if rows == cols { Ok(()) } else { Err(Error::NotSquare { what, rows, cols }) }
}

/// The longest shorter side of a matrix: in faer 0.23.2 a product of scalars of one's own with more columns ends in a panic.
const LIMIT: usize = 2048;

fn not_too_large<T: Real>(what: &'static str, a: &ArrayView2<'_, T>) -> Result<()> {
    let (rows, cols) = a.dim();
    if rows.min(cols) <= LIMIT { Ok(()) } else { Err(Error::TooLarge { what, rows, cols, limit: LIMIT }) }
}

/// A faer view of an ndarray view, of any strides, in the scalar that gives the same bits on every machine.
fn as_faer<'a, T: Real>(a: &'a ArrayView2<'_, T>) -> MatRef<'a, T::Fixed> {
    let (m, n) = a.dim();
    let s = a.strides();
    // SAFETY: pointer, shape and strides describe the same live, aligned allocation as the view borrowed for 'a, and
    // `Fixed` has the layout of T.
    unsafe { MatRef::from_raw_parts(a.as_ptr().cast(), m, n, s[0], s[1]) }
}

fn from_faer<T: Real>(m: MatRef<'_, T::Fixed>) -> Array2<T> {
    Array2::from_shape_fn((m.nrows(), m.ncols()), |(i, j)| T::from_fixed(m[(i, j)]))
}

/// Eigenvalues and eigenvectors of a symmetric matrix (the lower triangle is read).
///
/// ```
/// let e = linalg::eigh(ndarray::array![[2.0, 1.0], [1.0, 2.0]].view()).unwrap();
/// assert!((e.values[0] - 1.0f64).abs() < 1e-14 && (e.values[1] - 3.0).abs() < 1e-14);
/// ```
pub fn eigh<T: Real>(a: ArrayView2<'_, T>) -> Result<Eigh<T>> {
    square("eigh", &a)?;
    finite("eigh", &a)?;
    not_too_large("eigh", &a)?;
    let e = as_faer(&a).self_adjoint_eigen(Side::Lower).map_err(|_| Error::NoConvergence { what: "eigh" })?;
    let d = e.S().column_vector();
    Ok(Eigh { values: Array1::from_shape_fn(a.nrows(), |i| T::from_fixed(d[i])), vectors: from_faer(e.U()) })
}

/// Thin singular value decomposition.
pub fn svd<T: Real>(a: ArrayView2<'_, T>) -> Result<Svd<T>> {
    finite("svd", &a)?;
    not_too_large("svd", &a)?;
    let Ok(d) = as_faer(&a).thin_svd() else {
        return super::jacobi::svd(a).ok_or(Error::NoConvergence { what: "svd" });
    };
    let s = d.S().column_vector();
    Ok(Svd {
        u: from_faer(d.U()),
        s: Array1::from_shape_fn(s.nrows(), |i| T::from_fixed(s[i])),
        vt: from_faer(d.V()).reversed_axes().as_standard_layout().into_owned(),
    })
}

/// Lower Cholesky factor L with A = L L^T (the lower triangle is read).
pub fn cholesky<T: Real>(a: ArrayView2<'_, T>) -> Result<Array2<T>> {
    square("cholesky", &a)?;
    finite("cholesky", &a)?;
    let u = factor(a).ok_or(Error::NotPositiveDefinite { what: "cholesky" })?;
    Ok(u.reversed_axes().as_standard_layout().into_owned())
}

/// L (n, rank) with A = L L^T for a positive semidefinite matrix (the lower triangle is read), by Cholesky with diagonal pivoting. The
/// rank is where what is left falls below the rounding of the largest diagonal entry; a matrix of zeros gives one column of zeros.
///
/// ```
/// let a = ndarray::array![[4.0, 2.0], [2.0, 1.0]];
/// let l = linalg::pivoted_cholesky(a.view()).unwrap();
/// assert_eq!(l, ndarray::array![[2.0], [1.0]]);
/// ```
pub fn pivoted_cholesky<T: Real>(a: ArrayView2<'_, T>) -> Result<Array2<T>> {
    let what = "pivoted_cholesky";
    square(what, &a)?;
    finite(what, &a)?;
    not_too_large(what, &a)?;
    let n = a.nrows();
    if a.diag().iter().all(|v| *v <= T::of(0.0)) {
        return Ok(Array2::zeros((n, 1)));
    }
    // A diagonal entry below zero is rounding, in a matrix that is positive semidefinite.
    let mut whole = a.to_owned();
    whole.diag_mut().mapv_inplace(|v| num_traits::Float::max(v, T::of(0.0)));
    let mut l = as_faer(&whole.view()).to_owned();
    let (mut order, mut inverse) = (vec![0usize; n], vec![0usize; n]);
    let mut scratch =
        MemBuffer::new(piv_llt::cholesky_in_place_scratch::<usize, T::Fixed>(n, Par::Seq, Default::default()));
    let stack = MemStack::new(&mut scratch);
    let (found, _) =
        piv_llt::cholesky_in_place(l.as_mut(), &mut order, &mut inverse, Par::Seq, stack, Default::default())
            .map_err(|_| Error::NotPositiveDefinite { what })?;
    // Row k of the factor belongs to sample order[k]; above the diagonal stands what was there before.
    let entry = |(i, j): (usize, usize)| if j <= inverse[i] { T::from_fixed(l[(inverse[i], j)]) } else { T::of(0.0) };
    Ok(Array2::from_shape_fn((n, found.rank), entry))
}

/// X with A X = B for symmetric positive definite A, by Cholesky.
pub fn solve_spd<T: Real>(a: ArrayView2<'_, T>, b: ArrayView2<'_, T>) -> Result<Array2<T>> {
    square("solve_spd", &a)?;
    finite("solve_spd", &a)?;
    finite("solve_spd", &b)?;
    if a.nrows() != b.nrows() {
        return Err(Error::Shape { what: "solve_spd", left: a.shape().to_vec(), right: b.shape().to_vec() });
    }
    let u = factor(a).ok_or(Error::NotPositiveDefinite { what: "solve_spd" })?;
    Ok(solve(&u, b))
}

/// The X of least norm that minimises ||A X - B||_F. Singular values below `rcond` times the largest count as zero.
///
/// Tall systems that are well conditioned go through the normal equations, refined on the residual of A itself; other tall
/// ones through QR with column pivoting, whose diagonal shows the condition; the rest through the singular values. Without
/// pivoting the diagonal of R can look harmless in a matrix that is singular to rounding.
pub fn lstsq<T: Real>(a: ArrayView2<'_, T>, b: ArrayView2<'_, T>, rcond: T) -> Result<Array2<T>> {
    finite("lstsq", &a)?;
    finite("lstsq", &b)?;
    if a.nrows() != b.nrows() {
        return Err(Error::Shape { what: "lstsq", left: a.shape().to_vec(), right: b.shape().to_vec() });
    }
    if a.nrows() >= a.ncols() {
        if let Some(x) = by_normal_equations(a, b, rcond) {
            return Ok(x);
        }
        not_too_large("lstsq", &a)?;
        let qr = as_faer(&a).col_piv_qr();
        let r = qr.thin_R();
        let diag = (0..r.ncols()).map(|i| num_traits::Float::abs(T::from_fixed(r[(i, i)])));
        let (lo, hi) = diag.fold((T::max_value(), T::of(0.0)), |(lo, hi), v| {
            (num_traits::Float::min(lo, v), num_traits::Float::max(hi, v))
        });
        if b.ncols() <= LIMIT && lo > hi * rcond * T::of(1e3) {
            return Ok(from_faer(qr.solve_lstsq(as_faer(&b)).as_ref()));
        }
    }
    let d = svd(a)?;
    let cut = d.s.first().copied().unwrap_or_else(T::default) * rcond;
    let mut utb = crate::matmul(d.u.t(), b);
    for (mut row, &s) in utb.rows_mut().into_iter().zip(&d.s) {
        row.mapv_inplace(|v| if s > cut { v / s } else { T::of(0.0) });
    }
    Ok(crate::matmul(d.vt.t(), utb.view()))
}

/// The X that minimises ||A X - B||_F from A^T A X = A^T B, where A has full column rank and a condition far below 1 / sqrt eps;
/// none otherwise.
///
/// tr(A^T A) tr((A^T A)^-1) is an upper bound of the condition of A^T A. Each step of refinement multiplies the error by at
/// most that condition times eps, so three of them reach the accuracy of a QR decomposition, at the speed of products.
fn by_normal_equations<T: Real>(a: ArrayView2<'_, T>, b: ArrayView2<'_, T>, rcond: T) -> Option<Array2<T>> {
    let gram = crate::matmul(a.t(), a);
    let u = factor(gram.view())?;
    let inverse = solve(&u, Array2::eye(a.ncols()).view());
    let condition = gram.diag().sum() * inverse.diag().sum();
    let root = num_traits::Float::sqrt(condition);
    // NaN and infinity compare false.
    if !(condition * T::epsilon() < T::of(1e-5) && root * rcond * T::of(1e3) < T::of(1.0)) {
        return None;
    }
    let mut x = solve(&u, crate::matmul(a.t(), b).view());
    for _ in 0..3 {
        let mut residual = b.to_owned();
        crate::gemm(T::of(-1.0), a, x.view(), T::of(1.0), residual.view_mut());
        x += &solve(&u, crate::matmul(a.t(), residual.view()).view());
    }
    Some(x)
}
