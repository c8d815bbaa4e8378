//! Missing samples from other views of the same samples, by kernel ridge regression.
//!
//! With S the average of the other views, each scaled to mean diagonal one, H = I - 11^T/k and k seen samples, a missing sample m is placed at
//!
//! F_m = mean(F) + (S_ms - mean) (H S_ss H + rho I)^-1 H F.
//!
//! The weights of F sum to one. One decomposition of H S_ss H gives them for every rho.

use super::super::partial::Partial;
use crate::error::Result;
use linalg::eigh;
use ndarray::{Array1, Array2, ArrayView2, Axis};

/// The average of the views, each scaled to mean diagonal one; a pair that no view shows gets zero, which says "unrelated".
pub(super) fn average(n: usize, views: &[Partial]) -> Option<Array2<f64>> {
    if views.is_empty() {
        return None;
    }
    let (mut sum, mut count) = (Array2::<f64>::zeros((n, n)), Array2::<f64>::zeros((n, n)));
    for view in views {
        let seen: Vec<usize> = (0..n).filter(|i| view.mask()[[*i, *i]]).collect();
        let level = seen.iter().map(|i| view.values()[[*i, *i]]).sum::<f64>() / seen.len().max(1) as f64;
        if level > 0.0 {
            sum.scaled_add(1.0 / level, &view.values());
            count += &view.weights();
        }
    }
    ndarray::Zip::from(&mut sum).and(&count).for_each(|s, c| *s /= c.max(1.0));
    Some(sum)
}

/// The regression, decomposed.
pub(super) struct Regression {
    /// Eigenvalues of H S_ss H, none negative.
    values: Array1<f64>,
    vectors: Array2<f64>,
    /// (S_ms centred) V, (m, k).
    right: Array2<f64>,
}

impl Regression {
    /// From the samples `near` to the samples `far` of the side kernel.
    pub fn new(side: ArrayView2<'_, f64>, near: &[usize], far: &[usize]) -> Result<Self> {
        let inner = side.select(Axis(0), near).select(Axis(1), near);
        let cross = side.select(Axis(0), far).select(Axis(1), near);
        let columns = inner.mean_axis(Axis(0)).unwrap_or_default(); // one sample at least is seen
        let grand = columns.mean().unwrap_or(0.0);
        let centred = Array2::from_shape_fn(inner.dim(), |(i, j)| inner[[i, j]] - columns[i] - columns[j] + grand);
        let own: Vec<f64> = cross.rows().into_iter().map(|r| r.mean().unwrap_or(0.0)).collect();
        let right = Array2::from_shape_fn(cross.dim(), |(a, j)| cross[[a, j]] - own[a] - columns[j] + grand);
        let e = eigh(linalg::symmetrise(centred.view()).view())?;
        // The average over views that miss different rows need not be positive semidefinite: the spectrum is lifted.
        let least = e.values[0].min(0.0);
        let right = super::spectrum::product(right.view(), e.vectors.view());
        Ok(Self { values: e.values.mapv(|v| v - least), vectors: e.vectors, right })
    }

    /// Weights (m, k) for one penalty; each row sums to one.
    pub fn weights(&self, rho: f64) -> Array2<f64> {
        let scaled = &self.right / &self.values.mapv(|v| v + rho);
        let mut weights = super::spectrum::product(scaled.view(), self.vectors.t());
        let k = weights.ncols() as f64;
        // H on the right of the inverse: the regression predicts deviations from the mean, so its own weights sum to zero.
        for mut row in weights.rows_mut() {
            let off = (row.sum() - 1.0) / k;
            row.mapv_inplace(|v| v - off);
        }
        weights
    }
}
