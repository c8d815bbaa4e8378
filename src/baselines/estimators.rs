//! The regression baselines behind the interface that all estimators of this project share (crate `estimator`).
//!
//! Every [`Regressor`] of this crate is a plain struct of parameters. [`Baseline`] holds one whose parameters were checked; a loop over
//! estimators, or linfa, fits it.

use crate::{Error, Fitted, Hopls, Multivariate, ReducedRank, Regressor, TensorTrain, TraceRegression, Tucker};
use estimator::{Convergence, MatrixModel, ParamGuard, Regression};
use ndarray::{Array3, ArrayView3};
use std::fmt::Debug;

/// A baseline with checked parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline<M>(M);

/// A baseline before its parameters are checked.
///
/// ```
/// use baselines::{Baseline, Hopls, Multivariate, ReducedRank, TensorTrain, TraceRegression, Training, Tucker};
/// use estimator::{MatrixModel, ParamGuard, Regressor};
/// use ndarray::Array3;
/// // Y = X[0, 0] [[2, 1], [1, 2]]: a map of rank one, and each output is a positive semidefinite form.
/// let x = Array3::from_shape_fn((20, 2, 2), |(s, i, j)| ((1 + s * 4 + i * 2 + j) as f64).sin());
/// let y = Array3::from_shape_fn((20, 2, 2), |(s, i, j)| if i == j { 2.0 } else { 1.0 } * x[[s, 0, 0]]);
/// let exact = Training { optimiser: baselines::Optimiser::Lbfgs { iterations: 500 }, ..Training::default() };
/// let methods: Vec<Box<dyn Regressor>> = vec![
///     Box::new(Baseline::params(Multivariate::least_squares()).check()?),
///     Box::new(Baseline::params(ReducedRank { rank: 1 }).check()?),
///     Box::new(Baseline::params(TraceRegression::psd()).check()?),
///     Box::new(Baseline::params(Hopls::fixed(4, 2, 2)).check()?),
///     Box::new(Baseline::params(TensorTrain::by_sides(2, 2, 4, exact)).check()?),
///     Box::new(Baseline::params(Tucker { ranks: [2; 4], training: exact }).check()?),
/// ];
/// for method in methods {
///     let model = method.fit_boxed(x.view(), y.view())?;
///     assert!(model.mean_squared_error(x.view(), y.view())? < 1e-8, "{}", method.name());
/// }
/// assert!(Baseline::params(ReducedRank { rank: 0 }).check().is_err());
/// # Ok::<(), estimator::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct BaselineParams<M>(Baseline<M>);

impl<M> Baseline<M> {
    /// A method to be checked.
    pub fn params(method: M) -> BaselineParams<M> {
        BaselineParams(Baseline(method))
    }

    /// The method.
    pub fn method(&self) -> &M {
        &self.0
    }
}

impl<M: Regressor> ParamGuard for BaselineParams<M> {
    type Checked = Baseline<M>;
    type Error = estimator::Error;

    fn check_ref(&self) -> estimator::Result<&Baseline<M>> {
        self.0.0.check_parameters()?;
        Ok(&self.0)
    }

    fn check(self) -> estimator::Result<Baseline<M>> {
        self.check_ref()?;
        Ok(self.0)
    }
}

impl<M: Regressor + Debug> Regression for Baseline<M> {
    type Model = Fitted;

    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn fit_matrices(&self, x: ArrayView3<'_, f64>, y: ArrayView3<'_, f64>) -> estimator::Result<Fitted> {
        Ok(self.0.fit(x, y)?)
    }
}

impl MatrixModel for Fitted {
    fn sizes(&self) -> ((usize, usize), (usize, usize)) {
        let (input, output) = self.layouts();
        ((input.rows, input.cols), (output.rows, output.cols))
    }

    fn predict_matrices(&self, x: ArrayView3<'_, f64>) -> estimator::Result<Array3<f64>> {
        Ok(self.predict(x)?)
    }

    fn parameters(&self) -> usize {
        self.report.parameters
    }

    fn convergence(&self) -> Option<Convergence> {
        self.report.convergence
    }

    fn notes(&self) -> Vec<String> {
        let chosen = self.report.chosen.iter().map(|(name, value)| format!("{name} {value}"));
        chosen.chain(self.report.kkt.map(|r| format!("KKT residual {r:.1e}"))).collect()
    }
}

impl From<Error> for estimator::Error {
    fn from(e: Error) -> Self {
        match e {
            Error::Input(wrong) => wrong,
            other => Self::method("baseline", other),
        }
    }
}

estimator::regression_predict_by_rows!(Fitted);
estimator::regression_fit_by_rows!(Baseline<Multivariate>, Fitted);
estimator::regression_fit_by_rows!(Baseline<ReducedRank>, Fitted);
estimator::regression_fit_by_rows!(Baseline<TraceRegression>, Fitted);
estimator::regression_fit_by_rows!(Baseline<Hopls>, Fitted);
estimator::regression_fit_by_rows!(Baseline<TensorTrain>, Fitted);
estimator::regression_fit_by_rows!(Baseline<Tucker>, Fitted);
