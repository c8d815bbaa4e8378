//! The rank of one unpenalised map by cross-validation, upwards until more operators bring nothing.

use super::super::folds::{Score, least};
use super::pairs::Pairs;
use super::plan::SolverPlan;
use crate::completion::Watch;
use crate::{FitError, InputError};
use rayon::prelude::*;

type Result<T, E = FitError> = std::result::Result<T, E>;

/// Ranks without a better error after which the search ends.
const PATIENCE: usize = 3;

/// Mean square errors below this share of E[Y^2] are rounding: ranks that reach it are equally good.
pub const ROUNDING: f64 = 1e-14;

/// The errors of one rank on all folds, in parallel: each fold is its own fit. `watch` hears of `done`, the share of the whole search,
/// whatever the fold.
pub fn score(data: &Pairs, plan: &SolverPlan, rank: usize, done: f64, watch: Watch<'_>) -> Result<Score> {
    let step = format!("rank {rank}");
    watch(&step, done)?;
    let again = |_: &str, _: f64| watch(&step, done);
    let floor = ROUNDING * data.mean_square;
    let error = |fold: usize| plan.on_fold(data, rank, fold, &again).map(|e| e.max(floor));
    let folds: Result<Vec<f64>> = (0..data.folds.count()).into_par_iter().map(error).collect();
    Ok(Score::new(rank, folds?))
}

/// The curve over `ranks`, upwards until three in a row brought nothing.
pub fn curve(data: &Pairs, plan: &SolverPlan, ranks: &[usize], watch: Watch<'_>) -> Result<Vec<Score>> {
    let mut curve: Vec<Score> = Vec::new();
    for (k, &rank) in ranks.iter().enumerate() {
        curve.push(score(data, plan, rank, k as f64 / ranks.len() as f64, watch)?);
        let best = least(&curve);
        if curve.len() > best + PATIENCE || curve[best].mean() <= 2.0 * ROUNDING * data.mean_square {
            break;
        }
    }
    if curve.is_empty() {
        return Err(InputError::empty("list of ranks").into());
    }
    Ok(curve)
}

/// Without noise: the smallest rank that explains all samples to rounding, if one of these does.
pub fn exact(data: &Pairs, plan: &SolverPlan, ranks: &[usize], watch: Watch<'_>) -> Result<Option<usize>> {
    for &rank in ranks {
        let fit = plan.on_all(data, rank, watch)?;
        if plan.train_error(data, &fit)? <= ROUNDING * data.mean_square {
            return Ok(Some(rank));
        }
    }
    Ok(None)
}
