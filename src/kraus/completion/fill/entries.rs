//! Single missing entries: the penalty, the diagonal and the polish that predict hidden entries best.
//!
//! One path of falling penalties with the diagonal left out of the fit (ours), one with it (softImpute, the rival that is always reported). At each
//! penalty a few steps of shrinkage find the rank and L-BFGS on the factor finishes. The path ends when hidden entries get worse.

use super::super::partial::Partial;
use super::polish::polish;
use super::shrink::{Iterate, Limits, scale};
use super::spectrum::{Pairs, all, product};
use super::{MEAN, Prediction, SOFT, Score, Watch, ZERO, hide};
use crate::error::Result;
use linalg::matmul;
use ndarray::{Array1, Array2, ArrayView2};

/// Penalties over the largest eigenvalue, falling; for large matrices in larger steps, since each costs seconds there.
fn path(n: usize) -> &'static [f64] {
    if n <= LARGE {
        &[0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5]
    } else {
        &[0.1, 0.02, 4e-3, 8e-4, 2e-4, 5e-5]
    }
}

/// Beyond this size steps are fewer and shorter.
const LARGE: usize = 500;
/// After the path the penalty of the best step is lowered to these shares of itself at the same rank; 0 at the rank of the widest gap in the spectrum,
/// where there is one: a matrix of exactly that rank is then recovered exactly.
const LOWER: [f64; 3] = [0.25, 0.05, 0.0];
/// A gap is a ratio of neighbouring eigenvalues of at least this.
const GAP: f64 = 5.0;
/// The path ends when the error has risen to this multiple of the least.
const RISEN: f64 = 1.03;

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
    let (path, hidden) = (path(partial.n()), hide::entries(partial, seed));
    let reduced = partial.without(hidden.view())?;
    let error = |m: ArrayView2<'_, f64>| relative(partial, hidden.view(), m);
    let top = scale(&reduced)?;
    let mut tried: Vec<(Model, f64)> = Vec::new();
    let mut soft = f64::INFINITY;
    for diagonal in [false, true] {
        let target = if diagonal { reduced.clone() } else { off_diagonal(&reduced)? };
        let (mut walk, mut best) = (Walk::new(&target), (f64::INFINITY, 0, None::<Iterate>));
        for (k, share) in path.iter().enumerate() {
            watch(
                &format!("validation, {}", if diagonal { SOFT } else { "diagonal apart" }),
                k as f64 / path.len() as f64,
            )?;
            walk.step(&target, top * share)?;
            let plain = error(walk.state.z.view());
            let own = error(with_diagonal(&reduced, &walk.state.z).view());
            soft = if diagonal { soft.min(plain) } else { soft };
            tried.push((Model { diagonal, steps: k + 1, lower: 1.0 }, own));
            if own < best.0 {
                best = (own, k, Some(walk.state.clone()));
            }
            if own.min(if diagonal { plain } else { own }) > RISEN * best.0 {
                break;
            }
        }
        if let (_, k, Some(state)) = best {
            for lower in LOWER {
                let Some((z, _, _)) = lowered(&target, &state, top * path[k], lower) else { continue };
                tried.push((Model { diagonal, steps: k + 1, lower }, error(with_diagonal(&reduced, &z).view())));
            }
        }
    }
    let mean = mean_of(&reduced);
    let mean_error = error(Array2::from_elem((partial.n(), partial.n()), mean).view());
    tried.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (mut model, least) = tried[0]; // the path has at least one step
    if least.is_nan() {
        // Too little is observed to hide any of it: the least penalty, unvalidated.
        model = Model { diagonal: false, steps: path.len(), lower: 1.0 };
    }
    let rivals = [(SOFT, soft), (MEAN, mean_error), (ZERO, 1.0)];
    let list = |name: String, error: f64| {
        let rest = rivals.iter().map(|(n, e)| Score { name: (*n).into(), error: *e });
        [Score { name, error }].into_iter().chain(rest).collect::<Vec<_>>()
    };
    if mean_error < least {
        let matrix = Array2::from_elem((partial.n(), partial.n()), mean_of(partial));
        return Ok((Prediction { matrix, rank: 0, penalty: 0.0, converged: true }, list(MEAN.into(), mean_error)));
    }
    // The same model on everything that is observed.
    let target = if model.diagonal { partial.clone() } else { off_diagonal(partial)? };
    let mut walk = Walk::new(&target);
    for (k, share) in path[..model.steps].iter().enumerate() {
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
    Ok((Prediction { matrix, rank, penalty, converged }, list(model.name(), least)))
}

