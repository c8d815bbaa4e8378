//! The solver `lbfgs`: full-batch L-BFGS on the samples or on the moments, whichever costs less.
//!
//! On the samples it fits any stack (depth, Gamma, mask, matrix units). One unmasked map on matrices depends on the samples only through their
//! [`Moments`], at a cost per iteration that does not depend on l; the cheaper of the two is taken by counting FLOPs, and the history says which.
//! Where the samples do not determine the least squares map the moments resolve the loss only to about 1e-12 of E[Y^2]: the last steps are then taken on the samples.

use crate::data::problem::Problem;
use crate::error::{FitError, InputError, Result};
use crate::gradient::full_batch::Evaluator;
use crate::map::Stack;
use crate::optimise::{Memory, recorded::minimise_recorded};
use crate::solvers::moments::{LeastSquares, LossSource, MomentObjective, Moments, choice::choose_moments};
pub use crate::solvers::warm_start::enough;
use crate::solvers::warm_start::{FIT_SHARE, GAIN, Level, MISFIT, levels};
use crate::solvers::{Fit, Fitted, History, Recorder, Session, Solver, Start, Stop, Stopping};
use linalg::Real;

/// The parameters of [`Lbfgs`] before they are checked; [`check`](Self::check) gives the solver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LbfgsParams {
    /// When to stop. The iteration also ends where the objective can fall no further.
    pub stopping: Stopping,
    /// Pairs that the approximation of the Hessian remembers.
    pub memory: usize,
    /// Random starts, of which the best fit is kept. A given start is used once.
    pub restarts: usize,
    /// Whether the loss is computed from the samples or from the moments.
    pub source: LossSource,
    /// Finish on the samples after the moments even where the moments resolve the loss well.
    pub polish: bool,
    /// On the samples and from a random start: first fit as few samples as determine the map, without their means where
    /// the mean of X dominates (covariances and other positive definite inputs). That costs far less and is far better
    /// conditioned. The fit to all samples follows. See `warm_start.rs`.
    pub warm_up: bool,
    /// On moments that are given ([`Lbfgs::fit_moments`]): multiply by them in single precision, twice as fast. The loss is then known to
    /// about six digits, which suits fits that end far from zero: a rank too low, noise.
    pub single: bool,
}

impl Default for LbfgsParams {
    fn default() -> Self {
        Self {
            stopping: Stopping::after(2000),
            memory: 30,
            restarts: 1,
            source: LossSource::Auto,
            polish: false,
            warm_up: true,
            single: false,
        }
    }
}

impl LbfgsParams {
    /// Refuses no iterations, no memory and no starts.
    pub fn check(self) -> Result<Lbfgs> {
        let counts = [("stopping.max", self.stopping.max), ("memory", self.memory), ("restarts", self.restarts)];
        match counts.into_iter().find(|(_, n)| *n == 0) {
            Some((name, _)) => Err(InputError::parameter(name, 0.0, "at least 1").into()),
            None => Ok(Lbfgs { params: self }),
        }
    }
}

/// Full-batch L-BFGS with checked parameters.
///
/// ```
/// use kraus::{KrausMap, LbfgsParams, Problem, Solver, Start};
/// use ndarray::Array3;
/// let truth = KrausMap::<f64>::glorot(1, 2, 3, 7).unwrap();
/// let x = Array3::from_shape_fn((40, 3, 3), |(s, i, j)| ((s * (i + 1) * (j + 1)) as f64).cos() + ((s + i + j) as f64).sin());
/// let x = &x + &x.view().permuted_axes([0, 2, 1]);
/// let y = truth.apply_batch(x.view()).unwrap();
/// let problem = Problem::matrices(x.view(), y.view()).unwrap();
/// let fit = LbfgsParams::default().check().unwrap().fit(&problem, Start::single(3, 2, 1, 0)).unwrap();
/// assert!(fit.model.mse(&problem).unwrap() < 1e-16);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lbfgs {
    params: LbfgsParams,
}

impl Lbfgs {
    /// The parameters.
    pub fn params(&self) -> &LbfgsParams {
        &self.params
    }

    /// Fits one map to moments, which may come from a stream: the samples are not needed.
    pub fn fit_moments(&self, moments: &Moments, start: Start<f64>) -> Fitted<f64> {
        self.fit_moments_around(moments, moments.least_squares().ok().as_ref(), start)
    }

    /// [`fit_moments`](Self::fit_moments) with a watcher.
    pub fn fit_moments_with(
        &self,
        moments: &Moments,
        start: Start<f64>,
        session: &mut Session<'_, f64>,
    ) -> Fitted<f64> {
        self.moments_around(moments, moments.least_squares().ok().as_ref(), start, session)
    }

