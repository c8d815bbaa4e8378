//! Kind `train`: one partial trace regression fit on a simulated task, and its errors.
//!
//! `adam` is the paper's protocol. `exact` minimises the same loss to its optimum: the closed form where the data
//! determine the map and 2 rank <= p + 1, refined by L-BFGS where that does not fit the data already; L-BFGS from random
//! starts elsewhere. Ranks are compared on the validation set; the test set is only reported on, against Y without noise.

use crate::device;
use crate::files::{input_with, read_json};
use crate::rows::{row, write_rows};
use anyhow::{Context as _, Result};
use kraus::backend::{Job, Trial};
use kraus::closed_form::aligned;
use kraus::simulate::{Recipe, Samples, Split};
use kraus::{
    AdamParams, Basis, Fit, Flow, KrausMap, Lbfgs, LbfgsParams, LeastSquares, Moments, MomentsBuilder, Problem,
    Session, Solver, Stack, Start, Stopping,
};
use pipeline::{Context, Environment, ParamError, Stage, StageError, StageResult};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The kind.
pub struct Train;

/// How to fit.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum How {
    /// The paper's protocol.
    Adam,
    /// To the optimum.
    Exact,
}

/// One rank or several.
#[derive(Serialize, Deserialize, Clone)]
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
#[derive(Serialize, Deserialize)]
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
    solver: How,
    /// Adam: epochs. The paper says 100, its scripts run 200.
    #[serde(default = "hundred")]
    epochs: usize,
    /// Adam: samples per step.
    #[serde(default = "sixteen")]
    batch: usize,
    /// Adam: learning rate.
    #[serde(default = "milli")]
    learning_rate: f64,
    /// Exact: iterations of L-BFGS at most.
    #[serde(default = "thousand")]
    iterations: usize,
    /// Validation samples, to choose the rank and the best epoch; never more than training samples.
    #[serde(default = "thousand")]
    validation: usize,
    /// Test samples.
    #[serde(default = "thousand")]
    test: usize,
}

fn hundred() -> usize {
    100
}
fn sixteen() -> usize {
    16
}
fn thousand() -> usize {
    1000
}
fn milli() -> f64 {
    1e-3
}

/// One line of the results.
#[derive(Serialize)]
struct Line<'a> {
    model: &'static str,
    solver: &'a str,
    map: &'a str,
    true_rank: usize,
    noise: f64,
    dataset: u64,
    l: usize,
    rank: usize,
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

/// Below this share of E[Y^2] the square error on samples is rounding.
const EXACT: f64 = 1e-20;

/// Through the moments the square error cannot be resolved below about this share of E[Y^2].
const RESOLVED: f64 = 1e-12;

impl Stage for Train {
    const NAME: &'static str = "train";
    const ABOUT: &'static str = "one partial trace regression fit on a simulated task, by Adam or to the optimum";
    const SCHEMA: u32 = 1;
    type Params = Params;

    fn check(&self, p: &Params) -> Result<(), ParamError> {
        let positive = [
            ("l", p.l),
            ("rank", p.rank.list().into_iter().min().unwrap_or(0)),
            ("epochs", p.epochs),
            ("batch", p.batch),
            ("iterations", p.iterations),
        ];
        if let Some((name, _)) =
            positive.into_iter().chain([("validation", p.validation), ("test", p.test)]).find(|(_, n)| *n == 0)
        {
            return Err(ParamError::new(name, "must be at least 1"));
        }
        Ok(())
    }

    fn externals(&self, p: &Params, env: &Environment) -> Result<BTreeMap<String, String>, StageError> {
        Ok(if p.solver == How::Adam { device::externals(env) } else { BTreeMap::new() })
    }

    fn run(&self, params: &Params, ctx: &Context) -> StageResult {
        let recipe: Recipe = read_json(input_with(ctx, "task.json")?.path("task.json")?)?;
        let mut lines = Vec::new();
        match params.solver {
            How::Adam => lines = adam(params, &recipe, ctx)?,
            How::Exact => exact(params, &recipe, ctx, &mut lines)?,
        }
        Ok(write_rows(ctx, &lines.iter().map(row).collect::<Result<Vec<_>>>()?)?)
    }
}

