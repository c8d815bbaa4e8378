//! The whole procedure behind `repro fit`: which family, which solver, which rank, and the evidence.
//!
//! | given | what is fitted |
//! |---|---|
//! | a rank, several layers, a solver, ranks to choose from, no noise, streamed or asymmetric inputs | one completely positive stack without penalty, by the exact solvers |
//! | none of these | [`regress`](super::regress()): both families with coordinates, intercept and penalty |
//! | none of these, and hidden samples are predicted to 2 % | the exact solvers too: with so little noise no penalty is wanted; the better of both on the folds |

use super::folds::{Score, one_standard_error};
use super::unpenalised::{Method, Pairs, SolverPlan, ranks};
use super::{Family, LARGEST, Positivity, RegressParams, Regression, regress_watched};
use crate::completion::Watch;
use crate::error::{FitError, InputError};
use crate::solvers::Fit;

/// Below this relative validation error the exact solvers are tried as well.
const NEARLY_EXACT: f64 = 0.02;

/// Below this relative validation error a map without penalty is exact: less cannot be told apart through sums over samples.
const EXACT: f64 = 1e-5;

/// How to fit.
#[derive(Debug, Clone)]
pub struct FitParams {
    /// The family of maps.
    pub family: Family,
    /// Solver, layers and seed of the fits without penalty.
    pub plan: SolverPlan,
    /// Number of operators, if it is known.
    pub rank: Option<usize>,
    /// Ranks to choose from without penalty.
    pub ranks: Vec<usize>,
    /// Whether the caller listed these ranks: then it is about them.
    pub only_ranks: bool,
    /// Y is exact: the smallest rank that explains it.
    pub noise_free: bool,
    /// Seed of the folds, as the pairs were given.
    pub seed: u64,
}

impl Default for FitParams {
    fn default() -> Self {
        Self {
            family: Family::Auto,
            plan: SolverPlan::default(),
            rank: None,
            ranks: (1..=20).collect(),
            only_ranks: false,
            noise_free: false,
            seed: 0,
        }
    }
}

/// A stack fitted without penalty.
#[derive(Debug)]
pub struct Unpenalised {
    /// The fit.
    pub fit: Fit<f64>,
    /// Mean squared error of an entry on the samples it was fitted to.
    pub train: f64,
    /// Validation errors by rank (mean squared error of an entry); one rank only where it was given, none without folds.
    pub curve: Vec<Score>,
    /// Position of the chosen rank in the curve.
    pub chosen: usize,
}

/// What was fitted: one of the two is the result, `use_regression` says which.
#[derive(Debug)]
pub struct Outcome {
    /// Without penalty.
    pub unpenalised: Option<Unpenalised>,
    /// With coordinates, intercept and penalty.
    pub regression: Option<Regression>,
    /// Whether the regression is the result.
    pub use_regression: bool,
    /// Why, one sentence.
    pub reason: String,
}

/// Fits as the table above says.
pub fn fit(pairs: &Pairs, params: &FitParams) -> Result<Outcome, FitError> {
    fit_watched(pairs, params, &|_, _| Ok(()))
}

