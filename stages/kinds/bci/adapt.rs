//! Kind `adapt`: the three columns of table 3 for one subject and one random choice of training matrices.
//!
//! NoAdapt: MDM trained on session T as it is. FullAdapt: on all of T mapped by optimal transport. OoSAdapt: on a random share of T
//! mapped by transport and on the rest mapped by a partial trace regression learned from that share. Tested on session E.
//!
//! The map is learned as the paper does, by `spd::learn_paper_map`, which is behind `repro adapt --paper` too.

use crate::shared::device;
use crate::shared::files::{input_with, read_npy, write_npy};
use crate::shared::params::{at_least_one, number, ratio};
use crate::shared::rows::{row, write_rows};
use crate::shared::sessions::{first_day, sessions};
use datasets::bci::Session;
use estimator::Labels;
use ndarray::{Array1, Array3, ArrayView3, Axis};
use pipeline::{Context, Environment, ParamError, Stage, StageError, StageResult};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spd::{Mdm, MeanParams, Metric, PaperMapParams};
use std::collections::BTreeMap;

/// The kind.
pub struct Adapt;

/// The artefact with the trials of the source in random order: those mapped by transport first.
pub const SPLIT: &str = "order.npy";

/// Its parameters.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Axes of the transport, here to join and to label.
    subject: u8,
    variant: String,
    /// Number of the random choice of training matrices.
    draw: u64,
    /// The session that is mapped to the other one.
    #[serde(default = "first_day")]
    source: Session,
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
#[derive(Serialize, Deserialize, Clone, Copy, Default, PartialEq, JsonSchema)]
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
    /// The session that was mapped.
    source: Session,
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
    /// How long to train and which session is the source change no start and no choice of trials.
    const SEEDLESS: &'static [&'static str] = &["epochs", "source"];
    type Params = Params;

    fn check(&self, p: &Params) -> Result<(), ParamError> {
        if !(p.share > 0.0 && p.share < 1.0) {
            return Err(ParamError::new("share", "lies between 0 and 1"));
        }
        at_least_one([("rank", p.rank), ("epochs", p.epochs), ("batch", p.batch)])
    }

    fn externals(&self, _: &Params, env: &Environment) -> Result<BTreeMap<String, String>, StageError> {
        Ok(device::externals(env))
    }

    fn run(&self, p: &Params, ctx: &Context) -> StageResult {
        let (source, target) = sessions(ctx, p.source)?;
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
        let (labels, truth) = (Labels::new(&source.labels)?, Labels::new(&target.labels)?);
        let accuracy = |train: ArrayView3<'_, f64>| -> Result<f64, spd::Error> {
            let mdm = Mdm::fit(train, &labels, Metric::AffineInvariant, &params)?;
            Ok(100.0 * mdm.accuracy(target.matrices.view(), &truth)?)
        };
        let line = Line {
            subject: p.subject,
            variant: &p.variant,
            draw: p.draw,
            source: p.source,
            classes: labels.classes().len(),
            trained_on: known.len(),
            mapped_by_model: new.len(),
            no_adapt: accuracy(source.matrices.view())?,
            full_adapt: accuracy(mapped.view())?,
            oos_adapt: accuracy(oos.view())?,
            model_error,
            data: serde_json::to_value(source.provenance.kind)?.as_str().unwrap_or_default().to_owned(),
        };
        write_npy(&ctx.output("adapted.npy")?, &oos)?;
        write_npy(&ctx.output(SPLIT)?, &order.iter().map(|&i| i as i64).collect::<Array1<i64>>())?;
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
    let scaling = match p.scaling {
        Scaling::Unit => spd::Scaling::Unit,
        Scaling::Whitened => spd::Scaling::Whitened,
    };
    let (rank, epochs, batch, learning_rate) = (p.rank, p.epochs, p.batch, p.learning_rate);
    let params = PaperMapParams { rank, epochs, batch, learning_rate, scaling, seed: ctx.seed() };
    let map = spd::learn_paper_map_by(x.view(), y.view(), &params, &mut |problem, trial| {
        device::train_one(ctx, problem, trial, |now| {
            ctx.progress(now.epoch as f64 / now.max as f64, &format!("loss {:.3e}", now.loss));
        })
        .map_err(|e| spd::Error::Training(format!("{e:#}")))
    })?;
    Ok(map.apply(new.view())?)
}
