//! Products of strided views: C = alpha A B + beta C.

use crate::Real;
use faer::{Accum, MatMut, MatRef, Par};
use ndarray::{Array2, ArrayView2, ArrayViewMut2};

/// A faer view of an ndarray view; any strides.
pub fn as_faer<'a, T>(a: &'a ArrayView2<'_, T>) -> MatRef<'a, T> {
    let (m, n) = a.dim();
    let s = a.strides();
    // SAFETY: pointer, shape and strides describe the same live, aligned allocation as the view borrowed for 'a.
    unsafe { MatRef::from_raw_parts(a.as_ptr(), m, n, s[0], s[1]) }
}

/// A mutable faer view of a mutable ndarray view; any strides.
pub fn as_faer_mut<'a, T>(a: &'a mut ArrayViewMut2<'_, T>) -> MatMut<'a, T> {
    let (m, n) = a.dim();
    let (rs, cs) = (a.strides()[0], a.strides()[1]);
    // SAFETY: as in `as_faer`, and the exclusive borrow guarantees that nothing else reads or writes it.
    unsafe { MatMut::from_raw_parts_mut(a.as_mut_ptr(), m, n, rs, cs) }
}

/// C <- alpha A B + beta C on the calling thread. `beta = 0` overwrites C without reading it.
///
/// # Panics
/// If the shapes do not fit: a programming error, since public entry points check shapes before they get here.
///
/// ```
/// use ndarray::{array, Array2};
/// let a = array![[1.0, 2.0], [3.0, 4.0]];
/// let mut c = Array2::<f64>::zeros((2, 2));
/// linalg::gemm(1.0, a.view(), a.t(), 0.0, c.view_mut());
/// assert_eq!(c, array![[5.0, 11.0], [11.0, 25.0]]);
/// ```
pub fn gemm<T: Real>(alpha: T, a: ArrayView2<'_, T>, b: ArrayView2<'_, T>, beta: T, mut c: ArrayViewMut2<'_, T>) {
    assert_eq!((a.nrows(), b.ncols()), c.dim(), "gemm: result shape");
    assert_eq!(a.ncols(), b.nrows(), "gemm: inner dimension");
    let accum = if beta == T::of(0.0) {
        Accum::Replace
    } else {
        if beta != T::of(1.0) {
            c.mapv_inplace(|v| v * beta);
        }
        Accum::Add
    };
    faer::linalg::matmul::matmul(as_faer_mut(&mut c), accum, as_faer(&a), as_faer(&b), alpha, Par::Seq);
}

/// A B as a new array.
pub fn matmul<T: Real>(a: ArrayView2<'_, T>, b: ArrayView2<'_, T>) -> Array2<T> {
    let mut c = Array2::zeros((a.nrows(), b.ncols()));
    gemm(T::of(1.0), a, b, T::of(0.0), c.view_mut());
    c
}
