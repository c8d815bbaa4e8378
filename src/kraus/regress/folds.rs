//! Cross-validation: folds by lot, errors per fold, and the rule that settles what the folds cannot tell apart.
//!
//! The least mean error wins unless a simpler model is within one standard error of it. The standard error is that of the differences fold by
//! fold: what makes one fold harder than another makes it so for every model.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Which fold each sample belongs to.
#[derive(Debug, Clone, PartialEq)]
pub struct Folds {
    of: Vec<u16>,
    count: usize,
}

impl Folds {
    /// Folds of equal size up to one: every `count` samples in a row are shuffled over the folds, so that samples recorded one after the
    /// other spread evenly.
    pub fn new(samples: usize, count: usize, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut of = Vec::with_capacity(samples + count);
        while of.len() < samples {
            let mut round: Vec<u16> = (0..count as u16).collect();
            // The first round keeps its order, so that no fold is empty where there are at least as many samples as folds.
            if !of.is_empty() {
                round.shuffle(&mut rng);
            }
            of.extend(round);
        }
        of.truncate(samples);
        Self { of, count }
    }

    /// Number of folds.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The fold of each sample.
    pub fn of(&self) -> &[u16] {
        &self.of
    }

    /// Samples of a fold.
    pub fn inside(&self, fold: usize) -> Vec<usize> {
        (0..self.of.len()).filter(|i| usize::from(self.of[*i]) == fold).collect()
    }

    /// Samples outside a fold.
    pub fn outside(&self, fold: usize) -> Vec<usize> {
        (0..self.of.len()).filter(|i| usize::from(self.of[*i]) != fold).collect()
    }
}

/// Validation errors of one model.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// Number of operators.
    pub rank: usize,
    /// Error on each fold.
    pub folds: Vec<f64>,
}

impl Score {
    /// Errors of a model with `rank` operators.
    pub fn new(rank: usize, folds: Vec<f64>) -> Self {
        Self { rank, folds }
    }

    /// Mean over the folds.
    pub fn mean(&self) -> f64 {
        self.folds.iter().sum::<f64>() / self.folds.len().max(1) as f64
    }

    /// Standard error of that mean.
    pub fn error(&self) -> f64 {
        spread(&self.folds)
    }

    /// Whether this model's mean is within one standard error (of the differences) of another's.
    pub fn close_to(&self, best: &Score) -> bool {
        let differences: Vec<f64> = self.folds.iter().zip(&best.folds).map(|(a, b)| a - b).collect();
        let mean = differences.iter().sum::<f64>() / differences.len().max(1) as f64;
        mean <= spread(&differences)
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

/// Position of the least mean.
pub fn least(curve: &[Score]) -> usize {
    (0..curve.len()).fold(0, |b, i| if curve[i].mean() < curve[b].mean() { i } else { b })
}

/// Position of the first (simplest) model within one standard error of the least mean.
pub fn one_standard_error(curve: &[Score]) -> usize {
    let best = &curve[least(curve)];
    curve.iter().position(|s| s.close_to(best)).unwrap_or(0) // the best is close to itself
}

/// Position of the first model that is within one standard error of the least mean and whose mean is at most `share` above it: where a model costs no
/// more to fit when it is larger, being indistinguishable on few folds is not reason enough to take a worse one.
pub fn nearly_least(curve: &[Score], share: f64) -> usize {
    let best = &curve[least(curve)];
    let near = |s: &Score| s.close_to(best) && s.mean() <= (1.0 + share) * best.mean();
    curve.iter().position(near).unwrap_or(0) // the best is near itself
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(list: &[(usize, [f64; 3])]) -> Vec<Score> {
        list.iter().map(|(rank, folds)| Score::new(*rank, folds.to_vec())).collect()
    }

    #[test]
    fn a_smaller_rank_wins_only_when_the_folds_cannot_tell() {
        // Fold 2 is hard for every rank; rank 3 is best by a little and not on every fold.
        let curve =
            scores(&[(1, [5.0, 9.0, 5.0]), (2, [1.00, 4.0, 1.1]), (3, [1.01, 3.9, 1.09]), (4, [1.2, 4.1, 1.3])]);
        assert_eq!(curve[one_standard_error(&curve)].rank, 2);
        // The same gain on every fold is real although the folds differ.
        let curve = scores(&[(1, [5.0, 9.0, 5.0]), (2, [1.0, 4.0, 1.1]), (3, [0.9, 3.9, 1.0])]);
        assert_eq!(curve[one_standard_error(&curve)].rank, 3);
    }

    #[test]
    fn folds_are_even_and_none_is_empty() {
        let folds = Folds::new(23, 5, 1);
        let sizes: Vec<usize> = (0..5).map(|f| folds.inside(f).len()).collect();
        assert!(sizes.iter().all(|s| (4..=5).contains(s)), "{sizes:?}");
        assert_eq!(folds.outside(2).len(), 23 - sizes[2]);
    }
}
