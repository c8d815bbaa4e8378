//! Weighted Frechet means: the M that minimises sum_i w_i d(M, X_i)^2, w summing to one.
//!
//! * Affine-invariant: with M = R R^T, the Riemannian gradient at M is -G, G = sum_i w_i log(R^-1 X_i R^-T), in the frame R.
//!   M <- R exp(D) R^T with the quasi-Newton step D = H G (L-BFGS, no line search), R <- R exp(D / 2): so the frame is
//!   carried along in parallel and old steps stay comparable. The Hessian's eigenvalues are averages of
//!   u coth u, u half a difference of logarithms of eigenvalues: their typical size scales the first step, their bound
//!   (Bini, Iannazzo 2013) gives the safe step that follows a growing gradient. Stops when \|\|G\|\|_F <= `tolerance`.
//! * Bures-Wasserstein: M <- L^-T P^2 L^-1 with P = sum_i w_i (L^T X_i L)^1/2 (Alvarez-Esteban et al. 2016), until
//!   \|\|P - L^T L\|\|_F <= `tolerance` \|\|P\|\|_F.
//! * Log-Euclidean: exp(sum_i w_i log X_i), no iteration.
//!
//! Many means run together: the pairs (mean, matrix) fill groups of eight, whichever mean they belong to.

use crate::check;
use crate::eigen::{Eigen, not_positive};
use crate::function::{apply, expm};
use crate::lanes::{LANES, V, pack_lane, unpack_lane};
use crate::mean_state::State;
use crate::triangular::congruence_each;
use crate::{Error, Metric, Result};
use ndarray::{Array2, Array3, ArrayView1, ArrayView2, ArrayView3, Axis};
use rayon::prelude::*;

/// Means that iterate together: their logarithms stay in the cache.
const BLOCK: usize = 16;

/// When to stop, as written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanParams {
    /// Stop when the norm of the gradient is at most this.
    pub tolerance: f64,
    /// Stop after this many iterations at the latest.
    pub max_iterations: usize,
}

impl Default for MeanParams {
    fn default() -> Self {
        MeanParams { tolerance: 1e-9, max_iterations: 200 }
    }
}

/// Checked [`MeanParams`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CheckedMeanParams(MeanParams);

impl MeanParams {
    /// The tolerance must be positive and at least one iteration allowed.
    pub fn check(self) -> Result<CheckedMeanParams> {
        if !(self.tolerance > 0.0 && self.tolerance.is_finite()) {
            return Err(Error::Parameter { name: "tolerance", value: self.tolerance, must: "positive and finite" });
        }
        if self.max_iterations == 0 {
            return Err(Error::Parameter { name: "max_iterations", value: 0.0, must: "at least 1" });
        }
        Ok(CheckedMeanParams(self))
    }
}

/// A mean and how far it got.
#[derive(Debug, Clone, PartialEq)]
pub struct Mean {
    /// The mean, (n, n).
    pub matrix: Array2<f64>,
    /// Iterations made.
    pub iterations: usize,
    /// Norm of the gradient at the last iteration (zero for closed forms).
    pub gradient: f64,
    /// Whether the gradient met the tolerance.
    pub converged: bool,
}

/// Indices into a batch with their weights: what one mean is taken over.
pub type Selection = Vec<(usize, f64)>;

/// The weighted mean of a batch (k, n, n); without weights all count the same. Weights are normalised to sum one.
///
/// ```
/// use spd::{MeanParams, Metric, mean};
/// let x = ndarray::arr3(&[[[1.0, 0.0], [0.0, 4.0]], [[4.0, 0.0], [0.0, 1.0]]]);
/// let m = mean(x.view(), None, Metric::AffineInvariant, &MeanParams::default().check().unwrap()).unwrap();
/// assert!(m.converged && (m.matrix[[0, 0]] - 2.0).abs() < 1e-9);
/// ```
pub fn mean(
    x: ArrayView3<'_, f64>,
    weights: Option<ArrayView1<'_, f64>>,
    metric: Metric,
    params: &CheckedMeanParams,
) -> Result<Mean> {
    let k = x.len_of(Axis(0));
    let all: Selection = match weights {
        Some(w) => {
            check::weights("mean", &w, k)?;
            w.iter().copied().enumerate().collect()
        }
        None => (0..k).map(|i| (i, 1.0)).collect(),
    };
    let mut means = means(x, &[all], metric, params)?;
    means.pop().ok_or(Error::Empty { what: "mean" })
}

