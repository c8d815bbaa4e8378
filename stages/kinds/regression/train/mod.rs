//! Kind `train`: one partial trace regression fit on a simulated task, and its errors.
//!
//! `adam` is the paper's protocol, `exact` minimises the same loss to its optimum (see `exact`). Ranks are compared on the
//! validation set; the test set is only reported on, against Y without noise.

mod exact;

use crate::shared::device;
use crate::shared::files::{input_with, read_json};
use crate::shared::params::{SolverChoice, at_least_one, number, ratio};
use crate::shared::rows::{Task, row, write_rows};
use anyhow::{Context as _, Result};
use kraus::backend::{Job, Trial};
use kraus::simulate::{Recipe, Samples, Split};
use kraus::{AdamParams, Fit, Flow, Problem, Stack, Start, Stopping};
use pipeline::{Context, Environment, ParamError, Stage, StageError, StageResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The kind.
pub struct Train;

/// One rank or several.
#[derive(Serialize, Deserialize, Clone, JsonSchema)]
#[serde(untagged)]
enum Ranks {
    /// One.
    One(usize),
    /// Several.
    Many(Vec<usize>),
}

impl Ranks {
    fn list(&self) -> Vec<usize> {
        match self {
            Ranks::One(rank) => vec![*rank],
            Ranks::Many(ranks) => ranks.clone(),
        }
    }
}

/// Its parameters.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Axes of the task, here only to join with it.
    map: String,
    true_rank: usize,
    noise: f64,
    dataset: u64,
    /// Training samples.
    l: usize,
    /// Kraus rank of the model; a list fits several in one unit, which shares the moments of a large sample.
    rank: Ranks,
    solver: SolverChoice,
    /// Adam: epochs. The paper says 100, its scripts run 200.
    #[serde(default = "number::<100>")]
    epochs: usize,
    /// Adam: samples per step.
    #[serde(default = "number::<16>")]
    batch: usize,
    /// Adam: learning rate.
    #[serde(default = "ratio::<1, 1000>")]
    learning_rate: f64,
    /// Exact: iterations of L-BFGS at most.
    #[serde(default = "number::<1000>")]
    iterations: usize,
    /// Exact: L-BFGS also ends when an iteration gains less than this share of the loss; 0 goes on to rounding.
    #[serde(default)]
    tolerance: f64,
    /// Exact, on samples: compute in f32, twice as fast; resolves 1e-12 of E[Y^2].
    #[serde(default)]
    single: bool,
    /// Exact, on moments: where the closed form misses by more than a thousandth of E[Y^2] (a rank too low), start
    /// from the optimum on this many samples in f32, which costs less than an iteration on large moments, and multiply by the moments in
    /// f32, too: the loss is far from zero there and known to six digits; 0 does neither.
    #[serde(default)]
    coarse: usize,
    /// Validation samples, to choose the rank and the best epoch; never more than training samples.
    #[serde(default = "number::<1000>")]
    validation: usize,
    /// Test samples.
    #[serde(default = "number::<1000>")]
    test: usize,
}

/// One line of the results.
#[derive(Serialize)]
struct Line<'a> {
    model: &'static str,
    solver: &'a str,
    #[serde(flatten)]
    task: Task<'a>,
    train_mse: f64,
    validation_mse: f64,
    /// Largest squared error of a held-out entry.
    largest: f64,
    /// Against Y without noise.
    test_mse: f64,
    /// Mean square of a test output: what a map that predicts zero would score.
    scale: f64,
    epochs: usize,
    note: String,
}

impl Stage for Train {
    const NAME: &'static str = "train";
    const ABOUT: &'static str = "one partial trace regression fit on a simulated task, by Adam or to the optimum";
    /// How long to train changes no start.
    const SEEDLESS: &'static [&'static str] = &["epochs", "iterations", "tolerance"];
    type Params = Params;

    fn check(&self, p: &Params) -> Result<(), ParamError> {
        at_least_one([
            ("l", p.l),
            ("rank", p.rank.list().into_iter().min().unwrap_or(0)),
            ("epochs", p.epochs),
            ("batch", p.batch),
            ("iterations", p.iterations),
            ("validation", p.validation),
            ("test", p.test),
        ])?;
        if !(0.0..1.0).contains(&p.tolerance) {
            return Err(ParamError::new("tolerance", "lies between 0 and 1"));
        }
        Ok(())
    }

    fn externals(&self, p: &Params, env: &Environment) -> Result<BTreeMap<String, String>, StageError> {
        Ok(if p.solver == SolverChoice::Adam { device::externals(env) } else { BTreeMap::new() })
    }

    fn run(&self, params: &Params, ctx: &Context) -> StageResult {
        let recipe: Recipe = read_json(input_with(ctx, "task.json")?.path("task.json")?)?;
        let judge = Judge::new(params, &recipe)?;
        let mut lines = Vec::new();
        match params.solver {
            SolverChoice::Adam => lines = adam(&judge, ctx)?,
            SolverChoice::Exact => exact::fit(&judge, ctx, &mut lines)?,
        }
        Ok(write_rows(ctx, &lines.iter().map(row).collect::<Result<Vec<_>>>()?)?)
    }
}

