//! The solver `block-coordinate`: minimises over one operator A_j with the others fixed, then over the next.
//!
//! The loss is a polynomial of degree four in A_j; a few L-BFGS steps with a Wolfe line search decrease it, so the loss never
//! rises over the whole fit. The paper mentions this method and prefers gradients of all operators at once.
//! [`Lbfgs`](crate::Lbfgs) does that and needs far fewer evaluations; this solver is kept for comparison.
//!
//! | problem | what one evaluation costs |
//! |---|---|
//! | one map, on the samples | a map of one operator: the outputs of the others are subtracted from the targets once per block |
//! | one map, on the moments | the whole gradient, because the product with G costs the same for any rank |
//! | a deeper stack | the whole gradient |

use crate::data::problem::Problem;
use crate::error::{FitError, InputError, Result};
use crate::gradient::full_batch::Evaluator;
use crate::map::{Architecture, KrausMap, Stack};
use crate::optimise::{Ending, MinimiseParams, Minimum, minimise};
use crate::solvers::moments::choice::choose_moments;
use crate::solvers::moments::{LossSource, MomentObjective};
use crate::solvers::{Fit, Fitted, Recorder, Session, Solver, Start, Stopping};
use linalg::Real;
use ndarray::{Axis, Zip};
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
            Some((name, _)) => Err(InputError::parameter(name, 0.0, "at least 1").into()),
            None => Ok(BlockCoordinate { params: self }),
        }
    }
}

/// Block coordinate descent with checked parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockCoordinate {
    params: BlockCoordinateParams,
}

impl BlockCoordinate {
    /// A few L-BFGS steps from `start`; an error where the objective is not finite there.
    fn steps(
        &self,
        objective: impl FnMut(&[f64], &mut [f64]) -> f64,
        start: Vec<f64>,
        epoch: usize,
    ) -> std::result::Result<Minimum, FitError> {
        let steps = self.params.steps;
        let params = MinimiseParams { memory: steps.min(10), max_iterations: steps, ..MinimiseParams::default() };
        let found = minimise(objective, start, &params);
        if found.stop == Ending::NotFinite {
            return Err(FitError::Diverged { solver: "block-coordinate", epoch, loss: found.f });
        }
        Ok(found)
    }

    /// Takes each operator of one map in turn on the samples; the loss after the last.
    ///
    /// With E = Y - Phi(X) the loss as a function of A_k alone is that of a map of one operator whose targets are
    /// E + A_k X A_k^T. E is computed anew in each sweep and updated in between, so rounding does not add up over sweeps.
    fn sweep_operators<T: Real>(
        &self,
        problem: &Problem<'_, T>,
        stack: &mut Stack<T>,
        epoch: usize,
    ) -> std::result::Result<f64, FitError> {
        let all = stack.predict(problem)?;
        let mut errors = problem.targets().to_owned();
        Zip::from(&mut errors).and(&all).for_each(|e, p| *e -= *p);
        let mut all = Some(all);
        let (rank, size) = (stack.layers()[0].rank(), stack.layers()[0].q() * stack.layers()[0].p());
        let mut loss = f64::NAN;
        for k in 0..rank {
            let operator = stack.layers()[0].ops().index_axis(Axis(0), k).insert_axis(Axis(0)).to_owned();
            let mut one = Stack::from(KrausMap::new(operator)?);
            // A single operator predicts what the stack does.
            errors += &match all.take() {
                Some(all) if rank == 1 => all,
                _ => one.predict(problem)?,
            };
            if problem.is_symmetric() {
                // The outputs are symmetric up to rounding, and the symmetric gradient relies on it.
                for mut e in errors.outer_iter_mut() {
                    (0..e.nrows()).for_each(|i| (0..i).for_each(|j| e[[j, i]] = e[[i, j]]));
                }
            }
            let part = problem.with_targets(errors.iter().copied().collect());
            let mut evaluator = Evaluator::new(&part, &one)?;
            let start = one.to_vec().iter().map(|v| v.as_f64()).collect();
            let found = self.steps(|x, g| evaluator.evaluate(x, g), start, epoch)?;
            one.set(&found.x.iter().map(|v| T::of(*v)).collect::<Vec<_>>());
            // After the last operator nobody reads the errors.
            if k + 1 < rank {
                errors -= &one.predict(problem)?;
            }
            stack.layer_mut(0).ops_mut()[k * size..(k + 1) * size].copy_from_slice(one.layers()[0].ops_slice());
            loss = found.f;
        }
        Ok(loss)
    }

