//! Which samples are missing in which views.
//!
//! A [`Mask`] of shape (samples, views) is true where the sample is observed. Its level is the share of missing
//! (sample, view) pairs, met exactly (rounded to whole pairs). Two guarantees, as in the paper: every sample is observed in at
//! least one view, and every view keeps at least one sample. Views are dealt to the samples in turn, so with l samples and v views
//! each view keeps at least l / v samples, rounded down.

use crate::{Error, InputError, Result};
use estimator::Mask;
use ndarray::{Array2, Ix2};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// The largest level that leaves every sample and every view something observed: 1 - max(samples, views) / (samples views).
pub fn largest_level(samples: usize, views: usize) -> f64 {
    if samples == 0 || views == 0 {
        return 0.0;
    }
    1.0 - samples.max(views) as f64 / (samples * views) as f64
}

/// A mask by seed. `level` in [0, 1[ is the share of missing pairs.
///
/// First one view is reserved for every sample, the views dealt evenly; then the missing pairs are drawn without
/// replacement from all pairs that are not reserved. Any level up to [`largest_level`] is possible.
///
/// ```
/// let mask = multiview::random_mask(200, 6, 0.6, 7).unwrap();
/// assert_eq!(mask.missing(), 720);
/// assert!(mask.flags().rows().into_iter().all(|sample| sample.iter().any(|seen| *seen)));
/// ```
pub fn random_mask(samples: usize, views: usize, level: f64, seed: u64) -> Result<Mask<Ix2>> {
    if samples == 0 || views == 0 {
        return Err(InputError::empty("mask").into());
    }
    if !(0.0..1.0).contains(&level) {
        return Err(InputError::parameter("level", level, "in [0, 1[").into());
    }
    let pairs = samples * views;
    let missing = (level * pairs as f64).round() as usize;
    let most = pairs - samples.max(views);
    if missing > most {
        return Err(Error::MaskLevel { missing, pairs, most });
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut reserved = Array2::from_elem((samples, views), false);
    let mut order: Vec<usize> = (0..samples).collect();
    let mut deal: Vec<usize> = (0..views).collect();
    order.shuffle(&mut rng);
    deal.shuffle(&mut rng);
    // Fewer samples than views: go round the samples again until every view has one.
    for k in 0..samples.max(views) {
        reserved[[order[k % samples], deal[k % views]]] = true;
    }
    let mut open: Vec<(usize, usize)> = reserved.indexed_iter().filter(|(_, r)| !**r).map(|(at, _)| at).collect();
    open.shuffle(&mut rng);
    let mut mask = Array2::from_elem((samples, views), true);
    for &at in open.iter().take(missing) {
        mask[at] = false;
    }
    Ok(Mask::new(mask))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn both_guarantees_and_the_exact_count(samples in 1usize..60, views in 1usize..8, level in 0.0f64..0.95, seed: u64) {
            let pairs = samples * views;
            let missing = (level * pairs as f64).round() as usize;
            match random_mask(samples, views, level, seed) {
                Ok(mask) => {
                    prop_assert_eq!(mask.missing(), missing);
                    let seen = mask.flags();
                    prop_assert!(seen.rows().into_iter().all(|r| r.iter().any(|m| *m)));
                    let least = (samples / views).max(1);
                    prop_assert!(seen.columns().into_iter().all(|c| c.iter().filter(|m| **m).count() >= least));
                    prop_assert_eq!(Ok(mask.clone()), random_mask(samples, views, level, seed));
                }
                Err(e) => {
                    prop_assert!(level > largest_level(samples, views) - 1.0 / pairs as f64);
                    prop_assert_eq!(e, Error::MaskLevel { missing, pairs, most: pairs - samples.max(views) });
                }
            }
        }
    }

    #[test]
    fn the_paper_levels_exist_and_differ_by_seed() {
        // Six views: at most 5/6 of the pairs can be missing when every sample keeps one.
        for level in [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8] {
            assert_ne!(random_mask(200, 6, level, 1).unwrap(), random_mask(200, 6, level, 2).unwrap());
        }
        assert!(random_mask(200, 6, largest_level(200, 6), 1).is_ok());
        assert!(random_mask(200, 6, 0.9, 1).is_err() && random_mask(200, 10, 0.9, 1).is_ok());
    }
}
