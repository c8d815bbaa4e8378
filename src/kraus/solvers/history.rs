//! When a fit stops, what it remembers, and how it is found to diverge: the bookkeeping of every iterative solver.

use crate::error::FitError;
use crate::solvers::solver::Session;
use crate::tolerances::EXPLODED;
use estimator::{Convergence, Outcome};
use linalg::Real;
use std::time::Instant;

/// When a fit stops: after `max` epochs (iterations), or earlier for a reason that is switched on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stopping {
    /// The largest number of epochs or iterations.
    pub max: usize,
    /// Stop when the loss changes by less than this share of itself between two epochs; 0 switches it off.
    pub tolerance: f64,
    /// Stop when the loss falls to this value; 0 switches it off.
    pub target: f64,
    /// Stop after this many epochs without a better monitored loss (validation where given).
    pub patience: Option<usize>,
}

impl Stopping {
    /// Exactly this many epochs.
    pub fn after(max: usize) -> Self {
        Self { max, tolerance: 0.0, target: 0.0, patience: None }
    }

    /// Whether to stop now, given the history so far.
    pub fn reached(&self, history: &History) -> Option<Stop> {
        let n = history.loss.len();
        let (last, before) = (history.loss.last().copied(), n.checked_sub(2).map(|i| history.loss[i]));
        if last.is_some_and(|l| l <= self.target && self.target > 0.0) {
            return Some(Stop::Target);
        }
        if let (Some(l), Some(b)) = (last, before)
            && self.tolerance > 0.0
            && (b - l).abs() <= self.tolerance * b.abs()
        {
            return Some(Stop::Tolerance);
        }
        if self.patience.is_some_and(|patience| history.best().is_some_and(|b| n > b + patience)) {
            return Some(Stop::Patience);
        }
        (n >= self.max).then_some(Stop::Max)
    }
}

/// Why a fit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stop {
    /// All epochs done.
    #[default]
    Max,
    /// The loss no longer changed.
    Tolerance,
    /// The loss reached the target.
    Target,
    /// No better loss for too long.
    Patience,
    /// The watcher asked for it; the model is the one so far.
    Cancelled,
    /// The solver does not iterate.
    Direct,
}

/// The losses of a fit, and what its solver decided.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct History {
    /// The solver.
    pub solver: String,
    /// Training loss of each epoch or iteration (Adam: the mean over the epoch's batches, as Keras reports it).
    pub loss: Vec<f64>,
    /// Loss on the validation set after each epoch, where one was given.
    pub validation: Vec<f64>,
    /// Decisions of the solver with their reasons: which path it took, which start was the best.
    pub notes: Vec<String>,
    /// Seconds from the start of the fit to the end of each epoch. They differ from run to run, so no file holds them.
    pub seconds: Vec<f64>,
    /// Epoch (from 1) whose parameters the model holds.
    pub model_epoch: usize,
    /// Why the fit ended.
    pub stop: Stop,
    /// How the fit ended, with the measure it stopped on. None for a solver that does not iterate, and in a loaded model.
    ///
    /// Adam with neither a tolerance nor a target always ends as stopped, because the number of epochs ends it.
    pub convergence: Option<Convergence>,
}

impl History {
    /// An empty history of a solver.
    pub fn of(solver: &str) -> Self {
        Self { solver: solver.to_owned(), ..Self::default() }
    }

    /// The monitored losses: validation where given, else training.
    pub fn monitored(&self) -> &[f64] {
        if self.validation.is_empty() { &self.loss } else { &self.validation }
    }

    /// Epoch (from 1) of the least monitored loss, the first of equals.
    pub fn best(&self) -> Option<usize> {
        let m = self.monitored();
        (0..m.len()).reduce(|b, i| if m[i] < m[b] { i } else { b }).map(|i| i + 1)
    }

    /// Adds a note.
    pub fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }
}

/// What a watcher sees after each epoch.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Epoch or iteration, from 1.
    pub epoch: usize,
    /// The largest number of epochs.
    pub max: usize,
    /// Training loss.
    pub loss: f64,
    /// Validation loss.
    pub validation: Option<f64>,
}

