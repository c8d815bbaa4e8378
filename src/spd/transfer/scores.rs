//! How well predicted labels agree with the true ones: accuracy, balanced accuracy, Cohen's kappa.
//!
//! * accuracy: share of right predictions
//! * balanced accuracy: mean over the true classes of the share of each that is predicted right
//! * kappa = (p_o - p_e) / (1 - p_e), p_o the accuracy and p_e the agreement that the two sets of labels would have by chance

use crate::{Error, Result};

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
        return Err(Error::Empty { what: "labels" });
    }
    if truth.len() != predicted.len() {
        return Err(Error::Shape { what: "labels", expected: vec![truth.len()], got: vec![predicted.len()] });
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
