//! A pinching that keeps what tells the classes apart: the map learned where labels of the source are known.
//!
//! In coordinates in which the target's mean is the identity, let v_1, v_2, ... be the eigenvectors of the scatter between the
//! classes, B = sum_c w_c (L_c - L)^2, by falling eigenvalue; L_c is the mean of log X over the class c, L their mean by the weights
//! w_c. With P the projection on the first `kept` of them,
//! ```text
//! F(X) = P X P + sum_{i > kept} v_i v_i^T X v_i v_i^T
//! ```
//! keeps X on the span of P and, beyond it, the variance along each v_i; every other entry becomes zero. It is a Kraus map of rank
//! q - kept + 1 that keeps traces and the identity. A classifier that is trained on few images has so many fewer entries to be misled by.
//!
//! Whether to filter, and how many directions are kept where several numbers are tried, is judged within the source, in five folds: the filter from three of them, a classifier by nearest
//! class mean (log-Euclidean) from the images of the fourth, tested on the fifth, over all twenty choices of the last two. Where every
//! filter classifies worse than recentring alone, the filter is the identity.

use super::pairs::vectors;
use super::positive_map::PositiveMap;
use crate::manifold::function::sandwich;
use crate::manifold::geodesic::roots;
use crate::{InputError, Result, check, logm};
use estimator::Labels;
use linalg::matmul;
use ndarray::{Array2, Array3, ArrayView2, ArrayView3, Axis, s};
use rayon::prelude::*;

/// Folds of the choice.
const FOLDS: usize = 5;

/// How the number of kept directions is chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct FilterParams {
    /// The numbers to try; those that are not below the number of channels are left out. Empty: three eighths of the channels.
    pub kept: Vec<usize>,
}

impl Default for FilterParams {
    /// Three eighths of the channels, 8 of 22. On ten simulated subjects, with two and with four classes, this gained 1.6 and 0.9
    /// points over recentring; 2 to 14 directions gained 1.1 to 1.8 and -3.0 to 0.9, a choice by cross-validation 1.4 and 0.6.
    fn default() -> Self {
        FilterParams { kept: Vec::new() }
    }
}

/// A fitted filter.
#[derive(Debug, Clone)]
pub struct ClassFilter {
    /// The map of q x q matrices as recorded in the target.
    pub map: PositiveMap,
    /// Directions that are kept; none where the filter is the identity.
    pub kept: Option<usize>,
    /// Accuracy within the source by recentring alone; none where the folds lack classes.
    pub recentring: Option<f64>,
    /// The same for each number of kept directions that was tried.
    pub tried: Vec<(usize, f64)>,
}

/// Fits a filter to recentred matrices of the source (k, q, q) with one label each, around the target's mean `centre`.
pub fn class_filter(
    images: ArrayView3<'_, f64>,
    labels: &Labels,
    centre: ArrayView2<'_, f64>,
    params: &FilterParams,
) -> Result<ClassFilter> {
    let (k, q, _) = images.dim();
    let labels = check::labels(k, labels)?;
    let (root, inverse) = roots("class filter", centre)?;
    let logs = vectors(&inverse, images)?;
    let logs = logs.into_shape_with_order((k, q, q)).map_err(|_| InputError::empty("class filter"))?;
    let x = sandwich("class filter", inverse.view(), images)?;
    let task = Task { x, logs, class: labels.indices().to_vec(), classes: labels.classes().len() };
    let default = [((3 * q) as f64 / 8.0).round() as usize];
    let wanted = if params.kept.is_empty() { &default[..] } else { &params.kept };
    let sizes: Vec<usize> = wanted.iter().copied().filter(|kept| (1..q).contains(kept)).collect();
    let scores = task.scores(&sizes)?;
    let recentring = scores.as_ref().map(|s| s[0]);
    let tried: Vec<(usize, f64)> = sizes.iter().copied().zip(scores.iter().flat_map(|s| &s[1..]).copied()).collect();
    // The first of the best; on a tie with recentring, the filter. Without scores there is no evidence, so recentring.
    let best = tried.iter().fold((None, recentring.unwrap_or(1.0)), |best, &(kept, score)| {
        let better = if best.0.is_none() { score >= best.1 } else { score > best.1 };
        if better { (Some(kept), score) } else { best }
    });
    let map = match best.0 {
        None => PositiveMap::new(Array2::<f64>::eye(q).insert_axis(Axis(0)))?,
        Some(kept) => pinching(&task.basis(&(0..k).collect::<Vec<_>>())?, kept, (&root, &inverse))?,
    };
    Ok(ClassFilter { map, kept: best.0, recentring, tried })
}

/// M^1/2 F(M^-1/2 X M^-1/2) M^1/2 as a map.
fn pinching(basis: &Array2<f64>, kept: usize, (root, inverse): (&Array2<f64>, &Array2<f64>)) -> Result<PositiveMap> {
    let q = basis.nrows();
    let mut operators = Array3::zeros((q - kept + 1, q, q));
    let blocks = std::iter::once(0..kept).chain((kept..q).map(|i| i..i + 1));
    for (mut to, block) in operators.outer_iter_mut().zip(blocks) {
        let v = basis.slice(s![.., block]);
        to.assign(&matmul(matmul(root.view(), v).view(), matmul(v.t(), inverse.view()).view()));
    }
    PositiveMap::new(operators)
}

