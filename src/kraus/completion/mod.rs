//! Matrix completion as partial trace regression (theorem 5).
//!
//! A symmetric n x n matrix, n = p q, is a p x p grid of q x q blocks. Regressing the observed block (i, j) on the matrix unit
//! E_ij gives a map Phi; its predictions Phi(E_ij) replace what is missing, and only that. One Kraus map makes the
//! prediction positive semidefinite of rank <= r (it is the Choi matrix of Phi); a deeper stack shares its last map
//! among all blocks and so can say something about rows that were never seen.
//!
//! | depth | [`complete`] (exact) | [`complete_with`] (any solver) |
//! |---|---|---|
//! | 1 | masked factorisation M ~ W W^T, products of n x n by n x r | matrix units |
//! | 2, q = 1 | products of r h x n by n x n | matrix units |
//! | > 1 | L-BFGS on matrix units | matrix units |
//!
//! | file | what |
//! |---|---|
//! | partial.rs | [`Partial`]: a matrix with missing entries, and its blocks |
//! | factorisation.rs, single_entries.rs | the two exact objectives of the table above |
//! | selection.rs | [`choose`]: (p, q), rank and depth by validation on held-out observed entries |
//! | fill/ | [`fill`]: the best of several models by validation, for people's own matrices |
//! | rescale.rs | the released code's last step, an option |

mod factorisation;
mod fill;
mod partial;
mod rescale;
mod selection;
mod single_entries;

pub(crate) use fill::spectral;
pub use fill::{Cone, FillParams, Filled, Score, Watch, fill, fill_from, fill_watched};
pub use partial::{Partial, assemble, blocks};
pub use selection::{HoldOut, Selection, candidates, choose};

use crate::data::problem::Problem;
use crate::error::{Error, FitError};
use crate::map::{Architecture, Gamma, KrausMap, Stack};
use crate::optimise::Memory;
use crate::optimise::recorded::minimise_recorded;
use crate::solvers::lbfgs::LbfgsParams;
use crate::solvers::moments::LossSource;
use crate::solvers::{Fit, History, Recorder, Session, Solver, Start, Stop};
use crate::tolerances::{EXACT_FIT, POSITIVE_SEMIDEFINITE};
use estimator::Mask;
use linalg::{Real, eigh, matmul};
use ndarray::{Array2, ArrayView2};
use partial::check_grid;

/// The model of a completion.
#[derive(Debug, Clone, PartialEq)]
pub struct CompletionParams {
    /// Blocks per side.
    pub p: usize,
    /// Rows of a block.
    pub q: usize,
    /// Kraus rank of each layer.
    pub rank: usize,
    /// Sizes between the layers: empty for depth 1, one for depth 2.
    pub hidden: Vec<usize>,
    /// The function between the layers.
    pub gamma: Gamma,
    /// Seed of the start.
    pub seed: u64,
    /// Map each predicted block linearly to the range of that block's observed entries, as the released code does.
    pub rescale: bool,
}

impl CompletionParams {
    /// One map of the given rank.
    pub fn single(p: usize, q: usize, rank: usize) -> Self {
        Self { p, q, rank, hidden: vec![], gamma: Gamma::None, seed: 0, rescale: false }
    }

    /// `depth` layers with sizes between p and q in equal steps: (20, 10) at depth 2 goes through 15.
    pub fn deep(p: usize, q: usize, rank: usize, depth: usize, gamma: Gamma) -> Self {
        let depth = depth.max(1);
        let at = |k: usize| (p * (depth - k) + q * k) / depth;
        Self { hidden: (1..depth).map(at).collect(), gamma, ..Self::single(p, q, rank) }
    }

    /// Number of layers.
    pub fn depth(&self) -> usize {
        self.hidden.len() + 1
    }

    /// The shape of the stack.
    pub fn architecture(&self) -> Architecture {
        let dims: Vec<usize> = [self.p].into_iter().chain(self.hidden.iter().copied()).chain([self.q]).collect();
        Architecture::deep(&dims, self.rank, self.gamma)
    }
}

/// A completed matrix and what is known about it.
#[derive(Debug, Clone)]
pub struct Completion {
    /// Observed entries as they were, predictions elsewhere; symmetric where the input was.
    pub matrix: Array2<f64>,
    /// The prediction of every entry, observed ones too.
    pub prediction: Array2<f64>,
    /// The fitted stack.
    pub model: Stack<f64>,
    /// How the fit went.
    pub history: History,
    /// Smallest and largest eigenvalue of `matrix`.
    pub spectrum: (f64, f64),
    /// Rows without any observed entry. One map leaves them at its random start; deeper stacks infer them from the others.
    pub empty_rows: Vec<usize>,
    /// Rows with fewer observed entries than the rank, which one map does not determine (includes the empty ones).
    pub weak_rows: Vec<usize>,
}

