//! L-BFGS that keeps a history, obeys the stopping rules, asks the watcher and reports divergence, as all solvers do.

use crate::error::{FitError, Result};
use crate::optimise::{Ending, Memory, MinimiseParams, minimise_watched};
use crate::solvers::{Recorder, Session, Stop, Stopping};
use crate::tolerances::EXACT_FIT;
use estimator::Convergence;
use linalg::Real;

/// Minimises `objective` from `start`, continuing the recorder's history. `validate` returns the loss on the
/// validation set at given parameters, where there is such a set. `memory` holds the curvature pairs.
pub(crate) fn minimise_recorded<T: Real>(
    start: Vec<f64>,
    (stopping, pairs): (Stopping, usize),
    memory: &mut Memory,
    recorder: &mut Recorder,
    session: &mut Session<'_, T>,
    mut validate: impl FnMut(&[f64]) -> Option<Result<f64>>,
    objective: impl FnMut(&[f64], &mut [f64]) -> f64,
) -> std::result::Result<Vec<f64>, FitError> {
    let left = stopping.max.saturating_sub(recorder.history.loss.len());
    let params =
        MinimiseParams { memory: pairs, max_iterations: left, target: stopping.target, ..MinimiseParams::default() };
    let mut failure = None;
    let found = minimise_watched(objective, start, &params, memory, |x, f| {
        let recorded = match validate(x).transpose() {
            Ok(v) => recorder.record(f, v, session),
            Err(e) => Err(e.into()),
        };
        match recorded {
            Ok(stop) => stop.is_none(),
            Err(e) => {
                failure = Some(e);
                false
            }
        }
    });
    if let Some(e) = failure {
        return Err(e);
    }
    if found.stop == Ending::NotFinite {
        let epoch = recorder.history.loss.len() + 1;
        return Err(FitError::Diverged { solver: "lbfgs", epoch, loss: found.f });
    }
    if recorder.history.loss.is_empty() {
        // The start was already the optimum: the history still says its loss.
        recorder.record(found.f, validate(&found.x).transpose()?, session)?;
    }
    if !matches!(found.stop, Ending::Watcher | Ending::Iterations | Ending::Target) {
        recorder.history.stop = Stop::Tolerance;
    }
    // Where the recorder ended the iteration it has stated the measure already.
    if found.stop != Ending::Watcher {
        let ended = found.convergence(&params);
        let share = found.f / recorder.zero_loss();
        // An exact fit has no digits left to fall by.
        let exact =
            Convergence::judge("loss as a share of that of predicting zero", share, EXACT_FIT, ended.iterations);
        recorder.history.convergence = Some(if ended.converged() || !exact.converged() { ended } else { exact });
    }
    let (i, e, why) = (found.iterations, found.evaluations, found.stop.as_str());
    recorder.history.note(format!("{i} iterations, {e} evaluations: {why}"));
    Ok(found.x)
}
