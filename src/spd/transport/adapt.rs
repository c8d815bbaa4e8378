//! From matrices to marginals (density weights), and from a plan to mapped matrices (weighted means of the best targets).

use super::sinkhorn::median;
use crate::manifold::mean::{Mean, Selection, means};
use crate::{CheckedMeanParams, Error, InputError, Metric, Result};
use ndarray::{Array1, ArrayView2, ArrayView3, Axis};

/// Kernel density as marginal weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DensityWeights {
    /// Bandwidth as a share of the median distance.
    pub bandwidth: f64,
}

impl Default for DensityWeights {
    fn default() -> Self {
        DensityWeights { bandwidth: 0.1 }
    }
}

/// Weights w_i proportional to sum_j exp(-d_ij^2 / (2 h^2)), h = bandwidth x median of the distance matrix (k, k), summing to one.
///
/// ```
/// let d = ndarray::array![[0.0, 0.1, 5.0], [0.1, 0.0, 5.0], [5.0, 5.0, 0.0]];
/// let w = spd::density_weights(d.view(), spd::DensityWeights { bandwidth: 1.0 }).unwrap();
/// assert!((w.sum() - 1.0).abs() < 1e-15 && w[0] > 1.2 * w[2]);
/// ```
pub fn density_weights(distances: ArrayView2<'_, f64>, params: DensityWeights) -> Result<Array1<f64>> {
    let what = "density_weights";
    crate::check::finite(what, &distances)?;
    let (k, m) = distances.dim();
    if k != m {
        return Err(InputError::shape(what, [k, k], [k, m]).into());
    }
    let h = params.bandwidth * median(distances.iter().copied().collect())?;
    if h.is_nan() || h <= 0.0 {
        return Err(Error::NoSpread { what });
    }
    let density: Array1<f64> = distances
        .rows()
        .into_iter()
        .map(|r| r.iter().map(|d| linalg::math::exp(-d * d / (2.0 * h * h))).sum())
        .collect();
    let total = density.sum();
    Ok(density / total)
}

/// The `k` columns of the largest entries in each row with their weights, largest first; ties go to the smaller column.
pub fn largest_in_row(plan: ArrayView2<'_, f64>, k: usize) -> Result<Vec<Selection>> {
    crate::check::finite("plan", &plan)?;
    if k == 0 {
        return Err(InputError::parameter("neighbours", 0.0, "at least 1").into());
    }
    let best = |row: ndarray::ArrayView1<'_, f64>| {
        let mut order: Selection = row.iter().copied().enumerate().collect();
        order.sort_by(|x, y| y.1.total_cmp(&x.1).then(x.0.cmp(&y.0)));
        order.truncate(k);
        order
    };
    Ok(plan.rows().into_iter().map(best).collect())
}

/// Each source mapped to the weighted affine-invariant mean of its `neighbours` best targets (k, n, n) under the plan (m, k).
pub fn barycentric_map(
    plan: ArrayView2<'_, f64>,
    targets: ArrayView3<'_, f64>,
    neighbours: usize,
    params: &CheckedMeanParams,
) -> Result<Vec<Mean>> {
    let k = targets.len_of(Axis(0));
    if plan.ncols() != k {
        return Err(InputError::shape("plan", [plan.nrows(), k], plan.shape()).into());
    }
    means(targets, &largest_in_row(plan, neighbours)?, Metric::AffineInvariant, params)
}
