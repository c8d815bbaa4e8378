//! The released code's last step: each predicted block mapped to the range of that block's observed entries.

use super::partial::Partial;
use ndarray::{Array2, s};

/// b -> lo + (b - min b) (hi - lo) / (max b - min b) with [lo, hi] the range of the observed entries of the block. Blocks with fewer than
/// two different observed values, or a constant prediction, have no range to map and stay.
pub(crate) fn rescale(partial: &Partial, q: usize, prediction: &mut Array2<f64>) {
    let p = partial.n() / q;
    for (i, j) in (0..p).flat_map(|i| (0..p).map(move |j| (i, j))) {
        let at = s![i * q..(i + 1) * q, j * q..(j + 1) * q];
        let mut block = prediction.slice_mut(at);
        let range = |values: &mut dyn Iterator<Item = f64>| {
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(v), hi.max(v)))
        };
        let (values, mask) = (partial.values(), partial.mask().flags());
        let mut observed = values.slice(at).into_iter().zip(mask.slice(at)).filter(|(_, m)| **m).map(|(v, _)| *v);
        let (lo, hi) = range(&mut observed);
        let (from, to) = range(&mut block.iter().copied());
        if hi > lo && to > from {
            block.mapv_inplace(|v| lo + (v - from) * (hi - lo) / (to - from));
        }
    }
}