/// Errors of a fitted map, measured in f64.
fn line<'a>(
    p: &'a Params,
    recipe: &Recipe,
    rank: usize,
    solver: &'a str,
    map: &Stack<f64>,
    train_mse: f64,
    epochs: usize,
    note: String,
) -> Result<Line<'a>> {
    let held: Samples<f64> = recipe.samples(Split::Validation, 0..p.validation.min(p.l));
    let squares = (map.apply_batch(held.x.view())? - &held.y).mapv(|e| e * e);
    let test: Samples<f64> = recipe.samples(Split::Test, 0..p.test);
    Ok(Line {
        model: "ptr",
        solver,
        map: &p.map,
        true_rank: p.true_rank,
        noise: p.noise,
        dataset: p.dataset,
        l: p.l,
        rank,
        train_mse,
        validation_mse: squares.sum() / squares.len() as f64,
        largest: squares.iter().copied().fold(0.0, f64::max),
        test_mse: map.mse(&Problem::matrices(test.x.view(), test.clean.view())?)?,
        scale: test.clean.iter().map(|v| v * v).sum::<f64>() / test.clean.len() as f64,
        epochs,
        note,
    })
}

/// The last epoch, as the paper reports it, and the epoch that is best on the validation set. All ranks are one job.
fn adam<'a>(p: &'a Params, recipe: &Recipe, ctx: &Context) -> Result<Vec<Line<'a>>> {
    let train: Samples<f32> = recipe.samples(Split::Train, 0..p.l);
    let held: Samples<f32> = recipe.samples(Split::Validation, 0..p.validation.min(p.l));
    let problem = Problem::matrices(train.x.view(), train.y.view())?;
    let held = Problem::matrices(held.x.view(), held.y.view())?;
    let ranks = p.rank.list();
    let whole = ranks.iter().map(|&rank| (rank, p.epochs)).collect::<Vec<_>>();
    let last = adam_run(p, ctx, &problem, &whole, Some(&held))?;
    let best_epoch = |fit: &Fit<f32>| fit.history.best().unwrap_or(fit.history.loss.len());
    // Training is deterministic, so the model of the best epoch is the last one of a run that stops there.
    let shorter = ranks.iter().zip(&last).map(|(&rank, fit)| (rank, best_epoch(fit)));
    let shorter = shorter.filter(|(_, epoch)| *epoch < p.epochs).collect::<Vec<_>>();
    let mut again = adam_run(p, ctx, &problem, &shorter, None)?.into_iter();
    let mut lines = Vec::new();
    for (&rank, fit) in ranks.iter().zip(&last) {
        let (losses, model, epoch) = (&fit.history.loss, wide(&fit.model)?, best_epoch(fit));
        let n = losses.len();
        lines.push(line(p, recipe, rank, "adam, last epoch", &model, losses[n - 1], n, String::new())?);
        let best = match epoch < p.epochs {
            true => wide(&again.next().context("the backend returned too few models")?.model)?,
            false => model,
        };
        lines.push(line(p, recipe, rank, "adam, best epoch", &best, losses[epoch - 1], epoch, String::new())?);
    }
    Ok(lines)
}

/// Models of these ranks, each trained for so many epochs.
fn adam_run(
    p: &Params,
    ctx: &Context,
    problem: &Problem<'_, f32>,
    models: &[(usize, usize)],
    validation: Option<&Problem<'_, f32>>,
) -> Result<Vec<Fit<f32>>> {
    let (batch, rate, seed) = (p.batch, p.learning_rate, ctx.seed());
    let trial = |&(rank, epochs): &(usize, usize)| {
        let stopping = Stopping::after(epochs);
        let adam = AdamParams { stopping, batch, rate, seed, ..AdamParams::default() }.check()?;
        Ok(Trial { adam, start: Start::single(problem.p(), problem.q(), rank, seed) })
    };
    let job = Job { problem, validation, trials: models.iter().map(trial).collect::<Result<_>>()?, tf32: false };
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
    let layers = model.layers.iter().map(|map| KrausMap::new(map.ops().mapv(f64::from)));
    Ok(Stack::new(layers.collect::<Result<_, _>>()?, model.gamma)?)
}

