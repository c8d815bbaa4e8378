//! Regression from matrices to matrices on people's own data: coordinates, intercept, penalty and family chosen by validation.
//!
//! | family | model | when |
//! |---|---|---|
//! | completely positive ([`Positivity::Complete`]) | sum_k A_k X A_k^T + B, B positive semidefinite | the paper's model: keeps the cone by itself |
//! | signed ([`Positivity::Output`], [`Positivity::None`]) | sum_k s_k A_k X A_k^T + B | every map that keeps symmetry |
//!
//! Real pairs with noise are rarely related by a completely positive map: on session-to-session covariances the best one errs by a fifth more than
//! the signed family. [`regress`] fits both, compares them on the same folds, and reports what it chose and why.
//!
//! | file | what |
//! |---|---|
//! | `affine` | the map with signs and intercept |
//! | `whiten` | coordinates in which the means are near the identity |
//! | `layout` | half-vectors and Choi matrices |
//! | `ridge` | the signed family in closed form |
//! | `operators` | how many operators it keeps |
//! | `path` | the completely positive family along a path of ranks |
//! | `folds` | cross-validation and the one-standard-error rule |
//! | `unpenalised` | the solvers without penalty: data, one fit, the rank |
//! | `procedure` | all of it: [`fit`] is what the command `fit` calls |
//! | `disk`, `model` | the extra arrays of a saved model; a model of either kind |

mod affine;
mod disk;
pub mod folds;
mod layout;
mod model;
mod operators;
mod path;
mod procedure;
mod ridge;
mod unpenalised;
mod whiten;

pub use affine::{AffineMap, Applied, Positivity};
pub use disk::{SavedAffine, load_affine, save_affine};
pub use folds::{Folds, Score};
pub use model::Model;
pub use procedure::{FitParams, Outcome, Unpenalised, fit, fit_watched};
pub use unpenalised::{Method, Pairs, Plan, loss, ranks};

use crate::completion::Watch;
use crate::error::{Error, Result};
use folds::{least, nearly_least, one_standard_error};
use layout::svecs;
use ndarray::{Array2, ArrayView3, Axis};
use path::Path;
use rayon::prelude::*;

/// Largest Choi matrix that this module handles: its spectrum takes seconds there.
pub const LARGEST: usize = 1200;

/// Ranks of the completely positive path.
const RANKS: [usize; 11] = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20];
/// Ranks that decide whether the completely positive family is worth a closer look.
const SCREEN: [usize; 3] = [2, 6, 12];
/// On two folds its mean squared error must come within this multiple of the signed family's for that: a tenth is what two folds can be wrong by.
const NEAR: f64 = 1.1;
/// Fewer operators with signs are taken if the mean squared error on hidden samples rises by this share at most.
const SMALLER: f64 = 0.01;
/// Trace penalties, over the sum of squares of Y.
const PENALTIES: [f64; 3] = [1e-5, 1e-4, 1e-3];

/// Which family to fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Family {
    /// The better one by cross-validation; signed outputs are projected into the cone.
    #[default]
    Auto,
    /// This one.
    Only(Positivity),
}

impl From<Positivity> for Family {
    fn from(p: Positivity) -> Self {
        Self::Only(p)
    }
}

/// How to fit.
#[derive(Debug, Clone)]
pub struct RegressParams {
    /// The family.
    pub family: Family,
    /// Folds of the cross-validation.
    pub folds: usize,
    /// Seed of the folds.
    pub seed: u64,
    /// Number of operators; chosen if not given.
    pub rank: Option<usize>,
}

impl Default for RegressParams {
    fn default() -> Self {
        Self { family: Family::Auto, folds: 5, seed: 0, rank: None }
    }
}

/// One family as cross-validation saw it.
#[derive(Debug, Clone)]
pub struct Tried {
    /// Completely positive or signed.
    pub complete: bool,
    /// Errors by number of operators: sums of squares per sample.
    pub curve: Vec<Score>,
    /// Position of the chosen number.
    pub chosen: usize,
    /// In words: coordinates and penalty, or why it was not looked at further.
    pub note: String,
}

/// A fitted map and the evidence for it.
#[derive(Debug, Clone)]
pub struct Regression {
    /// The map between matrices as given.
    pub map: AffineMap,
    /// The families that were tried.
    pub tried: Vec<Tried>,
    /// Mean of ||Y||^2, to make errors relative.
    pub mean_square: f64,
    /// Why this family, one sentence.
    pub reason: String,
    /// Whether the last iteration ended by itself; closed forms always do.
    pub converged: bool,
    /// Its iterations, 0 for a closed form.
    pub iterations: usize,
}

