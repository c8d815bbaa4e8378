//! The one interface of all regression baselines: matrices in, matrices out, an affine map between them.
//!
//! Every regression baseline of the paper is an affine map vec(Y) = vec(X) W + b; they differ only in how W is found
//! and what W is allowed to be. So there is one [`Fitted`] type, which holds W, b and the diagnostics of the fit.
//! Symmetric matrices are half-vectorised by the isometry `svec`: the entries on the diagonal, and those above it times sqrt 2. The
//! least-norm solutions are the same at a quarter of the cost: W is zero on the antisymmetric part, which symmetric inputs do not have.

use crate::{Error, Result};
use estimator::Convergence;
use linalg::matmul;
use linalg::tolerances::SYMMETRIC_SINGLE;
use ndarray::{Array1, Array2, Array3, ArrayView2, ArrayView3, Axis};

/// A regression method with its parameters, ready to be fitted.
///
/// ```
/// use baselines::{Multivariate, Regressor};
/// use ndarray::Array3;
/// // y = 3 x, one sample of 1 x 1 matrices
/// let fitted = Multivariate::least_squares().fit(Array3::from_elem((1, 1, 1), 2.0).view(), Array3::from_elem((1, 1, 1), 6.0).view())?;
/// assert!((fitted.predict(Array3::ones((1, 1, 1)).view())?[[0, 0, 0]] - 3.0).abs() < 1e-14);
/// # Ok::<(), baselines::Error>(())
/// ```
pub trait Regressor: Send + Sync {
    /// The method's name in tables.
    fn name(&self) -> &'static str;

    /// Refuses parameters that are wrong for any data.
    fn check_parameters(&self) -> Result<()>;

    /// Learns from X (l, p1, p2) and Y (l, q1, q2), samples along the first axis.
    fn fit(&self, x: ArrayView3<'_, f64>, y: ArrayView3<'_, f64>) -> Result<Fitted>;
}

/// Diagnostics of a fit.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Number of free parameters of the fitted model.
    pub parameters: usize,
    /// Iterations, epochs or latent vectors used.
    pub iterations: usize,
    /// Largest relative KKT residual over the outputs, where the method solves a convex problem iteratively.
    pub kkt: Option<f64>,
    /// Largest relative duality gap over the outputs, where there is a dual.
    pub gap: Option<f64>,
    /// Parameters that validation chose, by name.
    pub chosen: Vec<(&'static str, f64)>,
    /// Training error (mean square over entries) along the iterations, where the method has any.
    pub history: Vec<f64>,
    /// How the fit ended, with the measure it stopped on; none for a method that does not iterate.
    pub convergence: Option<Convergence>,
}

/// How matrices become vectors: row by row, or the half-vectorisation `svec` of symmetric ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Rows of a matrix.
    pub rows: usize,
    /// Columns of a matrix.
    pub cols: usize,
    /// Whether the vector is the half-vectorisation `svec` of the symmetric part.
    pub half: bool,
}

impl Layout {
    /// The layout for these matrices: `svec` when all of them are symmetric, else row by row.
    pub fn of(a: ArrayView3<'_, f64>) -> Self {
        let (_, rows, cols) = a.dim();
        Layout { rows, cols, half: rows > 1 && a.outer_iter().all(|m| linalg::is_symmetric(m, SYMMETRIC_SINGLE)) }
    }

    /// The layout that keeps every entry, symmetric or not.
    pub fn full(a: ArrayView3<'_, f64>) -> Self {
        let (_, rows, cols) = a.dim();
        Layout { rows, cols, half: false }
    }

    /// Length of the vector.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        if self.half { self.rows * (self.rows + 1) / 2 } else { self.rows * self.cols }
    }

    /// Factor of each coordinate against the matrix entry it stands for: sqrt 2 off the diagonal of `svec`, else 1.
    pub fn weights(&self) -> Array1<f64> {
        if !self.half {
            return Array1::ones(self.len());
        }
        let pairs = (0..self.rows).flat_map(|i| (i..self.rows).map(move |j| i == j));
        pairs.map(|diagonal| if diagonal { 1.0 } else { std::f64::consts::SQRT_2 }).collect()
    }

    /// Matrices (l, rows, cols) as vectors (l, len). Half layouts take the symmetric part.
    pub fn encode(&self, a: ArrayView3<'_, f64>) -> Array2<f64> {
        let mut z = Array2::zeros((a.len_of(Axis(0)), self.len()));
        for (m, mut v) in a.outer_iter().zip(z.rows_mut()) {
            if self.half {
                let pairs = (0..self.rows).flat_map(|i| (i..self.rows).map(move |j| (i, j)));
                for (out, (i, j)) in v.iter_mut().zip(pairs) {
                    let root2 = std::f64::consts::FRAC_1_SQRT_2;
                    *out = if i == j { m[[i, i]] } else { (m[[i, j]] + m[[j, i]]) * root2 };
                }
            } else {
                v.iter_mut().zip(m.iter()).for_each(|(out, &e)| *out = e);
            }
        }
        z
    }

    /// The inverse of [`encode`](Layout::encode).
    pub fn decode(&self, z: ArrayView2<'_, f64>) -> Array3<f64> {
        let mut a = Array3::zeros((z.nrows(), self.rows, self.cols));
        for (v, mut m) in z.rows().into_iter().zip(a.outer_iter_mut()) {
            if self.half {
                let pairs = (0..self.rows).flat_map(|i| (i..self.rows).map(move |j| (i, j)));
                for (&e, (i, j)) in v.iter().zip(pairs) {
                    let e = if i == j { e } else { e * std::f64::consts::FRAC_1_SQRT_2 };
                    m[[i, j]] = e;
                    m[[j, i]] = e;
                }
            } else {
                m.iter_mut().zip(v).for_each(|(out, &e)| *out = e);
            }
        }
        a
    }
}

