//! The order of the samples before a kernel is cut into blocks.
//!
//! Depth-2 completion shares a map between all blocks, so what a block holds matters. By class (as published) puts one class
//! into one block and so leaks the labels; shuffled says nothing; seriated is label free: similar samples, judged by the
//! observed kernels alone, come to stand side by side.

use crate::linkage::{average_linkage, optimal_leaf_order};
use crate::{Error, Result, check};
use ndarray::{Array2, ArrayView2};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Samples sorted by label, file order within a class.
pub fn order_by_class(labels: &[i64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by_key(|&i| labels[i]);
    order
}

/// A random order by seed.
pub fn order_shuffled(samples: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..samples).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    order
}

/// Average linkage with optimal leaf order on the average of the standardised observed kernels.
///
/// `kernels` are (l, l), one per view; `mask` (l, views) is true where a sample is observed; entries of unobserved samples
/// are never read. In each view the observed off-diagonal entries are brought to mean 0 and deviation 1, then averaged over
/// the views that observe both samples (0 where none does). The distance is the largest average minus the average.
pub fn order_seriated(kernels: &[ArrayView2<'_, f64>], mask: ArrayView2<'_, bool>) -> Result<Vec<usize>> {
    let d = seriation_distances(kernels, mask)?;
    optimal_leaf_order(d.view(), &average_linkage(d.view())?)
}

fn seriation_distances(kernels: &[ArrayView2<'_, f64>], mask: ArrayView2<'_, bool>) -> Result<Array2<f64>> {
    let what = "order_seriated";
    let l = mask.nrows();
    if l == 0 || kernels.is_empty() {
        return Err(Error::Empty { what });
    }
    if mask.ncols() != kernels.len() {
        return Err(Error::Shape { what, expected: vec![l, kernels.len()], got: mask.shape().to_vec() });
    }
    let mut sum = Array2::<f64>::zeros((l, l));
    let mut count = Array2::<f64>::zeros((l, l));
    for (k, seen) in kernels.iter().zip(mask.columns()) {
        if k.dim() != (l, l) {
            return Err(Error::Shape { what, expected: vec![l, l], got: k.shape().to_vec() });
        }
        let at: Vec<(usize, usize)> =
            (0..l).flat_map(|i| (0..i).map(move |j| (i, j))).filter(|&(i, j)| seen[i] && seen[j]).collect();
        if let Some(&(index, _)) = at.iter().find(|&&p| !k[p].is_finite()) {
            return Err(Error::NotFinite { what, index });
        }
        let mean = at.iter().map(|&p| k[p]).sum::<f64>() / at.len().max(1) as f64;
        let variance = at.iter().map(|&p| (k[p] - mean).powi(2)).sum::<f64>() / at.len().max(1) as f64;
        if variance > 0.0 {
            for p in at {
                sum[p] += (k[p] - mean) / variance.sqrt();
                count[p] += 1.0;
            }
        }
    }
    let average = Array2::from_shape_fn((l, l), |(i, j)| {
        let p = (i.max(j), i.min(j));
        if count[p] > 0.0 { sum[p] / count[p] } else { 0.0 }
    });
    let off_diagonal = average.indexed_iter().filter(|((i, j), _)| i != j).map(|(_, v)| *v);
    let top = off_diagonal.fold(f64::NEG_INFINITY, f64::max);
    let d = Array2::from_shape_fn((l, l), |(i, j)| if i == j { 0.0 } else { top - average[[i, j]] });
    check::finite(what, &d.view())?;
    Ok(d)
}