impl Tried {
    /// The score of the chosen number of operators.
    pub fn score(&self) -> &Score {
        &self.curve[self.chosen]
    }
}

impl Regression {
    /// The family that was chosen, with its curve.
    pub fn chosen(&self) -> Option<&Tried> {
        self.tried.iter().find(|t| t.complete == (self.map.positivity() == Positivity::Complete))
    }

    /// sqrt(mean squared error / mean ||Y||^2).
    pub fn relative(&self, error: f64) -> f64 {
        (error / self.mean_square.max(f64::MIN_POSITIVE)).sqrt()
    }
}

/// Fits a map to symmetric pairs X (l, p, p), Y (l, q, q).
///
/// ```
/// use kraus::regress::{RegressParams, regress};
/// use ndarray::Array3;
/// // Y = 2 X + I, up to a little noise.
/// let x = Array3::from_shape_fn((40, 2, 2), |(s, i, j)| if i == j { 2.0 + ((s + 3 * i) as f64).sin() } else { 0.5 * (s as f64).cos() });
/// let y = Array3::from_shape_fn((40, 2, 2), |(s, i, j)| 2.0 * x[[s, i, j]] + if i == j { 1.0 } else { 0.0 });
/// let fit = regress(x.view(), y.view(), &RegressParams::default()).unwrap();
/// let error = (&fit.map.apply(x.view()).unwrap().matrices - &y).iter().fold(0.0f64, |m, v| m.max(v.abs()));
/// assert!(error < 0.05, "{error}");
/// ```
pub fn regress(x: ArrayView3<'_, f64>, y: ArrayView3<'_, f64>, params: &RegressParams) -> Result<Regression> {
    regress_watched(x, y, params, &|_, _| Ok(()))
}

/// [`regress`] with a watcher for progress and for cancelling.
pub fn regress_watched(
    x: ArrayView3<'_, f64>,
    y: ArrayView3<'_, f64>,
    params: &RegressParams,
    watch: Watch<'_>,
) -> Result<Regression> {
    check(x.view(), y.view(), params)?;
    let folds = Folds::new(x.dim().0, params.folds, params.seed);
    let targets = svecs(y);
    let mean_square = targets.iter().map(|v| v * v).sum::<f64>() / targets.nrows() as f64;
    let signed = match params.family {
        Family::Only(Positivity::Complete) => None,
        _ => {
            watch("maps with signs", 0.0)?;
            Some(Signed::choose(x, y, &targets, &folds, params.rank)?)
        }
    };
    let mut tried: Vec<Tried> = signed.iter().map(|s| s.tried.clone()).collect();
    let complete = match params.family {
        Family::Only(Positivity::Complete) => Some(complete(x, y, &folds, params.rank, watch)?),
        Family::Only(_) => None,
        Family::Auto => screen(x, y, &folds, tried[0].score(), params.rank, watch)?,
    };
    tried.extend(complete.iter().map(|(t, _)| t.clone()));
    let relative = |s: &Score| (s.mean() / mean_square).sqrt();
    // The simpler family unless the folds tell that it is worse.
    let (use_complete, reason) = match (&signed, &complete) {
        (None, _) => (true, "asked for".to_string()),
        (Some(_), None) if params.family != Family::Auto => (false, "asked for".to_string()),
        (Some(_), None) => {
            (false, "a completely positive map is not defined here: a mean is not positive definite".to_string())
        }
        (Some(s), Some((c, _))) => {
            let (a, b) = (relative(s.tried.score()), relative(c.score()));
            let same = c.score().folds.len() == s.tried.score().folds.len();
            if same && c.score().close_to(s.tried.score()) {
                (
                    true,
                    format!("a completely positive map is as good on hidden samples: {b:.4} against {a:.4} with signs"),
                )
            } else {
                (
                    false,
                    format!(
                        "signs bring the relative error on hidden samples from {b:.4} (completely positive) to {a:.4}"
                    ),
                )
            }
        }
    };
    watch("all samples", 0.0)?;
    if use_complete {
        let (tried_complete, penalty) = complete.expect("the completely positive family was tried");
        let rank = tried_complete.score().rank;
        let Some(mut path) = Path::new(x, y, penalty)? else { return Err(not_definite()) };
        for &r in RANKS.iter().filter(|r| **r < rank) {
            path.to(r, 15, 1e-4)?;
        }
        path.to(rank, 500, 1e-8)?;
        let (ops, intercept) = path.model();
        let signs = vec![1.0; ops.dim().0];
        let map = AffineMap::new(ops, signs, Some(intercept), Positivity::Complete)?;
        return Ok(Regression {
            map,
            tried,
            mean_square,
            reason,
            converged: path.converged,
            iterations: path.iterations,
        });
    }
    let signed = signed.expect("the signed family was tried");
    let positivity = match params.family {
        Family::Only(p) => p,
        Family::Auto => Positivity::Output,
    };
    let map = signed.fit(x, y, &targets, positivity)?;
    Ok(Regression { map, tried, mean_square, reason, converged: true, iterations: 0 })
}

