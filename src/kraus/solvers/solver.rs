//! The trait of all solvers, where a fit starts, what accompanies it and what it returns.

use crate::data::problem::Problem;
use crate::error::FitError;
use crate::map::{Architecture, Stack};
use crate::solvers::history::{Flow, History, Progress};
use linalg::Real;

/// Where a fit starts.
#[derive(Debug, Clone, PartialEq)]
pub enum Start<T> {
    /// Glorot-initialised layers from a seed.
    Random {
        /// Sizes and ranks.
        arch: Architecture,
        /// The seed.
        seed: u64,
    },
    /// A given stack.
    Given(Stack<T>),
}

impl<T: Real> Start<T> {
    /// A random map from p x p to q x q of rank r.
    pub fn single(p: usize, q: usize, rank: usize, seed: u64) -> Self {
        Self::Random { arch: Architecture::single(p, q, rank), seed }
    }

    /// The stack to start from, checked against the problem.
    pub fn stack(self, problem: &Problem<'_, T>) -> Result<Stack<T>, FitError> {
        let stack = self.build()?;
        problem.check_fits(&stack)?;
        Ok(stack)
    }

    /// The stack to start from.
    pub(crate) fn build(self) -> Result<Stack<T>, FitError> {
        Ok(match self {
            Self::Random { arch, seed } => Stack::glorot(&arch, seed)?,
            Self::Given(stack) => stack,
        })
    }

    /// Sizes and ranks of the start, checked.
    pub(crate) fn architecture(&self) -> Result<Architecture, FitError> {
        let arch = match self {
            Self::Random { arch, .. } => arch.clone(),
            Self::Given(stack) => stack.architecture(),
        };
        arch.check()?;
        Ok(arch)
    }
}

/// A fitted model and the history of its fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit<T> {
    /// The model.
    pub model: Stack<T>,
    /// The losses on the way, and what the solver decided.
    pub history: History,
    /// The model of the last epoch, where `model` is that of the best epoch and the backend kept both (the processor does).
    pub last: Option<Stack<T>>,
}

/// What accompanies a fit: a validation set and a watcher. `Session::default()` has neither.
#[derive(Default)]
pub struct Session<'s, T> {
    /// Evaluated after each epoch.
    pub validation: Option<&'s Problem<'s, T>>,
    /// Called after each epoch.
    pub watch: Option<&'s mut dyn FnMut(&Progress) -> Flow>,
}

/// What a fit gives: a model with its history, or why there is none.
pub type Fitted<T> = Result<Fit<T>, FitError>;

/// A way to fit a stack to a problem under the square loss.
pub trait Solver<T: Real> {
    /// Its name in histories and messages.
    fn name(&self) -> &'static str;

    /// Fits, with a validation set and a watcher.
    fn fit_with(&self, problem: &Problem<'_, T>, start: Start<T>, session: &mut Session<'_, T>) -> Fitted<T>;

    /// Fits.
    fn fit(&self, problem: &Problem<'_, T>, start: Start<T>) -> Fitted<T> {
        self.fit_with(problem, start, &mut Session { validation: None, watch: None })
    }
}
