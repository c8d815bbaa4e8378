//! Minimum distance to mean: one Frechet mean per class, the nearest mean wins.
//!
//! Probabilities are softmax(-d^2) over the classes, as in pyRiemann.

use crate::manifold::mean::{Mean, Selection, means};
use crate::{CheckedMeanParams, InputError, Metric, Result, check, pairwise_distances};
use estimator::Labels;
use ndarray::{Array2, Array3, ArrayView3, Axis};

/// A fitted classifier.
#[derive(Debug, Clone, PartialEq)]
pub struct Mdm {
    metric: Metric,
    classes: Vec<i64>,
    means: Vec<Mean>,
    stacked: Array3<f64>,
}

impl Mdm {
    /// Class means of the batch (k, n, n) with one label per matrix.
    ///
    /// ```
    /// use spd::{Labels, Mdm, MeanParams, Metric};
    /// let x = ndarray::arr3(&[[[1.0, 0.0], [0.0, 1.0]], [[9.0, 0.0], [0.0, 9.0]]]);
    /// let labels = Labels::new(&[1, 2]).unwrap();
    /// let mdm = Mdm::fit(x.view(), &labels, Metric::AffineInvariant, &MeanParams::default().check().unwrap()).unwrap();
    /// let near_nine = ndarray::arr3(&[[[8.0, 0.5], [0.5, 8.0]]]);
    /// assert_eq!(mdm.predict(near_nine.view()).unwrap(), [2]);
    /// ```
    pub fn fit(x: ArrayView3<'_, f64>, labels: &Labels, metric: Metric, params: &CheckedMeanParams) -> Result<Self> {
        let labels = check::labels(x.len_of(Axis(0)), labels)?;
        let classes = labels.classes().to_vec();
        if classes.len() < 2 {
            return Err(InputError::parameter("classes", classes.len() as f64, "at least 2").into());
        }
        let (means, stacked) = class_means(x, &labels, metric, params)?;
        Ok(Mdm { metric, classes, means, stacked })
    }

    /// A classifier with given class means (classes, n, n), for labels in ascending order.
    pub fn from_means(classes: Vec<i64>, means: Array3<f64>, metric: Metric) -> Result<Self> {
        if classes.len() != means.dim().0 || classes.windows(2).any(|w| w[0] >= w[1]) {
            return Err(InputError::shape("classes", [means.dim().0], [classes.len()]).into());
        }
        let given = |matrix: ndarray::ArrayView2<'_, f64>| Mean {
            matrix: matrix.to_owned(),
            iterations: 0,
            gradient: 0.0,
            converged: true,
        };
        Ok(Mdm { metric, classes, means: means.outer_iter().map(given).collect(), stacked: means })
    }

    /// Labels predicted by cross-validation: each matrix by a classifier that was fitted without its fold.
    ///
    /// Within each class the matrices are dealt to the folds in turn, in their order.
    pub fn cross_validate(
        x: ArrayView3<'_, f64>,
        labels: &Labels,
        folds: usize,
        metric: Metric,
        params: &CheckedMeanParams,
    ) -> Result<Vec<i64>> {
        let k = x.len_of(Axis(0));
        if labels.len() != k {
            return Err(InputError::shape("labels", [k], [labels.len()]).into());
        }
        if folds < 2 || folds > k {
            return Err(InputError::parameter("folds", folds as f64, "at least 2 and at most the matrices").into());
        }
        let mut seen = vec![0usize; labels.classes().len()];
        let mut fold = Vec::with_capacity(k);
        for &class in labels.indices() {
            fold.push(seen[class] % folds);
            seen[class] += 1;
        }
        let mut predicted = vec![0; k];
        for held in 0..folds {
            let part = |inside: bool| (0..k).filter(|&i| (fold[i] == held) == inside).collect::<Vec<_>>();
            let (train, test) = (part(false), part(true));
            if test.is_empty() {
                continue;
            }
            // Where each class has one matrix, the first fold holds all of them.
            let train_labels =
                labels.select(&train).map_err(|_| InputError::parameter("classes", 0.0, "at least 2"))?;
            let mdm = Mdm::fit(x.select(Axis(0), &train).view(), &train_labels, metric, params)?;
            for (i, label) in test.iter().zip(mdm.predict(x.select(Axis(0), &test).view())?) {
                predicted[*i] = label;
            }
        }
        Ok(predicted)
    }

    /// The labels, ascending. Columns of distances and probabilities are in this order.
    pub fn classes(&self) -> &[i64] {
        &self.classes
    }

    /// The mean of each class, with its convergence.
    pub fn means(&self) -> &[Mean] {
        &self.means
    }

    /// Distances to the class means, (k, classes).
    pub fn distances(&self, x: ArrayView3<'_, f64>) -> Result<Array2<f64>> {
        Ok(pairwise_distances(self.stacked.view(), x, self.metric)?.reversed_axes())
    }

    /// The label of the nearest mean; the smaller label on a tie.
    pub fn predict(&self, x: ArrayView3<'_, f64>) -> Result<Vec<i64>> {
        let nearest = |row: ndarray::ArrayView1<'_, f64>| {
            (1..row.len()).fold(0, |best, c| if row[c] < row[best] { c } else { best })
        };
        Ok(self.distances(x)?.rows().into_iter().map(|row| self.classes[nearest(row)]).collect())
    }

    /// softmax(-d^2), (k, classes); rows sum to one.
    pub fn probabilities(&self, x: ArrayView3<'_, f64>) -> Result<Array2<f64>> {
        let mut p = self.distances(x)?.mapv(|d| -d * d);
        for mut row in p.rows_mut() {
            let top = row.fold(f64::NEG_INFINITY, |m, v| m.max(*v));
            row.mapv_inplace(|v| linalg::math::exp(v - top));
            let sum = row.sum();
            row /= sum;
        }
        Ok(p)
    }

    /// Share of matrices whose predicted label is the given one.
    pub fn accuracy(&self, x: ArrayView3<'_, f64>, labels: &Labels) -> Result<f64> {
        let predicted = self.predict(x)?;
        if predicted.len() != labels.len() {
            return Err(InputError::shape("labels", [predicted.len()], [labels.len()]).into());
        }
        let hits = predicted.iter().zip(labels.values()).filter(|(a, b)| **a == *b).count();
        Ok(hits as f64 / labels.len() as f64)
    }
}

/// The mean of each class, none of them empty, and these means as one batch (classes, n, n).
pub(crate) fn class_means(
    x: ArrayView3<'_, f64>,
    labels: &Labels,
    metric: Metric,
    params: &CheckedMeanParams,
) -> Result<(Vec<Mean>, Array3<f64>)> {
    let (k, n, _) = x.dim();
    let class = labels.indices();
    let members = |c: usize| -> Selection { (0..k).filter(|&i| class[i] == c).map(|i| (i, 1.0)).collect() };
    let members: Vec<Selection> = (0..labels.classes().len()).map(members).collect();
    let means = means(x, &members, metric, params)?;
    let stacked = Array3::from_shape_fn((means.len(), n, n), |(c, i, j)| means[c].matrix[[i, j]]);
    Ok((means, stacked))
}
