//! One fit of one rank, by whatever solver was asked for, on moments where there are some and on samples otherwise.
//!
//! `auto` at depth 1 starts L-BFGS at the closed form where that exists (symmetric inputs, 2 rank <= p + 1, samples that determine
//! the least squares map) and at random operators otherwise; the better of both is kept where both were tried.

use super::pairs::Pairs;
use crate::completion::Watch;
use crate::{
    AdamParams, Architecture, BlockCoordinateParams, ClosedForm, Fit, FitError, Fitted, Flow, Gamma, History,
    InputError, Lbfgs, LbfgsParams, MomentObjective, Moments, Problem, Progress, Session, Solver, Stack, Start, Stop,
    Stopping, closed_form,
};
use ndarray::ArrayView3;

type Result<T, E = FitError> = std::result::Result<T, E>;

/// Names of solvers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Closed form as the start of L-BFGS where it exists, else random starts.
    #[default]
    Auto,
    /// Minibatches, the paper's protocol: scale the data to about 1 first.
    Adam,
    /// L-BFGS from random starts.
    Lbfgs,
    /// Without iteration: needs symmetric X, 2 rank <= p + 1 and little noise.
    ClosedForm,
    /// One operator at a time, to compare.
    BlockCoordinate,
}

/// The model and how to fit it.
#[derive(Clone, Debug)]
pub struct SolverPlan {
    /// The solver.
    pub method: Method,
    /// Sizes between the layers.
    pub hidden: Vec<usize>,
    /// Between the layers.
    pub gamma: Gamma,
    /// Epochs or iterations at most.
    pub epochs: Option<usize>,
    /// Samples per step of Adam.
    pub batch: usize,
    /// Learning rate of Adam.
    pub rate: f64,
    /// Random starts of L-BFGS.
    pub restarts: usize,
    /// Seed of random starts.
    pub seed: u64,
}

impl Default for SolverPlan {
    fn default() -> Self {
        Self {
            method: Method::Auto,
            hidden: vec![],
            gamma: Gamma::None,
            epochs: None,
            batch: 16,
            rate: 1e-3,
            restarts: 3,
            seed: 0,
        }
    }
}

impl SolverPlan {
    /// Why the samples themselves are needed, if they are.
    pub fn samples_for(&self) -> Option<String> {
        match self.method {
            Method::Adam => Some("adam".into()),
            Method::BlockCoordinate => Some("block-coordinate".into()),
            _ if !self.hidden.is_empty() => Some("a stack of several layers".into()),
            _ => None,
        }
    }

    fn architecture(&self, p: usize, q: usize, rank: usize) -> Architecture {
        let dims: Vec<usize> = [p].into_iter().chain(self.hidden.iter().copied()).chain([q]).collect();
        Architecture::deep(&dims, rank, if self.hidden.is_empty() { Gamma::None } else { self.gamma })
    }

    fn lbfgs(&self, quick: bool) -> Result<Lbfgs> {
        // A validation error needs three digits, not fifteen.
        let (max, tolerance) = if quick { (300, 1e-6) } else { (2000, 0.0) };
        let stopping = Stopping { max: self.epochs.unwrap_or(max), tolerance, target: 0.0, patience: None };
        let restarts = if quick { 1 } else { self.restarts };
        Ok(LbfgsParams { stopping, restarts, ..LbfgsParams::default() }.check()?)
    }

    /// Fits one map to moments. `quick`: to compare ranks, not to keep.
    pub fn on_moments(&self, moments: &Moments, rank: usize, quick: bool, watch: Watch<'_>) -> Result<Fit<f64>> {
        let lbfgs = self.lbfgs(quick)?;
        let random = || Start::Random { arch: self.architecture(moments.p(), moments.q(), rank), seed: self.seed };
        match self.method {
            Method::ClosedForm => {
                let model = Stack::from(closed_form(moments, rank)?);
                let mut history = History::of("closed-form");
                history.loss.push(loss(moments, &model));
                (history.model_epoch, history.stop) = (1, Stop::Direct);
                Ok(Fit { model, history, last: None })
            }
            Method::Auto => match closed_form(moments, rank) {
                Ok(map) => {
                    let mut fit = watched(watch, |s| lbfgs.fit_moments_with(moments, Start::Given(map.into()), s))?;
                    fit.history.note("started at the closed form");
                    Ok(fit)
                }
                Err(_) => watched(watch, |s| lbfgs.fit_moments_with(moments, random(), s)),
            },
            _ => watched(watch, |s| lbfgs.fit_moments_with(moments, random(), s)),
        }
    }

