//! Kind `transport`: optimal transport of a subject's session T to session E, and the mapped matrices.
//!
//! Cost: squared affine-invariant distance. `unsupervised` is the paper's: uniform weights, entropic plan. `labels` is the other
//! variant of Yair et al. 2019: weights from a kernel density and a group-lasso term on the classes of session T.
//! Each matrix of T is mapped to the weighted Riemannian mean of the 20 matrices of E with the largest weights in its row.

use crate::shared::defaults::number;
use crate::shared::files::{write_json, write_npy};
use crate::shared::sessions::sessions;
use ndarray::{Array1, Array3, Axis};
use pipeline::{Context, Stage, StageResult};
use serde::{Deserialize, Serialize};
use spd::{
    DensityWeights, Error, GroupLasso, MeanParams, Metric, SinkhornParams, TransportPlan, barycentric_map,
    density_weights, pairwise_distances, regularisation_from_median, self_distances, sinkhorn, sinkhorn_group_lasso,
    sinkhorn_log,
};

/// The kind.
pub struct Transport;

/// Its parameters.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Axis of the subjects, here only to join.
    subject: u8,
    /// `unsupervised` or `labels`.
    variant: Variant,
    /// Sinkhorn iterations.
    #[serde(default = "number::<1000>")]
    iterations: usize,
    /// Matrices of session E in the mean.
    #[serde(default = "number::<20>")]
    neighbours: usize,
}

#[derive(Serialize, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Variant {
    Unsupervised,
    Labels,
}

/// What the plan has to report.
#[derive(Serialize)]
struct Info {
    median_cost: f64,
    regularisation: f64,
    transport_cost: f64,
    marginal_error: f64,
    iterations: usize,
    /// `plain`, or `log` where the plain iteration underflowed.
    domain: &'static str,
    /// Riemannian means that did not reach their tolerance.
    unconverged_means: usize,
}

impl Stage for Transport {
    const NAME: &'static str = "transport";
    const ABOUT: &'static str = "optimal transport of one subject's first session to the second";
    const SCHEMA: u32 = 1;
    type Params = Params;

    fn run(&self, p: &Params, ctx: &Context) -> StageResult {
        let (source, target) = sessions(ctx)?;
        let cost = pairwise_distances(source.matrices.view(), target.matrices.view(), Metric::AffineInvariant)?
            .mapv(|d| d * d);
        let regularisation = regularisation_from_median(cost.view())?;
        let sinkhorn_params = SinkhornParams { regularisation, iterations: p.iterations, tolerance: 0.0 }.check()?;
        let uniform = |n: usize| Array1::from_elem(n, 1.0 / n as f64);
        let (plan, domain): (TransportPlan, _) = match p.variant {
            Variant::Unsupervised => {
                let (a, b) = (uniform(cost.nrows()), uniform(cost.ncols()));
                match sinkhorn(cost.view(), a.view(), b.view(), &sinkhorn_params) {
                    Err(Error::Underflow { .. }) => {
                        ctx.log("the plain iteration underflowed; using the log domain");
                        (sinkhorn_log(cost.view(), a.view(), b.view(), &sinkhorn_params)?, "log")
                    }
                    other => (other?, "plain"),
                }
            }
            Variant::Labels => {
                let weights = |x: &Array3<f64>| -> Result<Array1<f64>, Error> {
                    density_weights(
                        self_distances(x.view(), Metric::AffineInvariant)?.view(),
                        DensityWeights::default(),
                    )
                };
                let (a, b) = (weights(&source.matrices)?, weights(&target.matrices)?);
                let group = GroupLasso::default();
                (
                    sinkhorn_group_lasso(cost.view(), a.view(), b.view(), &source.labels, group, &sinkhorn_params)?,
                    "plain",
                )
            }
        };
        ctx.progress(0.5, "mapping");
        let means =
            barycentric_map(plan.plan.view(), target.matrices.view(), p.neighbours, &MeanParams::default().check()?)?;
        let mut mapped = Array3::zeros(source.matrices.dim());
        for (mean, mut out) in means.iter().zip(mapped.axis_iter_mut(Axis(0))) {
            out.assign(&mean.matrix);
        }
        let info = Info {
            median_cost: 2.0f64.recip().sqrt() * regularisation.sqrt() / 0.05,
            regularisation,
            transport_cost: plan.cost,
            marginal_error: plan.marginal_error,
            iterations: plan.iterations,
            domain,
            unconverged_means: means.iter().filter(|m| !m.converged).count(),
        };
        write_npy(&ctx.output("mapped.npy")?, &mapped)?;
        write_npy(&ctx.output("plan.npy")?, &plan.plan)?;
        write_json(&ctx.output("transport.json")?, &info)?;
        Ok(())
    }
}