    /// Takes each block of parameters in turn with an objective of all parameters; the loss after the last.
    fn sweep_blocks(
        &self,
        objective: &mut dyn FnMut(&[f64], &mut [f64]) -> f64,
        x: &mut [f64],
        blocks: &[Range<usize>],
        epoch: usize,
    ) -> std::result::Result<f64, FitError> {
        let mut gradient = vec![0.0; x.len()];
        let mut loss = f64::NAN;
        for block in blocks {
            let start = x[block.clone()].to_vec();
            let one_block = |part: &[f64], g: &mut [f64]| {
                x[block.clone()].copy_from_slice(part);
                let f = objective(x, &mut gradient);
                g.copy_from_slice(&gradient[block.clone()]);
                f
            };
            let found = self.steps(one_block, start, epoch)?;
            x[block.clone()].copy_from_slice(&found.x);
            loss = found.f;
        }
        Ok(loss)
    }
}

/// The parameters of each operator, in the order of [`Stack::to_vec`].
fn operators<T: Real>(stack: &Stack<T>) -> Vec<Range<usize>> {
    let mut blocks: Vec<Range<usize>> = Vec::new();
    for layer in stack.layers() {
        let (r, q, p) = layer.ops().dim();
        let from = blocks.last().map_or(0, |b| b.end);
        blocks.extend((0..r).map(|k| from + k * q * p..from + (k + 1) * q * p));
    }
    blocks
}

impl<T: Real> Solver<T> for BlockCoordinate {
    fn name(&self) -> &'static str {
        "block-coordinate"
    }

    fn fit_with(&self, problem: &Problem<'_, T>, start: Start<T>, session: &mut Session<'_, T>) -> Fitted<T> {
        let arch = start.architecture()?;
        let mut stack = start.stack(problem)?;
        let stopping = self.params.stopping;
        let mut recorder = Recorder::new("block-coordinate", stopping).with_zero_loss(problem.mean_square());
        // An evaluation on the samples costs that of one operator.
        let one = Architecture { ranks: vec![1; arch.ranks.len()], ..arch.clone() };
        let (moments, why) = choose_moments(problem, &one, self.params.source, "block-coordinate")?;
        recorder.history.note(why);
        recorder.history.note(if moments.is_some() { "on the moments" } else { "on the samples" });
        let centre = moments.as_ref().and_then(|m| m.least_squares().ok());
        let mut by_moments = moments.as_ref().map(|m| MomentObjective::new(m, centre.as_ref(), arch.ranks[0]));
        let by_operator = by_moments.is_none() && arch.ranks.len() == 1;
        let mut by_samples =
            if by_operator || by_moments.is_some() { None } else { Some(Evaluator::new(problem, &stack)?) };
        let blocks = operators(&stack);
        let mut x: Vec<f64> = stack.to_vec().iter().map(|v| v.as_f64()).collect();
        loop {
            let epoch = recorder.history.loss.len() + 1;
            let loss = match (&mut by_moments, &mut by_samples) {
                (Some(m), _) => {
                    self.sweep_blocks(&mut |x: &[f64], g: &mut [f64]| m.evaluate(x, g), &mut x, &blocks, epoch)?
                }
                (None, Some(all)) => {
                    self.sweep_blocks(&mut |x: &[f64], g: &mut [f64]| all.evaluate(x, g), &mut x, &blocks, epoch)?
                }
                (None, None) => self.sweep_operators(problem, &mut stack, epoch)?,
            };
            if !by_operator {
                stack.set(&x.iter().map(|v| T::of(*v)).collect::<Vec<_>>());
            }
            let validation = session.validation.map(|v| stack.mse(v)).transpose()?;
            if recorder.record(loss, validation, session)?.is_some() {
                return Ok(Fit { model: stack, history: recorder.history, last: None });
            }
        }
    }
}
