//! Nuclear-norm shrinkage on the cone: min 1/2 ||mask o (Z - M)||_F^2 + lambda tr(Z) over positive semidefinite Z.
//!
//! softImpute: put the observed entries back into Z, take lambda off every eigenvalue, drop what is not positive, repeat (Mazumder, Hastie,
//! Tibshirani 2010), with Nesterov's momentum and its restart. Penalties fall along a path and each starts at the one before.
//! Small matrices use the whole spectrum; larger ones a block of leading eigenvectors that follows the iteration.

use super::super::partial::Partial;
use super::spectrum::{Pairs, SMALL, all, assemble, leading, pattern};
use crate::error::Result;
use ndarray::{Array2, Zip, concatenate, s};

/// Beyond this many rows an iteration takes a quarter of a second on two cores, so there are fewer.
pub(super) const HUGE: usize = 1200;

/// The iteration as it stands: carried along the path.
#[derive(Debug, Clone)]
pub(super) struct Iterate {
    /// Z.
    pub z: Array2<f64>,
    /// Its positive eigenpairs.
    pub pairs: Pairs,
    block: Option<Array2<f64>>,
}

/// How long to iterate at one penalty: long enough to find the rank, since L-BFGS on the factor finishes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub iterations: usize,
    /// Relative change of Z that ends it.
    pub tolerance: f64,
    /// Most columns of the block.
    pub columns: usize,
}

impl Limits {
    pub fn of(n: usize) -> Self {
        if n <= SMALL {
            Self { iterations: 12, tolerance: 1e-5, columns: n }
        } else {
            Self { iterations: if n > HUGE { 10 } else { 16 }, tolerance: 1e-4, columns: (n / 2).min(256) }
        }
    }
}

/// Largest eigenvalue of the matrix with zeros where entries are missing: the scale of the penalties.
pub(super) fn scale(partial: &Partial) -> Result<f64> {
    let n = partial.n();
    let start = Array2::from_shape_fn((n, 2), |(i, k)| if k == 0 { 1.0 } else { linalg::math::sin(i as f64 * 1.7) });
    let (pairs, _) = leading(partial.values(), start, 12)?;
    Ok(pairs.values[0].abs().max(f64::MIN_POSITIVE))
}

impl Iterate {
    pub fn new(n: usize) -> Self {
        let pairs = Pairs { values: ndarray::Array1::zeros(0), vectors: Array2::zeros((n, 0)) };
        Self { z: Array2::zeros((n, n)), pairs, block: None }
    }

    /// Iterates at one penalty; whether the tolerance was reached.
    pub fn descend(&mut self, partial: &Partial, lambda: f64, limits: &Limits) -> Result<bool> {
        let n = partial.n();
        let (mut ahead, mut t) = (self.z.clone(), 1.0f64);
        let mut whole = Array2::zeros((n, n));
        for _ in 0..limits.iterations {
            Zip::from(&mut whole).and(&partial.values()).and(&partial.weights()).and(&ahead).par_for_each(
                |w, v, m, a| {
                    *w = if *m == 1.0 { *v } else { *a };
                },
            );
            let mut pairs = if n <= SMALL { all(whole.view())? } else { self.follow(&whole, limits)? };
            let rank = pairs.values.iter().take_while(|v| **v > lambda).count();
            pairs.values = pairs.values.slice(s![..rank]).mapv(|v| v - lambda);
            pairs.vectors = pairs.vectors.slice(s![.., ..rank]).to_owned();
            let next = assemble(&pairs);
            let (mut change, mut size, mut turn) = (0.0, 0.0, 0.0);
            for ((new, old), from) in next.iter().zip(&self.z).zip(&ahead) {
                let step = new - old;
                change += step * step;
                size += new * new;
                turn += (from - new) * step;
            }
            let t_next = 0.5 * (1.0 + (1.0 + 4.0 * t * t).sqrt());
            let weight = if turn > 0.0 { 0.0 } else { (t - 1.0) / t_next };
            t = if turn > 0.0 { 1.0 } else { t_next };
            Zip::from(&mut ahead).and(&next).and(&self.z).par_for_each(|a, new, old| *a = new + weight * (new - old));
            (self.z, self.pairs) = (next, pairs);
            if change <= limits.tolerance.powi(2) * size {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Leading eigenpairs from the block of the last step: one product with the matrix moves the block on as the matrix moves. The block is as wide as
    /// allowed from the start, because a direction that is not in it cannot be found.
    fn follow(&mut self, whole: &Array2<f64>, limits: &Limits) -> Result<Pairs> {
        let n = whole.nrows();
        let (old, passes) = match self.block.take() {
            Some(block) => (block, 1),
            None => (Array2::zeros((n, 0)), 4),
        };
        let fresh = pattern(n, limits.columns.saturating_sub(old.ncols()));
        let start = concatenate(ndarray::Axis(1), &[old.view(), fresh.view()]).expect("blocks of n rows each");
        let (pairs, next) = leading(whole.view(), start, passes)?;
        self.block = Some(next);
        Ok(pairs)
    }
}
