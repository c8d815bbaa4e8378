//! The solver `block-coordinate`: minimises over one operator A_j with the others fixed, then over the next.
//!
//! The loss is a polynomial of degree four in A_j; a few L-BFGS steps with a Wolfe line search decrease it, so the loss never
//! rises over the whole fit. The paper mentions this method and prefers gradients of all operators at once.
//! [`Lbfgs`](crate::Lbfgs) does that and needs far fewer evaluations; this solver is kept for comparison.

use crate::data::problem::Problem;
use crate::error::{Error, FitError, Result};
use crate::gradient::full_batch::Evaluator;
use crate::optimise::{Ending, MinimiseParams, minimise};
use crate::solvers::moments::choice::choose_moments;
use crate::solvers::moments::{LossSource, MomentObjective};
use crate::solvers::{Fit, Fitted, Recorder, Session, Solver, Start, Stopping};
use linalg::Real;
use std::ops::Range;

/// Parameters of [`BlockCoordinate`] as written; [`check`](Self::check) gives the solver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockCoordinateParams {
    /// When to stop; one epoch is one sweep over all operators.
    pub stopping: Stopping,
    /// L-BFGS steps on one operator before the next operator.
    pub steps: usize,
    /// Whether the loss is computed from the samples or from the moments.
    pub source: LossSource,
}

impl Default for BlockCoordinateParams {
    fn default() -> Self {
        let stopping = Stopping { max: 500, tolerance: 1e-10, target: 0.0, patience: None };
        Self { stopping, steps: 5, source: LossSource::Auto }
    }
}

impl BlockCoordinateParams {
    /// Refuses no sweeps and no steps.
    pub fn check(self) -> Result<BlockCoordinate> {
        let counts = [("stopping.max", self.stopping.max), ("steps", self.steps)];
        match counts.into_iter().find(|(_, n)| *n == 0) {
            Some((name, _)) => Err(Error::Parameter { name, value: 0.0, expected: "at least 1" }),
            None => Ok(BlockCoordinate { params: self }),
        }
    }
}

/// Block coordinate descent with checked parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockCoordinate {
    params: BlockCoordinateParams,
}

/// Minimises over x[block] with everything else fixed; returns the loss.
fn one_block(
    objective: &mut dyn FnMut(&[f64], &mut [f64]) -> f64,
    x: &mut [f64],
    gradient: &mut [f64],
    block: Range<usize>,
    steps: usize,
) -> (f64, Ending) {
    let start = x[block.clone()].to_vec();
    let params = MinimiseParams { memory: steps.min(10), max_iterations: steps, ..MinimiseParams::default() };
    let inner = |part: &[f64], g: &mut [f64]| {
        x[block.clone()].copy_from_slice(part);
        let f = objective(x, gradient);
        g.copy_from_slice(&gradient[block.clone()]);
        f
    };
    let found = minimise(inner, start, &params);
    x[block].copy_from_slice(&found.x);
    (found.f, found.stop)
}

impl<T: Real> Solver<T> for BlockCoordinate {
    fn name(&self) -> &'static str {
        "block-coordinate"
    }

    fn fit_with(&self, problem: &Problem<'_, T>, start: Start<T>, session: &mut Session<'_, T>) -> Fitted<T> {
        let arch = start.architecture()?;
        let mut stack = start.stack(problem)?;
        let mut recorder = Recorder::new("block-coordinate", self.params.stopping);
        let (moments, why) = choose_moments(problem, &arch, self.params.source, "block-coordinate")?;
        recorder.history.note(why);
        let centre = moments.as_ref().and_then(|m| m.least_squares().ok());
        let mut by_moments = moments.as_ref().map(|m| MomentObjective::new(m, centre.as_ref(), arch.ranks[0]));
        let mut by_samples = Evaluator::new(problem, &stack)?;
        recorder.history.note(if by_moments.is_some() { "on the moments" } else { "on the samples" });
        let mut objective = |x: &[f64], g: &mut [f64]| match &mut by_moments {
            Some(m) => m.evaluate(x, g),
            None => by_samples.evaluate(x, g),
        };
        let mut blocks = Vec::new();
        for layer in &stack.layers {
            let (r, q, p) = layer.ops().dim();
            let from = blocks.last().map_or(0, |b: &Range<usize>| b.end);
            blocks.extend((0..r).map(|k| from + k * q * p..from + (k + 1) * q * p));
        }
        let mut x: Vec<f64> = stack.to_vec().iter().map(|v| v.as_f64()).collect();
        let mut gradient = vec![0.0; x.len()];
        loop {
            let mut loss = f64::NAN;
            for block in &blocks {
                let (f, ending) = one_block(&mut objective, &mut x, &mut gradient, block.clone(), self.params.steps);
                if ending == Ending::NotFinite {
                    let epoch = recorder.history.loss.len() + 1;
                    return Err(FitError::Diverged { solver: "block-coordinate", epoch, loss: f });
                }
                loss = f;
            }
            stack.set(&x.iter().map(|v| T::of(*v)).collect::<Vec<_>>());
            let validation = session.validation.map(|v| stack.mse(v)).transpose()?;
            if recorder.record(loss, validation, session)?.is_some() {
                return Ok(Fit { model: stack, history: recorder.history, last: None });
            }
        }
    }
}
