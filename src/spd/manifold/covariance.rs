//! Covariances of one trial X (channels, samples): as they are, or shrunk towards a multiple of the identity.
//!
//! With the centred X and S = X X^T / t, every estimator is (1 - rho) S + rho mu I, mu = tr S / p:
//!
//! | estimator | rho |
//! |---|---|
//! | [`Estimator::Sample`] | 0, and S divided by t - 1 (as numpy's `cov`) |
//! | [`Estimator::Oas`] | min(1, (alpha + mu^2) / ((t + 1)(alpha - mu^2 / p))), alpha = mean of S_ij^2 (Chen et al. 2010, as scikit-learn) |
//! | [`Estimator::LedoitWolf`] | min(beta, delta) / delta (Ledoit, Wolf 2004, as scikit-learn) |

use crate::{Error, InputError, Result};
use ndarray::{Array2, Array3, ArrayView2, ArrayView3, Axis, Zip};

/// How a covariance is estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Estimator {
    /// The unbiased sample covariance.
    #[default]
    Sample,
    /// Oracle approximating shrinkage.
    Oas,
    /// Ledoit-Wolf shrinkage.
    LedoitWolf,
}

/// A covariance (p, p) and the shrinkage that was used.
#[derive(Debug, Clone, PartialEq)]
pub struct Covariance {
    /// The estimate.
    pub matrix: Array2<f64>,
    /// rho in [0, 1]; zero for the sample covariance.
    pub shrinkage: f64,
}

/// The covariance of the channels (rows) of `x` over its samples (columns).
///
/// ```
/// use spd::{Estimator, covariance};
/// let x = ndarray::array![[1.0, 2.0, 3.0], [0.0, 2.0, 1.0]];
/// let c = covariance(x.view(), Estimator::Sample).unwrap();
/// assert_eq!(c.matrix, ndarray::array![[1.0, 0.5], [0.5, 1.0]]);
/// ```
pub fn covariance(x: ArrayView2<'_, f64>, estimator: Estimator) -> Result<Covariance> {
    let what = "covariance";
    let (p, t) = x.dim();
    if p == 0 {
        return Err(InputError::empty(what).into());
    }
    if t < 2 {
        return Err(InputError::parameter("samples", t as f64, "at least 2").into());
    }
    if let Some(channel) = x.rows().into_iter().position(|r| r.iter().any(|v| !v.is_finite())) {
        return Err(Error::Signal { trial: None, channel });
    }
    let mut centred = x.to_owned();
    for mut row in centred.rows_mut() {
        let mean = row.sum() / t as f64;
        row -= mean;
    }
    let mut s = linalg::symmetrise(linalg::matmul(centred.view(), centred.t()).view());
    if estimator == Estimator::Sample {
        return Ok(Covariance { matrix: s / (t - 1) as f64, shrinkage: 0.0 });
    }
    s /= t as f64;
    let mu = s.diag().sum() / p as f64;
    let shrinkage = match estimator {
        // One channel: the target is the estimate.
        _ if p == 1 => 0.0,
        Estimator::LedoitWolf => ledoit_wolf(&centred, &s, mu),
        _ => oas(&s, mu, t),
    };
    s *= 1.0 - shrinkage;
    s.diag_mut().iter_mut().for_each(|v| *v += shrinkage * mu);
    Ok(Covariance { matrix: s, shrinkage })
}

/// The covariances (k, p, p) of a batch of trials (k, p, t).
pub fn covariances(x: ArrayView3<'_, f64>, estimator: Estimator) -> Result<Array3<f64>> {
    let (k, p, _) = x.dim();
    if k == 0 {
        return Err(InputError::empty("covariances").into());
    }
    let mut out = Array3::zeros((k, p, p));
    let mut errors = vec![None; k];
    Zip::from(out.outer_iter_mut()).and(x.axis_iter(Axis(0))).and(&mut errors[..]).par_for_each(|mut to, x, e| {
        match covariance(x, estimator) {
            Ok(c) => to.assign(&c.matrix),
            Err(error) => *e = Some(error),
        }
    });
    // The first trial with an error, whichever thread met one first.
    match errors.into_iter().enumerate().find_map(|(trial, e)| Some((trial, e?))) {
        Some((trial, Error::Signal { channel, .. })) => Err(Error::Signal { trial: Some(trial), channel }),
        Some((_, e)) => Err(e),
        None => Ok(out),
    }
}

fn oas(s: &Array2<f64>, mu: f64, t: usize) -> f64 {
    let p = s.nrows() as f64;
    let alpha = s.iter().map(|v| v * v).sum::<f64>() / (p * p);
    let denominator = (t + 1) as f64 * (alpha - mu * mu / p);
    if denominator == 0.0 { 1.0 } else { ((alpha + mu * mu) / denominator).min(1.0) }
}

fn ledoit_wolf(centred: &Array2<f64>, s: &Array2<f64>, mu: f64) -> f64 {
    let (p, t) = (centred.nrows() as f64, centred.ncols() as f64);
    // sum_ij (x2 x2^T)_ij = sum over samples of (sum of squares)^2.
    let fourth: f64 = centred.columns().into_iter().map(|c| c.iter().map(|v| v * v).sum::<f64>().powi(2)).sum();
    let square: f64 = s.iter().map(|v| v * v).sum();
    let delta = (square - 2.0 * mu * s.diag().sum() + p * mu * mu) / p;
    let beta = ((fourth / t - square) / (p * t)).min(delta);
    if beta == 0.0 { 0.0 } else { beta / delta }
}
