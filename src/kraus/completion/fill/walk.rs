//! One model fitted along the path of penalties: shrinkage, finished by L-BFGS, and a last fit with the penalty lowered.

use super::super::partial::Partial;
use super::entries::LARGE;
use super::polish::polish;
use super::shrink::{HUGE, Iterate, Limits};
use super::spectrum::{Pairs, all, product};
use crate::error::Result;
use linalg::matmul;
use ndarray::{Array1, Array2};

/// A gap is a ratio of neighbouring eigenvalues of at least this.
const GAP: f64 = 5.0;

/// Shrinkage along the path, finished by L-BFGS at each penalty.
pub(super) struct Walk {
    /// The iteration at the last penalty.
    pub state: Iterate,
    limits: Limits,
    polish: usize,
    /// Whether it reached its tolerance.
    pub converged: bool,
}

impl Walk {
    /// At the beginning of the path, for matrices of n rows.
    pub fn new(n: usize) -> Self {
        let polish = if n <= LARGE { 40 } else { 0 };
        Self { state: Iterate::new(n), limits: Limits::of(n), polish, converged: false }
    }

    /// One penalty further.
    pub fn step(&mut self, target: &Partial, lambda: f64) -> Result<()> {
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
pub(super) fn lowered(
    target: &Partial,
    state: &Iterate,
    lambda: f64,
    share: f64,
) -> Option<(Array2<f64>, bool, usize)> {
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
