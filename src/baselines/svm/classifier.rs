//! The machine behind the interface that all estimators of this project share (crate `estimator`).
//!
//! Samples are rows. With [`SvmKernel::Precomputed`] they are rows of a kernel matrix: (n, n) to fit, and (m, n) to predict, between m new
//! samples and the n training samples. The other kernels take rows of features, so that linfa can split them into folds.

use super::OneVsRest;
use estimator::{Classification, Convergence, Error, LabelModel, Labels, ParamGuard, Result};
use linalg::{math, matmul};
use ndarray::{Array2, ArrayView2, Ix2};

/// How two samples are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SvmKernel {
    /// The rows are those of a positive semidefinite kernel matrix.
    Precomputed,
    /// K(x, y) = x^T y.
    Linear,
    /// K(x, y) = exp(-gamma ||x - y||^2).
    Gaussian {
        /// The inverse squared width, positive.
        gamma: f64,
    },
}

impl SvmKernel {
    /// Kernel between the rows of `x` and the rows of `y`.
    fn between(self, x: ArrayView2<'_, f64>, y: ArrayView2<'_, f64>) -> Array2<f64> {
        match self {
            SvmKernel::Precomputed => x.to_owned(),
            SvmKernel::Linear => matmul(x, y.t()),
            SvmKernel::Gaussian { gamma } => Array2::from_shape_fn((x.nrows(), y.nrows()), |(i, j)| {
                let squares = x.row(i).into_iter().zip(y.row(j)).map(|(a, b)| (a - b) * (a - b));
                math::exp(-gamma * squares.sum::<f64>())
            }),
        }
    }
}

/// A support vector machine with checked parameters: one machine per class against the rest, solved by our own SMO, whose decision values
/// are those of linfa-svm.
#[derive(Debug, Clone, PartialEq)]
pub struct SvmClassifier {
    kernel: SvmKernel,
    c: f64,
    tolerance: f64,
}

/// A support vector machine before its parameters are checked.
///
/// ```
/// use baselines::svm::{SvmClassifier, SvmKernel};
/// use estimator::{Classification, LabelModel, Labels, ParamGuard};
/// // Exclusive or: no line separates the classes, a Gaussian kernel does.
/// let x = ndarray::array![[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]];
/// let labels = Labels::new(&[-1, -1, 1, 1])?;
/// let gaussian = SvmClassifier::params().kernel(SvmKernel::Gaussian { gamma: 2.0 }).c(100.0).check()?;
/// let model = gaussian.fit_labels(x.view(), &labels)?;
/// assert_eq!(model.predict_labels(ndarray::array![[0.1, 0.9], [0.9, 0.8]].view())?, [1, -1]);
/// assert!(model.convergence().is_some_and(|ended| ended.converged()));
/// let line = SvmClassifier::params().kernel(SvmKernel::Linear).check()?.fit_labels(x.view(), &labels)?;
/// assert!(line.accuracy(x.view(), &labels)? < 1.0);
/// assert!(SvmClassifier::params().c(0.0).check().is_err());
/// # Ok::<(), estimator::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SvmClassifierParams(SvmClassifier);

impl SvmClassifier {
    /// A precomputed kernel, C = 1 and libsvm's tolerance of 1e-3.
    pub fn params() -> SvmClassifierParams {
        SvmClassifierParams(SvmClassifier { kernel: SvmKernel::Precomputed, c: 1.0, tolerance: 1e-3 })
    }
}

impl SvmClassifierParams {
    /// How two samples are compared.
    pub fn kernel(mut self, kernel: SvmKernel) -> Self {
        self.0.kernel = kernel;
        self
    }

    /// The weight C of a sample inside the margin.
    pub fn c(mut self, c: f64) -> Self {
        self.0.c = c;
        self
    }

    /// The KKT violation at which each machine stops.
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.0.tolerance = tolerance;
        self
    }
}

impl ParamGuard for SvmClassifierParams {
    type Checked = SvmClassifier;
    type Error = Error;

    fn check_ref(&self) -> Result<&SvmClassifier> {
        let mut positive = vec![("c", self.0.c), ("tolerance", self.0.tolerance)];
        if let SvmKernel::Gaussian { gamma } = self.0.kernel {
            positive.push(("gamma", gamma));
        }
        match positive.into_iter().find(|(_, value)| !(*value > 0.0 && value.is_finite())) {
            Some((name, value)) => Err(Error::parameter(name, value, "a positive finite number")),
            None => Ok(&self.0),
        }
    }

    fn check(self) -> Result<SvmClassifier> {
        self.check_ref()?;
        Ok(self.0)
    }
}

/// A fitted machine.
#[derive(Debug, Clone)]
pub struct SvmModel {
    kernel: SvmKernel,
    machine: OneVsRest,
    classes: Vec<i64>,
    /// The training samples; without columns where the kernel is precomputed.
    samples: Array2<f64>,
}

impl SvmModel {
    /// Decision values (m, classes), the classes ascending.
    pub fn decision_values(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        finite("samples", x)?;
        let features = self.samples.ncols();
        if self.kernel != SvmKernel::Precomputed && x.ncols() != features {
            let expected = format!("(samples, {features}), as in training");
            return Err(Error::Shape { what: "samples", expected, got: x.shape().to_vec() });
        }
        Ok(self.machine.decide(self.kernel.between(x, self.samples.view()).view())?)
    }
}

fn finite(what: &'static str, x: ArrayView2<'_, f64>) -> Result<()> {
    match x.rows().into_iter().position(|row| row.iter().any(|v| !v.is_finite())) {
        Some(sample) => Err(Error::NotFinite { what, sample }),
        None => Ok(()),
    }
}

impl Classification<Ix2> for SvmClassifier {
    type Model = SvmModel;

    fn name(&self) -> &'static str {
        "support vector machine"
    }

    fn fit_labels(&self, x: ArrayView2<'_, f64>, labels: &Labels) -> Result<SvmModel> {
        labels.check_for(x.nrows())?;
        finite("samples", x)?;
        let samples = match self.kernel {
            SvmKernel::Precomputed => Array2::zeros((x.nrows(), 0)),
            _ => x.to_owned(),
        };
        let kernel = self.kernel.between(x, x);
        if kernel.is_square() && !linalg::is_symmetric(kernel.view(), linalg::tolerances::SYMMETRIC_INPUT) {
            let why = "the kernel matrix is not symmetric; save (K + K^T) / 2 if that is what you mean";
            return Err(Error::method("support vector machine", why));
        }
        let classes = labels.classes().to_vec();
        let machine = OneVsRest::fit(kernel.view(), labels, self.c, self.tolerance)?;
        Ok(SvmModel { kernel: self.kernel, machine, classes, samples })
    }
}

impl LabelModel<Ix2> for SvmModel {
    fn classes(&self) -> &[i64] {
        &self.classes
    }

    fn predict_labels(&self, x: ArrayView2<'_, f64>) -> Result<Vec<i64>> {
        let largest =
            |row: ndarray::ArrayView1<'_, f64>| (0..row.len()).fold(0, |b, k| if row[k] > row[b] { k } else { b });
        Ok(self.decision_values(x)?.rows().into_iter().map(|row| self.classes[largest(row)]).collect())
    }

    fn convergence(&self) -> Option<Convergence> {
        self.machine.convergence()
    }
}

estimator::classification_by_rows!(SvmClassifier, SvmModel, Ix2);
