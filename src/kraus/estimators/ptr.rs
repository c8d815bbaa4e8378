//! Partial trace regression as an estimator: a Kraus map, or a stack of them, by any solver.

use crate::data::Problem;
use crate::map::{Architecture, Gamma, Stack};
use crate::solvers::{AdamParams, BlockCoordinateParams, ClosedForm, Fit, LbfgsParams, Solver, Start};
use estimator::{Convergence, MatrixModel, ParamGuard, Regression};
use ndarray::{Array3, ArrayView3};

/// The solver of [`Ptr`] and its parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum PtrMethod {
    /// Full-batch L-BFGS.
    Lbfgs(LbfgsParams),
    /// Adam on minibatches: the paper's protocol.
    Adam(AdamParams),
    /// Without iteration; one map on symmetric data.
    ClosedForm,
    /// One operator at a time.
    BlockCoordinate(BlockCoordinateParams),
}

/// Partial trace regression with checked parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Ptr {
    rank: usize,
    hidden: Vec<usize>,
    gamma: Gamma,
    seed: u64,
    method: PtrMethod,
}

/// The parameters of [`Ptr`] before they are checked.
///
/// ```
/// use estimator::{MatrixModel, ParamGuard, Regression};
/// use kraus::KrausMap;
/// use kraus::estimators::Ptr;
/// use ndarray::Array3;
/// // Data of a true map of rank 1 from 3 x 3 to 2 x 2.
/// let x = Array3::from_shape_fn((40, 3, 3), |(s, i, j)| ((s * (i + 1) * (j + 1)) as f64).cos() + ((s + i + j) as f64).sin());
/// let x = &x + &x.view().permuted_axes([0, 2, 1]);
/// let y = KrausMap::<f64>::glorot(1, 2, 3, 7)?.apply_batch(x.view())?;
/// let model = Ptr::params(1).seed(0).check()?.fit_matrices(x.view(), y.view())?;
/// assert!(model.mean_squared_error(x.view(), y.view())? < 1e-16);
/// assert_eq!(model.parameters(), 6);
/// assert!(Ptr::params(0).check().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PtrParams(Ptr);

impl Ptr {
    /// One map of this rank, by L-BFGS from seed 0.
    pub fn params(rank: usize) -> PtrParams {
        let method = PtrMethod::Lbfgs(LbfgsParams::default());
        PtrParams(Ptr { rank, hidden: Vec::new(), gamma: Gamma::None, seed: 0, method })
    }

    /// The stack that is fitted between these sizes.
    fn architecture(&self, p: usize, q: usize) -> Architecture {
        let dims: Vec<usize> = [p].into_iter().chain(self.hidden.iter().copied()).chain([q]).collect();
        Architecture::deep(&dims, self.rank, self.gamma)
    }

    fn solver(&self) -> crate::Result<Box<dyn Solver<f64>>> {
        Ok(match &self.method {
            PtrMethod::Lbfgs(params) => Box::new(params.check()?),
            PtrMethod::Adam(params) => Box::new(params.clone().check()?),
            PtrMethod::ClosedForm => Box::new(ClosedForm),
            PtrMethod::BlockCoordinate(params) => Box::new(params.check()?),
        })
    }
}

impl PtrParams {
    /// Sizes between the layers of a stack; none for one map.
    pub fn hidden(mut self, sizes: &[usize]) -> Self {
        self.0.hidden = sizes.to_vec();
        self
    }

    /// The function between the layers.
    pub fn gamma(mut self, gamma: Gamma) -> Self {
        self.0.gamma = gamma;
        self
    }

    /// Seed of the random start.
    pub fn seed(mut self, seed: u64) -> Self {
        self.0.seed = seed;
        self
    }

    /// The solver and its parameters.
    pub fn method(mut self, method: PtrMethod) -> Self {
        self.0.method = method;
        self
    }
}

impl ParamGuard for PtrParams {
    type Checked = Ptr;
    type Error = estimator::Error;

    fn check_ref(&self) -> estimator::Result<&Ptr> {
        // The sizes of the data are not known yet; 1 stands for them.
        self.0.architecture(1, 1).check()?;
        self.0.solver()?;
        if self.0.method == PtrMethod::ClosedForm && !self.0.hidden.is_empty() {
            let expected = "empty: the closed form fits one map; use L-BFGS for a stack";
            return Err(estimator::Error::parameter("hidden", format!("{:?}", self.0.hidden), expected));
        }
        Ok(&self.0)
    }

    fn check(self) -> estimator::Result<Ptr> {
        self.check_ref()?;
        Ok(self.0)
    }
}

/// A fitted stack.
#[derive(Debug, Clone, PartialEq)]
pub struct PtrModel {
    fit: Fit<f64>,
}

impl PtrModel {
    /// The stack with the history of its fit.
    pub fn fit(&self) -> &Fit<f64> {
        &self.fit
    }

    /// The stack.
    pub fn stack(&self) -> &Stack<f64> {
        &self.fit.model
    }
}

impl Regression for Ptr {
    type Model = PtrModel;

    fn name(&self) -> &'static str {
        "partial trace regression"
    }

    fn fit_matrices(&self, x: ArrayView3<'_, f64>, y: ArrayView3<'_, f64>) -> estimator::Result<PtrModel> {
        let problem = Problem::matrices(x.view(), y.view())?;
        let arch = self.architecture(problem.p(), problem.q());
        let fit = self.solver()?.fit(&problem, Start::Random { arch, seed: self.seed })?;
        Ok(PtrModel { fit })
    }
}

impl MatrixModel for PtrModel {
    fn sizes(&self) -> ((usize, usize), (usize, usize)) {
        let (p, q) = (self.stack().p(), self.stack().q());
        ((p, p), (q, q))
    }

    fn predict_matrices(&self, x: ArrayView3<'_, f64>) -> estimator::Result<Array3<f64>> {
        Ok(self.stack().apply_batch(x)?)
    }

    fn parameters(&self) -> usize {
        self.stack().len()
    }

    fn convergence(&self) -> Option<Convergence> {
        self.fit.history.convergence
    }

    fn notes(&self) -> Vec<String> {
        self.fit.history.notes.clone()
    }
}

estimator::regression_by_rows!(Ptr, PtrModel);
