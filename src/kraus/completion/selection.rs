//! (p, q), rank and depth by validation: some observed entries are held out, every candidate is fitted to the rest, and the
//! one that predicts the held-out entries best wins.

use super::partial::Partial;
use super::{Completion, CompletionParams};
use crate::error::{FitError, InputError, Result};
use crate::map::Gamma;
use estimator::Mask;
use ndarray::{Array2, Ix2};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

/// Which observed entries are held out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HoldOut {
    /// Share of the observed entries (or rows) that is held out, in (0, 1).
    pub share: f64,
    /// Hold out whole rows and their columns instead of single entries. That is right where the data miss whole rows, since
    /// predicting single entries of known rows is a different task.
    pub rows: bool,
    /// Seed of the draw.
    pub seed: u64,
}

impl HoldOut {
    /// A fifth of the entries, or of the rows where the data miss whole rows.
    pub fn like(partial: &Partial, seed: u64) -> Self {
        Self { share: 0.2, rows: !partial.empty_rows().is_empty(), seed }
    }

    /// The held-out ones among the observed entries; symmetric.
    pub fn draw(&self, partial: &Partial) -> Result<Mask<Ix2>> {
        if !(self.share > 0.0 && self.share < 1.0) {
            return Err(InputError::parameter("share", self.share, "between 0 and 1, both excluded").into());
        }
        let (n, mask) = (partial.n(), partial.mask());
        let mut hidden = Array2::from_elem((n, n), false);
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let count = |of: usize| ((of as f64 * self.share).round() as usize).clamp(1, of.max(1));
        if self.rows {
            let empty = partial.empty_rows();
            let mut rows: Vec<usize> = (0..n).filter(|i| !empty.contains(i)).collect();
            rows.shuffle(&mut rng);
            for &i in &rows[..count(rows.len()).min(rows.len())] {
                for j in 0..n {
                    hidden[[i, j]] = mask[[i, j]];
                    hidden[[j, i]] = mask[[i, j]];
                }
            }
        } else {
            let pairs = (0..n).flat_map(|i| (0..=i).map(move |j| (i, j)));
            let mut entries: Vec<(usize, usize)> = pairs.filter(|at| mask[*at]).collect();
            entries.shuffle(&mut rng);
            for &(i, j) in &entries[..count(entries.len()).min(entries.len())] {
                hidden[[i, j]] = true;
                hidden[[j, i]] = true;
            }
        }
        Ok(Mask::new(hidden))
    }
}

/// What validation selected.
#[derive(Debug, Clone)]
pub struct Selection {
    /// The best candidate.
    pub params: CompletionParams,
    /// Every candidate with its relative error on the held-out entries, in the order given; infinite where it failed.
    pub scores: Vec<(CompletionParams, f64)>,
}

/// The candidate with the least relative error on held-out entries, the first of equals.
///
/// `fit` completes the reduced matrix: `|m, c| complete(m, c, &solver)` for the exact solver. Candidates run in parallel; a
/// candidate whose fit fails counts as infinitely bad, and only if all fail is that an error.
pub fn choose(
    partial: &Partial,
    candidates: &[CompletionParams],
    hold_out: &HoldOut,
    fit: impl Fn(&Partial, &CompletionParams) -> std::result::Result<Completion, FitError> + Sync,
) -> std::result::Result<Selection, FitError> {
    let hidden = hold_out.draw(partial)?;
    let reduced = partial.without(&hidden)?;
    let error = |done: Completion| {
        let (mut wrong, mut total) = (0.0, 0.0);
        for (at, _) in hidden.flags().indexed_iter().filter(|(_, h)| **h) {
            let truth = partial.values()[at];
            wrong += (done.prediction[at] - truth).powi(2);
            total += truth * truth;
        }
        (wrong / total.max(f64::MIN_POSITIVE)).sqrt()
    };
    let results: Vec<_> = candidates.par_iter().map(|c| fit(&reduced, c).map(&error)).collect();
    let scores: Vec<f64> = results.iter().map(|r| *r.as_ref().unwrap_or(&f64::INFINITY)).collect();
    let best = (0..scores.len()).reduce(|b, i| if scores[i] < scores[b] { i } else { b });
    match (best, results.into_iter().find_map(std::result::Result::err)) {
        (None, _) => Err(InputError::empty("list of candidates").into()),
        (Some(b), Some(failure)) if scores[b].is_infinite() => Err(failure),
        (Some(b), _) => {
            Ok(Selection { params: candidates[b].clone(), scores: candidates.iter().cloned().zip(scores).collect() })
        }
    }
}

/// Candidates for an n x n matrix: one map at ranks up to n / 2 ((p, q) does not matter there), and for each other depth the
/// (at most four) grids nearest to square at each of `deep_ranks`.
pub fn candidates(n: usize, depths: &[usize], deep_ranks: &[usize], gamma: Gamma) -> Vec<CompletionParams> {
    let mut grids: Vec<(usize, usize)> = (2..n).filter(|q| n.is_multiple_of(*q)).map(|q| (n / q, q)).collect();
    grids.sort_by_key(|(p, q)| (p.abs_diff(*q), *q));
    let (p, q) = grids.first().copied().unwrap_or((n, 1));
    let mut out = Vec::new();
    for &depth in depths {
        if depth <= 1 {
            let ranks = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32, 40, 50, 64, 80, 100];
            let fits = ranks.into_iter().filter(|r| *r == 1 || 2 * r <= n);
            out.extend(fits.map(|rank| CompletionParams::single(p, q, rank)));
        } else {
            let pairs = grids.iter().take(4).flat_map(|g| deep_ranks.iter().map(move |r| (*g, *r)));
            out.extend(pairs.map(|((p, q), rank)| CompletionParams::deep(p, q, rank, depth, gamma)));
        }
    }
    out
}
