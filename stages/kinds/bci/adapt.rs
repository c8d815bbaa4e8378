//! Kind `adapt`: the three columns of table 3 for one subject and one random choice of training matrices.
//!
//! NoAdapt: MDM trained on session T as it is. FullAdapt: on all of T mapped by optimal transport. OoSAdapt: on a random share of T
//! mapped by transport and on the rest mapped by a partial trace regression learned from that share. Tested on session E.
//!
//! The fit sees the matrices in other coordinates: C X C and D Y D with symmetric C and D ([`Scaling`]). A Kraus map in these
//! coordinates is a Kraus map of the same rank in the old ones, so the model is the paper's; only the weight changes
//! that the square loss gives to directions of little power. The classifier's geometry counts them as much as the strong ones.

use crate::shared::checks::at_least_one;
use crate::shared::defaults::{number, ratio};
use crate::shared::files::{input_with, read_npy, write_npy};
use crate::shared::rows::{row, write_rows};
use crate::shared::sessions::sessions;
use kraus::{AdamParams, Flow, Problem, Session, Solver, Start, Stopping};
use ndarray::{Array2, Array3, ArrayView3, Axis};
use pipeline::{Context, ParamError, Stage, StageResult};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use spd::{Mdm, MeanParams, Metric};

/// The kind.
pub struct Adapt;

/// Its parameters.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Axes of the transport, here to join and to label.
    subject: u8,
    variant: String,
    /// Number of the random choice of training matrices.
    draw: u64,
    /// Share of session T that is mapped by transport; the paper takes 230 of about 270 to 288.
    #[serde(default = "ratio::<8, 10>")]
    share: f64,
    /// Kraus rank.
    #[serde(default = "number::<20>")]
    rank: usize,
    /// Adam: epochs (the paper's 500 iterations are best read so), batch, learning rate.
    #[serde(default = "number::<500>")]
    epochs: usize,
    #[serde(default = "number::<16>")]
    batch: usize,
    #[serde(default = "ratio::<1, 1000>")]
    learning_rate: f64,
    /// Coordinates in which the map is learned.
    #[serde(default)]
    scaling: Scaling,
}

/// Coordinates in which the map is learned, from the training matrices alone.
#[derive(Serialize, Deserialize, Clone, Copy, Default, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Scaling {
    /// As recorded, in units of the mean eigenvalue of the inputs.
    Unit,
    /// C = M^-1/2 with M the Riemannian mean of the inputs, D likewise of the targets: both clouds lie around the identity.
    #[default]
    Whitened,
}

/// One line of the results, accuracies in percent.
#[derive(Serialize)]
struct Line<'a> {
    subject: u8,
    variant: &'a str,
    draw: u64,
    classes: usize,
    trained_on: usize,
    mapped_by_model: usize,
    no_adapt: f64,
    full_adapt: f64,
    oos_adapt: f64,
    /// Mean square error of the model on the matrices it was not trained on, as a share of their mean square.
    model_error: f64,
    data: String,
}

impl Stage for Adapt {
    const NAME: &'static str = "adapt";
    const ABOUT: &'static str =
        "out-of-sample adaptation of BCI covariances: no, full and learned mapping compared by MDM";
    const SCHEMA: u32 = 1;
    type Params = Params;

    fn check(&self, p: &Params) -> Result<(), ParamError> {
        if !(p.share > 0.0 && p.share < 1.0) {
            return Err(ParamError::new("share", "lies between 0 and 1"));
        }
        at_least_one([("rank", p.rank), ("epochs", p.epochs), ("batch", p.batch)])
    }

    fn run(&self, p: &Params, ctx: &Context) -> StageResult {
        let (source, target) = sessions(ctx)?;
        let mapped: Array3<f64> = read_npy(input_with(ctx, "mapped.npy")?.path("mapped.npy")?)?;
        let n = mapped.len_of(Axis(0));
        let mut order: Vec<usize> = (0..n).collect();
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(ctx.seed()));
        let (known, new) = order.split_at(((n as f64 * p.share).round() as usize).clamp(1, n - 1));

