//! Adam on minibatches: the paper's protocol, with Keras' defaults and Keras' formula.
//!
//! m <- b1 m + (1 - b1) g, v <- b2 v + (1 - b2) g^2, w <- w - lr sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + eps).
//! Samples are shuffled before each epoch by a seed; the last batch may be smaller. The model returned is the one of the
//! last epoch, as in the paper, unless `keep_best` asks for the best.

use crate::data::problem::Problem;
use crate::error::{FitError, InputError, Result};
use crate::gradient::engine::{Engine, PIECE};
use crate::solvers::{Fit, Fitted, Recorder, Session, Solver, Start, Stopping};
use linalg::Real;
use linalg::small::{AdamStep, adam_step};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// How the learning rate changes over the epochs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Schedule {
    /// The rate stays the same.
    #[default]
    Constant,
    /// Multiplied by `factor` after every `every` epochs.
    Step {
        /// Epochs between two changes.
        every: usize,
        /// The factor.
        factor: f64,
    },
    /// Half a cosine from the full rate down to this share of it at the last epoch.
    Cosine {
        /// The share left at the end.
        to: f64,
    },
}

/// The parameters of [`Adam`] before they are checked; [`check`](Self::check) gives the solver.
#[derive(Debug, Clone, PartialEq)]
pub struct AdamParams {
    /// Epochs and early stopping.
    pub stopping: Stopping,
    /// Samples per step.
    pub batch: usize,
    /// Learning rate.
    pub rate: f64,
    /// Decay of the first moment.
    pub beta1: f64,
    /// Decay of the second moment.
    pub beta2: f64,
    /// Added to sqrt(v), outside the root.
    pub epsilon: f64,
    /// Seed of the shuffling.
    pub seed: u64,
    /// Return the parameters of the epoch with the least monitored loss instead of the last.
    pub keep_best: bool,
    /// Changes of the learning rate.
    pub schedule: Schedule,
}

impl Default for AdamParams {
    /// Keras' defaults, the paper's 100 epochs of batches of 16, everything else off.
    fn default() -> Self {
        Self {
            stopping: Stopping::after(100),
            batch: 16,
            rate: 1e-3,
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-7,
            seed: 0,
            keep_best: false,
            schedule: Schedule::Constant,
        }
    }
}

impl AdamParams {
    /// The solver, or which parameter is out of its range.
    pub fn check(self) -> Result<Adam> {
        let wrong = |name, value: f64, expected| Err(InputError::parameter(name, value, expected).into());
        if self.batch == 0 {
            return wrong("batch", 0.0, "at least 1");
        }
        if self.stopping.max == 0 {
            return wrong("epochs", 0.0, "at least 1");
        }
        if !(self.rate.is_finite() && self.rate > 0.0) {
            return wrong("rate", self.rate, "a finite value > 0");
        }
        for (name, beta) in [("beta1", self.beta1), ("beta2", self.beta2)] {
            if !(0.0..1.0).contains(&beta) {
                return wrong(name, beta, "in [0, 1)");
            }
        }
        if !(self.epsilon.is_finite() && self.epsilon >= 0.0) {
            return wrong("epsilon", self.epsilon, "a finite value >= 0");
        }
        match self.schedule {
            Schedule::Step { every: 0, .. } => return wrong("schedule.every", 0.0, "at least 1"),
            Schedule::Step { factor, .. } if !(factor.is_finite() && factor > 0.0) => {
                return wrong("schedule.factor", factor, "a finite value > 0");
            }
            Schedule::Cosine { to } if !(0.0..=1.0).contains(&to) => return wrong("schedule.to", to, "in [0, 1]"),
            _ => {}
        }
        Ok(Adam(self))
    }
}

/// Adam with checked parameters.
///
/// ```
/// use kraus::{AdamParams, Problem, Solver, Start, Stopping};
/// let x = ndarray::Array3::from_shape_fn((32, 3, 3), |(s, i, j)| ((s + i * j + i + j) % 5) as f64);
/// let y = ndarray::Array3::from_elem((32, 1, 1), 1.0);
/// let problem = Problem::matrices(x.view(), y.view()).unwrap();
/// let adam = AdamParams { stopping: Stopping::after(5), ..Default::default() }.check().unwrap();
/// let fit = adam.fit(&problem, Start::single(3, 1, 2, 7)).unwrap();
/// assert_eq!(fit.history.loss.len(), 5);
/// assert!(fit.history.loss[4] < fit.history.loss[0]);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Adam(AdamParams);

impl Adam {
    /// The parameters.
    pub fn params(&self) -> &AdamParams {
        &self.0
    }

    fn rate(&self, epoch: usize) -> f64 {
        let (base, max) = (self.0.rate, self.0.stopping.max);
        match self.0.schedule {
            Schedule::Constant => base,
            Schedule::Step { every, factor } => base * factor.powi((epoch / every) as i32),
            Schedule::Cosine { to } => {
                let share = epoch as f64 / (max - 1).max(1) as f64;
                base * (to + (1.0 - to) * 0.5 * (1.0 + linalg::math::cos(std::f64::consts::PI * share)))
            }
        }
    }

    /// lr sqrt(1 - b2^t) / (1 - b1^t) in an epoch (from 0), at step t (from 1, over all epochs).
    #[cfg(feature = "cuda")]
    pub(crate) fn step_rate(&self, epoch: usize, t: u64) -> f64 {
        self.corrected(self.rate(epoch), t)
    }

