//! Partial traces: tr_m replaces each m x m block of a q x q block matrix by its trace; the block trace sums the
//! diagonal blocks instead. And the Stinespring form Phi(X) = tr_m(A X A^T) with A in R^{qm x p}, m = r.

use crate::error::{Error, InputError, Result};
use crate::map::KrausMap;
use linalg::{Real, matmul};
use ndarray::{Array2, Array3, ArrayView2, s};

/// tr_m(M): M is (q m) x (q m), the result q x q with entry (i, j) the trace of the m x m block (i, j).
///
/// ```
/// let m = ndarray::Array2::from_shape_fn((4, 4), |(i, j)| (4 * i + j) as f64);
/// assert_eq!(kraus::tr_m(m.view(), 2).unwrap(), ndarray::array![[5.0, 9.0], [21.0, 25.0]]);
/// // With q = 1 it is the trace.
/// assert_eq!(kraus::tr_m(m.view(), 4).unwrap(), ndarray::array![[30.0]]);
/// ```
pub fn tr_m<T: Real>(matrix: ArrayView2<'_, T>, m: usize) -> Result<Array2<T>> {
    let q = blocks("partial trace", matrix, m)?;
    Ok(Array2::from_shape_fn((q, q), |(i, j)| (0..m).map(|k| matrix[[i * m + k, j * m + k]]).sum()))
}

/// The block trace: the sum of the diagonal m x m blocks, for contrast with [`tr_m`].
pub fn block_trace<T: Real>(matrix: ArrayView2<'_, T>, m: usize) -> Result<Array2<T>> {
    let q = blocks("block trace", matrix, m)?;
    let mut sum = Array2::zeros((m, m));
    for i in 0..q {
        sum += &matrix.slice(s![i * m..(i + 1) * m, i * m..(i + 1) * m]);
    }
    Ok(sum)
}

fn blocks<T>(what: &'static str, matrix: ArrayView2<'_, T>, m: usize) -> Result<usize> {
    let n = matrix.nrows();
    if m == 0 || n == 0 || matrix.ncols() != n || !n.is_multiple_of(m) {
        let q = n.checked_div(m).unwrap_or(0).max(1);
        return Err(InputError::shape(what, [q * m.max(1); 2], matrix.shape()).into());
    }
    Ok(n / m)
}

impl<T: Real> KrausMap<T> {
    /// The Stinespring matrix A in R^{qr x p}: row a r + k is row a of A_k, so that Phi(X) = tr_r(A X A^T).
    pub fn stinespring(&self) -> Array2<T> {
        let (r, q, p) = self.ops().dim();
        Array2::from_shape_fn((q * r, p), |(row, i)| self.ops()[[row % r, row / r, i]])
    }

    /// The map X -> tr_m(A X A^T) for A in R^{qm x p}.
    pub fn from_stinespring(a: ArrayView2<'_, T>, m: usize) -> Result<Self> {
        let (rows, p) = a.dim();
        if m == 0 {
            return Err(Error::RankZero);
        }
        if !rows.is_multiple_of(m) {
            let expected = vec![rows.div_ceil(m) * m, p];
            return Err(InputError::shape("Stinespring matrix", expected, a.shape()).into());
        }
        Self::new(Array3::from_shape_fn((m, rows / m, p), |(k, row, i)| a[[row * m + k, i]]))
    }

    /// Phi(X) by the Stinespring form: slower than [`apply`](Self::apply), the definition to check it against.
    pub fn apply_stinespring(&self, x: ArrayView2<'_, T>) -> Result<Array2<T>> {
        if x.dim() != (self.p(), self.p()) {
            return Err(InputError::shape("input", [self.p(); 2], x.shape()).into());
        }
        let a = self.stinespring();
        tr_m(matmul(matmul(a.view(), x).view(), a.t()).view(), self.rank())
    }
}
