//! Fits of the general model tr_m(A X B^T): by L-BFGS on all samples, or by Adam on minibatches.

use crate::data::problem::Problem;
use crate::error::FitError;
use crate::map::GeneralMap;
use crate::optimise::Memory;
use crate::optimise::recorded::minimise_recorded;
use crate::solvers::adam::{AdamParams, Schedule};
use crate::solvers::lbfgs::LbfgsParams;
use crate::solvers::moments::LossSource;
use crate::solvers::{History, Recorder, Session};
use linalg::Real;
use linalg::small::{AdamStep, adam_step};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// A fitted general map and the history of its fit.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneralFit<T> {
    /// The model.
    pub model: GeneralMap<T>,
    /// The losses on the way.
    pub history: History,
}

/// The fit, or an error where the last step left parameters that are not finite: no loss was computed after it.
fn finished<T: Real>(
    solver: &'static str,
    model: GeneralMap<T>,
    recorder: Recorder,
) -> Result<GeneralFit<T>, FitError> {
    if model.is_finite() {
        return Ok(GeneralFit { model, history: recorder.history });
    }
    Err(FitError::Diverged { solver, epoch: recorder.history.loss.len(), loss: f64::NAN })
}

impl<T: Real> GeneralMap<T> {
    /// Fits by L-BFGS on all samples from this map, with the history and the stopping of the other solvers.
    ///
    /// Refuses restarts and moments, which the general map does not have; it has no warm start either, and the history says so.
    pub fn fit(self, problem: &Problem<'_, T>, params: &LbfgsParams) -> Result<GeneralFit<T>, FitError> {
        let params = *params.check()?.params();
        self.check_fits(problem)?;
        let refuse = |why: &str| Err(FitError::Unsupported { solver: "lbfgs", why: why.into() });
        if params.restarts > 1 {
            return refuse(
                "the general map starts where it is, so restarts do nothing; fit several maps and keep the best",
            );
        }
        if params.source == LossSource::Moments {
            return refuse("the general map has no moments; compute the loss from the samples");
        }
        let mut model = self;
        let start = model.to_vec().iter().map(|v| v.as_f64()).collect();
        let mut gradient = vec![T::of(0.0); 2 * model.a().len()];
        let typed = |x: &[f64]| x.iter().map(|v| T::of(*v)).collect::<Vec<_>>();
        let mut recorder = Recorder::new("lbfgs", params.stopping).with_zero_loss(problem.mean_square());
        if params.warm_up {
            recorder.history.note("on all samples from the start: the general map has no warm start");
        }
        let mut session = Session { validation: None, watch: None };
        let limits = (params.stopping, params.memory);
        let found = minimise_recorded::<T>(
            start,
            limits,
            &mut Memory::default(),
            &mut recorder,
            &mut session,
            |_| None,
            |x, g| {
                model.set(&typed(x));
                let loss = model.loss_gradient(problem, &mut gradient);
                g.iter_mut().zip(&gradient).for_each(|(g, v)| *g = v.as_f64());
                loss
            },
        )?;
        model.set(&typed(&found));
        finished("lbfgs", model, recorder)
    }

    /// Fits by Adam on minibatches from this map, with the parameters of the other models (a constant learning rate).
    pub fn fit_adam(self, problem: &Problem<'_, T>, params: &AdamParams) -> Result<GeneralFit<T>, FitError> {
        params.clone().check()?;
        if params.schedule != Schedule::Constant || params.keep_best {
            let why = "the general map knows neither schedules nor the best epoch; leave both off".into();
            return Err(FitError::Unsupported { solver: "adam", why });
        }
        self.check_fits(problem)?;
        let mut model = self;
        let mut at = model.to_vec();
        let mut gradient = vec![T::of(0.0); at.len()];
        let (mut m, mut v, mut t) = (gradient.clone(), gradient.clone(), 0);
        let mut order: Vec<usize> = (0..problem.len()).collect();
        let mut rng = ChaCha8Rng::seed_from_u64(params.seed);
        let mut recorder = Recorder::new("adam", params.stopping).with_zero_loss(problem.mean_square());
        let mut session = Session::<T> { validation: None, watch: None };
        loop {
            order.shuffle(&mut rng);
            let mut sum = 0.0;
            for batch in order.chunks(params.batch) {
                sum += model.batch_gradient(problem, batch, &mut gradient) * batch.len() as f64;
                t += 1;
                let step = AdamStep {
                    rate: T::of(params.rate * (1.0 - params.beta2.powi(t)).sqrt() / (1.0 - params.beta1.powi(t))),
                    beta1: T::of(params.beta1),
                    beta2: T::of(params.beta2),
                    epsilon: T::of(params.epsilon),
                    scale: T::of(1.0),
                };
                adam_step(step, &mut at, &mut m, &mut v, &gradient);
                model.set(&at);
            }
            if recorder.record(sum / problem.len() as f64, None, &mut session)?.is_some() {
                return finished("adam", model, recorder);
            }
        }
    }
}
