//! The paper's simulated regression data, from a seed and an index.
//!
//! X = G^T G with G (p, p) standard normal, A_j ~ N(0, 1) / max|A|, Y = sum_j A_j X A_j^T + noise (E + E^T) / sqrt 2
//! with E standard normal: the released generator plus the noise of the paper's model, which the released code leaves out.
//!
//! Sample i of a split is a function of (seed, split, i) alone. So the first 100 samples of a set of 10000 are the set of 100,
//! any block can be made on its own (a set larger than memory is streamed), and threads cannot change a bit.

use linalg::random::StandardNormal;
use linalg::{Real, gemm};
use ndarray::{Array2, Array3, ArrayView2, Axis, s};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::Distribution;
use rayon::prelude::*;
use std::ops::Range;

/// What determines a simulated regression task.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Inputs are p x p.
    pub p: usize,
    /// Outputs are q x q.
    pub q: usize,
    /// Kraus rank of the true map.
    pub rank: usize,
    /// Standard deviation of the symmetric noise on an off-diagonal entry of Y (sqrt 2 times that on the diagonal).
    pub noise: f64,
    /// Seed of the task: of the true map and of every sample.
    pub seed: u64,
}

/// Disjoint sample streams of one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// To fit on.
    Train,
    /// To choose hyperparameters on.
    Validation,
    /// To report on.
    Test,
}

/// A block of samples.
#[derive(Debug, Clone)]
pub struct Samples<T> {
    /// Inputs (l, p, p), symmetric positive semidefinite.
    pub x: Array3<T>,
    /// Outputs (l, q, q), with noise.
    pub y: Array3<T>,
    /// Outputs (l, q, q) without noise; equal to `y` where the recipe has none.
    pub clean: Array3<T>,
}

/// ChaCha stream of the true map; sample streams lie far from it and from one another.
const MAP_STREAM: u64 = u64::MAX;

impl Recipe {
    /// The true Kraus operators (rank, q, p), scaled so that the largest entry is 1 in absolute value.
    pub fn truth(&self) -> Array3<f64> {
        let mut rng = self.rng(MAP_STREAM);
        let a = Array3::from_shape_simple_fn((self.rank, self.q, self.p), || StandardNormal.sample(&mut rng));
        let max = a.iter().fold(0.0f64, |m, v: &f64| m.max(v.abs()));
        a / max.max(f64::MIN_POSITIVE)
    }

    /// Samples `range` of a split, computed in f64 and rounded to T.
    ///
    /// ```
    /// use kraus::simulate::{Recipe, Split};
    /// let recipe = Recipe { p: 4, q: 3, rank: 2, noise: 0.0, seed: 7 };
    /// let all = recipe.samples::<f64>(Split::Train, 0..10);
    /// let last = recipe.samples::<f64>(Split::Train, 8..10);
    /// assert_eq!(all.x.slice(ndarray::s![8.., .., ..]), last.x);
    /// ```
    pub fn samples<T: Real>(&self, split: Split, range: Range<usize>) -> Samples<T> {
        let (l, p, q) = (range.len(), self.p, self.q);
        let stacked = self.stacked();
        let mut x = Array3::zeros((l, p, p));
        let mut y = Array3::zeros((l, q, q));
        let mut clean = Array3::zeros((l, q, q));
        (x.axis_iter_mut(Axis(0)), y.axis_iter_mut(Axis(0)), clean.axis_iter_mut(Axis(0)))
            .into_par_iter()
            .enumerate()
            .for_each(|(i, (mut x, mut y, mut clean))| {
                let sample = self.sample(split, range.start + i, stacked.view());
                x.zip_mut_with(&sample.0, |a, b| *a = T::of(*b));
                y.zip_mut_with(&sample.1, |a, b| *a = T::of(*b));
                clean.zip_mut_with(&sample.2, |a, b| *a = T::of(*b));
            });
        Samples { x, y, clean }
    }