impl Completion {
    /// Whether the completed matrix is positive semidefinite up to rounding. Keeping observed entries can spoil it even
    /// though the prediction has it.
    pub fn is_psd(&self) -> bool {
        self.spectrum.0 >= -POSITIVE_SEMIDEFINITE * self.spectrum.1.abs().max(self.spectrum.0.abs())
    }
}

/// Completes with the exact solver: L-BFGS, on the factorisation where one map is asked for.
///
/// Of the solver's parameters `polish` and `warm_up` do nothing here at any depth: both are about samples that are matrices
/// without a mask. Moments, which such samples have and blocks have not, are refused.
///
/// ```
/// use kraus::LbfgsParams;
/// use kraus::completion::{CompletionParams, Partial, complete};
/// use ndarray::Array2;
/// let w = Array2::from_shape_fn((6, 1), |(i, _)| 1.0 + i as f64);
/// let mut m = w.dot(&w.t());
/// (m[[0, 5]], m[[5, 0]]) = (f64::NAN, f64::NAN);
/// let partial = Partial::from_nan(m.view()).unwrap();
/// let done = complete(&partial, &CompletionParams::single(3, 2, 1), &LbfgsParams::default()).unwrap();
/// assert!((done.matrix[[0, 5]] - 6.0).abs() < 1e-6 && done.is_psd());
/// ```
pub fn complete(partial: &Partial, model: &CompletionParams, solver: &LbfgsParams) -> Result<Completion, FitError> {
    complete_watched(partial, model, solver, &mut Session { validation: None, watch: None })
}

/// [`complete`] with a watcher that is asked after each iteration. Where it cancels, the result is what was reached by then.
pub fn complete_watched(
    partial: &Partial,
    model: &CompletionParams,
    solver: &LbfgsParams,
    session: &mut Session<'_, f64>,
) -> Result<Completion, FitError> {
    let checked = solver.check()?;
    if solver.source == LossSource::Moments {
        let why = "moments describe one unmasked map on matrices; use the samples".into();
        return Err(FitError::Unsupported { solver: "lbfgs", why });
    }
    check_grid(partial.n(), model.p, model.q)?;
    let start = |i: u64| Stack::<f64>::glorot(&model.architecture(), model.seed.wrapping_add(i));
    if model.depth() == 1 {
        let (n, rank) = (partial.n(), model.rank);
        let (w, history) = best_of(
            partial,
            (solver, session),
            "depth 1: masked factorisation M ~ W W^T",
            |i| Ok(factorisation::factor_of(&start(i)?.layers()[0]).into_raw_vec_and_offset().0),
            |w, g| factorisation::loss_gradient(partial, rank, w, g),
        )?;
        let w = ArrayView2::from_shape((n, rank), &w).expect("n r parameters were minimised");
        let map = KrausMap::new(factorisation::operators_of(w, model.p, model.q))?;
        return finish(partial, model, matmul(w, w.t()), map.into(), history);
    }
    if let Some(sizes) = single_entries::Sizes::of(&start(0)?) {
        let (x, history) = best_of(
            partial,
            (solver, session),
            "depth 2 on single entries: two products of the first map with the residual",
            |i| Ok(single_entries::Sizes::flat(&start(i)?)),
            |x, g| sizes.loss_gradient(partial, x, g),
        )?;
        return finish(partial, model, sizes.predict(&x), sizes.stack(&x)?, history);
    }
    complete_by::<f64, FitError>(partial, model, |problem, start| checked.fit_with(problem, start, session))
}