/// The optimum, from moments where the samples determine the least squares map, else from the samples.
fn exact<'a>(p: &'a Params, recipe: &Recipe, ctx: &Context, lines: &mut Vec<Line<'a>>) -> Result<()> {
    let determined = p.l >= recipe.p * (recipe.p + 1) / 2;
    let moments = if determined { Some(moments(p, recipe, ctx)?) } else { None };
    let moments = moments.map(|m| m.least_squares().map(|ls| (m, ls))).transpose()?;
    for rank in p.rank.list() {
        let (fit, note) = match &moments {
            Some(moments) => on_moments(p, moments, rank, ctx)?,
            None => on_samples(p, recipe, rank, ctx)?,
        };
        anyhow::ensure!(!ctx.cancelled(), "cancelled");
        let train_mse = fit.history.loss.last().copied().unwrap_or(f64::NAN);
        lines.push(line(p, recipe, rank, "exact", &fit.model, train_mse, fit.history.loss.len(), note.into())?);
    }
    Ok(())
}

/// L-BFGS that ends where the loss is zero for all that can be told.
fn lbfgs(p: &Params, target: f64) -> Result<Lbfgs> {
    let stopping = Stopping { target, ..Stopping::after(p.iterations) };
    Ok(LbfgsParams { stopping, ..LbfgsParams::default() }.check()?)
}

/// Samples made at a time while the moments are summed: bounds the memory, whatever l is.
const BLOCK: usize = 512;

fn moments(p: &Params, recipe: &Recipe, ctx: &Context) -> Result<Moments> {
    let mut builder = MomentsBuilder::new(recipe.p, recipe.q, Basis::Symmetric);
    for from in (0..p.l).step_by(BLOCK) {
        anyhow::ensure!(!ctx.cancelled(), "cancelled");
        ctx.progress(0.5 * from as f64 / p.l as f64, "moments");
        let s: Samples<f64> = recipe.samples(Split::Train, from..(from + BLOCK).min(p.l));
        builder.update(s.x.view(), s.y.view())?;
    }
    Ok(builder.finish()?)
}

fn on_moments(
    p: &Params,
    (moments, ls): &(Moments, LeastSquares),
    rank: usize,
    ctx: &Context,
) -> Result<(Fit<f64>, &'static str)> {
    let (p_in, q) = (moments.p(), moments.q());
    let scale = moments.yy() / (moments.samples() * q * q) as f64;
    let (start, how) = if 2 * rank <= p_in + 1 {
        (Start::Given(Stack::from(aligned(ls, p_in, q, rank)?)), "closed form, L-BFGS on the moments")
    } else {
        (Start::single(p_in, q, rank, ctx.seed()), "L-BFGS on the moments from a random start")
    };
    ctx.progress(0.5, &format!("rank {rank}"));
    Ok((lbfgs(p, RESOLVED * scale)?.fit_moments_around(moments, Some(ls), start)?, how))
}

fn on_samples(p: &Params, recipe: &Recipe, rank: usize, ctx: &Context) -> Result<(Fit<f64>, &'static str)> {
    let s: Samples<f64> = recipe.samples(Split::Train, 0..p.l);
    let scale = s.y.iter().map(|v| v * v).sum::<f64>() / s.y.len() as f64;
    let problem = Problem::matrices(s.x.view(), s.y.view())?;
    let mut watch = |now: &kraus::Progress| show(ctx, now);
    let mut session = Session { validation: None, watch: Some(&mut watch) };
    let start = Start::single(recipe.p, recipe.q, rank, ctx.seed());
    Ok((lbfgs(p, EXACT * scale)?.fit_with(&problem, start, &mut session)?, "L-BFGS on the samples from a random start"))
}