fn check(x: ArrayView3<'_, f64>, y: ArrayView3<'_, f64>, params: &RegressParams) -> Result<()> {
    let ((l, p, p2), (ly, q, q2)) = (x.dim(), y.dim());
    if l == 0 || p == 0 || q == 0 {
        return Err(Error::Empty { what: "X", shape: x.shape().to_vec() });
    }
    if p != p2 {
        return Err(Error::Shape { what: "X", expected: vec![l, p, p], got: x.shape().to_vec() });
    }
    if (ly, q) != (l, q2) {
        return Err(Error::Shape { what: "Y", expected: vec![l, q, q], got: y.shape().to_vec() });
    }
    if params.folds < 2 || params.folds > l {
        return Err(Error::Parameter {
            name: "folds",
            value: params.folds as f64,
            expected: "between 2 and the number of samples",
        });
    }
    if params.rank == Some(0) {
        return Err(Error::RankZero);
    }
    if p * q > LARGEST {
        return Err(Error::Parameter {
            name: "p q",
            value: (p * q) as f64,
            expected: "at most 1200: larger maps need the solvers without penalty",
        });
    }
    check_one("X", x)?;
    check_one("Y", y)
}

fn check_one(what: &'static str, m: ArrayView3<'_, f64>) -> Result<()> {
    crate::error::check_finite(what, m)?;
    match m.outer_iter().position(|m| !linalg::is_symmetric(m, 1e-9)) {
        Some(index) => Err(Error::NotSymmetric { what, index }),
        None => Ok(()),
    }
}

fn not_definite() -> Error {
    Error::Parameter {
        name: "mean",
        value: 0.0,
        expected: "positive definite means of X and Y; use positivity `output` or `none`",
    }
}

/// The signed family, chosen.
struct Signed {
    choice: ridge::Choice,
    tried: Tried,
}

impl Signed {
    fn choose(
        x: ArrayView3<'_, f64>,
        y: ArrayView3<'_, f64>,
        targets: &Array2<f64>,
        folds: &Folds,
        rank: Option<usize>,
    ) -> Result<Self> {
        let choice = ridge::choose(x, targets)?;
        let curve = operators::curve(x, y, &choice, folds)?;
        let chosen = match rank {
            // The tried number nearest from below; the fit keeps exactly the number asked for.
            Some(r) => curve.iter().rposition(|s| s.rank <= r).unwrap_or(0),
            None => nearly_least(&curve, SMALLER),
        };
        let note = format!("coordinates: mean of X to the power -{}, penalty {:.0e}", choice.power, choice.share);
        let mut tried = Tried { complete: false, curve, chosen, note };
        if let Some(r) = rank {
            tried.curve[chosen].rank = r;
        }
        Ok(Self { choice, tried })
    }

    fn fit(
        &self,
        x: ArrayView3<'_, f64>,
        y: ArrayView3<'_, f64>,
        targets: &Array2<f64>,
        positivity: Positivity,
    ) -> Result<AffineMap> {
        let ridge = ridge::fit(x, targets, &self.choice)?;
        let spectrum = operators::Spectrum::of(&ridge, y)?;
        let (ops, signs) = spectrum.operators(self.tried.score().rank, &ridge.coordinates);
        // The intercept that makes the mean of the outputs right with the operators that are kept.
        let bare = AffineMap::new(ops, signs, None, Positivity::None)?;
        let mean_x = x.mean_axis(Axis(0)).expect("at least one sample").insert_axis(Axis(0));
        let mean_y = y.mean_axis(Axis(0)).expect("at least one sample");
        let at_mean = bare.apply(mean_x.view())?.matrices;
        let intercept = linalg::symmetrise((&mean_y - &at_mean.index_axis(Axis(0), 0)).view());
        AffineMap::new(bare.map().ops().to_owned(), bare.signs().to_vec(), Some(intercept), positivity)
    }
}

