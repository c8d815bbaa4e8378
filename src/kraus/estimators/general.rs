//! The general model tr_m(A X B^T) as an estimator.

use crate::data::Problem;
use crate::error::FitError;
use crate::map::GeneralMap;
use crate::solvers::{AdamParams, GeneralFit, LbfgsParams};
use estimator::{Convergence, MatrixModel, ParamGuard, Regression};
use ndarray::{Array3, ArrayView3};

/// The solver of [`General`] and its parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum GeneralMethod {
    /// Full-batch L-BFGS. `restarts` random starts are tried and the best is kept.
    Lbfgs(LbfgsParams),
    /// Adam on minibatches.
    Adam(AdamParams),
}

/// The general model with checked parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct General {
    m: usize,
    seed: u64,
    method: GeneralMethod,
}

/// The parameters of [`General`] before they are checked.
///
/// ```
/// use estimator::{MatrixModel, ParamGuard, Regression};
/// use kraus::estimators::General;
/// use ndarray::Array3;
/// // Y = X A with a fixed A is no Kraus map, and a general map with m = 1.
/// let x = Array3::from_shape_fn((40, 2, 2), |(s, i, j)| ((1 + s * 4 + i * 2 + j) as f64).sin());
/// let y = Array3::from_shape_fn((40, 2, 2), |(s, i, j)| x[[s, i, 0]] * [1.0, 2.0][j] - x[[s, i, 1]]);
/// let model = General::params(1).seed(3).check()?.fit_matrices(x.view(), y.view())?;
/// assert!(model.mean_squared_error(x.view(), y.view())? < 1e-12);
/// assert!(General::params(0).check().is_err());
/// # Ok::<(), estimator::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct GeneralParams(General);

impl General {
    /// tr_m(A X B^T) with this m, by L-BFGS from seed 0.
    pub fn params(m: usize) -> GeneralParams {
        GeneralParams(General { m, seed: 0, method: GeneralMethod::Lbfgs(LbfgsParams::default()) })
    }

    fn fit_once(&self, problem: &Problem<'_, f64>, seed: u64) -> Result<GeneralFit<f64>, FitError> {
        let start = GeneralMap::glorot(self.m, problem.q(), problem.p(), seed)?;
        match &self.method {
            GeneralMethod::Lbfgs(params) => start.fit(problem, &LbfgsParams { restarts: 1, ..*params }),
            GeneralMethod::Adam(params) => start.fit_adam(problem, params),
        }
    }
}

impl GeneralParams {
    /// Seed of the random start; restarts use the seeds after it.
    pub fn seed(mut self, seed: u64) -> Self {
        self.0.seed = seed;
        self
    }

    /// The solver and its parameters.
    pub fn method(mut self, method: GeneralMethod) -> Self {
        self.0.method = method;
        self
    }
}

impl ParamGuard for GeneralParams {
    type Checked = General;
    type Error = estimator::Error;

    fn check_ref(&self) -> estimator::Result<&General> {
        if self.0.m == 0 {
            return Err(estimator::Error::parameter("m", 0, "at least 1"));
        }
        match &self.0.method {
            GeneralMethod::Lbfgs(params) => {
                params.check()?;
            }
            GeneralMethod::Adam(params) => {
                params.clone().check()?;
            }
        }
        Ok(&self.0)
    }

    fn check(self) -> estimator::Result<General> {
        self.check_ref()?;
        Ok(self.0)
    }
}

/// A fitted general map.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneralModel {
    fit: GeneralFit<f64>,
}

impl GeneralModel {
    /// The map with the history of its fit.
    pub fn fit(&self) -> &GeneralFit<f64> {
        &self.fit
    }
}

impl Regression for General {
    type Model = GeneralModel;

    fn name(&self) -> &'static str {
        "general partial trace model"
    }

    fn fit_matrices(&self, x: ArrayView3<'_, f64>, y: ArrayView3<'_, f64>) -> estimator::Result<GeneralModel> {
        let problem = Problem::matrices(x.view(), y.view())?;
        let restarts = match &self.method {
            GeneralMethod::Lbfgs(params) => params.restarts,
            GeneralMethod::Adam(_) => 1,
        };
        let last = |f: &GeneralFit<f64>| f.history.loss.last().copied().unwrap_or(f64::INFINITY);
        let mut best = self.fit_once(&problem, self.seed)?;
        for i in 1..restarts as u64 {
            let other = self.fit_once(&problem, self.seed.wrapping_add(i))?;
            if last(&other) < last(&best) {
                best = other;
            }
        }
        Ok(GeneralModel { fit: best })
    }
}

impl MatrixModel for GeneralModel {
    fn sizes(&self) -> ((usize, usize), (usize, usize)) {
        let (p, q) = (self.fit.model.p(), self.fit.model.q());
        ((p, p), (q, q))
    }

    fn predict_matrices(&self, x: ArrayView3<'_, f64>) -> estimator::Result<Array3<f64>> {
        Ok(self.fit.model.apply_batch(x)?)
    }

    fn parameters(&self) -> usize {
        self.fit.model.to_vec().len()
    }

    fn convergence(&self) -> Option<Convergence> {
        self.fit.history.convergence
    }

    fn notes(&self) -> Vec<String> {
        self.fit.history.notes.clone()
    }
}

estimator::regression_by_rows!(General, GeneralModel);