/// [`fit`] with a watcher for progress and for cancelling.
pub fn fit_watched(pairs: &Pairs, params: &FitParams, watch: Watch<'_>) -> Result<Outcome, FitError> {
    let signed = matches!(params.family, Family::Only(Positivity::Output | Positivity::None));
    let obstacle = obstacle(pairs, params, signed);
    if let (true, Some(why)) = (signed, &obstacle) {
        return Err(FitError::Unsupported { solver: "a map with signs", why: why.clone() });
    }
    if let Some(why) = obstacle {
        let found = unpenalised(pairs, params, watch)?;
        return Ok(Outcome { unpenalised: Some(found), regression: None, use_regression: false, reason: why });
    }
    let Some((x, y)) = &pairs.samples else {
        return Err(InputError::empty("samples").into());
    };
    let how = RegressParams { family: params.family, folds: pairs.folds.count(), seed: params.seed, rank: params.rank };
    let regression = regress_watched(x.view(), y.view(), &how, watch)?;
    let least = regression.tried.iter().map(|t| t.curve.iter().map(Score::mean).fold(f64::INFINITY, f64::min));
    let least = regression.relative(least.fold(f64::INFINITY, f64::min));
    let reason = regression.reason.clone();
    if signed || least > NEARLY_EXACT {
        return Ok(Outcome { unpenalised: None, regression: Some(regression), use_regression: true, reason });
    }
    let exact = unpenalised(pairs, params, watch)?;
    // Errors there are per entry, here per matrix.
    let entries = (pairs.q * pairs.q) as f64;
    let per_matrix = |s: &Score| Score::new(s.rank, s.folds.iter().map(|e| e * entries).collect());
    let better = match (exact.curve.get(exact.chosen).map(per_matrix), regression.chosen()) {
        (Some(e), Some(r)) => {
            e.folds.len() != r.score().folds.len()
                || e.close_to(r.score())
                || regression.relative(e.mean().max(0.0)) < EXACT
        }
        _ => true,
    };
    let reason = if better {
        "there is hardly any noise: one completely positive map without penalty explains hidden samples".to_string()
    } else {
        reason
    };
    Ok(Outcome { unpenalised: Some(exact), regression: Some(regression), use_regression: !better, reason })
}

/// Why the penalised families are not used, if they are not.
fn obstacle(pairs: &Pairs, params: &FitParams, signed: bool) -> Option<String> {
    let plan = &params.plan;
    let largest = pairs.p.max(1) * pairs.q.max(1);
    match () {
        _ if !plan.hidden.is_empty() => Some("several layers were asked for".into()),
        _ if plan.method != Method::Auto => Some("a solver was asked for".into()),
        _ if params.noise_free => Some("exact outputs were promised".into()),
        _ if params.rank.is_some() && !signed => Some("the rank is given".into()),
        _ if params.only_ranks && !signed => Some("the ranks to choose from are given".into()),
        _ if pairs.samples.is_none() => Some("the samples were read in pieces".into()),
        _ if pairs.asymmetric.is_some() => Some("inputs that are not symmetric need general maps".into()),
        _ if pairs.folds.count() < 2 => Some("there is no cross-validation".into()),
        _ if largest > LARGEST => Some(format!("p q = {largest} exceeds {LARGEST}")),
        _ => None,
    }
}

/// One stack by the exact solvers.
fn unpenalised(pairs: &Pairs, params: &FitParams, watch: Watch<'_>) -> Result<Unpenalised, FitError> {
    let most = pairs.p * pairs.q;
    let list: Vec<usize> = params.ranks.iter().copied().filter(|r| *r <= most).collect();
    let validated = pairs.folds.count() > 1;
    let (rank, curve, chosen) = match params.rank {
        Some(r) if validated => (r, vec![ranks::score(pairs, &params.plan, r, 0.0, watch)?], 0),
        Some(r) => (r, vec![], 0),
        None if params.noise_free => {
            let Some(rank) = ranks::exact(pairs, &params.plan, &list, watch)? else {
                let (a, b) = (list.first().unwrap_or(&1), list.last().unwrap_or(&1));
                let why = format!(
                    "no rank from {a} to {b} explains the samples exactly; do not promise exact outputs, or widen the ranks"
                );
                return Err(FitError::Unsupported { solver: "a search without noise", why });
            };
            (rank, vec![], 0)
        }
        None => {
            let curve = ranks::curve(pairs, &params.plan, &list, watch)?;
            let at = one_standard_error(&curve);
            (curve[at].rank, curve, at)
        }
    };
    watch("all samples", 0.0)?;
    let fit = params.plan.on_all(pairs, rank, watch)?;
    let train = params.plan.train_error(pairs, &fit)?;
    Ok(Unpenalised { fit, train, curve, chosen })
}
