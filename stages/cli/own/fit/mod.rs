//! `repro fit`: learn a map from matrices to matrices.
//!
//! `args` holds the arguments, `data` reads, `evidence` says what was found and why, `curves` prepares the picture of it.

mod args;
mod curves;
mod data;
mod evidence;

use super::facts::Facts;
use super::progress::Line;
use super::{Memory, output, pictures, times};
use crate::cli::text::{count, duration};
use anyhow::{Result, ensure};
pub use args::{Args, Kind};
use curves::families;
use data::{Need, layers_fit, load};
use evidence::{about_outputs, regression, unpenalised};
use kraus::Gamma;
use kraus::regress::{Family, FitParams, Positivity, SolverPlan, fit_watched, save_affine};
use serde_json::json;
use std::time::Instant;

/// Run the command.
pub fn run(args: &Args) -> Result<u8> {
    output::check_ends(&args.output, &["npz"])?;
    pictures::check(args.picture())?;
    ensure!(
        !(args.json && args.in_terminal()),
        "--plot draws into the text and --json replaces it; give --plot=FILE, or one of the two"
    );
    let began = Instant::now();
    ensure!(
        args.picture().is_none() || !(args.noise_free || args.folds < 2),
        "--plot=FILE draws the cross-validation and there is none; leave out --noise-free and --folds {}",
        args.folds
    );
    let choosing = args.rank.is_none() && !args.noise_free;
    ensure!(
        !(choosing && args.folds < 2),
        "--folds {} cannot choose a rank; give --rank, or at least 2 folds",
        args.folds
    );
    ensure!(
        args.hidden.is_empty() || args.hidden.len() + 1 == usize::from(args.depth),
        "--hidden has {} for --depth {}; give one size fewer than layers",
        count(args.hidden.len(), "size"),
        args.depth
    );
    ensure!(!args.hidden.contains(&0), "--hidden 0 is no size; give sizes of at least 1");
    let mut facts = Facts::default();
    if args.depth == 1 && args.gamma != Gamma::None {
        facts.warn(
            "--gamma acts between layers and there is one layer, so it changes nothing; give --depth 2 or leave it out",
        );
    }
    let mut plan = SolverPlan {
        method: args.solver.method(),
        hidden: vec![1; usize::from(args.depth) - 1],
        gamma: args.gamma,
        epochs: args.epochs.map(|e| e as usize),
        batch: args.batch,
        rate: args.rate,
        restarts: usize::from(args.restarts),
        seed: args.seed,
    };
    let folds = if args.noise_free || args.folds < 2 { 1 } else { usize::from(args.folds) };
    let memory = Memory::of(args.memory);
    let need = Need { folds, seed: args.seed, samples_for: plan.samples_for(), memory };
    let data = load(&args.x, &args.y, &need)?;
    let depth = usize::from(args.depth);
    let between = |k: usize| (data.p * (depth - k) + data.q * k) / depth;
    plan.hidden = if args.hidden.is_empty() { (1..depth).map(between).collect() } else { args.hidden.clone() };
    let most = data.p * data.q;
    if let Some(r) = args.rank {
        ensure!(r as usize <= most, "--rank {r} exceeds p q = {most}, beyond which no map needs more; lower it");
    }
    let ranks = args.ranks.as_ref().and_then(|r| r.0.iter().max().copied()).unwrap_or(1);
    layers_fit(data.p, &plan.hidden, data.q, args.rank.map_or(ranks, |r| r as usize), memory)?;
    let samples = format!("{} of {} -> {}", data.l, times(&[data.p; 2]), times(&[data.q; 2]));
    let how = if data.samples.is_some() { "" } else { ", read in pieces" };
    facts.say(
        "samples",
        format!("{samples}{how}"),
        json!({"l": data.l, "p": data.p, "q": data.q, "streamed": data.samples.is_none()}),
    );
    if let Some(i) = data.asymmetric {
        facts.warn(format!("{}: matrix {i} is not symmetric; all inputs are taken as general matrices", args.x));
    }
    let asymmetric_y = about_outputs(&args.y, &data, &mut facts);
    let family = match args.positivity {
        Kind::Auto => Family::Auto,
        Kind::Complete => Family::Only(Positivity::Complete),
        Kind::Output => Family::Only(Positivity::Output),
        Kind::None => Family::Only(Positivity::None),
    };
    let params = FitParams {
        family,
        plan,
        rank: args.rank.map(|r| r as usize),
        ranks: args.ranks.as_ref().map_or_else(|| (1..=20).collect(), |r| r.0.clone()),
        // Outputs that are not symmetric are outside the families with penalty: the exact solvers take them as they are.
        only_ranks: args.ranks.is_some() || asymmetric_y,
        noise_free: args.noise_free,
        seed: args.seed,
    };
    let line = Line::new();
    let watch = |step: &str, share: f64| {
        line.show(step, share);
        Ok(())
    };
    let outcome = fit_watched(&data, &params, &watch);
    line.clear();
    let outcome = outcome?;
    let drawn = match (&outcome.regression, &outcome.unpenalised) {
        (Some(found), _) if outcome.use_regression => {
            let notes = regression(args, &data, found, &mut facts)?;
            save_affine(&args.output, &found.map, &notes)?;
            None
        }
        (_, Some(found)) => {
            unpenalised(args, &data, found, &outcome, &mut facts)?;
            kraus::save(&args.output, &found.fit)?;
            Some(&found.fit.history.loss)
        }
        _ => None,
    };
    if let Some(path) = args.picture() {
        let (curves, chosen) = families(&outcome, &data);
        pictures::save(path, &pictures::evidence(&args.x, &curves, chosen))?;
        facts.say("picture", path.display().to_string(), path.display().to_string());
    }
    let took = began.elapsed();
    facts.say("time", duration(took), took.as_secs_f64());
    facts.say("wrote", args.output.display().to_string(), args.output.display().to_string());
    facts.print(args.json)?;
    if let (true, Some(loss)) = (args.in_terminal(), drawn.filter(|l| l.len() > 1)) {
        let points: Vec<(f64, f64)> = loss.iter().enumerate().map(|(i, l)| (i as f64 + 1.0, *l)).collect();
        crate::cli::output(&report::term::plot("training loss", &points, report::axis::Scale::Log, 60, 8));
    }
    Ok(0)
}
