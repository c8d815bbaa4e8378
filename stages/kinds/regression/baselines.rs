//! Kind `baselines`: one of the models the paper compares with, on a simulated task, best over its rank grid.
//!
//! The grid is chosen on the validation set, never on the test set; the paper reports the best rank without saying on
//! which data it was chosen.

use crate::shared::checks::at_least_one;
use crate::shared::defaults::{number, ratio};
use crate::shared::files::{input_with, read_json};
use crate::shared::rows::{Row, row, write_rows};
use crate::shared::solver::SolverChoice;
use anyhow::Result;
use baselines::{
    Fitted, Hopls, Multivariate, Optimiser, RankPath, Regressor, TensorTrain, TraceRegression, Training, Tucker,
};
use kraus::simulate::{Recipe, Samples, Split};
use ndarray::Array3;
use pipeline::{Context, ParamError, Stage, StageResult};
use serde::{Deserialize, Serialize};

/// The kind.
pub struct Baselines;

/// Which model.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Model {
    Trace,
    TracePsd,
    Multivariate,
    ReducedRank,
    Hopls,
    TensorTrain,
    Tucker,
}

/// Its parameters.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Axes of the task, here to join and to label.
    map: String,
    true_rank: usize,
    noise: f64,
    dataset: u64,
    model: Model,
    /// Training samples.
    l: usize,
    /// Ranks to choose from, for the models that have one: reduced rank, latent vectors of HOPLS, tensor ranks.
    #[serde(default = "ranks")]
    ranks: Vec<usize>,
    /// How the two networks are trained; the other models have one way each.
    #[serde(default)]
    solver: SolverChoice,
    /// Adam: samples that a network sees in training: epochs are this many over l, so that small sets get more of them.
    #[serde(default = "number::<100_000>")]
    visits: usize,
    /// Adam: samples per step.
    #[serde(default = "number::<16>")]
    batch: usize,
    /// Exact: iterations of L-BFGS at most.
    #[serde(default = "number::<1000>")]
    iterations: usize,
    /// KKT residual at which trace regression stops, relative to the gradient at zero.
    #[serde(default = "ratio::<1, 100_000_000>")]
    tolerance: f64,
    /// Validation samples, never more than training samples.
    #[serde(default = "number::<1000>")]
    validation: usize,
    /// Test samples.
    #[serde(default = "number::<1000>")]
    test: usize,
}

fn ranks() -> Vec<usize> {
    vec![1, 2, 5, 10, 20, 50, 100]
}

/// One line of the results: one rank of the grid.
#[derive(Serialize)]
struct Line<'a> {
    model: Model,
    solver: &'static str,
    map: &'a str,
    true_rank: usize,
    noise: f64,
    dataset: u64,
    l: usize,
    rank: usize,
    parameters: usize,
    train_mse: f64,
    validation_mse: f64,
    test_mse: f64,
    scale: f64,
    note: String,
}

impl Stage for Baselines {
    const NAME: &'static str = "baselines";
    const ABOUT: &'static str =
        "one of the models the paper compares with, over its grid of ranks, on a simulated task";
    const SCHEMA: u32 = 1;
    type Params = Params;

    fn check(&self, p: &Params) -> Result<(), ParamError> {
        if p.ranks.is_empty() || p.ranks.contains(&0) {
            return Err(ParamError::new("ranks", "needs at least one rank, all at least 1"));
        }
        if !(p.tolerance > 0.0 && p.tolerance < 1.0) {
            return Err(ParamError::new("tolerance", "lies between 0 and 1"));
        }
        at_least_one([
            ("l", p.l),
            ("visits", p.visits),
            ("batch", p.batch),
            ("iterations", p.iterations),
            ("validation", p.validation),
            ("test", p.test),
        ])
    }

