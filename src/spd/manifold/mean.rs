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
//! Many means run together: see `mean_together.rs`.

use super::mean_together::iterate;
use crate::check;
use crate::manifold::function::{expm, logarithms};
use crate::{InputError, Metric, Result};
use ndarray::{Array2, Array3, ArrayView1, ArrayView2, ArrayView3, Axis};
use rayon::prelude::*;

/// Number of means that iterate together, small enough for their logarithms to stay in the cache.
const BLOCK: usize = 16;

/// When the iteration of a mean stops; not yet checked.
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
            return Err(InputError::parameter("tolerance", self.tolerance, "positive and finite").into());
        }
        if self.max_iterations == 0 {
            return Err(InputError::parameter("max_iterations", 0.0, "at least 1").into());
        }
        Ok(CheckedMeanParams(self))
    }
}

/// A mean and how its iteration ended.
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
    means.pop().ok_or(InputError::empty("mean").into())
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
        _ => expm(combine(n, logarithms(what, x)?.view(), &selections).view())?,
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
        .enumerate()
        .map(|(k, (block, starts))| iterate(n, x.view(), block, k * BLOCK, starts, metric, params.0))
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
        return Err(InputError::shape(what, [len], [index + 1]).into());
    }
    let w: ndarray::Array1<f64> = s.iter().map(|(_, w)| *w).collect();
    let sum = check::weights(what, &w.view(), w.len())?;
    Ok(s.iter().filter(|(_, w)| *w > 0.0).map(|&(i, w)| (i, w / sum)).collect())
}