/// Matrices around the identity, their logarithms and their classes by number.
struct Task {
    x: Array3<f64>,
    logs: Array3<f64>,
    class: Vec<usize>,
    classes: usize,
}

impl Task {
    /// Eigenvectors of the scatter between the classes of some matrices, by falling eigenvalue.
    fn basis(&self, at: &[usize]) -> Result<Array2<f64>> {
        let q = self.x.dim().1;
        let mut centre = Array2::<f64>::zeros((q, q));
        let (mut sums, mut counts) = (Array3::<f64>::zeros((self.classes, q, q)), vec![0.0; self.classes]);
        for &i in at {
            sums.index_axis_mut(Axis(0), self.class[i]).scaled_add(1.0, &self.logs.index_axis(Axis(0), i));
            centre.scaled_add(1.0 / at.len() as f64, &self.logs.index_axis(Axis(0), i));
            counts[self.class[i]] += 1.0;
        }
        let mut scatter = Array2::<f64>::zeros((q, q));
        for (sum, count) in sums.outer_iter().zip(&counts).filter(|(_, count)| **count > 0.0) {
            let d = &(&sum / *count) - &centre;
            scatter.scaled_add(count / at.len() as f64, &matmul(d.view(), d.view()));
        }
        let found = linalg::eigh(linalg::symmetrise(scatter.view()).view())?;
        Ok(found.vectors.slice(s![.., ..;-1]).as_standard_layout().into_owned())
    }

    /// Accuracy of recentring alone, then of each size; none where a fold lacks a class.
    fn scores(&self, sizes: &[usize]) -> Result<Option<Vec<f64>>> {
        let mut seen = vec![0usize; self.classes];
        let mut fold = Vec::with_capacity(self.class.len());
        for &c in &self.class {
            fold.push(seen[c] % FOLDS);
            seen[c] += 1;
        }
        if self.classes < 2 || seen.iter().any(|count| *count < FOLDS) {
            return Ok(None);
        }
        let members = |keep: &dyn Fn(usize) -> bool| (0..fold.len()).filter(|&i| keep(fold[i])).collect::<Vec<_>>();
        let choices: Vec<(usize, usize)> =
            (0..FOLDS).flat_map(|g| (0..FOLDS).filter(move |h| *h != g).map(move |h| (g, h))).collect();
        let right: Vec<Result<Vec<usize>>> = choices
            .par_iter()
            .map(|&(g, h)| {
                let (train, test) = (members(&|f| f == g), members(&|f| f == h));
                let basis = self.basis(&members(&|f| f != g && f != h))?;
                let images = sandwich("class filter", basis.t(), self.x.select(Axis(0), &train).view())?;
                let tested = sandwich("class filter", basis.t(), self.logs.select(Axis(0), &test).view())?;
                let mut right = Vec::with_capacity(sizes.len() + 1);
                let plain = sandwich("class filter", basis.t(), self.logs.select(Axis(0), &train).view())?;
                right.push(self.right(&plain, &train, &tested, &test));
                for &kept in sizes {
                    right.push(self.right(&pinched_logs(&images, kept)?, &train, &tested, &test));
                }
                Ok(right)
            })
            .collect();
        let mut sums = vec![0usize; sizes.len() + 1];
        for one in right {
            sums.iter_mut().zip(one?).for_each(|(sum, r)| *sum += r);
        }
        let tests = (self.class.len() * (FOLDS - 1)) as f64;
        Ok(Some(sums.iter().map(|&r| r as f64 / tests).collect()))
    }

    /// How many of the tested logarithms are nearest to the mean of their class.
    fn right(&self, train: &Array3<f64>, train_at: &[usize], test: &Array3<f64>, test_at: &[usize]) -> usize {
        let q = self.x.dim().1;
        let mut means = Array3::<f64>::zeros((self.classes, q, q));
        let mut counts = vec![0.0; self.classes];
        for (log, &i) in train.outer_iter().zip(train_at) {
            means.index_axis_mut(Axis(0), self.class[i]).scaled_add(1.0, &log);
            counts[self.class[i]] += 1.0;
        }
        for (mut mean, count) in means.outer_iter_mut().zip(&counts) {
            mean /= *count;
        }
        let nearest = |log: ArrayView2<'_, f64>| {
            let to = |c: usize| -> f64 {
                let mean = means.index_axis(Axis(0), c);
                log.iter().zip(mean).map(|(a, b)| (a - b) * (a - b)).sum()
            };
            (1..self.classes).fold((0, to(0)), |best, c| if to(c) < best.1 { (c, to(c)) } else { best }).0
        };
        test.outer_iter().zip(test_at).filter(|(log, i)| nearest(*log) == self.class[**i]).count()
    }
}

/// log F(X) in the basis of F: the logarithm of the kept block, and those of the other diagonal entries.
fn pinched_logs(x: &Array3<f64>, kept: usize) -> Result<Array3<f64>> {
    let mut out = Array3::<f64>::zeros(x.dim());
    out.slice_mut(s![.., ..kept, ..kept]).assign(&logm(x.slice(s![.., ..kept, ..kept]))?);
    for (mut to, x) in out.outer_iter_mut().zip(x.outer_iter()) {
        for i in kept..x.nrows() {
            to[[i, i]] = linalg::math::ln(x[[i, i]]);
        }
    }
    Ok(out)
}
