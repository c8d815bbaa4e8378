//! Pairs (source, mapped source) by entropic transport: each source goes to the weighted mean of the targets its plan row names.
//!
//! | [`CostIn`] | cost on the common channels | mean of targets |
//! |---|---|---|
//! | `Recorded` (the paper) | squared affine-invariant distance between matrices as recorded | affine-invariant |
//! | `Recentred` | squared distance of tangent vectors at the target's mean, the source recentred | of tangent vectors |
//!
//! Recentring leaves to the transport only what it cannot undo. Both clouds then lie around one point, where tangent vectors tell the
//! distance well, and one product of matrices takes the place of an eigenvalue problem per pair.
//! The plan is computed by plain scaling and, where that leaves the range of f64, in the log domain.

use super::recentre::{CommonChannels, Recentring, channels};
use crate::manifold::function::{one, sandwich};
use crate::manifold::geodesic::roots;
use crate::transport::{
    DensityWeights, GroupLasso, SinkhornParams, TransportPlan, barycentric_map, density_weights, largest_in_row,
    regularisation_from_median, sinkhorn_any, sinkhorn_group_lasso,
};
use crate::{CheckedMeanParams, InputError, Metric, Result, expm, logm, pairwise_distances, self_distances};
use estimator::Labels;
use ndarray::{Array1, Array2, Array3, ArrayView2, ArrayView3, Axis};

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
    /// Tangent vectors at the target's mean, the source recentred to it.
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
    /// Whether the means of tangent vectors are stretched around the target's mean until they spread as the targets do. A mean of neighbours lies
    /// nearer to the centre than they do, and a map learned from such pairs would learn to contract. Only with [`CostIn::Recentred`].
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
    labels: Option<&Labels>,
    common: &CommonChannels,
    recentring: &Recentring,
    params: &PairsParams,
    means: &CheckedMeanParams,
) -> Result<Pairs> {
    let clouds = Clouds::new(source, target, common, recentring, params.cost)?;
    let cost = clouds.between()?.mapv(|d| d * d);
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
            let weights = |d: Array2<f64>| density_weights(d.view(), DensityWeights::default());
            let (a, b) = (weights(clouds.within_source()?)?, weights(clouds.within_target()?)?);
            sinkhorn_group_lasso(cost.view(), a.view(), b.view(), labels, params.group, &sinkhorn)?
        }
        None => {
            let uniform = |n: usize| Array1::from_elem(n, 1.0 / n as f64);
            sinkhorn_any(cost.view(), uniform(cost.nrows()).view(), uniform(cost.ncols()).view(), &sinkhorn)?
        }
    };
    let (mapped, unconverged_means) = match params.cost {
        CostIn::Recorded => {
            let found = barycentric_map(plan.plan.view(), target, params.neighbours, means)?;
            let mut mapped = Array3::zeros((source.dim().0, target.dim().1, target.dim().1));
            for (mean, mut out) in found.iter().zip(mapped.axis_iter_mut(Axis(0))) {
                out.assign(&mean.matrix);
            }
            (mapped, found.iter().filter(|m| !m.converged).count())
        }
        CostIn::Recentred => (tangent_means(plan.plan.view(), target, recentring, params)?, 0),
    };
    Ok(Pairs { mapped, plan, regularisation, median_cost, unconverged_means })
}

/// Both sets on the common channels, as the distances need them.
enum Clouds {
    Matrices(Array3<f64>, Array3<f64>),
    /// One row per matrix.
    Vectors(Array2<f64>, Array2<f64>),
}

impl Clouds {
    fn new(
        source: ArrayView3<'_, f64>,
        target: ArrayView3<'_, f64>,
        common: &CommonChannels,
        recentring: &Recentring,
        cost: CostIn,
    ) -> Result<Self> {
        let to = common.of_target();
        let onto = channels(target, &to);
        if cost == CostIn::Recorded {
            return Ok(Clouds::Matrices(channels(source, &common.of_source()), onto));
        }
        let from = channels(recentring.apply(source)?.view(), &to);
        let centre = recentring.means().1.select(Axis(0), &to).select(Axis(1), &to);
        let whiten = one("transport pairs", centre.view(), |v| 1.0 / v.sqrt())?;
        Ok(Clouds::Vectors(vectors(&whiten, from.view())?, vectors(&whiten, onto.view())?))
    }

    fn between(&self) -> Result<Array2<f64>> {
        match self {
            Clouds::Matrices(a, b) => pairwise_distances(a.view(), b.view(), Metric::AffineInvariant),
            Clouds::Vectors(a, b) => Ok(flat_distances(a, b)),
        }
    }

    fn within_source(&self) -> Result<Array2<f64>> {
        match self {
            Clouds::Matrices(a, _) => self_distances(a.view(), Metric::AffineInvariant),
            Clouds::Vectors(a, _) => Ok(flat_distances(a, a)),
        }
    }

    fn within_target(&self) -> Result<Array2<f64>> {
        match self {
            Clouds::Matrices(_, b) => self_distances(b.view(), Metric::AffineInvariant),
            Clouds::Vectors(_, b) => Ok(flat_distances(b, b)),
        }
    }
}

/// log(W X W) of every matrix, one row each.
pub(super) fn vectors(whiten: &Array2<f64>, x: ArrayView3<'_, f64>) -> Result<Array2<f64>> {
    let logs = logm(sandwich("transport pairs", whiten.view(), x)?.view())?;
    let (k, n, _) = logs.dim();
    logs.into_shape_with_order((k, n * n)).map_err(|_| InputError::empty("transport pairs").into())
}

/// Euclidean distances between the rows of a and of b, by one product: |a - b|^2 = |a|^2 + |b|^2 - 2 <a, b>.
pub(super) fn flat_distances(a: &Array2<f64>, b: &Array2<f64>) -> Array2<f64> {
    let squares = |x: &Array2<f64>| x.map_axis(Axis(1), |row| row.iter().map(|v| v * v).sum::<f64>());
    let (aa, bb) = (squares(a), squares(b));
    let mut d = linalg::matmul(a.view(), b.t());
    for ((i, j), d) in d.indexed_iter_mut() {
        *d = (aa[i] + bb[j] - 2.0 * *d).max(0.0).sqrt();
    }
    d
}

/// The means of tangent vectors that the rows of the plan name, as matrices; stretched around the target's mean, if wanted, until
/// their mean squared length is that of the targets.
fn tangent_means(
    plan: ArrayView2<'_, f64>,
    target: ArrayView3<'_, f64>,
    recentring: &Recentring,
    params: &PairsParams,
) -> Result<Array3<f64>> {
    let (_, centre) = recentring.means();
    let (root, inverse) = roots("transport pairs", centre)?;
    let to = vectors(&inverse, target)?;
    let (k, q) = (plan.nrows(), target.dim().1);
    let mut images = Array2::<f64>::zeros((k, q * q));
    for (chosen, mut image) in largest_in_row(plan, params.neighbours)?.iter().zip(images.rows_mut()) {
        let total: f64 = chosen.iter().map(|c| c.1).sum();
        for &(j, weight) in chosen {
            image.scaled_add(weight / total, &to.row(j));
        }
    }
    if params.restore_spread {
        let spread = |x: &Array2<f64>| x.iter().map(|v| v * v).sum::<f64>() / x.nrows() as f64;
        let (have, want) = (spread(&images), spread(&to));
        if have > 0.0 && want > 0.0 {
            images *= (want / have).sqrt();
        }
    }
    let images = images.into_shape_with_order((k, q, q)).map_err(|_| InputError::empty("transport pairs"))?;
    sandwich("transport pairs", root.view(), expm(images.view())?.view())
}