/// Shrinkage along the path, finished by L-BFGS at each penalty.
struct Walk {
    state: Iterate,
    limits: Limits,
    polish: usize,
    converged: bool,
}

impl Walk {
    fn new(target: &Partial) -> Self {
        let n = target.n();
        let polish = if n <= LARGE { 40 } else { 12 };
        Self { state: Iterate::new(n), limits: Limits::of(n), polish, converged: false }
    }

    fn step(&mut self, target: &Partial, lambda: f64) -> Result<()> {
        if self.state.descend(target, lambda, &self.limits)? {
            self.converged = true;
            return Ok(());
        }
        let (w, converged) = polish(target, factor(&self.state.pairs), lambda, self.polish);
        (self.state.pairs, self.converged) = (pairs_of(&w)?, converged);
        self.state.z = product(w.view(), w.t());
        Ok(())
    }
}

/// W with W W^T = V diag(values) V^T.
fn factor(pairs: &Pairs) -> Array2<f64> {
    &pairs.vectors * &pairs.values.mapv(|v| v.max(0.0).sqrt())
}

/// The eigenpairs of W W^T from those of W^T W.
fn pairs_of(w: &Array2<f64>) -> Result<Pairs> {
    let inner = all(matmul(w.t(), w.view()).view())?;
    let top = inner.values.first().copied().unwrap_or(0.0);
    let keep: Vec<usize> = (0..inner.values.len()).filter(|k| inner.values[*k] > 1e-12 * top).collect();
    let values = Array1::from_iter(keep.iter().map(|k| inner.values[*k]));
    let turn = &inner.vectors.select(ndarray::Axis(1), &keep) / &values.mapv(f64::sqrt);
    Ok(Pairs { vectors: product(w.view(), turn.view()), values })
}

/// The factor of a step refined with a share of its penalty: the matrix, whether it converged, and its rank. None where the share is 0 and the
/// spectrum has no gap.
fn lowered(target: &Partial, state: &Iterate, lambda: f64, share: f64) -> Option<(Array2<f64>, bool, usize)> {
    let small = target.n() <= LARGE;
    let mut start = factor(&state.pairs);
    let mut iterations = if small { 80 } else { 25 };
    if share == 0.0 {
        // The eigenvalues before lambda was taken off.
        let values: Vec<f64> = state.pairs.values.iter().map(|v| v + lambda).collect();
        let ratio = |k: usize| values[k] / values.get(k + 1).copied().unwrap_or(lambda);
        let rank = (0..values.len()).max_by(|a, b| ratio(*a).total_cmp(&ratio(*b))).filter(|k| ratio(*k) >= GAP)? + 1;
        start = start.slice(ndarray::s![.., ..rank]).to_owned();
        iterations = if small { 400 } else { 60 };
    }
    let (w, converged) = polish(target, start, share * lambda, iterations);
    Some((product(w.view(), w.t()), converged, w.ncols()))
}

/// Without the entries of the diagonal; with them if nothing else is observed.
fn off_diagonal(partial: &Partial) -> Result<Partial> {
    let eye = Array2::eye(partial.n());
    match partial.without(eye.view()) {
        Ok(rest) => Ok(rest),
        Err(_) => Ok(partial.clone()),
    }
}

/// Z with the diagonal by rule: the observed diagonal's mean, or Z_ii plus the mean of what observed entries exceed it by, whichever explains
/// the observed diagonal better.
fn with_diagonal(partial: &Partial, z: &Array2<f64>) -> Array2<f64> {
    let mut out = z.clone();
    let seen: Vec<usize> = (0..partial.n()).filter(|i| partial.mask()[[*i, *i]] == 1.0).collect();
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

/// ||m - truth|| / ||truth|| over hidden entries.
fn relative(partial: &Partial, hidden: ArrayView2<'_, f64>, m: ArrayView2<'_, f64>) -> f64 {
    let (mut wrong, mut total) = (0.0, 0.0);
    for ((at, h), v) in hidden.indexed_iter().zip(&m) {
        if *h == 1.0 {
            let truth = partial.values()[at];
            wrong += (v - truth).powi(2);
            total += truth * truth;
        }
    }
    // Nothing hidden: no error is known.
    if total > 0.0 { (wrong / total).sqrt() } else { f64::NAN }
}
