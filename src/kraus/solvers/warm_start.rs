//! Warm start for L-BFGS: fit a few centred samples first, then the same few as they are, then all of them.
//!
//! A map of rank r has r q p parameters and every sample gives q (q + 1) / 2 equations, so a few of many samples give a
//! map near the one that fits all, at a fraction of the cost. Phi is linear, so Phi(X) = Y for all samples implies
//! Phi(X - mean X) = Y - mean Y. Covariances and other positive definite inputs have a mean that dwarfs their spread: for
//! X = G^T G the curvature of the square loss along the mean is p^2 / 2 times that in other directions, and L-BFGS
//! spends most of its iterations on this one number. Without the means the loss is well conditioned; its minimiser then
//! starts the fit to the data as they are. On the paper's map 100 -> 40 of rank 20 with 1000 samples this takes 24
//! iterations to 1e-12 of E[Y^2], and about 200 without it.
//!
//! Five numbers decide when it is used and when it ends. They change the time of a fit and not its result, which is that of
//! L-BFGS on all samples; `LbfgsParams::warm_up` switches the whole warm start off.
//!
//! | constant | value | where it pays |
//! |---|---|---|
//! | [`EQUATIONS`] | 4 equations per parameter | with two the map of the few is far from that of all; with eight each step costs twice as much |
//! | [`DOMINANT_MEAN`] | condition 10 times that of the spread | inputs whose mean is larger than their spread: covariances, kernels; centred inputs skip it |
//! | [`GAIN`] | 0.1 % per iteration | noisy data: the few are fitted roughly; noise-free data end by [`FIT_SHARE`] |
//! | [`FIT_SHARE`] | 1 % of the target loss | a fit with a target; without one it does nothing |
//! | [`MISFIT`] | 0.1 % of E\[Y^2\] | models of too low a rank: fitting more of the few would lead away from the best fit |

use crate::data::problem::{Inputs, Problem};
use linalg::Real;
use ndarray::{Array2, Array3, ArrayView3, Axis};

/// Equations per parameter. With four, L-BFGS takes about half as many steps again as with all samples.
const EQUATIONS: usize = 4;
/// The means are subtracted where the mean of X makes the condition number at least this many times larger.
const DOMINANT_MEAN: f64 = 10.0;
/// The warm start ends when an iteration lowers the loss by less than this share of it.
pub(crate) const GAIN: f64 = 1e-3;
/// The warm start also ends where its loss is this share of the target of the whole fit. It aims lower than the fit because
/// an error along the mean of X, which the warm start does not see, weighs more in the loss of the fit.
pub(crate) const FIT_SHARE: f64 = 1e-2;
/// A model whose loss is above this share of the mean square of the targets does not fit them.
pub(crate) const MISFIT: f64 = 1e-3;

/// Samples that determine a map of this rank with some to spare: each has q (q + 1) / 2 different outputs.
///
/// ```
/// assert_eq!(kraus::lbfgs::enough(100, 40, 20), 391); // four equations for each of 80000 parameters
/// ```
pub fn enough(p: usize, q: usize, rank: usize) -> usize {
    (EQUATIONS * rank * p * q).div_ceil(q * (q + 1) / 2)
}

/// A smaller problem to fit first.
pub(crate) struct Level<T> {
    pub x: Array3<T>,
    pub y: Array3<T>,
    /// Whether the means of X and Y were subtracted.
    pub centred: bool,
    /// Describes the samples, for the history.
    pub name: String,
}

impl<T: Real> Level<T> {
    /// The mean square of the targets.
    pub fn mean_square(&self) -> f64 {
        self.y.iter().map(|v| v.as_f64() * v.as_f64()).sum::<f64>() / self.y.len() as f64
    }
}

