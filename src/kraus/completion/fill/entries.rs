//! Single missing entries: the penalty, the diagonal and the polish that predict hidden entries best.
//!
//! One path of falling penalties with the diagonal left out of the fit (ours), one with it (softImpute, the rival that is always reported). At each
//! penalty a few steps of shrinkage find the rank and L-BFGS on the factor finishes ([`Walk`]). Hidden entries judge, in several draws where that is
//! cheap ([`Trial`]): a few unusual entries in one draw would choose by themselves.

use super::super::partial::Partial;
use super::shrink::{HUGE, scale};
use super::trial::{Trial, Wrong};
use super::walk::{Walk, lowered};
use super::{MEAN, Prediction, SOFT, Score, Watch, ZERO};
use crate::error::Result;
use estimator::Mask;
use ndarray::Array2;
use rayon::prelude::*;

/// Penalties over the largest eigenvalue, falling; fewer for large matrices, since each costs seconds there.
fn path(n: usize) -> &'static [f64] {
    match n {
        0..=LARGE => &[0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5],
        _ if n <= HUGE => &[0.03, 0.01, 3e-3, 1e-3, 3e-4],
        _ => &[0.03, 0.01, 3e-3, 1e-3],
    }
}

/// Beyond this size each step starts where a similar one ended instead of at the beginning of the path, and L-BFGS finishes the best step only.
pub(super) const LARGE: usize = 500;
/// After the path the penalty of the best step is lowered to these shares of itself at the same rank; 0 at the rank of the widest gap in the spectrum,
/// where there is one: a matrix of exactly that rank is then recovered exactly.
const LOWER: [f64; 3] = [0.25, 0.05, 0.0];

/// How many draws of hidden entries judge a matrix of that size.
fn draws(n: usize) -> u64 {
    match n {
        0..=250 => 4,
        251..=LARGE => 2,
        _ => 1,
    }
}

/// One model: whether the diagonal is fitted, how far down the path, and the penalty of the factor.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Model {
    diagonal: bool,
    steps: usize,
    lower: f64,
}

impl Model {
    fn name(&self) -> String {
        let lower = if self.lower < 1.0 { ", penalty lowered" } else { "" };
        if self.diagonal { format!("low rank{lower}") } else { format!("low rank plus diagonal{lower}") }
    }
}