    /// [`fit_moments`](Self::fit_moments) with the least squares map of these moments at hand, so that several fits share it.
    pub fn fit_moments_around(
        &self,
        moments: &Moments,
        centre: Option<&LeastSquares>,
        start: Start<f64>,
    ) -> Fitted<f64> {
        self.moments_around(moments, centre, start, &mut Session { validation: None, watch: None })
    }

    fn moments_around(
        &self,
        moments: &Moments,
        centre: Option<&LeastSquares>,
        start: Start<f64>,
        session: &mut Session<'_, f64>,
    ) -> Fitted<f64> {
        self.best(starts(start, self.params.restarts), |start| {
            let stack = single_map(start, moments.p(), moments.q())?;
            let mut objective = MomentObjective::new(moments, centre, stack.layers()[0].rank());
            if self.params.single {
                objective = objective.in_single();
            }
            let mut recorder = Recorder::new("lbfgs", self.params.stopping).with_zero_loss(moments.mean_square());
            recorder.history.note(resolution(centre.is_some()));
            let (stopping, mut memory) = (self.params.stopping, Memory::default());
            let evaluate = |x: &[f64], g: &mut [f64]| objective.evaluate(x, g);
            let stack = self.run(stack, stopping, &mut memory, &mut recorder, session, evaluate)?;
            Ok(finished(stack, recorder))
        })
    }

    /// The best of several fits; the notes tell how the others ended.
    fn best<T: Real>(&self, starts: Vec<Start<T>>, mut fit: impl FnMut(Start<T>) -> Fitted<T>) -> Fitted<T> {
        let last = |f: &Fit<T>| f.history.loss.last().copied().unwrap_or(f64::INFINITY);
        let (mut best, mut losses) = (None::<Fit<T>>, Vec::new());
        for start in starts {
            let f = fit(start)?;
            losses.push(last(&f));
            let cancelled = f.history.stop == Stop::Cancelled;
            if best.as_ref().is_none_or(|b| last(&f) < last(b)) {
                best = Some(f);
            }
            // Whoever asked for an end does not want the other starts.
            if cancelled {
                break;
            }
        }
        // `check` refuses zero restarts, so there is at least one start.
        let mut best = best.ok_or(FitError::Unsupported { solver: "lbfgs", why: "no start was given".into() })?;
        if losses.len() > 1 {
            let list = losses.iter().map(|l| format!("{l:.3e}")).collect::<Vec<_>>().join(", ");
            best.history.note(format!("best of {} starts: {list}", losses.len()));
        }
        Ok(best)
    }

    /// Fits one level of the warm start, roughly: the fit to all samples follows.
    fn warm_up<T: Real>(
        &self,
        level: &Level<T>,
        stack: Stack<T>,
        memory: &mut Memory,
        session: &mut Session<'_, T>,
    ) -> std::result::Result<(Stack<T>, History), FitError> {
        let Stopping { max, tolerance, target, .. } = self.params.stopping;
        let stopping = Stopping { max, tolerance: tolerance.max(GAIN), target: FIT_SHARE * target, patience: None };
        let problem = Problem::matrices(level.x.view(), level.y.view())?;
        let mut recorder = Recorder::new("lbfgs", stopping).with_zero_loss(level.mean_square());
        let mut evaluator = Evaluator::new(&problem, &stack)?;
        let mut watched = Session { validation: None, watch: session.watch.as_mut().map(|w| &mut **w as _) };
        let objective = |x: &[f64], g: &mut [f64]| evaluator.evaluate(x, g);
        let stack = self.run(stack, stopping, memory, &mut recorder, &mut watched, objective)?;
        Ok((stack, recorder.history))
    }

    /// Minimises from `stack` until the objective can fall no further or the recorder stops it; continues the recorder's history.
    fn run<T: Real>(
        &self,
        mut stack: Stack<T>,
        stopping: Stopping,
        memory: &mut Memory,
        recorder: &mut Recorder,
        session: &mut Session<'_, T>,
        objective: impl FnMut(&[f64], &mut [f64]) -> f64,
    ) -> std::result::Result<Stack<T>, FitError> {
        let start: Vec<f64> = stack.to_vec().iter().map(|v| v.as_f64()).collect();
        let typed = |x: &[f64]| x.iter().map(|v| T::of(*v)).collect::<Vec<T>>();
        let (validation, mut seen) = (session.validation, stack.clone());
        let validate = |x: &[f64]| {
            validation.map(|v| {
                seen.set(&typed(x));
                seen.mse(v)
            })
        };
        let limits = (stopping, self.params.memory);
        let found = minimise_recorded(start, limits, memory, recorder, session, validate, objective)?;
        stack.set(&typed(&found));
        Ok(stack)
    }
}

