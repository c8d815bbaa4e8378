//! The processor as a backend: the models of a job one after the other, each on all cores.

use super::{Backend, BackendError, Fits, Job, Trial, Watch};
use crate::solvers::{Progress, Session, Solver};
use linalg::Real;

/// The processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cpu;

impl<T: Real> Backend<T> for Cpu {
    fn name(&self) -> String {
        "cpu".into()
    }

    fn train(&self, job: &Job<'_, T>, watch: &mut Watch<'_>) -> Result<Fits<T>, BackendError> {
        let fit = |(index, trial): (usize, &Trial<T>)| {
            let mut watch = |now: &Progress| watch(index, now);
            let mut session = Session { validation: job.validation, watch: Some(&mut watch) };
            trial.adam.fit_with(job.problem, trial.start.clone(), &mut session)
        };
        Ok(job.trials.iter().enumerate().map(fit).collect())
    }
}
