//! A kernel made positive semidefinite.

use crate::{Error, Result};
use linalg::{eigh, matmul, symmetrise};
use ndarray::{Array2, ArrayView2};

/// A positive semidefinite kernel and what it took to make it so.
#[derive(Debug, Clone)]
pub struct PsdKernel {
    /// The PSD matrix nearest to the symmetric part in Frobenius norm; the symmetric part itself when it is PSD up to rounding.
    pub kernel: Array2<f64>,
    /// Number of negative eigenvalues that were set to zero.
    pub negative: usize,
    /// Their share of the sum of all absolute eigenvalues.
    pub negative_mass: f64,
}

impl PsdKernel {
    /// Sets the negative eigenvalues of the symmetric part to zero.
    ///
    /// ```
    /// let cut = baselines::svm::PsdKernel::project(ndarray::array![[0.0, 1.0], [1.0, 0.0]].view())?;
    /// assert_eq!((cut.negative, cut.negative_mass), (1, 0.5));
    /// assert!((cut.kernel[[0, 1]] - 0.5).abs() < 1e-14);
    /// # Ok::<(), baselines::Error>(())
    /// ```
    pub fn project(kernel: ArrayView2<'_, f64>) -> Result<Self> {
        let (n, cols) = kernel.dim();
        if n == 0 {
            return Err(Error::Input(estimator::Error::Empty { what: "kernel" }));
        }
        if n != cols {
            return Err(Error::Input(estimator::Error::Shape {
                what: "kernel",
                expected: format!("({n}, {n})"),
                got: kernel.shape().to_vec(),
            }));
        }
        if let Some(sample) = kernel.rows().into_iter().position(|row| row.iter().any(|v| !v.is_finite())) {
            return Err(Error::Input(estimator::Error::NotFinite { what: "kernel", sample }));
        }
        let sym = symmetrise(kernel);
        let e = eigh(sym.view())?;
        let total: f64 = e.values.iter().map(|w| w.abs()).sum();
        let cut: Vec<f64> = e.values.iter().copied().filter(|&w| w < -1e-12 * total).collect();
        if cut.is_empty() {
            return Ok(PsdKernel { kernel: sym, negative: 0, negative_mass: 0.0 });
        }
        let scaled = &e.vectors * &e.values.mapv(|w| w.max(0.0));
        let kernel = symmetrise(matmul(scaled.view(), e.vectors.t()).view());
        Ok(PsdKernel { kernel, negative: cut.len(), negative_mass: -cut.iter().sum::<f64>() / total })
    }
}