/// The problems to fit before all samples, in this order: about `enough` samples, evenly spread over all, minus their means
/// where the mean dominates; then the same samples with their means, whose curvature is that of all samples. The list is
/// empty for problems with a mask or with matrix units, and where neither step would help.
pub(crate) fn levels<T: Real>(problem: &Problem<'_, T>, enough: usize) -> Vec<Level<T>> {
    let (l, enough) = (problem.len(), enough.max(2));
    let Inputs::Matrices(x) = problem.inputs() else { return Vec::new() };
    if problem.is_masked() || l < 2 {
        return Vec::new();
    }
    let few = l >= 2 * enough;
    let count = if few { enough } else { l };
    let spread = (0..count).map(|i| i * l / count).collect::<Vec<_>>();
    let (x, y) = (x.view().select(Axis(0), &spread), problem.targets().select(Axis(0), &spread));
    let name = if few { format!("{count} of the samples") } else { "the samples".into() };
    let middle = mean(x.view());
    let square = |v: f64| v * v;
    let of_mean = middle.iter().map(|v| square(*v)).sum::<f64>() * count as f64;
    let of_all = x.iter().map(|v| square(v.as_f64())).sum::<f64>();
    let mut levels = Vec::new();
    // The condition number that the mean causes, if the rest is spread evenly over the p^2 directions.
    if of_mean * (middle.len() as f64) > DOMINANT_MEAN * of_all {
        let (x, y) = (minus(&x, &middle), minus(&y, &mean(y.view())));
        levels.push(Level { x, y, centred: true, name: format!("{name} minus their means") });
    }
    if few {
        levels.push(Level { x, y, centred: false, name });
    }
    levels
}

/// The mean matrix, summed in f64 and in the order of the samples.
fn mean<T: Real>(a: ArrayView3<'_, T>) -> Array2<f64> {
    let mut sum = Array2::zeros((a.dim().1, a.dim().2));
    for matrix in a.outer_iter() {
        sum.zip_mut_with(&matrix, |s, v| *s += v.as_f64());
    }
    sum / a.len_of(Axis(0)) as f64
}

fn minus<T: Real>(a: &Array3<T>, mean: &Array2<f64>) -> Array3<T> {
    let mut out = a.clone();
    for mut matrix in out.outer_iter_mut() {
        matrix.zip_mut_with(mean, |v, m| *v = T::of(v.as_f64() - m));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_dominant_mean_is_removed_and_then_all_of_it() {
        let wave = Array3::from_shape_fn((50, 4, 4), |(s, i, j)| ((7 * s + 3 * i + 3 * j) as f64).sin());
        let y = wave.slice(ndarray::s![.., ..2, ..2]).to_owned();
        assert!(levels(&Problem::matrices(wave.view(), y.view()).unwrap(), 50).is_empty());
        let raised = &wave + 5.0;
        let data = levels(&Problem::matrices(raised.view(), y.view()).unwrap(), 50);
        assert!(data.len() == 1 && data[0].centred);
        assert!(mean(data[0].x.view()).iter().chain(mean(data[0].y.view()).iter()).all(|v| v.abs() < 1e-14));
        // What is left is the spread, sample by sample.
        let gap = &data[0].x - &minus(&wave, &mean(wave.view()));
        assert!(gap.iter().all(|v| v.abs() < 1e-13));
        let mask = estimator::Mask::new(Array3::from_elem(y.dim(), true));
        let masked = Problem::matrices(raised.view(), y.view()).unwrap().with_mask(&mask).unwrap();
        assert!(levels(&masked, 50).is_empty());
    }

    #[test]
    fn few_of_many_samples_come_from_everywhere() {
        let x = Array3::from_shape_fn((100, 3, 3), |(s, i, j)| ((100 * s + i + j) as f64).sin());
        let data = levels(&Problem::matrices(x.view(), x.view()).unwrap(), 10);
        assert_eq!((data.len(), data[0].x.dim(), data[0].name.as_str()), (1, (10, 3, 3), "10 of the samples"));
        assert_eq!(data[0].y.index_axis(Axis(0), 9), x.index_axis(Axis(0), 90));
        assert!(levels(&Problem::matrices(x.view(), x.view()).unwrap(), 51).is_empty());
    }
}