/// An affine map between matrices, found by one of the baselines.
#[derive(Debug, Clone)]
pub struct Fitted {
    pub(crate) input: Layout,
    pub(crate) output: Layout,
    pub(crate) coef: Array2<f64>,
    pub(crate) bias: Array1<f64>,
    /// Diagnostics of the fit.
    pub report: Report,
}

impl Fitted {
    pub(crate) fn linear(input: Layout, output: Layout, coef: Array2<f64>, report: Report) -> Self {
        let bias = Array1::zeros(output.len());
        Fitted { input, output, coef, bias, report }
    }

    /// The map as a matrix W (input length, output length) in the model's own layouts.
    pub fn coefficients(&self) -> ArrayView2<'_, f64> {
        self.coef.view()
    }

    /// How inputs and outputs are vectorised.
    pub fn layouts(&self) -> (Layout, Layout) {
        (self.input, self.output)
    }

    /// Predictions (l, q1, q2) for X (l, p1, p2).
    pub fn predict(&self, x: ArrayView3<'_, f64>) -> Result<Array3<f64>> {
        let (_, rows, cols) = x.dim();
        if (rows, cols) != (self.input.rows, self.input.cols) {
            let expected = format!("(l, {}, {})", self.input.rows, self.input.cols);
            return Err(Error::Input(estimator::Error::Shape { what: "X", expected, got: x.shape().to_vec() }));
        }
        check_finite("X", x)?;
        let y = matmul(self.input.encode(x).view(), self.coef.view()) + &self.bias;
        Ok(self.output.decode(y.view()))
    }

    /// Mean squared error over all samples and entries.
    pub fn mse(&self, x: ArrayView3<'_, f64>, y: ArrayView3<'_, f64>) -> Result<f64> {
        check_pair(x, y)?;
        let p = self.predict(x)?;
        if p.dim() != y.dim() {
            return Err(Error::Input(estimator::Error::Shape {
                what: "Y",
                expected: format!("{:?}", p.shape()),
                got: y.shape().to_vec(),
            }));
        }
        Ok(mean_square((&p - &y).iter()))
    }
}

/// Refuses pairs no baseline can learn from: wrong shapes, empty sets, NaN.
pub(crate) fn check_pair(x: ArrayView3<'_, f64>, y: ArrayView3<'_, f64>) -> Result<()> {
    for (what, empty) in [("X", x.is_empty()), ("Y", y.is_empty())] {
        if empty {
            return Err(Error::Input(estimator::Error::Empty { what }));
        }
    }
    if x.dim().0 != y.dim().0 {
        let expected = format!("{} samples as in X", x.dim().0);
        return Err(Error::Input(estimator::Error::Shape { what: "Y", expected, got: y.shape().to_vec() }));
    }
    check_finite("X", x)?;
    check_finite("Y", y)
}

fn check_finite(what: &'static str, a: ArrayView3<'_, f64>) -> Result<()> {
    match a.outer_iter().position(|m| m.iter().any(|v| !v.is_finite())) {
        Some(sample) => Err(Error::Input(estimator::Error::NotFinite { what, sample })),
        None => Ok(()),
    }
}

pub(crate) fn mean_square<'a>(values: impl ExactSizeIterator<Item = &'a f64>) -> f64 {
    let n = values.len().max(1) as f64;
    values.map(|v| v * v).sum::<f64>() / n
}

/// The number of training samples when the last `holdout` share of l samples validates. Both parts have at least one sample.
pub(crate) fn split(l: usize, holdout: f64) -> Result<usize> {
    if !(holdout > 0.0 && holdout < 1.0) {
        return Err(Error::parameter("holdout", format!("must lie strictly between 0 and 1, got {holdout}")));
    }
    let train = l - ((l as f64 * holdout).round() as usize).max(1);
    if train == 0 {
        return Err(Error::parameter("holdout", format!("leaves none of {l} samples to train on; give more samples")));
    }
    Ok(train)
}