    fn rng(&self, stream: u64) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(stream);
        rng
    }

    /// The operators as (rank q, p): row (j, a) is row a of A_j.
    fn stacked(&self) -> Array2<f64> {
        // Cannot fail: a fresh array in standard order, and both shapes have rank * q * p entries.
        self.truth().into_shape_with_order((self.rank * self.q, self.p)).expect("same number of entries")
    }

    fn sample(&self, split: Split, i: usize, stacked: ArrayView2<'_, f64>) -> (Array2<f64>, Array2<f64>, Array2<f64>) {
        let (p, q, r) = (self.p, self.q, self.rank);
        let split = match split {
            Split::Train => 0u64,
            Split::Validation => 1,
            Split::Test => 2,
        };
        let mut rng = self.rng((split << 48) | i as u64);
        let g = Array2::<f64>::from_shape_simple_fn((p, p), || StandardNormal.sample(&mut rng));
        let mut x = Array2::zeros((p, p));
        gemm(1.0, g.t(), g.view(), 0.0, x.view_mut());
        // A_j X A_j^T = H_j H_j^T with H_j = A_j G^T: half the work of two products with X.
        let mut h = Array2::zeros((r * q, p));
        gemm(1.0, stacked, g.t(), 0.0, h.view_mut());
        let mut clean = Array2::zeros((q, q));
        for j in 0..r {
            let h = h.slice(s![j * q..(j + 1) * q, ..]);
            gemm(1.0, h, h.t(), 1.0, clean.view_mut());
        }
        mirror(&mut x);
        mirror(&mut clean);
        let mut y = clean.clone();
        if self.noise > 0.0 {
            let e = Array2::<f64>::from_shape_simple_fn((q, q), || StandardNormal.sample(&mut rng));
            y.scaled_add(self.noise * std::f64::consts::FRAC_1_SQRT_2, &(&e + &e.t()));
        }
        (x, y, clean)
    }
}

/// Copies the lower triangle onto the upper one: a product A A^T may differ in the last bit across the diagonal.
fn mirror(a: &mut Array2<f64>) {
    for i in 0..a.nrows() {
        for j in 0..i {
            a[[j, i]] = a[[i, j]];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECIPE: Recipe = Recipe { p: 6, q: 4, rank: 3, noise: 0.0, seed: 1 };

    #[test]
    fn outputs_are_the_true_map_of_the_inputs() {
        let (a, s) = (RECIPE.truth(), RECIPE.samples::<f64>(Split::Test, 0..5));
        for (x, y) in s.x.outer_iter().zip(s.y.outer_iter()) {
            let phi = a.outer_iter().fold(Array2::<f64>::zeros((4, 4)), |sum, a| sum + a.dot(&x).dot(&a.t()));
            assert!((&phi - &y).iter().all(|e| e.abs() < 1e-10), "{phi} {y}");
        }
        assert!((a.iter().fold(0.0f64, |m, v| m.max(v.abs())) - 1.0).abs() < 1e-15);
    }

    #[test]
    fn splits_and_seeds_differ_and_threads_do_not_matter() {
        let a = RECIPE.samples::<f64>(Split::Train, 0..50);
        assert_ne!(a.x, RECIPE.samples::<f64>(Split::Test, 0..50).x);
        assert_ne!(a.x, Recipe { seed: 2, ..RECIPE }.samples::<f64>(Split::Train, 0..50).x);
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(a.x, one.install(|| RECIPE.samples::<f64>(Split::Train, 0..50)).x);
    }

    #[test]
    fn noise_has_the_stated_deviation_and_leaves_the_clean_part() {
        let noisy = Recipe { noise: 0.1, ..RECIPE }.samples::<f64>(Split::Train, 0..4000);
        let exact = RECIPE.samples::<f64>(Split::Train, 0..4000);
        assert_eq!(noisy.clean, exact.clean);
        let d = &noisy.y - &noisy.clean;
        let off = d.slice(s![.., 0, 1]).iter().map(|e| e * e).sum::<f64>() / 4000.0;
        assert!((off.sqrt() - 0.1).abs() < 0.005, "{off}");
        assert_eq!(d.slice(s![.., 0, 1]), d.slice(s![.., 1, 0]));
    }
}
