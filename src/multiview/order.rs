//! The order of the samples before a kernel is cut into blocks.
//!
//! Depth-2 completion shares a map between all blocks, so what a block holds matters. By class (as published) puts one class
//! into one block and so leaks the labels; shuffled says nothing; seriated is label free: similar samples, judged by the
//! observed kernels alone, come to stand side by side.

use crate::Result;
use crate::consensus::consensus;
use crate::linkage::{average_linkage, optimal_leaf_order};
use estimator::Mask;
use ndarray::{Array2, ArrayView2, Ix2};
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

/// Average linkage with optimal leaf order on the consensus of the observed kernels.
///
/// `kernels` are (l, l), one per view; `mask` (l, views) says where a sample is observed; entries of unobserved samples
/// are never read. In each view the observed off-diagonal entries are brought to mean 0 and deviation 1, then averaged over
/// the views that observe both samples; pairs that no view shows get the prediction of a low-rank fit to the others. The
/// distance is the largest consensus minus the consensus.
pub fn order_seriated(kernels: &[ArrayView2<'_, f64>], mask: &Mask<Ix2>) -> Result<Vec<usize>> {
    let similar = linalg::symmetrise(consensus(kernels, mask.flags())?.view());
    let off_diagonal = similar.indexed_iter().filter(|((i, j), _)| i != j).map(|(_, v)| *v);
    let top = off_diagonal.fold(f64::NEG_INFINITY, f64::max);
    let d = Array2::from_shape_fn(similar.dim(), |(i, j)| if i == j { 0.0 } else { top - similar[[i, j]] });
    optimal_leaf_order(d.view(), &average_linkage(d.view())?)
}