/// What a watcher answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    Continue,
    /// Stop after this epoch and keep the model so far.
    Cancel,
}

/// Keeps the history of an iterative solver, asks the watcher, and finds divergence.
pub struct Recorder {
    solver: &'static str,
    stopping: Stopping,
    begun: Instant,
    /// The loss that divergence is measured against: the larger of the first loss and that of predicting zero.
    reference: f64,
    /// The history so far.
    pub history: History,
}

impl Recorder {
    /// Starts the clock, and reserves memory for the history so that recording does not allocate.
    pub fn new(solver: &'static str, stopping: Stopping) -> Self {
        let mut history = History::of(solver);
        let n = stopping.max.min(1 << 20);
        history.loss.reserve(n);
        history.validation.reserve(n);
        history.seconds.reserve(n);
        Self { solver, stopping, begun: Instant::now(), reference: f64::MIN_POSITIVE, history }
    }

    /// States the loss of predicting zero, the mean square of the targets. A fit that starts at an exact model has a first
    /// loss near 0, and its loss may rise by many powers of ten without being large.
    pub fn with_zero_loss(mut self, mean_square: f64) -> Self {
        self.reference = self.reference.max(mean_square);
        self
    }

    /// The loss that divergence and exact fits are measured against.
    pub(crate) fn zero_loss(&self) -> f64 {
        self.reference
    }

    /// States that the solver did not iterate: the fit has no convergence to speak of.
    pub fn direct(&mut self) {
        self.history.stop = Stop::Direct;
        self.history.convergence = None;
    }

    /// Records an epoch; `Some(stop)` if it was the last, an error if the loss is not finite or exploded.
    pub fn record<T: Real>(
        &mut self,
        loss: f64,
        validation: Option<f64>,
        session: &mut Session<'_, T>,
    ) -> Result<Option<Stop>, FitError> {
        self.history.loss.push(loss);
        let epoch = self.history.loss.len();
        if epoch == 1 {
            self.reference = self.reference.max(loss);
        }
        if !loss.is_finite() || loss > EXPLODED * self.reference {
            return Err(FitError::Diverged { solver: self.solver, epoch, loss });
        }
        if let Some(v) = validation {
            if !v.is_finite() {
                return Err(FitError::Diverged { solver: self.solver, epoch, loss: v });
            }
            self.history.validation.push(v);
        }
        self.history.seconds.push(self.begun.elapsed().as_secs_f64());
        self.history.model_epoch = epoch;
        let stop = self.stopping.reached(&self.history);
        let progress = Progress { epoch, max: self.stopping.max, loss, validation };
        let cancelled = session.watch.as_mut().is_some_and(|w| w(&progress) == Flow::Cancel);
        let stop = if cancelled { Some(Stop::Cancelled) } else { stop };
        self.history.convergence = stop.and_then(|stop| self.measure(stop));
        self.history.stop = stop.unwrap_or_default();
        Ok(stop)
    }

    /// The measure of a stop that the recorder decides: the loss for a target, else the relative change of the loss.
    fn measure(&self, stop: Stop) -> Option<Convergence> {
        let (loss, n) = (&self.history.loss, self.history.loss.len());
        let last = loss.last().copied().unwrap_or(f64::INFINITY);
        let before = n.checked_sub(2).map_or(f64::INFINITY, |i| loss[i]);
        let change = (before - last).abs() / before.abs().max(f64::MIN_POSITIVE);
        let changed = Convergence::judge("relative change of the loss", change, self.stopping.tolerance, n);
        match stop {
            Stop::Direct => None,
            Stop::Target => Some(Convergence::judge("loss", last, self.stopping.target, n)),
            Stop::Tolerance => Some(changed.with_outcome(Outcome::Converged)),
            Stop::Max | Stop::Patience | Stop::Cancelled => Some(changed.with_outcome(Outcome::Stopped)),
        }
    }
}