    /// Fits to samples.
    pub fn on_samples(
        &self,
        (x, y): (ArrayView3<'_, f64>, ArrayView3<'_, f64>),
        rank: usize,
        quick: bool,
        watch: Watch<'_>,
    ) -> Result<Fit<f64>> {
        let problem = Problem::matrices(x.view(), y.view())?;
        let start = Start::Random { arch: self.architecture(problem.p(), problem.q(), rank), seed: self.seed };
        let solver: Box<dyn Solver<f64>> = match self.method {
            Method::Auto | Method::Lbfgs => Box::new(self.lbfgs(quick)?),
            Method::ClosedForm => Box::new(ClosedForm),
            Method::Adam => {
                let stopping = Stopping::after(self.epochs.unwrap_or(100));
                let params = AdamParams {
                    stopping,
                    batch: self.batch,
                    rate: self.rate,
                    seed: self.seed,
                    ..AdamParams::default()
                };
                Box::new(params.check()?)
            }
            Method::BlockCoordinate => {
                let mut params = BlockCoordinateParams::default();
                params.stopping.max = self.epochs.unwrap_or(params.stopping.max);
                Box::new(params.check()?)
            }
        };
        watched(watch, |session| solver.fit_with(&problem, start, session))
    }

    /// Fits to all of the data.
    pub fn on_all(&self, data: &Pairs, rank: usize, watch: Watch<'_>) -> Result<Fit<f64>> {
        let moments = data.total()?;
        match (&moments, data.views()) {
            // Without the least squares map the moments resolve the loss to 1e-12 only; the samples do better.
            (Some(m), Some(samples)) if m.least_squares().is_err() => self.on_samples(samples, rank, false, watch),
            (Some(m), _) => self.on_moments(m, rank, false, watch),
            (None, Some(samples)) => self.on_samples(samples, rank, false, watch),
            (None, None) => Err(nothing()),
        }
    }

    /// Mean square error on all of the data: from the samples where they are at hand, since moments resolve it to 1e-16 of
    /// E[Y^2] only.
    pub fn train_error(&self, data: &Pairs, fit: &Fit<f64>) -> Result<f64> {
        match (data.views(), data.total()?) {
            (Some((x, y)), _) => Ok(fit.model.mse(&Problem::matrices(x, y)?)?),
            (None, Some(moments)) => Ok(loss(&moments, &fit.model)),
            (None, None) => Err(nothing()),
        }
    }

    /// Mean square error on a fold of the fit to the others.
    pub fn on_fold(&self, data: &Pairs, rank: usize, fold: usize, watch: Watch<'_>) -> Result<f64> {
        if let (Some(outside), Some(folds)) = (data.outside(fold)?, &data.moments) {
            return Ok(loss(&folds[fold], &self.on_moments(&outside, rank, true, watch)?.model));
        }
        let (Some(outside), Some(inside)) = (data.select(fold, false), data.select(fold, true)) else {
            return Err(nothing());
        };
        let fit = self.on_samples((outside.0.view(), outside.1.view()), rank, true, watch)?;
        Ok(fit.model.mse(&Problem::matrices(inside.0.view(), inside.1.view())?)?)
    }
}

/// A fit whose watcher is asked after each iteration; an error of the watcher ends the fit and is what comes back.
fn watched(watch: Watch<'_>, fit: impl FnOnce(&mut Session<'_, f64>) -> Fitted<f64>) -> Fitted<f64> {
    let mut ended = None;
    let mut each = |now: &Progress| match watch("all samples", now.epoch as f64 / now.max.max(1) as f64) {
        Ok(()) => Flow::Continue,
        Err(e) => {
            ended = Some(e);
            Flow::Cancel
        }
    };
    let fit = fit(&mut Session { validation: None, watch: Some(&mut each) });
    match ended {
        Some(e) => Err(e.into()),
        None => fit,
    }
}

fn nothing() -> FitError {
    InputError::empty("data (samples or moments)").into()
}

/// Mean square error of one map on the samples behind moments.
pub fn loss(moments: &Moments, model: &Stack<f64>) -> f64 {
    let centre = moments.least_squares().ok();
    let mut objective = MomentObjective::new(moments, centre.as_ref(), model.layers()[0].rank());
    let ops = model.to_vec();
    let mut unused = vec![0.0; ops.len()];
    objective.evaluate(&ops, &mut unused).max(0.0)
}
