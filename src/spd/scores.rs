//! How well predicted labels agree with the true ones: accuracy, balanced accuracy, Cohen's kappa.
//!
//! * accuracy: share of right predictions
//! * balanced accuracy: mean over the true classes of the share of each that is predicted right
//! * kappa = (p_o - p_e) / (1 - p_e), p_o the accuracy and p_e the agreement that the two sets of labels would have by chance

use crate::{InputError, Result};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Scores of a classification.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scores {
    /// Share of right predictions.
    pub accuracy: f64,
    /// Mean of the shares of right predictions within each true class.
    pub balanced_accuracy: f64,
    /// Cohen's kappa; zero when chance alone explains everything.
    pub kappa: f64,
}

/// Compares labels with predictions.
///
/// ```
/// let s = spd::scores(&[1, 1, 1, 2], &[1, 1, 2, 2]).unwrap();
/// assert_eq!(s.accuracy, 0.75);
/// assert!((s.balanced_accuracy - 5.0 / 6.0).abs() < 1e-15 && (s.kappa - 0.5).abs() < 1e-15);
/// ```
pub fn scores(truth: &[i64], predicted: &[i64]) -> Result<Scores> {
    if truth.is_empty() {
        return Err(InputError::empty("labels").into());
    }
    if truth.len() != predicted.len() {
        return Err(InputError::shape("labels", [truth.len()], [predicted.len()]).into());
    }
    let total = truth.len() as f64;
    let mut classes: Vec<i64> = truth.iter().chain(predicted).copied().collect();
    classes.sort_unstable();
    classes.dedup();
    let count = |labels: &[i64], c: i64| labels.iter().filter(|l| **l == c).count() as f64;
    let right = |c: i64| truth.iter().zip(predicted).filter(|(t, p)| **t == c && **p == c).count() as f64;
    let accuracy = classes.iter().map(|&c| right(c)).sum::<f64>() / total;
    let present: Vec<i64> = classes.iter().copied().filter(|&c| truth.contains(&c)).collect();
    let balanced_accuracy = present.iter().map(|&c| right(c) / count(truth, c)).sum::<f64>() / present.len() as f64;
    let chance: f64 = classes.iter().map(|&c| count(truth, c) * count(predicted, c)).sum::<f64>() / (total * total);
    let kappa = if chance < 1.0 { (accuracy - chance) / (1.0 - chance) } else { 0.0 };
    Ok(Scores { accuracy, balanced_accuracy, kappa })
}

/// Number of random sign patterns, where not all of them are tried.
const PATTERNS: u32 = 20_000;

/// The p-value of a two-sided paired test by sign flips: the share of sign patterns under which the mean of the differences is at
/// least as far from zero. All patterns up to 14 differences, random ones by a fixed seed beyond.
///
/// ```
/// assert_eq!(spd::paired_permutation_test(&[1.0, 2.0, 3.0]), 0.25); // +++ and --- of the eight patterns
/// assert_eq!(spd::paired_permutation_test(&[1.0, -1.0]), 1.0);
/// ```
pub fn paired_permutation_test(differences: &[f64]) -> f64 {
    let n = differences.len();
    if n == 0 {
        return 1.0;
    }
    let observed = differences.iter().sum::<f64>().abs() * (1.0 - 1e-12);
    if n <= 14 {
        let extreme = (0u32..1 << n)
            .filter(|signs| {
                let flipped = differences.iter().enumerate().map(|(k, d)| if signs >> k & 1 == 1 { -d } else { *d });
                flipped.sum::<f64>().abs() >= observed
            })
            .count();
        return extreme as f64 / f64::from(1u32 << n);
    }
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let extreme = (0..PATTERNS)
        .filter(|_| {
            differences.iter().map(|d| if rng.random::<bool>() { -d } else { *d }).sum::<f64>().abs() >= observed
        })
        .count();
    // The pattern that was observed counts as one of them.
    (extreme + 1) as f64 / f64::from(PATTERNS + 1)
}
