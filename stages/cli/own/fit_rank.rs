//! The rank by cross-validation, and the curve that shows why.
//!
//! The error of rank r on fold k is e_rk. The least mean over folds wins, unless a smaller rank is within one standard error of
//! it: differences that the folds cannot tell apart are settled in favour of the simpler map. The standard error is
//! that of the differences e_rk - e_*k, fold by fold: what makes one fold harder than another makes it so for every rank.

use super::facts::number;
use super::fit_data::Data;
use super::fit_solve::Plan;
use crate::cli::console::message;
use anyhow::{Result, ensure};
use rayon::prelude::*;
use std::io::IsTerminal;

/// Validation errors of one rank.
#[derive(Clone, Debug)]
pub struct Score {
    pub rank: usize,
    /// Mean square error on each fold.
    pub folds: Vec<f64>,
}

impl Score {
    /// Mean over the folds.
    pub fn mean(&self) -> f64 {
        self.folds.iter().sum::<f64>() / self.folds.len().max(1) as f64
    }

    /// Standard error of that mean.
    pub fn error(&self) -> f64 {
        spread(&self.folds)
    }
}

/// Standard error of a mean: 0 for fewer than two values.
fn spread(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    if n < 2.0 {
        return 0.0;
    }
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt()
}

/// Ranks without a better error after which the search ends.
const PATIENCE: usize = 3;

/// Mean square errors below this share of E[Y^2] are rounding: ranks that reach it are equally good.
const ROUNDING: f64 = 1e-14;

/// The errors of one rank on all folds, in parallel: each fold is its own fit.
pub fn score(data: &Data, plan: &Plan, rank: usize, folds: usize) -> Result<Score> {
    let floor = ROUNDING * data.mean_square;
    let error = |fold: usize| plan.on_fold(data, rank, fold).map(|e| e.max(floor));
    let folds: Result<Vec<f64>> = (0..folds).into_par_iter().map(error).collect();
    Ok(Score { rank, folds: folds? })
}

/// The curve over `ranks`, upwards until three in a row brought nothing.
pub fn curve(data: &Data, plan: &Plan, ranks: &[usize], folds: usize) -> Result<Vec<Score>> {
    let mut curve: Vec<Score> = Vec::new();
    let watched = std::io::stderr().is_terminal();
    for &rank in ranks {
        let now = score(data, plan, rank, folds)?;
        if watched {
            message!("rank {rank}: validation mse {}", number(now.mean()));
        }
        curve.push(now);
        let best = least(&curve);
        if curve.len() > best + PATIENCE || curve[best].mean() <= 2.0 * ROUNDING * data.mean_square {
            break;
        }
    }
    ensure!(!curve.is_empty(), "no ranks to choose from; give --ranks, for example 1..20");
    Ok(curve)
}

fn least(curve: &[Score]) -> usize {
    (0..curve.len()).fold(0, |b, i| if curve[i].mean() < curve[b].mean() { i } else { b })
}

/// The chosen entry of the curve: the smallest rank within one standard error of the least error.
pub fn choose(curve: &[Score]) -> usize {
    let best = &curve[least(curve)];
    let close = |s: &Score| {
        let differences: Vec<f64> = s.folds.iter().zip(&best.folds).map(|(a, b)| a - b).collect();
        let mean = differences.iter().sum::<f64>() / differences.len().max(1) as f64;
        mean <= spread(&differences)
    };
    curve.iter().position(close).unwrap_or(0) // the best is close to itself
}

/// Without noise: the smallest rank that explains all samples to rounding.
pub fn exact(data: &Data, plan: &Plan, ranks: &[usize]) -> Result<usize> {
    for &rank in ranks {
        let fit = plan.on_all(data, rank)?;
        if plan.train_error(data, &fit)? <= ROUNDING * data.mean_square {
            return Ok(rank);
        }
    }
    let (a, b) = (ranks.first().unwrap_or(&1), ranks.last().unwrap_or(&1));
    anyhow::bail!("no rank from {a} to {b} explains the samples exactly; leave out --noise-free, or widen --ranks")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(list: &[(usize, [f64; 3])]) -> Vec<Score> {
        list.iter().map(|(rank, folds)| Score { rank: *rank, folds: folds.to_vec() }).collect()
    }

    #[test]
    fn a_smaller_rank_wins_only_when_the_folds_cannot_tell() {
        // Fold 2 is hard for every rank; rank 3 is best by a little and not on every fold.
        let curve =
            scores(&[(1, [5.0, 9.0, 5.0]), (2, [1.00, 4.0, 1.1]), (3, [1.01, 3.9, 1.09]), (4, [1.2, 4.1, 1.3])]);
        assert_eq!(curve[choose(&curve)].rank, 2);
        // The same gain on every fold is real although the folds differ.
        let curve = scores(&[(1, [5.0, 9.0, 5.0]), (2, [1.0, 4.0, 1.1]), (3, [0.9, 3.9, 1.0])]);
        assert_eq!(curve[choose(&curve)].rank, 3);
    }
}