fn resolution(centred: bool) -> &'static str {
    if centred {
        "on the moments, centred at the least squares map"
    } else {
        "on the moments; they resolve 1e-12 of E[Y^2]"
    }
}

fn finished<T>(model: Stack<T>, recorder: Recorder) -> Fit<T> {
    Fit { model, history: recorder.history, last: None }
}

/// One start per restart; a given stack is used once.
fn starts<T: Real>(start: Start<T>, restarts: usize) -> Vec<Start<T>> {
    match start {
        Start::Random { arch, seed } => {
            (0..restarts as u64).map(|i| Start::Random { arch: arch.clone(), seed: seed.wrapping_add(i) }).collect()
        }
        given => vec![given],
    }
}

/// The start as one map from p x p to q x q.
pub(crate) fn single_map<T: Real>(start: Start<T>, p: usize, q: usize) -> std::result::Result<Stack<T>, FitError> {
    let stack = start.build()?;
    if stack.depth() != 1 {
        return Err(FitError::Unsupported {
            solver: "moments",
            why: "they describe one map, not a deeper stack".into(),
        });
    }
    if (stack.p(), stack.q()) != (p, q) {
        return Err(InputError::shape("start (p, q)", [p, q], [stack.p(), stack.q()]).into());
    }
    Ok(stack)
}

impl<T: Real> Solver<T> for Lbfgs {
    fn name(&self) -> &'static str {
        "lbfgs"
    }

    fn fit_with(&self, problem: &Problem<'_, T>, start: Start<T>, session: &mut Session<'_, T>) -> Fitted<T> {
        let arch = start.architecture()?;
        let (moments, why) = choose_moments(problem, &arch, self.params.source, "lbfgs")?;
        let centre = moments.as_ref().and_then(|m| m.least_squares().ok());
        let zero_loss = problem.mean_square();
        let useful = self.params.warm_up && moments.is_none() && arch.ranks.len() == 1;
        let warm_start =
            if useful { levels(problem, enough(problem.p(), problem.q(), arch.ranks[0])) } else { Vec::new() };
        self.best(starts(start, self.params.restarts), |start| {
            let random = matches!(start, Start::Random { .. });
            let mut stack = start.stack(problem)?;
            if stack.depth() == 1 {
                stack = stack.without_gamma();
            }
            let (stopping, mut memory) = (self.params.stopping, Memory::default());
            let mut recorder = Recorder::new("lbfgs", stopping).with_zero_loss(zero_loss);
            recorder.history.note(why.clone());
            if let Some(m) = &moments {
                recorder.history.note(resolution(centre.is_some()));
                let mut objective = MomentObjective::new(m, centre.as_ref(), stack.layers()[0].rank());
                let evaluate = |x: &[f64], g: &mut [f64]| objective.evaluate(x, g);
                stack = self.run(stack, stopping, &mut memory, &mut recorder, session, evaluate)?;
                let ended = recorder.history.stop != Stop::Tolerance;
                if ended || (centre.is_some() && !self.params.polish) {
                    return Ok(finished(stack, recorder));
                }
                // The moments ran out of precision, so the curvature learnt last is rounding noise.
                memory = Memory::default();
            }
            for level in warm_start.iter().filter(|_| random) {
                let first;
                (stack, first) = self.warm_up(level, stack, &mut memory, session)?;
                recorder.history.note(format!("{} iterations on {}", first.loss.len(), level.name));
                if first.stop == Stop::Cancelled {
                    return Ok(Fit { model: stack, history: first, last: None });
                }
                // Data without their means have another curvature.
                if level.centred {
                    memory = Memory::default();
                }
                // The model does not fit these few samples, so fitting more of them would lead away from the best fit.
                if first.loss.last().is_none_or(|loss| *loss > MISFIT * level.mean_square()) {
                    break;
                }
            }
            recorder.history.note("on the samples");
            let mut evaluator = Evaluator::new(problem, &stack)?;
            let evaluate = |x: &[f64], g: &mut [f64]| evaluator.evaluate(x, g);
            let stack = self.run(stack, stopping, &mut memory, &mut recorder, session, evaluate)?;
            Ok(finished(stack, recorder))
        })
    }
}
