//! The solver `lbfgs`: full-batch L-BFGS on the samples or on the moments, whichever costs less.
//!
//! On the samples it fits any stack (depth, Gamma, mask, matrix units). One unmasked map on matrices depends on the samples
//! only through their [`Moments`], at a cost per iteration that does not depend on l; the cheaper of the two is taken by
//! counting FLOPs, and the history says which. Where the samples do not determine the least squares map the moments
//! resolve the loss only to about 1e-12 of E[Y^2], so the last steps are then taken on the samples.

use crate::descend::descend;
use crate::easier::{Level, levels};
use crate::error::{Error, FitError, Result};
use crate::full_batch::Evaluator;
use crate::minimise::Memory;
use crate::moment_objective::MomentObjective;
use crate::moments::{Basis, LeastSquares, Moments};
use crate::problem::{Inputs, Problem};
use crate::solver::{Fit, History, Recorder, Session, Solver, Start, Stop, Stopping};
use crate::stack::{Architecture, Gamma, Stack};
use linalg::Real;

/// What the objective is computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Source {
    /// The cheaper by FLOPs.
    #[default]
    Auto,
    /// The samples.
    Samples,
    /// The moments; an error where the problem has none (masks, matrix units, depth > 1).
    Moments,
}

/// Parameters of [`Lbfgs`] as written; [`check`](Self::check) gives the solver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LbfgsParams {
    /// When to stop. The iteration also ends where the objective can fall no further.
    pub stopping: Stopping,
    /// Pairs that the approximation of the Hessian remembers.
    pub memory: usize,
    /// Random starts, of which the best fit is kept. A given start is used once.
    pub restarts: usize,
    /// Samples or moments.
    pub source: Source,
    /// Finish on the samples after the moments even where the moments resolve the loss well.
    pub polish: bool,
    /// On the samples, from a random start: fit first to as few of them as determine the map, minus their means where
    /// the mean of X dominates, as for covariances and other positive definite inputs: far cheaper, and far better
    /// conditioned. The result fits all of the data as they are.
    pub warm_up: bool,
}

impl Default for LbfgsParams {
    fn default() -> Self {
        Self {
            stopping: Stopping::after(2000),
            memory: 30,
            restarts: 1,
            source: Source::Auto,
            polish: false,
            warm_up: true,
        }
    }
}

