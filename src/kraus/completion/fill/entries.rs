//! Single missing entries: the penalty, the diagonal and the polish that predict hidden entries best.
//!
//! One path of falling penalties with the diagonal left out of the fit (ours), one with it (softImpute, the rival that is always reported). At each
//! penalty a few steps of shrinkage find the rank and L-BFGS on the factor finishes. The path ends when hidden entries get worse.

use super::super::partial::Partial;
use super::polish::polish;
use super::shrink::{HUGE, Iterate, Limits, scale};
use super::spectrum::{Pairs, all, product};
use super::{MEAN, Prediction, SOFT, Score, Watch, ZERO, hide};
use crate::error::Result;
use estimator::Mask;
use linalg::matmul;
use ndarray::{Array1, Array2, ArrayView2, Ix2};

/// Penalties over the largest eigenvalue, falling; fewer for large matrices, since each costs seconds there.
fn path(n: usize) -> &'static [f64] {
    match n {
        0..=LARGE => &[0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5],
        _ if n <= HUGE => &[0.03, 0.01, 3e-3, 1e-3, 3e-4],
        _ => &[0.03, 0.01, 3e-3, 1e-3],
    }
}

/// Beyond this size each step starts where a similar one ended instead of at the beginning of the path, and L-BFGS finishes the best step only.
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
    let (n, hidden) = (partial.n(), hide::entries(partial, seed));
    let (path, large) = (path(n), n > LARGE);
    let reduced = partial.without(&hidden)?;
    let error = |m: ArrayView2<'_, f64>| Wrong::of(partial, &hidden, m);
    let top = scale(&reduced)?;
    let mut tried: Vec<(Model, Wrong)> = Vec::new();
    let mut soft = Wrong::INFINITE;
    // The best step of each family: its error, its place in the path, and the iteration there.
    let mut kept: [Option<(Wrong, usize, Iterate)>; 2] = [None, None];
    let target_of = |m: &Partial, diagonal: bool| if diagonal { Ok(m.clone()) } else { off_diagonal(m) };
    for diagonal in [false, true] {
        let target = target_of(&reduced, diagonal)?;
        let (mut walk, mut best) = (Walk::new(&target), None::<(Wrong, usize, Iterate)>);
        let mut from = 0;
        if let (true, true, Some((_, k, state))) = (large, diagonal, &kept[0]) {
            (from, walk.state) = (k.saturating_sub(1), state.clone());
        }
        for (k, share) in path.iter().enumerate().skip(from) {
            watch(
                &format!("validation, {}", if diagonal { SOFT } else { "diagonal apart" }),
                k as f64 / path.len() as f64,
            )?;
            walk.step(&target, top * share)?;
            let plain = error(walk.state.z.view());
            let own = error(with_diagonal(&reduced, &walk.state.z).view());
            if diagonal && plain.typical < soft.typical {
                soft = plain;
            }
            tried.push((Model { diagonal, steps: k + 1, lower: 1.0 }, own));
            let least = best.as_ref().map_or(f64::INFINITY, |b| b.0.typical);
            if own.typical < least {
                best = Some((own, k, walk.state.clone()));
            }
            if own.typical.min(if diagonal { plain.typical } else { own.typical }) > RISEN * least.min(own.typical) {
                break;
            }
        }
        kept[usize::from(diagonal)] = best;
    }
    let typical = |f: usize| kept[f].as_ref().map_or(f64::INFINITY, |b| b.0.typical);
    for diagonal in [false, true] {
        let (own, other) = (typical(usize::from(diagonal)), typical(usize::from(!diagonal)));
        let Some((_, k, state)) = kept[usize::from(diagonal)].as_ref().filter(|_| !large || own <= other) else {
            continue;
        };
        let target = target_of(&reduced, diagonal)?;
        for (i, lower) in LOWER.into_iter().enumerate() {
            watch("validation, penalty lowered", i as f64 / LOWER.len() as f64)?;
            let Some((z, _, _)) = lowered(&target, state, top * path[*k], lower) else { continue };
            tried.push((Model { diagonal, steps: k + 1, lower }, error(with_diagonal(&reduced, &z).view())));
        }
    }
    let mean = mean_of(&reduced);
    let mean_error = error(Array2::from_elem((partial.n(), partial.n()), mean).view());
    tried.sort_by(|a, b| a.1.typical.total_cmp(&b.1.typical));
    let (mut model, least) = tried[0]; // the path has at least one step
    if least.typical.is_nan() {
        // Too little is observed to hide any of it: the least penalty, unvalidated.
        model = Model { diagonal: false, steps: path.len(), lower: 1.0 };
    }
    let rivals = [(SOFT, soft.relative), (MEAN, mean_error.relative), (ZERO, 1.0)];
    let list = |name: String, error: f64| {
        let rest = rivals.iter().map(|(n, e)| Score { name: (*n).into(), error: *e });
        [Score { name, error }].into_iter().chain(rest).collect::<Vec<_>>()
    };
    if mean_error.typical < least.typical {
        let matrix = Array2::from_elem((partial.n(), partial.n()), mean_of(partial));
        return Ok((
            Prediction { matrix, rank: 0, penalty: 0.0, converged: true },
            list(MEAN.into(), mean_error.relative),
        ));
    }
    // The same model on everything that is observed.
    let target = target_of(partial, model.diagonal)?;
    let mut walk = Walk::new(&target);
    let mut from = 0;
    if let (true, Some((_, k, state))) = (large, &kept[usize::from(model.diagonal)]) {
        (from, walk.state) = ((*k).min(model.steps - 1), state.clone());
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
    Ok((Prediction { matrix, rank, penalty, converged }, list(model.name(), least.relative)))
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
        let polish = if n <= LARGE { 40 } else { 0 };
        Self { state: Iterate::new(n), limits: Limits::of(n), polish, converged: false }
    }

    fn step(&mut self, target: &Partial, lambda: f64) -> Result<()> {
        self.converged = self.state.descend(target, lambda, &self.limits)?;
        if self.converged || self.polish == 0 {
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
    let mut iterations = match target.n() {
        0..=LARGE => 80,
        n if n <= HUGE => 40,
        _ => 15,
    };
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
    let n = partial.n();
    match partial.without(&Mask::new(Array2::from_shape_fn((n, n), |(i, j)| i == j))) {
        Ok(rest) => Ok(rest),
        Err(_) => Ok(partial.clone()),
    }
}

/// Z with the diagonal by rule: the observed diagonal's mean, or Z_ii plus the mean of what observed entries exceed it by, whichever explains
/// the observed diagonal better.
fn with_diagonal(partial: &Partial, z: &Array2<f64>) -> Array2<f64> {
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

/// How wrong a prediction of hidden entries is.
#[derive(Debug, Clone, Copy)]
struct Wrong {
    /// ||m - truth|| / ||truth||: what is reported.
    relative: f64,
    /// sum |m - truth| / sum |truth|: what chooses. Where two samples share something that no third has, their entry cannot be predicted, and one such
    /// entry among the hidden ones would choose by its square alone.
    typical: f64,
}

impl Wrong {
    const INFINITE: Wrong = Wrong { relative: f64::INFINITY, typical: f64::INFINITY };

    fn of(partial: &Partial, hidden: &Mask<Ix2>, m: ArrayView2<'_, f64>) -> Self {
        let (mut square, mut squares, mut length, mut lengths) = (0.0, 0.0, 0.0, 0.0);
        for ((at, h), v) in hidden.flags().indexed_iter().zip(&m) {
            if *h {
                let truth = partial.values()[at];
                let off = v - truth;
                square += off * off;
                squares += truth * truth;
                length += off.abs();
                lengths += truth.abs();
            }
        }
        // Nothing hidden: no error is known.
        let share = |a: f64, b: f64| if b > 0.0 { a / b } else { f64::NAN };
        Self { relative: share(square, squares).sqrt(), typical: share(length, lengths) }
    }
}
