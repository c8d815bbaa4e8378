//! Loss and gradient of a stack on all samples at once, for solvers that keep parameters in `f64`.

use crate::data::problem::Problem;
use crate::error::FitError;
use crate::gradient::engine::Engine;
use crate::gradient::parameter_layout::{to_natural, to_training};
use crate::map::Stack;
use linalg::Real;

/// Evaluates stacks of one shape on one problem; parameters and gradient are in `f64` and in the order of
/// [`Stack::to_vec`], whatever the scalar of the data is.
pub(crate) struct Evaluator<'a, 'p, T> {
    engine: Engine<'a, 'p, T>,
    all: Vec<usize>,
    scratch: Vec<T>,
    entries: f64,
}

impl<'a, 'p, T: Real> Evaluator<'a, 'p, T> {
    /// For stacks shaped like this one.
    pub fn new(problem: &'a Problem<'p, T>, stack: &Stack<T>) -> Result<Self, FitError> {
        let engine = Engine::new(problem, stack, problem.len())?;
        Ok(Self {
            engine,
            all: (0..problem.len()).collect(),
            scratch: stack.to_vec(),
            entries: (problem.len() * problem.q() * problem.q()) as f64,
        })
    }

    /// The loss at `x`, its gradient into `g`.
    pub fn evaluate(&mut self, x: &[f64], g: &mut [f64]) -> f64 {
        self.scratch.iter_mut().zip(x).for_each(|(t, v)| *t = T::of(*v));
        to_training(&self.engine.layers, &self.scratch, &mut self.engine.params);
        let sum = self.engine.pass(&self.all, true);
        to_natural(&self.engine.layers, self.engine.gradient(), &mut self.scratch);
        let scale = self.engine.scale(self.all.len());
        g.iter_mut().zip(&self.scratch).for_each(|(g, v)| *g = v.as_f64() * scale);
        sum / self.entries
    }
}