impl LbfgsParams {
    /// Refuses no iterations, no memory and no starts.
    pub fn check(self) -> Result<Lbfgs> {
        let counts = [("stopping.max", self.stopping.max), ("memory", self.memory), ("restarts", self.restarts)];
        match counts.into_iter().find(|(_, n)| *n == 0) {
            Some((name, _)) => Err(Error::Parameter { name, value: 0.0, expected: "at least 1" }),
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

/// Evaluations that a fit is expected to need, over which the cost of the moments is spread.
const EXPECTED: f64 = 200.0;

/// The warm-up ends when an iteration gains less than this share,
const WARM: f64 = 1e-3;
/// or at this share of the loss that the fit itself is to reach: what the warm-up leaves along the mean weighs more there.
const WARM_TARGET: f64 = 1e-2;
/// Above this share of the mean square of the targets a model does not fit them.
const MISFIT: f64 = 1e-3;
/// Equations per parameter in the warm-up: with four, L-BFGS takes about half as many steps again as with all samples.
const OVERDETERMINED: usize = 4;

/// FLOPs of one evaluation on l samples: three products where everything is symmetric, five otherwise.
fn sample_flops<T: Real>(problem: &Problem<'_, T>, rank: usize) -> f64 {
    let (p, q, r) = (problem.p() as f64, problem.q() as f64, rank as f64);
    let (inner, outer) = (2.0 * p * p * q * r, 2.0 * q * q * p * r);
    problem.len() as f64 * if problem.is_symmetric() { inner + 2.0 * outer } else { 2.0 * inner + 3.0 * outer }
}

/// Samples that determine a map of this rank with some to spare: each has q (q + 1) / 2 different outputs.
///
/// ```
/// assert_eq!(kraus::lbfgs::enough(100, 40, 20), 391); // four equations for each of 80000 parameters
/// ```
pub fn enough(p: usize, q: usize, rank: usize) -> usize {
    (OVERDETERMINED * rank * p * q).div_ceil(q * (q + 1) / 2)
}

impl Lbfgs {
    /// The parameters.
    pub fn params(&self) -> &LbfgsParams {
        &self.params
    }

    /// Fits one map to moments, which may come from a stream: the samples are not needed.
    pub fn fit_moments(&self, moments: &Moments, start: Start<f64>) -> std::result::Result<Fit<f64>, FitError> {
        self.fit_moments_around(moments, moments.least_squares().ok().as_ref(), start)
    }

    /// [`fit_moments`](Self::fit_moments) with the least squares map of these moments at hand, so that several fits share it.
    pub fn fit_moments_around(
        &self,
        moments: &Moments,
        centre: Option<&LeastSquares>,
        start: Start<f64>,
    ) -> std::result::Result<Fit<f64>, FitError> {
        let mut session = Session { validation: None, watch: None };
        self.best(starts(start, self.params.restarts), |start| {
            let stack = single(start, moments.p(), moments.q())?;
            let mut objective = MomentObjective::new(moments, centre, stack.layers[0].rank());
            let mut recorder = Recorder::new("lbfgs", self.params.stopping);
            recorder.history.note(resolution(centre.is_some()));
            let (stopping, mut memory) = (self.params.stopping, Memory::default());
            let evaluate = |x: &[f64], g: &mut [f64]| objective.evaluate(x, g);
            let stack = self.run(stack, stopping, &mut memory, &mut recorder, &mut session, evaluate)?;
            Ok(close(stack, recorder))
        })
    }

    /// The best of several fits; the notes tell how the others ended.
    fn best<T: Real>(
        &self,
        starts: Vec<Start<T>>,
        mut fit: impl FnMut(Start<T>) -> std::result::Result<Fit<T>, FitError>,
    ) -> std::result::Result<Fit<T>, FitError> {
        let last = |f: &Fit<T>| f.history.loss.last().copied().unwrap_or(f64::INFINITY);
        let (mut best, mut losses) = (None::<Fit<T>>, Vec::new());
        for start in starts {
            let f = fit(start)?;
            losses.push(last(&f));
            if best.as_ref().is_none_or(|b| last(&f) < last(b)) {
                best = Some(f);
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

    /// A fit to easier data, which only has to come near: the fit to the data as they are follows.
    fn warm_up<T: Real>(
        &self,
        level: &Level<T>,
        stack: Stack<T>,
        memory: &mut Memory,
        session: &mut Session<'_, T>,
    ) -> std::result::Result<(Stack<T>, History), FitError> {
        let Stopping { max, tolerance, target, .. } = self.params.stopping;
        let stopping = Stopping { max, tolerance: tolerance.max(WARM), target: WARM_TARGET * target, patience: None };
        let mut recorder = Recorder::new("lbfgs", stopping);
        let problem = Problem::matrices(level.x.view(), level.y.view())?;
        let mut evaluator = Evaluator::new(&problem, &stack)?;
        let mut watched = Session { validation: None, watch: session.watch.as_mut().map(|w| &mut **w as _) };
        let objective = |x: &[f64], g: &mut [f64]| evaluator.evaluate(x, g);
        let stack = self.run(stack, stopping, memory, &mut recorder, &mut watched, objective)?;
        Ok((stack, recorder.history))
    }

    /// Minimises from `stack` until the objective or the recorder ends it; continues the recorder's history.
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
        let found = descend(start, limits, memory, recorder, session, validate, objective)?;
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

fn close<T>(model: Stack<T>, recorder: Recorder) -> Fit<T> {
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
pub(crate) fn single<T: Real>(start: Start<T>, p: usize, q: usize) -> std::result::Result<Stack<T>, FitError> {
    let stack = match start {
        Start::Random { arch, seed } => Stack::glorot(&arch, seed)?,
        Start::Given(stack) => Stack::new(stack.layers, stack.gamma)?,
    };
    if stack.depth() != 1 {
        return Err(FitError::Unsupported {
            solver: "moments",
            why: "they describe one map, not a deeper stack".into(),
        });
    }
    if (stack.p(), stack.q()) != (p, q) {
        return Err(Error::Shape { what: "start (p, q)", expected: vec![p, q], got: vec![stack.p(), stack.q()] }.into());
    }
    Ok(stack)
}

/// The architecture of a start.
pub(crate) fn architecture<T: Real>(start: &Start<T>) -> Architecture {
    match start {
        Start::Random { arch, .. } => arch.clone(),
        Start::Given(stack) => stack.architecture(),
    }
}

/// The moments of a problem that has them.
pub(crate) fn moments_of<T: Real>(problem: &Problem<'_, T>) -> Option<Result<Moments>> {
    match problem.inputs() {
        Inputs::Matrices(x) if problem.mask().is_none() => {
            let basis = if problem.symmetric_inputs().iter().all(|s| *s) { Basis::Symmetric } else { Basis::Full };
            Some(Moments::of(x.view(), problem.targets(), basis))
        }
        _ => None,
    }
}

/// The moments, if the problem has them and they are wanted or cheaper, and the reason in words.
pub(crate) fn choose_moments<T: Real>(
    problem: &Problem<'_, T>,
    arch: &Architecture,
    source: Source,
    solver: &'static str,
) -> std::result::Result<(Option<Moments>, String), FitError> {
    let has = arch.ranks.len() == 1 && problem.mask().is_none() && matches!(problem.inputs(), Inputs::Matrices(_));
    if !has {
        if source == Source::Moments {
            let why = "moments describe one unmasked map on matrices; use the samples".into();
            return Err(FitError::Unsupported { solver, why });
        }
        return Ok((None, "deep, masked or on matrix units: no moments".into()));
    }
    let basis = if problem.symmetric_inputs().iter().all(|s| *s) { Basis::Symmetric } else { Basis::Full };
    let (p, q, l) = (problem.p(), problem.q(), problem.len() as f64);
    let (nx, ny) = (basis.len(p) as f64, basis.len(q) as f64);
    let once = l * nx * (nx + 2.0 * ny) + nx * nx * nx / 3.0;
    let by_moments = MomentObjective::flops(p, q, arch.ranks[0], basis) + once / EXPECTED;
    let by_samples = sample_flops(problem, arch.ranks[0]);
    let words = format!("FLOPs per evaluation: moments {by_moments:.2e}, samples {by_samples:.2e}");
    // With fewer samples than coordinates the moments resolve too little, and the samples are few anyway.
    let wanted = match source {
        Source::Auto => by_moments < by_samples && l >= nx,
        Source::Samples => false,
        Source::Moments => true,
    };
    Ok((if wanted { moments_of(problem).transpose()? } else { None }, words))
}

impl<T: Real> Solver<T> for Lbfgs {
    fn name(&self) -> &'static str {
        "lbfgs"
    }

    fn fit_with(
        &self,
        problem: &Problem<'_, T>,
        start: Start<T>,
        session: &mut Session<'_, T>,
    ) -> std::result::Result<Fit<T>, FitError> {
        let arch = architecture(&start);
        arch.check()?;
        let (moments, why) = choose_moments(problem, &arch, self.params.source, "lbfgs")?;
        let centre = moments.as_ref().and_then(|m| m.least_squares().ok());
        let useful = self.params.warm_up && moments.is_none() && arch.ranks.len() == 1;
        let easier = if useful { levels(problem, enough(problem.p(), problem.q(), arch.ranks[0])) } else { Vec::new() };
        self.best(starts(start, self.params.restarts), |start| {
            let random = matches!(start, Start::Random { .. });
            let mut stack = start.stack(problem)?;
            stack.gamma = if stack.depth() == 1 { Gamma::None } else { stack.gamma };
            let (stopping, mut memory) = (self.params.stopping, Memory::default());
            let mut recorder = Recorder::new("lbfgs", stopping);
            recorder.history.note(why.clone());
            if let Some(m) = &moments {
                recorder.history.note(resolution(centre.is_some()));
                let mut objective = MomentObjective::new(m, centre.as_ref(), stack.layers[0].rank());
                let evaluate = |x: &[f64], g: &mut [f64]| objective.evaluate(x, g);
                stack = self.run(stack, stopping, &mut memory, &mut recorder, session, evaluate)?;
                let ended = recorder.history.stop != Stop::Tolerance;
                if ended || (centre.is_some() && !self.params.polish) {
                    return Ok(close(stack, recorder));
                }
                // Where precision ended, what was learnt last is rounding.
                memory = Memory::default();
            }
            for level in easier.iter().filter(|_| random) {
                let first;
                (stack, first) = self.warm_up(level, stack, &mut memory, session)?;
                recorder.history.note(format!("{} iterations on {}", first.loss.len(), level.name));
                if first.stop == Stop::Cancelled {
                    return Ok(Fit { model: stack, history: first, last: None });
                }
                // Without the means the curvature is another one.
                if level.centred {
                    memory = Memory::default();
                }
                // Few samples that the model does not fit are overfitted, and more of that leads away.
                if first.loss.last().is_none_or(|loss| *loss > MISFIT * level.mean_square()) {
                    break;
                }
            }
            recorder.history.note("on the samples");
            let mut evaluator = Evaluator::new(problem, &stack)?;
            let evaluate = |x: &[f64], g: &mut [f64]| evaluator.evaluate(x, g);
            let stack = self.run(stack, stopping, &mut memory, &mut recorder, session, evaluate)?;
            Ok(close(stack, recorder))
        })
    }
}