/// What all fits of a unit are judged on, in f64: validation and test samples, made once.
struct Judge<'a> {
    p: &'a Params,
    recipe: &'a Recipe,
    held: Samples<f64>,
    test: Samples<f64>,
    scale: f64,
}

impl<'a> Judge<'a> {
    fn new(p: &'a Params, recipe: &'a Recipe) -> Result<Self> {
        let held = recipe.samples(Split::Validation, 0..p.validation.min(p.l));
        let test: Samples<f64> = recipe.samples(Split::Test, 0..p.test);
        let scale = test.clean.iter().map(|v| v * v).sum::<f64>() / test.clean.len() as f64;
        Ok(Judge { p, recipe, held, test, scale })
    }

    fn line<'s>(
        &self,
        rank: usize,
        solver: &'s str,
        map: &Stack<f64>,
        train_mse: f64,
        epochs: usize,
        note: String,
    ) -> Result<Line<'s>>
    where
        'a: 's,
    {
        let p = self.p;
        let squares = (map.apply_batch(self.held.x.view())? - &self.held.y).mapv(|e| e * e);
        Ok(Line {
            model: "ptr",
            solver,
            task: Task { map: &p.map, true_rank: p.true_rank, noise: p.noise, dataset: p.dataset, l: p.l, rank },
            train_mse,
            validation_mse: squares.sum() / squares.len() as f64,
            largest: squares.iter().copied().fold(0.0, f64::max),
            test_mse: map.mse(&Problem::matrices(self.test.x.view(), self.test.clean.view())?)?,
            scale: self.scale,
            epochs,
            note,
        })
    }
}

/// The last epoch, as the paper reports it, and the epoch that is best on the validation set. All ranks are one job.
fn adam<'a>(judge: &Judge<'a>, ctx: &Context) -> Result<Vec<Line<'a>>> {
    let (p, recipe) = (judge.p, judge.recipe);
    let train: Samples<f32> = recipe.samples(Split::Train, 0..p.l);
    let held: Samples<f32> = recipe.samples(Split::Validation, 0..p.validation.min(p.l));
    let problem = Problem::matrices(train.x.view(), train.y.view())?;
    let held = Problem::matrices(held.x.view(), held.y.view())?;
    let ranks = p.rank.list();
    let fits = adam_run(p, ctx, &problem, &ranks, Some(&held))?;
    let mut lines = Vec::new();
    for (&rank, fit) in ranks.iter().zip(fits) {
        let (losses, best) = (&fit.history.loss, fit.history.model_epoch);
        let n = losses.len();
        // Training is deterministic, so where the last model was not kept (on a GPU) another run gives it.
        let last = match fit.last {
            Some(last) => last,
            None if best == n => fit.model.clone(),
            None => adam_run(p, ctx, &problem, &[rank], None)?.pop().context("the backend returned no model")?.model,
        };
        lines.push(judge.line(rank, "adam, last epoch", &wide(&last)?, losses[n - 1], n, String::new())?);
        lines.push(judge.line(rank, "adam, best epoch", &wide(&fit.model)?, losses[best - 1], best, String::new())?);
    }
    Ok(lines)
}

/// Models of these ranks: those of the epochs that are best on the validation set, or without one those of the last.
fn adam_run(
    p: &Params,
    ctx: &Context,
    problem: &Problem<'_, f32>,
    ranks: &[usize],
    validation: Option<&Problem<'_, f32>>,
) -> Result<Vec<Fit<f32>>> {
    let (batch, rate, seed) = (p.batch, p.learning_rate, ctx.seed());
    let (stopping, keep_best) = (Stopping::after(p.epochs), validation.is_some());
    let trial = |&rank: &usize| {
        let adam = AdamParams { stopping, batch, rate, seed, keep_best, ..AdamParams::default() }.check()?;
        Ok(Trial { adam, start: Start::single(problem.p(), problem.q(), rank, seed) })
    };
    let job = Job { problem, validation, trials: ranks.iter().map(trial).collect::<Result<_>>()?, tf32: false };
    let fits = device::train(ctx, job, &mut |_, now| show(ctx, now))?;
    fits.into_iter().map(|fit| fit.map_err(Into::into)).collect()
}

/// Shows a fit's progress; stops it when the user asked for it.
fn show(ctx: &Context, now: &kraus::Progress) -> Flow {
    ctx.progress(now.epoch as f64 / now.max as f64, &format!("loss {:.3e}", now.loss));
    if ctx.cancelled() { Flow::Cancel } else { Flow::Continue }
}

/// The same model in f64.
fn wide(model: &Stack<f32>) -> Result<Stack<f64>> {
    Ok(model.to_f64())
}
