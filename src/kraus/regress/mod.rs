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
//! | `families` | both families, each chosen by cross-validation |
//! | `ridge` | the signed family in closed form |
//! | `operators` | how many operators it keeps |
//! | `path` | the completely positive family along a path of ranks |
//! | `folds` | cross-validation and the one-standard-error rule |
//! | `unpenalised` | the solvers without penalty: data, one fit, the rank |
//! | `procedure` | all of it: [`fit`] is what the command `fit` calls |
//! | `disk`, `model` | the extra arrays of a saved model; a model of either kind |

mod affine;
mod disk;
mod families;
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
pub use unpenalised::{Method, Pairs, SolverPlan, loss, ranks};

use crate::completion::Watch;
use crate::error::{Error, InputError, Result};
use families::{RANKS, Signed, complete, screen};
use layout::svecs;
use ndarray::ArrayView3;
use path::Path;

/// Largest Choi matrix that this module handles: its spectrum takes seconds there.
pub const LARGEST: usize = 1200;

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
    // The restricted family where the folds tell that it is better. Indistinguishable is not enough: on one of five subjects of BCI IV 2a the two
    // were, and the restricted one then erred by a fifth more on new samples.
    let (use_complete, reason) = match (&signed, &complete) {
        (None, _) => (true, "asked for".to_string()),
        (Some(_), None) if params.family != Family::Auto => (false, "asked for".to_string()),
        (Some(_), None) => {
            (false, "a completely positive map is not defined here: a mean is not positive definite".to_string())
        }
        (Some(s), Some((c, _))) => {
            let (a, b) = (relative(s.tried.score()), relative(c.score()));
            let same = c.score().folds.len() == s.tried.score().folds.len();
            if same && !s.tried.score().close_to(c.score()) {
                (
                    true,
                    format!("a completely positive map is better on hidden samples: {b:.4} against {a:.4} with signs"),
                )
            } else if a < b {
                (
                    false,
                    format!(
                        "signs bring the relative error on hidden samples from {b:.4} (completely positive) to {a:.4}"
                    ),
                )
            } else {
                (
                    false,
                    format!(
                        "hidden samples do not tell the families apart ({b:.4} completely positive, {a:.4} with signs), and signs restrict the map less"
                    ),
                )
            }
        }
    };
    let ask = || watch("all samples", 0.0);
    ask()?;
    if use_complete {
        let (tried_complete, penalty) = complete.expect("the completely positive family was tried");
        let rank = tried_complete.score().rank;
        let Some(mut path) = Path::new(x, y, penalty)? else { return Err(Error::MeanNotDefinite) };
        for &r in RANKS.iter().filter(|r| **r < rank) {
            path.to(r, 15, 1e-3, &ask)?;
        }
        path.to(rank, 300, 1e-6, &ask)?;
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
        return Err(InputError::empty("X").into());
    }
    if p != p2 {
        return Err(InputError::shape("X", [l, p, p], x.shape()).into());
    }
    if (ly, q) != (l, q2) {
        return Err(InputError::shape("Y", [l, q, q], y.shape()).into());
    }
    if params.folds < 2 || params.folds > l {
        return Err(InputError::parameter("folds", params.folds as f64, "between 2 and the number of samples").into());
    }
    if params.rank == Some(0) {
        return Err(Error::RankZero);
    }
    if p * q > LARGEST {
        return Err(InputError::parameter(
            "p q",
            (p * q) as f64,
            "at most 1200: larger maps need the solvers without penalty",
        )
        .into());
    }
    check_one("X", x)?;
    check_one("Y", y)
}

fn check_one(what: &'static str, m: ArrayView3<'_, f64>) -> Result<()> {
    crate::error::check_finite(what, m)?;
    match m.outer_iter().position(|m| !linalg::is_symmetric(m, 1e-9)) {
        Some(index) => Err(InputError::not_symmetric(what, index).into()),
        None => Ok(()),
    }
}
