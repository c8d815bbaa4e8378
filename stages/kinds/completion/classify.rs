//! Kind `classify`: a support vector machine on average kernels, by repeated stratified splits with C chosen inside each.

use crate::shared::files::{input_with, inputs_with, read_json, read_npy};
use crate::shared::rows::{Row, row, write_rows};
use anyhow::anyhow;
use baselines::svm::{Protocol, Reported};
use estimator::Labels;
use ndarray::{Array1, Array2};
use pipeline::{Context, ParamError, Stage, StageResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind.
pub struct Classify;

/// Its parameters.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Axes of the completed kernels, here to join; none for the full kernels.
    #[serde(default)]
    level: Option<f64>,
    #[serde(default)]
    mask: Option<u64>,
    /// Random splits.
    #[serde(default = "splits")]
    splits: usize,
    /// Folds of the inner cross-validation.
    #[serde(default = "folds")]
    folds: usize,
    /// Values of C it chooses from.
    #[serde(default = "c")]
    c: Vec<f64>,
    /// Share of each class that trains.
    #[serde(default = "half")]
    train: f64,
    /// Who trains the machine whose accuracy is reported.
    #[serde(default)]
    solver: Machine,
}

#[derive(Serialize, Deserialize, Clone, Copy, Default, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Machine {
    /// linfa-svm.
    #[default]
    Linfa,
    /// Our own solver, which also chooses C.
    Smo,
}

/// The C of the rows' `accuracy_fixed_c`.
const FIXED_C: f64 = 100.0;

fn splits() -> usize {
    Protocol::default().splits
}
fn folds() -> usize {
    Protocol::default().folds
}
fn c() -> Vec<f64> {
    Protocol::default().c
}
fn half() -> f64 {
    Protocol::default().train
}

impl Stage for Classify {
    const NAME: &'static str = "classify";
    const ABOUT: &'static str = "accuracy of a support vector machine on average kernels";
    type Params = Params;

    fn check(&self, p: &Params) -> Result<(), ParamError> {
        if p.splits == 0 || p.folds < 2 {
            return Err(ParamError::new("splits", "at least one split and two folds are needed"));
        }
        if p.c.is_empty() || p.c.iter().any(|c| !(*c > 0.0 && c.is_finite())) {
            return Err(ParamError::new("c", "is a list of positive numbers"));
        }
        if !(p.train > 0.0 && p.train < 1.0) {
            return Err(ParamError::new("train", "lies strictly between 0 and 1"));
        }
        Ok(())
    }

    fn run(&self, p: &Params, ctx: &Context) -> StageResult {
        let labels: Array1<i64> = read_npy(input_with(ctx, "labels.npy")?.path("labels.npy")?)?;
        let labels = Labels::new(&labels.to_vec())?;
        // The same splits for every kernel: differences between methods are not differences between splits.
        let reported = match p.solver {
            Machine::Linfa => Reported::Linfa,
            Machine::Smo => Reported::Smo,
        };
        let (splits, folds, c, train) = (p.splits, p.folds, p.c.clone(), p.train);
        // Beside the chosen C a fixed large one: how much of the accuracy the choice of C makes.
        let fixed_c = Some(FIXED_C);
        let protocol = Protocol { reported, fixed_c, splits, folds, c, train, ..Protocol::default() };
        let kernels = inputs_with(ctx, "average.npy")?;
        let mut rows = Vec::new();
        for (k, input) in kernels.iter().enumerate() {
            ctx.progress(k as f64 / kernels.len() as f64, &input.id);
            let average: Array2<f64> = read_npy(input.path("average.npy")?)?;
            let report = protocol.evaluate(average.view(), &labels)?;
            let mut line: Row = read_json(input.path("about.json")?)?;
            line.extend(row(&serde_json::json!({
                "measure": "accuracy",
                "splits": p.splits,
                "accuracy": 100.0 * report.mean,
                "accuracy_sd": 100.0 * report.deviation,
                "accuracy_fixed_c": report.fixed_mean.map(|mean| 100.0 * mean),
                "negative": report.negative,
                "negative_mass": report.negative_mass,
            }))?);
            rows.push(line);
            if ctx.cancelled() {
                return Err(anyhow!("cancelled").into());
            }
        }
        if rows.is_empty() {
            return Err(anyhow!("no input has an average kernel; check `needs`").into());
        }
        Ok(write_rows(ctx, &rows)?)
    }
}