/// One mean for each selection of matrices of the batch. Matrices of weight zero are left out.
pub fn means(
    x: ArrayView3<'_, f64>,
    selections: &[Selection],
    metric: Metric,
    params: &CheckedMeanParams,
) -> Result<Vec<Mean>> {
    let what = "mean";
    let n = check::symmetric(what, &x)?;
    let selections = selections.iter().map(|s| normalised(s, x.len_of(Axis(0)))).collect::<Result<Vec<_>>>()?;
    let starts = match metric {
        Metric::BuresWasserstein => combine(n, x, &selections),
        // The log-Euclidean mean is a start close to the affine-invariant one, and shares its logarithms between all means.
        _ => expm(combine(n, apply(what, x, f64::ln, true)?.view(), &selections).view())?,
    };
    if metric == Metric::LogEuclidean {
        let done = |matrix: ArrayView2<'_, f64>| Mean {
            matrix: matrix.to_owned(),
            iterations: 0,
            gradient: 0.0,
            converged: true,
        };
        return Ok(starts.axis_iter(Axis(0)).map(done).collect());
    }
    let x = check::contiguous(&x);
    let blocks = selections
        .par_chunks(BLOCK)
        .zip(starts.axis_chunks_iter(Axis(0), BLOCK))
        .map(|(block, starts)| iterate(n, x.view(), block, starts, metric, params.0))
        .collect::<Vec<Result<Vec<Mean>>>>();
    Ok(blocks.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// sum_i w_i X_i for every selection.
fn combine(n: usize, x: ArrayView3<'_, f64>, selections: &[Selection]) -> Array3<f64> {
    let mut sums = Array3::zeros((selections.len(), n, n));
    for (mut sum, s) in sums.axis_iter_mut(Axis(0)).zip(selections) {
        s.iter().for_each(|&(i, w)| sum.scaled_add(w, &x.index_axis(Axis(0), i)));
    }
    sums
}

fn normalised(s: &Selection, len: usize) -> Result<Selection> {
    let what = "mean";
    if let Some(&(index, _)) = s.iter().find(|(i, _)| *i >= len) {
        return Err(Error::Shape { what, expected: vec![len], got: vec![index + 1] });
    }
    let w: ndarray::Array1<f64> = s.iter().map(|(_, w)| *w).collect();
    let sum = check::weights(what, &w.view(), w.len())?;
    Ok(s.iter().filter(|(_, w)| *w > 0.0).map(|&(i, w)| (i, w / sum)).collect())
}

/// What each group of eight pairs needs; one per task.
struct Work {
    eigen: Eigen,
    root: Vec<V>,
    packed: Vec<V>,
    t: Vec<V>,
    a: Vec<V>,
    f: Vec<V>,
}

impl Work {
    fn new(n: usize) -> Self {
        let square = || vec![V::ZERO; n * n];
        let eigen = Eigen::new(n, true);
        Work { eigen, root: square(), packed: square(), t: square(), a: square(), f: vec![V::ZERO; n] }
    }
}

/// One block of means, all to the end.
fn iterate(
    n: usize,
    x: ArrayView3<'_, f64>,
    selections: &[Selection],
    starts: ArrayView3<'_, f64>,
    metric: Metric,
    params: MeanParams,
) -> Result<Vec<Mean>> {
    let bures = metric == Metric::BuresWasserstein;
    let mut states = starts.axis_iter(Axis(0)).map(|m| State::new(m, metric)).collect::<Result<Vec<_>>>()?;
    let most: usize = selections.iter().map(Vec::len).sum();
    // Image of every pair (log or square root), and its curvature (typical, bound).
    let mut images = vec![0.0; most * n * n];
    let mut slopes = vec![(0.0, 0.0); most];
    let mut pairs: Vec<(usize, usize)> = Vec::with_capacity(most);
    let mut work = Work::new(n);
    for iteration in 1..=params.max_iterations {
        pairs.clear();
        for (m, s) in selections.iter().enumerate().filter(|(m, _)| states[*m].running) {
            pairs.extend(s.iter().map(|&(i, _)| (m, i)));
        }
        if pairs.is_empty() {
            break;
        }
        // Only the first iterate has a triangular factor, except for Bures-Wasserstein.
        let full = !bures && iteration > 1;
        let tasks = images.par_chunks_mut(n * n * LANES).zip(slopes.par_chunks_mut(LANES)).zip(pairs.par_chunks(LANES));
        let results = tasks
            .map_init(
                || Work::new(n),
                |work, ((to, slope), pairs)| group(n, x, &states, pairs, bures, full, work, to, slope),
            )
            .collect::<Vec<Result<()>>>();
        results.into_iter().collect::<Result<Vec<()>>>()?;
        let mut at = 0;
        for (state, s) in states.iter_mut().zip(selections).filter(|(state, _)| state.running) {
            let of = at..at + s.len();
            at += s.len();
            state.iterations = iteration;
            state.collect(s, &images[of.start * n * n..of.end * n * n]);
            if bures {
                state.bures(params.tolerance)?;
            } else {
                state.direction(s, &slopes[of], params.tolerance);
            }
        }
        if !bures {
            advance(n, &mut states, &mut work)?;
        }
    }
    states.into_iter().map(State::finish).collect()
}

/// The exponentials of all steps made in this iteration, eight at a time.
fn advance(n: usize, states: &mut [State], work: &mut Work) -> Result<()> {
    let mut moving: Vec<&mut State> = states.iter_mut().filter(|s| s.running).collect();
    let Work { eigen, packed, t, a, f, .. } = work;
    let (mut half, mut inverse) = (vec![0.0; n * n], vec![0.0; n * n]);
    for states in moving.chunks_mut(LANES) {
        for lane in 0..LANES {
            let step = &states[lane.min(states.len() - 1)].step;
            a.iter_mut().zip(step).for_each(|(t, v)| t.0[lane] = 0.5 * v);
        }
        if !eigen.vectors(a) {
            return Err(Error::Eigen { what: "mean" });
        }
        for (sign, to) in [(1.0, &mut *t), (-1.0, &mut *packed)] {
            f.iter_mut().zip(&eigen.d).for_each(|(y, d)| *y = d.map(|d| (sign * d).exp()));
            eigen.rebuild(f, to);
        }
        for (lane, state) in states.iter_mut().enumerate() {
            unpack_lane(n, t, lane, &mut half);
            unpack_lane(n, packed, lane, &mut inverse);
            state.advance(&half, &inverse)?;
        }
    }
    Ok(())
}

/// log(L^-1 X L^-T) or (L^T X L)^1/2 of eight pairs (mean, matrix).
fn group(
    n: usize,
    x: ArrayView3<'_, f64>,
    states: &[State],
    pairs: &[(usize, usize)],
    bures: bool,
    full: bool,
    work: &mut Work,
    to: &mut [f64],
    slope: &mut [(f64, f64)],
) -> Result<()> {
    let Work { eigen, root, packed, t, a, f } = work;
    for lane in 0..LANES {
        let (m, i) = pairs[lane.min(pairs.len() - 1)];
        for (r, v) in root.iter_mut().zip(&states[m].root) {
            r.0[lane] = *v;
        }
        pack_lane(x.index_axis(Axis(0), i), lane, bures, packed);
    }
    congruence_each(n, full, root, packed, t, a);
    if !eigen.vectors(a) {
        return Err(Error::Eigen { what: "mean" });
    }
    if let Some(lane) = not_positive(&eigen.d) {
        let index = pairs[lane.min(pairs.len() - 1)].1;
        return Err(Error::NotPositiveDefinite { what: "mean", index });
    }
    for (y, d) in f.iter_mut().zip(&eigen.d) {
        *y = if bures { d.map(f64::sqrt) } else { d.map(f64::ln) };
    }
    eigen.rebuild(f, a);
    for (lane, to) in to.chunks_exact_mut(n * n).take(pairs.len()).enumerate() {
        unpack_lane(n, a, lane, to);
        slope[lane] = curvature(f.iter().map(|v| v.0[lane]));
    }
    Ok(())
}

/// Typical size and bound of u coth u over the differences 2 u of the given logarithms; both at least 1.
fn curvature(logs: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let n = logs.clone().count() as f64;
    let mean = logs.clone().sum::<f64>() / n;
    let variance = logs.clone().map(|l| (l - mean) * (l - mean)).sum::<f64>() / n;
    let (lo, hi) = logs.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(v), hi.max(v)));
    let half = 0.5 * (hi - lo);
    let bound = if half > 1e-6 { half / half.tanh() } else { 1.0 };
    // u coth u = 1 + u^2 / 3 + ..., linear far out; the mean of u^2 is variance / 2.
    ((1.0 + variance / 3.0).sqrt(), bound)
}
