//! Kind `baselines`: one of the models the paper compares with, on a simulated task, best over its rank grid.
//!
//! The grid is chosen on the validation set, never on the test set; the paper reports the best rank without saying on
//! which data it was chosen.

use crate::shared::files::{input_with, read_json};
use crate::shared::params::{SolverChoice, at_least_one, number, ratio};
use crate::shared::rows::{Row, Task, row, write_rows};
use anyhow::Result;
use baselines::{
    Baseline, Hopls, Multivariate, Optimiser, RankPath, ReducedRank, TensorTrain, TraceRegression, Training, Tucker,
};
use estimator::{MatrixModel, ParamGuard, Regressor};
use kraus::simulate::{Recipe, Samples, Split};
use pipeline::{Context, ParamError, Stage, StageResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind.
pub struct Baselines;

/// Which model.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, JsonSchema)]
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
#[derive(Serialize, Deserialize, JsonSchema)]
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
    #[serde(flatten)]
    task: Task<'a>,
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
    /// How long to train changes no start.
    const SEEDLESS: &'static [&'static str] = &["visits", "iterations", "tolerance"];
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
        for (rank, model) in fits {
            rows.push(row(&Line {
                model: p.model,
                solver: match (p.model, p.solver) {
                    (Model::TensorTrain | Model::Tucker, SolverChoice::Adam) => "adam",
                    (Model::TensorTrain | Model::Tucker, SolverChoice::Exact) => "exact",
                    _ => "",
                },
                task: Task { map: &p.map, true_rank: p.true_rank, noise: p.noise, dataset: p.dataset, l: p.l, rank },
                parameters: model.parameters(),
                train_mse: model.mean_squared_error(train.x.view(), train.y.view())?,
                validation_mse: model.mean_squared_error(held.x.view(), held.y.view())?,
                test_mse: model.mean_squared_error(test.x.view(), test.clean.view())?,
                scale,
                note: model.notes().join(", "),
            })?);
        }
        Ok(write_rows(ctx, &rows)?)
    }
}

/// The estimators of table 2 with their ranks; rank 0 stands for a model without one.
fn estimators(p: &Params, recipe: &Recipe, seed: u64) -> Result<Vec<(usize, Box<dyn Regressor>)>> {
    let optimiser = match p.solver {
        SolverChoice::Adam => Optimiser::Adam,
        SolverChoice::Exact => Optimiser::Lbfgs { iterations: p.iterations },
    };
    let (epochs, batch) = (p.visits.div_ceil(p.l), p.batch);
    let training = Training { optimiser, epochs, batch, seed, ..Training::default() };
    let ranks = |most: usize| p.ranks.iter().copied().filter(move |r| *r <= most);
    let trace = |penalty: TraceRegression| one(TraceRegression { tolerance: p.tolerance, ..penalty });
    match p.model {
        Model::Trace => trace(TraceRegression::nuclear()),
        Model::TracePsd => trace(TraceRegression::psd()),
        Model::Multivariate => one(Multivariate::least_squares()),
        Model::Hopls => {
            let largest = p.ranks.iter().copied().max().unwrap_or(1);
            // Mode ranks: a quarter, half and all of the inputs' size, half and all of the outputs'.
            let (x, y) = (recipe.p, recipe.q);
            one(Hopls::validated(largest, vec![x.div_ceil(4), x.div_ceil(2), x], vec![y.div_ceil(2), y]))
        }
        Model::ReducedRank => ranks(usize::MAX).map(|rank| checked(rank, ReducedRank { rank })).collect(),
        Model::TensorTrain => ranks(recipe.p * recipe.q)
            .map(|rank| checked(rank, TensorTrain::by_sides(recipe.p, recipe.q, rank, training)))
            .collect(),
        Model::Tucker => {
            ranks(recipe.p.max(recipe.q)).map(|rank| checked(rank, Tucker { ranks: [rank; 4], training })).collect()
        }
    }
}

/// One method, with its parameters checked.
fn checked<M>(rank: usize, method: M) -> Result<(usize, Box<dyn Regressor>)>
where
    M: baselines::Regressor + std::fmt::Debug + 'static,
{
    Ok((rank, Box::new(Baseline::params(method).check()?)))
}

/// A method without a rank.
fn one<M>(method: M) -> Result<Vec<(usize, Box<dyn Regressor>)>>
where
    M: baselines::Regressor + std::fmt::Debug + 'static,
{
    Ok(vec![checked(0, method)?])
}

/// The fits of all estimators. A fit that has not converged is written to the unit's log.
fn fit(p: &Params, recipe: &Recipe, train: &Samples<f64>, ctx: &Context) -> Result<Vec<(usize, Box<dyn MatrixModel>)>> {
    let (x, y) = (train.x.view(), train.y.view());
    if p.model == Model::ReducedRank {
        // One decomposition serves all ranks.
        let path = RankPath::fit(x, y)?;
        let model = |rank: usize| -> Result<(usize, Box<dyn MatrixModel>)> { Ok((rank, Box::new(path.rank(rank)?))) };
        return p.ranks.iter().map(|rank| model(*rank)).collect();
    }
    let estimators = estimators(p, recipe, ctx.seed())?;
    let mut fits = Vec::new();
    for (i, (rank, estimator)) in estimators.iter().enumerate() {
        anyhow::ensure!(!ctx.cancelled(), "cancelled");
        ctx.progress(i as f64 / estimators.len() as f64, &format!("rank {rank}"));
        let model = estimator.fit_boxed(x.view(), y.view())?;
        if let Some(ended) = model.convergence().filter(|ended| !ended.converged()) {
            ctx.log(&format!("{}, rank {rank}: {ended}", estimator.name()));
        }
        fits.push((*rank, model));
    }
    Ok(fits)
}