/// Errors of one penalty on some folds, by rank.
fn path_errors(
    x: ArrayView3<'_, f64>,
    y: ArrayView3<'_, f64>,
    folds: &Folds,
    (which, ranks, penalty, iterations): (usize, &[usize], f64, usize),
) -> Result<Option<Vec<Score>>> {
    let per_fold: Vec<Option<Vec<f64>>> = (0..which)
        .into_par_iter()
        .map(|fold| -> Result<Option<Vec<f64>>> {
            let (out, inn) = (folds.outside(fold), folds.inside(fold));
            let (xa, ya) = (x.select(Axis(0), &out), y.select(Axis(0), &out));
            let (xb, yb) = (x.select(Axis(0), &inn), svecs(y.select(Axis(0), &inn).view()));
            let Some(mut path) = Path::new(xa.view(), ya.view(), penalty)? else { return Ok(None) };
            let mut errors = Vec::with_capacity(ranks.len());
            for &rank in ranks {
                path.to(rank, iterations, 1e-4)?;
                errors.push(ridge::squares(path.predict(xb.view()).view(), yb.view()) / yb.nrows() as f64);
            }
            Ok(Some(errors))
        })
        .collect::<Result<_>>()?;
    let Some(all) = per_fold.into_iter().collect::<Option<Vec<_>>>() else { return Ok(None) };
    Ok(Some(ranks.iter().enumerate().map(|(k, r)| Score::new(*r, all.iter().map(|f| f[k]).collect())).collect()))
}

/// The completely positive family: rank by the one-standard-error rule, then a penalty if it helps.
fn complete(
    x: ArrayView3<'_, f64>,
    y: ArrayView3<'_, f64>,
    folds: &Folds,
    rank: Option<usize>,
    watch: Watch<'_>,
) -> Result<(Tried, f64)> {
    watch("completely positive maps", 0.0)?;
    let most = x.dim().1 * y.dim().1;
    let ranks: Vec<usize> = match rank {
        Some(r) => RANKS.into_iter().filter(|k| *k < r).chain([r]).collect(),
        None => RANKS.into_iter().filter(|r| *r <= most).collect(),
    };
    let Some(curve) = path_errors(x, y, folds, (folds.count(), &ranks, 0.0, 25))? else { return Err(not_definite()) };
    let chosen = if rank.is_some() { curve.len() - 1 } else { one_standard_error(&curve) };
    let mut tried = Tried { complete: true, curve, chosen, note: "no penalty".into() };
    let (mut penalty, at) = (0.0, tried.score().rank);
    for (k, share) in PENALTIES.into_iter().enumerate() {
        watch("trace penalty", k as f64 / PENALTIES.len() as f64)?;
        let upto: Vec<usize> = ranks.iter().copied().filter(|r| *r <= at).collect();
        let Some(curve) = path_errors(x, y, folds, (folds.count(), &upto, share, 25))? else { break };
        let score = &curve[curve.len() - 1];
        let better = score.mean() < tried.score().mean() && !tried.score().close_to(score);
        if !better {
            break;
        }
        penalty = share;
        let chosen = tried.chosen;
        tried.curve[chosen] = score.clone();
        tried.note = format!("trace penalty {share:.0e}");
    }
    Ok((tried, penalty))
}

/// Two folds and three ranks first: the whole curve only where it can win.
fn screen(
    x: ArrayView3<'_, f64>,
    y: ArrayView3<'_, f64>,
    folds: &Folds,
    rival: &Score,
    rank: Option<usize>,
    watch: Watch<'_>,
) -> Result<Option<(Tried, f64)>> {
    watch("completely positive maps, first look", 0.0)?;
    let most = x.dim().1 * y.dim().1;
    let ranks: Vec<usize> = SCREEN.into_iter().filter(|r| *r <= most).collect();
    let ranks = if ranks.is_empty() { vec![1] } else { ranks };
    let Some(curve) = path_errors(x, y, folds, (2, &ranks, 0.0, 20))? else { return Ok(None) };
    let best = least(&curve);
    let rival_there = rival.folds[..2].iter().sum::<f64>() / 2.0;
    if curve[best].mean() <= NEAR * rival_there {
        return complete(x, y, folds, rank, watch).map(Some);
    }
    let note = format!("ranks {ranks:?} on two folds only: too far behind for a closer look");
    Ok(Some((Tried { complete: true, curve, chosen: best, note }, 0.0)))
}
