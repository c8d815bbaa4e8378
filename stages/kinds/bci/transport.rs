//! Kind `transport`: optimal transport of a subject's one session to the other (T to E unless `source` says E), and the mapped matrices.
//!
//! Cost: squared affine-invariant distance. `unsupervised` is the paper's: uniform weights, entropic plan. `labels` is the other
//! variant of Yair et al. 2019: weights from a kernel density and a group-lasso term on the classes of session T.
//! Each matrix of T is mapped to the weighted Riemannian mean of the 20 matrices of E with the largest weights in its row.

use crate::shared::files::{write_json, write_npy};
use crate::shared::params::number;
use crate::shared::sessions::{first_day, sessions};
use datasets::bci::Session;
use estimator::Labels;
use pipeline::{Context, Stage, StageResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spd::{CommonChannels, MeanParams, Pairs, PairsParams, Recentring, transport_pairs};

/// The kind.
pub struct Transport;

/// Its parameters.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Axis of the subjects, here only to join.
    subject: u8,
    /// `unsupervised` or `labels`.
    variant: Variant,
    /// The session that is mapped to the other one.
    #[serde(default = "first_day")]
    source: Session,
    /// Sinkhorn iterations.
    #[serde(default = "number::<1000>")]
    iterations: usize,
    /// Matrices of session E in the mean.
    #[serde(default = "number::<20>")]
    neighbours: usize,
}

#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, JsonSchema)]
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
    type Params = Params;

    fn run(&self, p: &Params, ctx: &Context) -> StageResult {
        let (source, target) = sessions(ctx, p.source)?;
        let (x, y) = (source.matrices.view(), target.matrices.view());
        let labels = (p.variant == Variant::Labels).then(|| Labels::new(&source.labels)).transpose()?;
        let means = MeanParams::default().check()?;
        let common = CommonChannels::all(y.dim().1);
        let recentring = Recentring::fit(x, y, &common, &means)?;
        let params = PairsParams { iterations: p.iterations, neighbours: p.neighbours, ..PairsParams::paper() };
        let pairs = transport_pairs(x, y, labels.as_ref(), &common, &recentring, &params, &means)?;
        if pairs.plan.log_domain {
            ctx.log("the plain iteration underflowed; used the log domain");
        }
        let Pairs { mapped, plan, regularisation, median_cost, unconverged_means } = pairs;
        let info = Info {
            median_cost,
            regularisation,
            transport_cost: plan.cost,
            marginal_error: plan.marginal_error,
            iterations: plan.iterations,
            domain: if plan.log_domain { "log" } else { "plain" },
            unconverged_means,
        };
        write_npy(&ctx.output("mapped.npy")?, &mapped)?;
        write_npy(&ctx.output("plan.npy")?, &plan.plan)?;
        write_json(&ctx.output("transport.json")?, &info)?;
        Ok(())
    }
}