        let predicted = learn(
            p,
            ctx,
            &source.matrices.select(Axis(0), known),
            &mapped.select(Axis(0), known),
            &source.matrices.select(Axis(0), new),
        )?;
        let held = mapped.select(Axis(0), new);
        let square = |a: &Array3<f64>| a.iter().map(|v| v * v).sum::<f64>();
        let model_error = square(&(&predicted - &held)) / square(&held);
        let mut oos = mapped.clone();
        for (&i, image) in new.iter().zip(predicted.axis_iter(Axis(0))) {
            oos.index_axis_mut(Axis(0), i).assign(&image);
        }

        let params = MeanParams::default().check()?;
        let accuracy = |train: ArrayView3<'_, f64>| -> Result<f64, spd::Error> {
            let mdm = Mdm::fit(train, &source.labels, Metric::AffineInvariant, &params)?;
            Ok(100.0 * mdm.accuracy(target.matrices.view(), &target.labels)?)
        };
        let mut classes = source.labels.clone();
        classes.sort_unstable();
        classes.dedup();
        let line = Line {
            subject: p.subject,
            variant: &p.variant,
            draw: p.draw,
            classes: classes.len(),
            trained_on: known.len(),
            mapped_by_model: new.len(),
            no_adapt: accuracy(source.matrices.view())?,
            full_adapt: accuracy(mapped.view())?,
            oos_adapt: accuracy(oos.view())?,
            model_error,
            data: serde_json::to_value(source.provenance.kind)?.as_str().unwrap_or_default().to_owned(),
        };
        write_npy(&ctx.output("adapted.npy")?, &oos)?;
        Ok(write_rows(ctx, &[row(&line)?])?)
    }
}

/// The images of `new` under the map learned from `x` to `y`.
fn learn(
    p: &Params,
    ctx: &Context,
    x: &Array3<f64>,
    y: &Array3<f64>,
    new: &Array3<f64>,
) -> anyhow::Result<Array3<f64>> {
    let size = x.dim().1;
    let (source, target) = match p.scaling {
        Scaling::Unit => {
            let unit = x.outer_iter().map(|m| m.diag().sum()).sum::<f64>() / (x.dim().0 * size) as f64;
            let matrix = Array2::eye(size) * unit;
            (matrix.clone(), matrix)
        }
        Scaling::Whitened => {
            let params = MeanParams::default().check()?;
            let mean = |a: &Array3<f64>| spd::mean(a.view(), None, Metric::AffineInvariant, &params);
            (mean(x)?.matrix, mean(y)?.matrix)
        }
    };
    let batch_of_one = |m: Array2<f64>| m.insert_axis(Axis(0));
    let (source, target) = (batch_of_one(source), batch_of_one(target));
    let into = |around: &Array3<f64>| spd::invsqrtm(around.view()).map(|m| m.index_axis_move(Axis(0), 0));
    let (c, d) = (into(&source)?, into(&target)?);
    let back = spd::sqrtm(target.view())?.index_axis_move(Axis(0), 0);
    let single = |a: Array3<f64>| a.mapv(|v| v as f32);
    let (x, y, new) = (single(congruence(&c, x)), single(congruence(&d, y)), single(congruence(&c, new)));
    let problem = Problem::matrices(x.view(), y.view())?;
    let (stopping, batch, rate, seed) = (Stopping::after(p.epochs), p.batch, p.learning_rate, ctx.seed());
    let solver = AdamParams { stopping, batch, rate, seed, ..AdamParams::default() }.check()?;
    let mut watch = |now: &kraus::Progress| {
        ctx.progress(now.epoch as f64 / now.max as f64, &format!("loss {:.3e}", now.loss));
        if ctx.cancelled() { Flow::Cancel } else { Flow::Continue }
    };
    let mut session = Session { validation: None, watch: Some(&mut watch) };
    let fit = solver.fit_with(&problem, Start::single(size, size, p.rank, ctx.seed()), &mut session)?;
    anyhow::ensure!(!ctx.cancelled(), "cancelled");
    let images = fit.model.apply_batch(new.view())?.mapv(f64::from);
    Ok(congruence(&back, &images))
}

/// C X C for every X, symmetric to the last bit: what f32 and the products round off is shared by both triangles.
fn congruence(c: &Array2<f64>, x: &Array3<f64>) -> Array3<f64> {
    let mut out = Array3::zeros(x.dim());
    for (mut to, from) in out.outer_iter_mut().zip(x.outer_iter()) {
        to.assign(&linalg::symmetrise(c.dot(&from).dot(c).view()));
    }
    out
}