/// The best prediction of all entries and the validation errors, the winner first.
pub(super) fn fill(partial: &Partial, seed: u64, watch: Watch<'_>) -> Result<(Prediction, Vec<Score>)> {
    let n = partial.n();
    let (path, large, top) = (path(n), n > LARGE, scale(partial)?);
    let trials: Vec<Trial<'_>> = (0..draws(n))
        .into_par_iter()
        .map(|k| Trial::run(partial, path, top, (seed, k), watch))
        .collect::<Result<_>>()?;
    let mut tried: Vec<(Model, Wrong)> = Vec::new();
    let mut best = [None, None];
    for diagonal in [false, true] {
        let family = usize::from(diagonal);
        let steps: Vec<(usize, Wrong)> = Trial::steps(&trials, family, |step| step.own);
        tried.extend(steps.iter().map(|&(k, own)| (Model { diagonal, steps: k + 1, lower: 1.0 }, own)));
        best[family] = steps.into_iter().min_by(|a, b| a.1.typical().total_cmp(&b.1.typical()));
    }
    let soft = Trial::steps(&trials, 1, |step| step.plain);
    let soft = soft.into_iter().map(|s| s.1).min_by(|a, b| a.typical().total_cmp(&b.typical()));
    let typical = |f: usize| best[f].map_or(f64::INFINITY, |b: (usize, Wrong)| b.1.typical());
    for diagonal in [false, true] {
        let (own, other) = (typical(usize::from(diagonal)), typical(usize::from(!diagonal)));
        let Some((k, _)) = best[usize::from(diagonal)].filter(|_| !large || own <= other) else { continue };
        for (i, lower) in LOWER.into_iter().enumerate() {
            watch("validation, penalty lowered", i as f64 / LOWER.len() as f64)?;
            let judged: Result<Vec<Option<Wrong>>> =
                trials.par_iter().map(|t| t.lowered(diagonal, k, top * path[k], lower)).collect();
            // Where one of the draws has no gap in its spectrum, none counts.
            if let Some(all) = judged?.into_iter().collect::<Option<Vec<Wrong>>>() {
                tried.push((Model { diagonal, steps: k + 1, lower }, all.into_iter().sum()));
            }
        }
    }
    let mean_error: Wrong = trials.iter().map(Trial::mean).sum();
    tried.sort_by(|a, b| a.1.typical().total_cmp(&b.1.typical()));
    let (mut model, least) = tried[0]; // the path has at least one step
    if least.typical().is_nan() {
        // Too little is observed to hide any of it: the least penalty, unvalidated.
        model = Model { diagonal: false, steps: path.len(), lower: 1.0 };
    }
    let rivals = [(SOFT, soft.map_or(f64::INFINITY, |s| s.relative())), (MEAN, mean_error.relative()), (ZERO, 1.0)];
    let list = |name: String, error: f64| {
        let rest = rivals.iter().map(|(n, e)| Score { name: (*n).into(), error: *e });
        [Score { name, error }].into_iter().chain(rest).collect::<Vec<_>>()
    };
    if mean_error.typical() < least.typical() {
        let matrix = Array2::from_elem((n, n), mean_of(partial));
        return Ok((
            Prediction { matrix, rank: 0, penalty: 0.0, converged: true },
            list(MEAN.into(), mean_error.relative()),
        ));
    }
    // The same model on everything that is observed.
    let target = target_of(partial, model.diagonal)?;
    let mut walk = Walk::new(n);
    let mut from = 0;
    if large && let Some((k, state)) = trials[0].start(usize::from(model.diagonal), model.steps - 1) {
        (from, walk.state) = (k, state.clone());
    }
    for (k, share) in path[..model.steps].iter().enumerate().skip(from) {
        watch("all observed entries", k as f64 / model.steps as f64)?;
        walk.step(&target, top * share)?;
    }
    let lambda = top * path[model.steps - 1];
    let penalty = lambda * model.lower;
    let (mut z, mut converged, mut rank) = (walk.state.z.clone(), walk.converged, walk.state.pairs.values.len());
    if model.lower < 1.0
        && let Some(found) = lowered(&target, &walk.state, lambda, model.lower)
    {
        (z, converged, rank) = found;
    }
    let matrix = with_diagonal(partial, &z);
    Ok((Prediction { matrix, rank, penalty, converged }, list(model.name(), least.relative())))
}

/// What a model is fitted to: everything observed, or everything off the diagonal (all of it if nothing else is observed).
pub(super) fn target_of(partial: &Partial, diagonal: bool) -> Result<Partial> {
    if diagonal {
        return Ok(partial.clone());
    }
    let n = partial.n();
    let eye = Mask::new(Array2::from_shape_fn((n, n), |(i, j)| i == j));
    Ok(partial.without(&eye).unwrap_or_else(|_| partial.clone()))
}

/// Z with the diagonal by rule: the observed diagonal's mean, or Z_ii plus the mean of what observed entries exceed it by, whichever explains
/// the observed diagonal better.
pub(super) fn with_diagonal(partial: &Partial, z: &Array2<f64>) -> Array2<f64> {
    let mut out = z.clone();
    let seen: Vec<usize> = (0..partial.n()).filter(|i| partial.mask()[[*i, *i]]).collect();
    if seen.is_empty() {
        return out;
    }
    let spread = |f: &dyn Fn(usize) -> f64| {
        let mean = seen.iter().map(|i| f(*i)).sum::<f64>() / seen.len() as f64;
        (mean, seen.iter().map(|i| (f(*i) - mean).powi(2)).sum::<f64>())
    };
    let (level, level_rest) = spread(&|i| partial.values()[[i, i]]);
    let (excess, excess_rest) = spread(&|i| partial.values()[[i, i]] - z[[i, i]]);
    for i in 0..partial.n() {
        out[[i, i]] = if level_rest <= excess_rest { level } else { z[[i, i]] + excess };
    }
    out
}

/// Mean of the observed entries.
pub(super) fn mean_of(partial: &Partial) -> f64 {
    partial.values().sum() / partial.observed().max(1) as f64
}
