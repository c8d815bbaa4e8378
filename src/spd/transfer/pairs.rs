//! Pairs (source, mapped source) by entropic transport: each source goes to the weighted mean of the targets its plan row names.
//!
//! The cost is the squared affine-invariant distance on the common channels, either between matrices as recorded (the paper) or
//! after recentring, which leaves to the transport only what recentring cannot undo. The plan is computed by plain scaling and, where
//! that leaves the range of f64, in the log domain.

use super::recentre::{CommonChannels, Recentring, channels};
use crate::manifold::function::sandwich;
use crate::manifold::geodesic::roots;
use crate::transport::{
    DensityWeights, GroupLasso, SinkhornParams, TransportPlan, barycentric_map, density_weights,
    regularisation_from_median, sinkhorn_any, sinkhorn_group_lasso,
};
use crate::{CheckedMeanParams, InputError, Metric, Result, pairwise_distances, powm, self_distances};
use ndarray::{Array1, Array3, ArrayView3, Axis};

/// Weight of the entropy in the plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Regularisation {
    /// The paper's 2 (0.05 median)^2: it grows with the square of the cost.
    Paper,
    /// This share of the median cost: a change of the unit of the cost changes nothing.
    Relative(f64),
    /// This value.
    Absolute(f64),
}

/// Coordinates in which the cost is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostIn {
    /// Matrices as recorded.
    Recorded,
    /// The source recentred to the target.
    Recentred,
}

/// How pairs are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairsParams {
    /// Weight of the entropy.
    pub regularisation: Regularisation,
    /// Sinkhorn iterations.
    pub iterations: usize,
    /// Targets in each mean.
    pub neighbours: usize,
    /// Coordinates of the cost.
    pub cost: CostIn,
    /// The group term; used with labels only.
    pub group: GroupLasso,
    /// Whether the means are stretched around the target's mean until they spread as the targets do. A mean of neighbours lies
    /// nearer to the centre than they do, and a map learned from such pairs would learn to contract.
    pub restore_spread: bool,
}

impl PairsParams {
    /// The paper's settings: matrices as recorded, 2 (0.05 median)^2, 1000 iterations, 20 neighbours.
    pub fn paper() -> Self {
        PairsParams {
            regularisation: Regularisation::Paper,
            iterations: 1000,
            neighbours: 20,
            cost: CostIn::Recorded,
            group: GroupLasso::default(),
            restore_spread: false,
        }
    }
}

impl Default for PairsParams {
    /// Recentred, a twentieth of the median cost: see `adapt` for how it was chosen.
    fn default() -> Self {
        PairsParams {
            regularisation: Regularisation::Relative(0.05),
            cost: CostIn::Recentred,
            restore_spread: true,
            ..PairsParams::paper()
        }
    }
}

/// Mapped sources and the plan behind them.
#[derive(Debug, Clone)]
pub struct Pairs {
    /// The image of each source matrix, (k, q, q).
    pub mapped: Array3<f64>,
    /// The plan.
    pub plan: TransportPlan,
    /// Weight of the entropy that was used.
    pub regularisation: f64,
    /// Median of the cost.
    pub median_cost: f64,
    /// Means that did not reach their tolerance.
    pub unconverged_means: usize,
}

/// Maps every source matrix (k, p, p) to a mean of targets (m, q, q). With `labels`, the classes of the source, a target takes its mass
/// from one class where it can, and matrices are weighted by their density.
pub fn transport_pairs(
    source: ArrayView3<'_, f64>,
    target: ArrayView3<'_, f64>,
    labels: Option<&[i64]>,
    common: &CommonChannels,
    recentring: &Recentring,
    params: &PairsParams,
    means: &CheckedMeanParams,
) -> Result<Pairs> {
    let to = common.of_target();
    let from = match params.cost {
        CostIn::Recorded => channels(source, &common.of_source()),
        CostIn::Recentred => channels(recentring.apply(source)?.view(), &to),
    };
    let onto = channels(target, &to);
    let metric = Metric::AffineInvariant;
    let cost = pairwise_distances(from.view(), onto.view(), metric)?.mapv(|d| d * d);
    let paper = regularisation_from_median(cost.view())?;
    let median_cost = (paper / 2.0).sqrt() / 0.05;
    let regularisation = match params.regularisation {
        Regularisation::Paper => paper,
        Regularisation::Relative(share) if share > 0.0 && share.is_finite() => share * median_cost,
        Regularisation::Relative(value) => {
            return Err(InputError::parameter("relative regularisation", value, "positive and finite").into());
        }
        Regularisation::Absolute(value) => value,
    };
    let sinkhorn = SinkhornParams { regularisation, iterations: params.iterations, tolerance: 0.0 }.check()?;
    let plan = match labels {
        Some(labels) => {
            let weights = |x: &Array3<f64>| -> Result<Array1<f64>> {
                density_weights(self_distances(x.view(), metric)?.view(), DensityWeights::default())
            };
            let (a, b) = (weights(&from)?, weights(&onto)?);
            sinkhorn_group_lasso(cost.view(), a.view(), b.view(), labels, params.group, &sinkhorn)?
        }
        None => {
            let uniform = |n: usize| Array1::from_elem(n, 1.0 / n as f64);
            sinkhorn_any(cost.view(), uniform(cost.nrows()).view(), uniform(cost.ncols()).view(), &sinkhorn)?
        }
    };
    let found = barycentric_map(plan.plan.view(), target, params.neighbours, means)?;
    let (k, q) = (source.dim().0, target.dim().1);
    let mut mapped = Array3::zeros((k, q, q));
    for (mean, mut out) in found.iter().zip(mapped.axis_iter_mut(Axis(0))) {
        out.assign(&mean.matrix);
    }
    if params.restore_spread {
        mapped = stretched(mapped, target, recentring)?;
    }
    let unconverged_means = found.iter().filter(|m| !m.converged).count();
    Ok(Pairs { mapped, plan, regularisation, median_cost, unconverged_means })
}

/// The matrices raised to a power around the target's mean, so that their mean squared distance from it is that of the targets.
fn stretched(mapped: Array3<f64>, target: ArrayView3<'_, f64>, recentring: &Recentring) -> Result<Array3<f64>> {
    let (_, centre) = recentring.means();
    let spread = |x: ArrayView3<'_, f64>| -> Result<f64> {
        let d = pairwise_distances(centre.insert_axis(Axis(0)), x, Metric::AffineInvariant)?;
        Ok(d.iter().map(|d| d * d).sum::<f64>() / d.len() as f64)
    };
    let (have, want) = (spread(mapped.view())?, spread(target)?);
    if !(have > 0.0 && want > 0.0) {
        return Ok(mapped);
    }
    let (root, inverse) = roots("transport pairs", centre)?;
    let around = sandwich("transport pairs", inverse.view(), mapped.view())?;
    sandwich("transport pairs", root.view(), powm(around.view(), (want / have).sqrt())?.view())
}
