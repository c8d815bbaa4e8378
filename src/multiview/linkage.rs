//! Hierarchical clustering: average linkage (by kodama: nearest-neighbour chain, O(l^2)) and the optimal order of its leaves (ours: no
//! crate has it).
//!
//! The leaf order minimises the sum of distances between neighbours over all 2^(l-1) flips of the tree (Bar-Joseph et al.
//! 2001, O(l^3)). Merges are listed as scipy's `linkage` does: clusters 0..l are the samples, l + k is the k-th merge.

use crate::{Error, InputError, Result, check};
use ndarray::{Array2, ArrayView2};

/// One merge of two clusters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Merge {
    /// The cluster with the smaller number.
    pub left: usize,
    /// The other one.
    pub right: usize,
    /// Mean distance between their samples.
    pub distance: f64,
    /// Samples in the union.
    pub size: usize,
}

/// The l - 1 merges of average linkage for a symmetric distance matrix (l, l), by ascending distance.
pub fn average_linkage(distances: ArrayView2<'_, f64>) -> Result<Vec<Merge>> {
    let what = "average_linkage";
    let l = distances.nrows();
    if l == 0 {
        return Err(InputError::empty(what).into());
    }
    if distances.ncols() != l {
        return Err(InputError::shape(what, [l, l], distances.shape()).into());
    }
    check::finite(what, &distances)?;
    if !linalg::is_symmetric(distances, 1e-10) {
        return Err(Error::NotSymmetric { what });
    }
    let mut pairs: Vec<f64> = (0..l).flat_map(|i| (i + 1..l).map(move |j| distances[[i, j]])).collect();
    let tree = kodama::linkage(&mut pairs, l, kodama::Method::Average);
    let merge =
        |s: &kodama::Step<f64>| Merge { left: s.cluster1, right: s.cluster2, distance: s.dissimilarity, size: s.size };
    Ok(tree.steps().iter().map(merge).collect())
}

/// The order of the samples that keeps every cluster together and neighbours as close as possible.
///
/// ```
/// let at = [0.0f64, 10.0, 1.0, 11.0];
/// let d = ndarray::Array2::from_shape_fn((4, 4), |(i, j)| (at[i] - at[j]).abs());
/// let order = multiview::optimal_leaf_order(d.view(), &multiview::average_linkage(d.view()).unwrap()).unwrap();
/// assert!(order == [0, 2, 1, 3] || order == [3, 1, 2, 0]);
/// ```
pub fn optimal_leaf_order(distances: ArrayView2<'_, f64>, merges: &[Merge]) -> Result<Vec<usize>> {
    let l = distances.nrows();
    if merges.len() + 1 != l || distances.ncols() != l {
        let expected = vec![merges.len() + 1, merges.len() + 1];
        return Err(InputError::shape("optimal_leaf_order", expected, distances.shape()).into());
    }
    let mut tree = Tree { l, merges, leaves: (0..l).map(|i| vec![i]).collect(), best: Array2::zeros((l, l)) };
    for m in merges {
        if m.left.max(m.right) >= tree.leaves.len() {
            return Err(InputError::shape("merges", [tree.leaves.len()], [m.left.max(m.right)]).into());
        }
        tree.merge(&distances, m);
    }
    if l == 1 {
        return Ok(vec![0]);
    }
    let root = &merges[l - 2];
    let ends = tree.leaves[root.left].iter().flat_map(|&i| tree.leaves[root.right].iter().map(move |&j| (i, j)));
    let ends = ends.min_by(|&x, &y| tree.best[x].total_cmp(&tree.best[y])).unwrap_or((0, 0));
    Ok(tree.backtrack(&distances, ends))
}

/// best[i, j]: the least path length over the cluster where i and j meet, with i and j at its ends.
struct Tree<'a> {
    l: usize,
    merges: &'a [Merge],
    leaves: Vec<Vec<usize>>,
    best: Array2<f64>,
}

impl Tree<'_> {
    /// The leaves that can end the cluster when `i` begins it.
    fn partners(&self, cluster: usize, i: usize) -> &[usize] {
        if cluster < self.l {
            return &self.leaves[cluster];
        }
        let m = &self.merges[cluster - self.l];
        if self.leaves[m.left].contains(&i) { &self.leaves[m.right] } else { &self.leaves[m.left] }
    }

    fn merge(&mut self, d: &ArrayView2<'_, f64>, m: &Merge) {
        let mut through = vec![0.0; self.l];
        let mut found = Vec::with_capacity(self.leaves[m.left].len() * self.leaves[m.right].len());
        for &i in &self.leaves[m.left] {
            let inner = self.partners(m.left, i);
            for &k in &self.leaves[m.right] {
                through[k] = inner.iter().fold(f64::INFINITY, |s, &e| s.min(self.best[[i, e]] + d[[e, k]]));
            }
            for &j in &self.leaves[m.right] {
                let starts = self.partners(m.right, j);
                found.push((i, j, starts.iter().fold(f64::INFINITY, |s, &k| s.min(through[k] + self.best[[k, j]]))));
            }
        }
        for (i, j, value) in found {
            self.best[[i, j]] = value;
            self.best[[j, i]] = value;
        }
        let mut union = self.leaves[m.left].clone();
        union.extend(&self.leaves[m.right]);
        self.leaves.push(union);
    }

    /// Unfold the choices from the root: each entry is a cluster with its first and last leaf.
    fn backtrack(&self, d: &ArrayView2<'_, f64>, ends: (usize, usize)) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.l);
        let mut stack = vec![(self.leaves.len() - 1, ends.0, ends.1)];
        while let Some((cluster, i, j)) = stack.pop() {
            if cluster < self.l {
                order.push(cluster);
                continue;
            }
            let m = &self.merges[cluster - self.l];
            let (first, second) = if self.leaves[m.left].contains(&i) { (m.left, m.right) } else { (m.right, m.left) };
            let mut best = (i, j, f64::INFINITY);
            for &e in self.partners(first, i) {
                for &k in self.partners(second, j) {
                    let length = self.best[[i, e]] + d[[e, k]] + self.best[[k, j]];
                    if length < best.2 {
                        best = (e, k, length);
                    }
                }
            }
            stack.push((second, best.1, j));
            stack.push((first, i, best.0));
        }
        order
    }
}