    fn run(&self, p: &Params, ctx: &Context) -> StageResult {
        let recipe: Recipe = read_json(input_with(ctx, "task.json")?.path("task.json")?)?;
        let train: Samples<f64> = recipe.samples(Split::Train, 0..p.l);
        let held: Samples<f64> = recipe.samples(Split::Validation, 0..p.validation.min(p.l));
        let test: Samples<f64> = recipe.samples(Split::Test, 0..p.test);
        let fits = fit(p, &recipe, &train, ctx)?;
        let scale = test.clean.iter().map(|v| v * v).sum::<f64>() / test.clean.len() as f64;
        let mut rows: Vec<Row> = Vec::new();
        for (rank, fitted) in fits {
            rows.push(row(&Line {
                model: p.model,
                solver: match (p.model, p.solver) {
                    (Model::TensorTrain | Model::Tucker, SolverChoice::Adam) => "adam",
                    (Model::TensorTrain | Model::Tucker, SolverChoice::Exact) => "exact",
                    _ => "",
                },
                map: &p.map,
                true_rank: p.true_rank,
                noise: p.noise,
                dataset: p.dataset,
                l: p.l,
                rank,
                parameters: fitted.report.parameters,
                train_mse: fitted.mse(train.x.view(), train.y.view())?,
                validation_mse: fitted.mse(held.x.view(), held.y.view())?,
                test_mse: fitted.mse(test.x.view(), test.clean.view())?,
                scale,
                note: note(&fitted),
            })?);
        }
        Ok(write_rows(ctx, &rows)?)
    }
}

/// What the fit reports of itself, in words.
fn note(fitted: &Fitted) -> String {
    let report = &fitted.report;
    let chosen = report.chosen.iter().map(|(name, value)| format!("{name} {value}"));
    let kkt = report.kkt.map(|r| format!("KKT residual {r:.1e}"));
    chosen.chain(kkt).collect::<Vec<_>>().join(", ")
}

/// The fits of the grid; rank 0 stands for a model without one.
fn fit(p: &Params, recipe: &Recipe, train: &Samples<f64>, ctx: &Context) -> Result<Vec<(usize, Fitted)>> {
    let (x, y): (&Array3<f64>, &Array3<f64>) = (&train.x, &train.y);
    let optimiser = match p.solver {
        SolverChoice::Adam => Optimiser::Adam,
        SolverChoice::Exact => Optimiser::Lbfgs { iterations: p.iterations },
    };
    let (epochs, batch, seed) = (p.visits.div_ceil(p.l), p.batch, ctx.seed());
    let training = Training { optimiser, epochs, batch, seed, ..Training::default() };
    let one = |model: &dyn Regressor| -> Result<Vec<(usize, Fitted)>> { Ok(vec![(0, model.fit(x.view(), y.view())?)]) };
    let grid = |model: &dyn Fn(usize) -> Box<dyn Regressor>, max: usize| -> Result<Vec<(usize, Fitted)>> {
        let ranks: Vec<usize> = p.ranks.iter().copied().filter(|r| *r <= max).collect();
        let mut fits = Vec::new();
        for (i, &rank) in ranks.iter().enumerate() {
            anyhow::ensure!(!ctx.cancelled(), "cancelled");
            ctx.progress(i as f64 / ranks.len() as f64, &format!("rank {rank}"));
            fits.push((rank, model(rank).fit(x.view(), y.view())?));
        }
        Ok(fits)
    };
    match p.model {
        Model::Trace => one(&TraceRegression { tolerance: p.tolerance, ..TraceRegression::nuclear() }),
        Model::TracePsd => one(&TraceRegression { tolerance: p.tolerance, ..TraceRegression::psd() }),
        Model::Multivariate => one(&Multivariate::least_squares()),
        Model::Hopls => {
            let largest = p.ranks.iter().copied().max().unwrap_or(1);
            // Mode ranks: a quarter, half and all of the inputs' size, half and all of the outputs'.
            let (x, y) = (recipe.p, recipe.q);
            one(&Hopls::validated(largest, vec![x.div_ceil(4), x.div_ceil(2), x], vec![y.div_ceil(2), y]))
        }
        Model::ReducedRank => {
            let path = RankPath::fit(x.view(), y.view())?;
            p.ranks.iter().map(|&rank| Ok((rank, path.rank(rank)?))).collect()
        }
        Model::TensorTrain => {
            grid(&|r| Box::new(TensorTrain::by_sides(recipe.p, recipe.q, r, training)), recipe.p * recipe.q)
        }
        Model::Tucker => grid(&|r| Box::new(Tucker { ranks: [r; 4], training }), recipe.p.max(recipe.q)),
    }
}