/// The best of as many starts as the solver asks for, by L-BFGS on an objective of the whole matrix.
fn best_of(
    partial: &Partial,
    (solver, session): (&LbfgsParams, &mut Session<'_, f64>),
    note: &str,
    start: impl Fn(u64) -> Result<Vec<f64>, Error>,
    objective: impl Fn(&[f64], &mut [f64]) -> f64,
) -> Result<(Vec<f64>, History), FitError> {
    let last = |h: &History| h.loss.last().copied().unwrap_or(f64::INFINITY);
    // An exact fit cannot be improved by another start.
    let zero_loss = partial.values().iter().map(|v| v * v).sum::<f64>() / (partial.n() * partial.n()) as f64;
    let exact = zero_loss * EXACT_FIT;
    let mut best: Option<(Vec<f64>, History)> = None;
    for i in 0..solver.restarts as u64 {
        let mut recorder = Recorder::new("lbfgs", solver.stopping).with_zero_loss(zero_loss);
        recorder.history.note(note);
        let (limits, mut memory) = ((solver.stopping, solver.memory), Memory::default());
        let found =
            minimise_recorded::<f64>(start(i)?, limits, &mut memory, &mut recorder, session, |_| None, &objective)?;
        let cancelled = recorder.history.stop == Stop::Cancelled;
        if best.as_ref().is_none_or(|(_, h)| last(&recorder.history) < last(h)) {
            best = Some((found, recorder.history));
        }
        if cancelled || best.as_ref().is_some_and(|(_, h)| last(h) <= exact) {
            break;
        }
    }
    // `check` refuses zero restarts.
    best.ok_or(FitError::Input(Error::RankZero))
}

/// Completes with any solver on matrix units, in the precision of that solver; with Adam on minibatches of blocks.
pub fn complete_with<T: Real>(
    partial: &Partial,
    model: &CompletionParams,
    solver: &dyn Solver<T>,
) -> Result<Completion, FitError> {
    complete_by(partial, model, |problem, start| solver.fit(problem, start))
}

/// Completes by a fit of the caller's choice on matrix units: a training on a [`backend`](crate::backend), say.
///
/// ```
/// use kraus::backend::{Choice, Job, Trial, train};
/// use kraus::completion::{CompletionParams, Partial, complete_by};
/// use kraus::{AdamParams, FitError, Flow, Stopping};
/// let partial = Partial::from_nan(ndarray::array![[1.0, 2.0], [f64::NAN, 4.0]].view()).unwrap();
/// let adam = AdamParams { stopping: Stopping::after(400), rate: 0.05, ..Default::default() }.check().unwrap();
/// let done = complete_by::<f64, FitError>(&partial, &CompletionParams::single(2, 1, 1), |problem, start| {
///     let job = Job { problem, validation: None, trials: vec![Trial { adam, start }], tf32: false };
///     train(Choice::Cpu, &job, &mut |_, _| Flow::Continue).unwrap().fits.remove(0)
/// })?;
/// assert!((done.prediction[[1, 0]].abs() - 2.0).abs() < 0.05);
/// # Ok::<(), FitError>(())
/// ```
pub fn complete_by<T: Real, E: From<FitError>>(
    partial: &Partial,
    model: &CompletionParams,
    fit: impl FnOnce(&Problem<'_, T>, Start<T>) -> Result<Fit<T>, E>,
) -> Result<Completion, E> {
    let wrong = |e: Error| E::from(FitError::from(e));
    check_grid(partial.n(), model.p, model.q).map_err(wrong)?;
    let (p, q) = (model.p, model.q);
    let all: Vec<(usize, usize)> = (0..p).flat_map(|i| (0..p).map(move |j| (i, j))).collect();
    let flags = blocks(partial.mask().flags(), q, &all);
    let seen = |at: &(usize, (usize, usize))| flags.index_axis(ndarray::Axis(0), at.0).iter().any(|m| *m);
    let pairs: Vec<(usize, usize)> = all.iter().copied().enumerate().filter(seen).map(|(_, pair)| pair).collect();
    let targets = blocks(partial.values(), q, &pairs).mapv(T::of);
    let mask = Mask::new(blocks(partial.mask().flags(), q, &pairs));
    let problem = Problem::units(p, pairs, targets.view()).and_then(|units| units.with_mask(&mask));
    let start = Start::Random { arch: model.architecture(), seed: model.seed };
    let Fit { model: stack, history, .. } = fit(&problem.map_err(wrong)?, start)?;
    let prediction = stack.apply_units(&all).map_err(wrong)?.mapv(|v| v.as_f64());
    let prediction = linalg::symmetrise(assemble(prediction.view(), p, &all).view());
    Ok(finish(partial, model, prediction, stack.to_f64(), history)?)
}

fn finish(
    partial: &Partial,
    params: &CompletionParams,
    mut prediction: Array2<f64>,
    model: Stack<f64>,
    history: History,
) -> Result<Completion, FitError> {
    if params.rescale {
        rescale::rescale(partial, params.q, &mut prediction);
    }
    let matrix = partial.filled(prediction.view());
    let values = eigh(matrix.view())?.values;
    // n >= 1: `Partial` refuses empty matrices.
    let spectrum = (values[0], values[values.len() - 1]);
    let (empty_rows, weak_rows) = (partial.empty_rows(), partial.sparse_rows(params.rank));
    Ok(Completion { matrix, prediction, model, history, spectrum, empty_rows, weak_rows })
}
