//! What validation hides: observed entries, drawn so that they are missing the way the data miss theirs.
//!
//! Single entries: of those off the diagonal a twentieth, less where little is missing (what is hidden is also lost to the fit, and the error must be that
//! of the fit to everything), and of the diagonal a share in proportion to how much more or less often it is missing. Whole rows: as large a share of the seen rows as is missing of all rows, because the
//! number of pairs of which both rows are missing grows with the square of it.

use super::super::partial::Partial;
use estimator::Mask;
use ndarray::{Array2, Ix2};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// The hidden entries; symmetric.
pub(super) fn entries(partial: &Partial, seed: u64) -> Mask<Ix2> {
    let (n, mask) = (partial.n(), partial.mask());
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0x6869_6465);
    let mut hidden = Array2::from_elem((n, n), false);
    let (mut off, mut diagonal): (Vec<(usize, usize)>, Vec<(usize, usize)>) = (Vec::new(), Vec::new());
    for i in 0..n {
        off.extend((0..i).filter(|j| mask[[i, *j]]).map(|j| (i, j)));
        diagonal.extend(mask[[i, i]].then_some((i, i)));
    }
    let missing_off = (n * (n - 1) / 2 - off.len()) as f64 / (n * (n - 1) / 2).max(1) as f64;
    let missing_diagonal = (n - diagonal.len()) as f64 / n as f64;
    // A few hundred entries at least: fewer say too little.
    let share = (0.05 * (missing_off / 0.2).min(1.0)).max(300.0 / off.len().max(1) as f64).min(0.1);
    let (a, b) =
        if missing_off > 0.0 { (share, (share * missing_diagonal / missing_off).min(0.5)) } else { (0.0, 0.2) };
    for (list, share) in [(&mut off, a), (&mut diagonal, b)] {
        list.shuffle(&mut rng);
        let count = (list.len() as f64 * share).round() as usize;
        for &(i, j) in &list[..count.min(list.len())] {
            (hidden[[i, j]], hidden[[j, i]]) = (true, true);
        }
    }
    Mask::new(hidden)
}

/// Positions to hide among `seen` rows when `missing` rows are missing: at least one, at most half.
pub(super) fn rows(seen: usize, missing: usize, seed: u64) -> Vec<usize> {
    let share = missing as f64 / (seen + missing) as f64;
    let count = ((seen as f64 * share).round() as usize).clamp(1, (seen / 2).max(1));
    let mut order: Vec<usize> = (0..seen).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed ^ 0x726f_7773));
    order.truncate(count);
    order.sort_unstable();
    order
}