    fn corrected(&self, rate: f64, t: u64) -> f64 {
        let t = t.min(i32::MAX as u64) as i32;
        rate * (1.0 - self.0.beta2.powi(t)).sqrt() / (1.0 - self.0.beta1.powi(t))
    }

    /// Trains one epoch over the samples in `order`. Returns the sum of squared errors, each taken before its step.
    fn epoch<T: Real>(
        &self,
        engine: &mut Engine<'_, '_, T>,
        order: &[usize],
        state: &mut AdamState<T>,
        rate: f64,
    ) -> f64 {
        let p = &self.0;
        let mut sum = 0.0;
        let mut batches = order.chunks(p.batch).peekable();
        while let Some(batch) = batches.next() {
            sum += engine.pass_and_prefetch(batch, true, batches.peek().unwrap_or(&&[][..]));
            state.step += 1;
            let step = AdamStep {
                rate: T::of(self.corrected(rate, state.step)),
                beta1: T::of(p.beta1),
                beta2: T::of(p.beta2),
                epsilon: T::of(p.epsilon),
                scale: T::of(engine.scale(batch.len())),
            };
            let parallel = engine.is_parallel();
            let (params, gradient) = engine.params_and_gradient();
            step_in_pieces(step, params, &mut state.m, &mut state.v, gradient, parallel);
        }
        sum
    }
}

/// One step of Adam on all parameters, split over the cores where there are many of them.
fn step_in_pieces<T: Real>(step: AdamStep<T>, w: &mut [T], m: &mut [T], v: &mut [T], g: &[T], parallel: bool) {
    if !parallel || w.len() <= PIECE {
        return adam_step(step, w, m, v, g);
    }
    let half = w.len() / 2;
    let ((w, w2), (m, m2), (v, v2)) = (w.split_at_mut(half), m.split_at_mut(half), v.split_at_mut(half));
    let (g, g2) = g.split_at(half);
    rayon::join(|| step_in_pieces(step, w, m, v, g, true), || step_in_pieces(step, w2, m2, v2, g2, true));
}

/// Both moments of the gradient, and the steps done.
struct AdamState<T> {
    m: Vec<T>,
    v: Vec<T>,
    step: u64,
}

impl<T: Real> Solver<T> for Adam {
    fn name(&self) -> &'static str {
        "adam"
    }

    fn fit_with(&self, problem: &Problem<'_, T>, start: Start<T>, session: &mut Session<'_, T>) -> Fitted<T> {
        let mut model = start.stack(problem)?;
        let mut engine = Engine::new(problem, &model, self.0.batch)?;
        let mut recorder = Recorder::new("adam", self.0.stopping).with_zero_loss(problem.mean_square());
        recorder.history.note(if problem.is_symmetric() {
            "symmetric data: three products per step"
        } else {
            "general data: five products per step"
        });
        let mut validator = match session.validation {
            Some(v) => Some((Engine::new(v, &model, v.len())?, (0..v.len()).collect::<Vec<_>>())),
            None => None,
        };
        let zeros = || vec![T::of(0.0); model.len()];
        let mut natural = Vec::new();
        let mut state = AdamState { m: zeros(), v: zeros(), step: 0 };
        let (mut best, mut least) = (if self.0.keep_best { zeros() } else { Vec::new() }, f64::INFINITY);
        let mut best_epoch = 0;
        let mut order = (0..problem.len()).collect::<Vec<_>>();
        let mut rng = ChaCha8Rng::seed_from_u64(self.0.seed);
        let entries = |p: &Problem<'_, T>| (p.len() * p.q() * p.q()) as f64;
        for epoch in 0..self.0.stopping.max {
            order.shuffle(&mut rng);
            let rate = self.rate(epoch);
            let sum = if engine.is_parallel() {
                // Inside the pool the blocks of a step go to other threads without passing through its queue.
                rayon::scope(|_| self.epoch(&mut engine, &order, &mut state, rate))
            } else {
                self.epoch(&mut engine, &order, &mut state, rate)
            };
            let validation = validator.as_mut().zip(session.validation).map(|((validator, all), v)| {
                validator.load_from(&engine, &mut natural);
                validator.pass(all, false) / entries(v)
            });
            let loss = sum / entries(problem);
            let stop = recorder.record(loss, validation, session)?;
            if self.0.keep_best && validation.unwrap_or(loss) < least {
                least = validation.unwrap_or(loss);
                best.copy_from_slice(&engine.params);
                best_epoch = epoch + 1;
            }
            if stop.is_some() {
                break;
            }
        }
        let mut history = recorder.history;
        if !engine.params.iter().all(|w| num_traits::Float::is_finite(*w)) {
            // The last step overflowed, and no loss was computed after it.
            return Err(FitError::Diverged { solver: "adam", epoch: history.loss.len(), loss: f64::NAN });
        }
        engine.store(&mut model, &mut Vec::new());
        let mut last = None;
        if best_epoch > 0 {
            last = Some(model.clone());
            engine.params.copy_from_slice(&best);
            engine.store(&mut model, &mut Vec::new());
            history.model_epoch = best_epoch;
        }
        Ok(Fit { model, history, last })
    }
}
