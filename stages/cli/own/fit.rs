//! `repro fit`: learn a map from matrices to matrices.

use super::super::output as print;
use super::super::text::{Table, count, duration};
use super::facts::{Facts, number};
use super::fit_data::{Data, Need, load};
use super::fit_rank::{Score, choose, curve, exact, score};
use super::fit_solve::{Method, Plan};
use super::{Memory, gamma, gib, output, ranks, times};
use anyhow::{Result, ensure};
use kraus::{BoundParams, BoundVersion, Fit, Gamma, bound};
use serde_json::json;
use std::path::PathBuf;
use std::time::Instant;

/// Fit a map from matrices to matrices: Y = sum_k A_k X A_k^T
///
/// X holds l symmetric p x p matrices, Y the l symmetric q x q matrices they are mapped to. The model is partial trace
/// regression: r matrices A_k of shape (q, p). It keeps positive semidefinite matrices positive semidefinite.
///
/// Without --rank the rank is chosen by cross-validation: the smallest rank whose validation error is within one
/// standard error of the least (of the differences, fold by fold). The curve is printed.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro fit --x X.npy --y Y.npy -o model.npz                    choose the rank, print the curve
  repro fit --x X.npy --y Y.npy --rank 5 -o model.npz           a given rank
  repro fit --x X.npy --y Y.npy --noise-free -o model.npz       Y is exact: the smallest rank that explains it
  repro fit --x X.npy --y Y.npy --rank 5 --depth 2 --hidden 15 --gamma clamp:1e-4 -o model.npz
  repro predict --model model.npz --x new.npy -o new_Y.npy      then: apply it

From Python: numpy.save(\"X.npy\", X) with X of shape (l, p, p), numpy.save(\"Y.npy\", Y) with Y of shape (l, q, q).
numpy.load(\"model.npz\")[\"layer0\"] has the A_k, shape (r, q, p).

Arrays: .npy of float32 or float64 (C or Fortran order, any endianness), or file.npz:name. A file larger than 256 MiB or a
quarter of memory is read once, in pieces; only what the fit needs of it is kept (depth 1, solvers auto, lbfgs, closed-form).
Exit code 2 and one sentence if something is wrong; then no file is written.")]
pub struct Args {
    /// Inputs, shape (l, p, p)
    #[arg(long, value_name = "FILE")]
    x: String,
    /// Outputs, shape (l, q, q)
    #[arg(long, value_name = "FILE")]
    y: String,
    /// Where to write the model (.npz)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Number r of matrices A_k [default: chosen by cross-validation]
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rank: Option<u32>,
    /// Ranks to choose from: 1..20 or 1,2,5; the search ends after three that bring nothing
    #[arg(long, value_name = "LIST", value_parser = ranks_value, default_value = "1..20")]
    ranks: Ranks,
    /// Folds of the cross-validation; 0 for none (needs --rank)
    #[arg(long, value_name = "K", default_value_t = 5, value_parser = clap::value_parser!(u16).range(0..=1000))]
    folds: u16,
    /// Y is exact, without noise: take the smallest rank that explains it
    #[arg(long, conflicts_with = "rank")]
    noise_free: bool,
    /// Layers: maps applied one after the other
    #[arg(long, value_name = "L", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=100))]
    depth: u16,
    /// Sizes between the layers, for example 15 or 17,12 [default: equal steps from p to q]
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    hidden: Vec<usize>,
    /// Between the layers: `none`, or `clamp:EPS` to raise eigenvalues below EPS to it
    #[arg(long, value_name = "GAMMA", value_parser = gamma, default_value = "none")]
    gamma: Gamma,
    /// How to fit
    #[arg(long, value_enum, default_value_t = Method::Auto)]
    solver: Method,
    /// Epochs (adam: 100) or iterations (lbfgs: 2000) at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    epochs: Option<u32>,
    /// Random starts of lbfgs, of which the best is kept
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=1000))]
    restarts: u16,
    /// Samples per step of adam
    #[arg(long, value_name = "N", default_value_t = 16)]
    batch: usize,
    /// Learning rate of adam
    #[arg(long, value_name = "RATE", default_value_t = 1e-3)]
    rate: f64,
    /// Seed of random starts and folds: the same seed gives the same model
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Largest squared error of an entry that can occur, for the generalisation bound [default: 4 max Y^2]
    #[arg(long, value_name = "BOUND")]
    loss_bound: Option<f64>,
    /// Probability with which the bound may fail
    #[arg(long, default_value_t = 0.05)]
    delta: f64,
    /// Memory in GiB to reckon with [default: the machine's]
    #[arg(long, value_name = "GIB", value_parser = gib)]
    memory: Option<f64>,
    /// Draw the curve and the loss
    #[arg(long)]
    plot: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "plot")]
    json: bool,
}

/// A list of ranks; clap would take a plain vector for a repeated option.
#[derive(Clone, Debug)]
pub struct Ranks(pub Vec<usize>);

/// Parser of [`Ranks`].
pub fn ranks_value(text: &str) -> Result<Ranks, String> {
    ranks(text).map(Ranks)
}

/// Run the command.
pub fn run(args: &Args) -> Result<u8> {
    output::check_ends(&args.output, &["npz"])?;
    let began = Instant::now();
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
    let mut plan = Plan {
        method: args.solver,
        hidden: vec![1; usize::from(args.depth) - 1],
        gamma: args.gamma,
        epochs: args.epochs.map(|e| e as usize),
        batch: args.batch,
        rate: args.rate,
        restarts: usize::from(args.restarts),
        seed: args.seed,
    };
    let folds = if args.noise_free || args.folds < 2 { 1 } else { usize::from(args.folds) };
    let need = Need { folds, seed: args.seed, samples_for: plan.samples_for(), memory: Memory::of(args.memory) };
    let data = load(&args.x, &args.y, &need)?;
    let depth = usize::from(args.depth);
    let between = |k: usize| (data.p * (depth - k) + data.q * k) / depth;
    plan.hidden = if args.hidden.is_empty() { (1..depth).map(between).collect() } else { args.hidden.clone() };

    let most = data.p * data.q;
    let ranks: Vec<usize> = args.ranks.0.iter().copied().filter(|r| *r <= most).collect();
    let mut facts = Facts::default();
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
    let (rank, validation) = match args.rank {
        Some(r) => {
            let r = r as usize;
            ensure!(r <= most, "--rank {r} exceeds p q = {most}, beyond which no map needs more; lower it");
            (r, (folds > 1).then(|| score(&data, &plan, r, folds)).transpose()?)
        }
        None if args.noise_free => (exact(&data, &plan, &ranks)?, None),
        None => {
            let curve = curve(&data, &plan, &ranks, folds)?;
            let at = choose(&curve);
            show(&curve, at, args, &data, &mut facts);
            (curve[at].rank, Some(curve[at].clone()))
        }
    };
    let fit = plan.on_all(&data, rank)?;
    let train = plan.train_error(&data, &fit)?;
    determined(&data, &fit, rank, &mut facts)?;
    report(args, &data, &fit, train, validation.as_ref(), &mut facts);
    kraus::save(&args.output, &fit)?;
    let took = began.elapsed();
    facts.say("time", duration(took), took.as_secs_f64());
    facts.say("wrote", args.output.display().to_string(), args.output.display().to_string());
    facts.print(args.json)?;
    if args.plot && fit.history.loss.len() > 1 {
        let points: Vec<(f64, f64)> = fit.history.loss.iter().enumerate().map(|(i, l)| (i as f64 + 1.0, *l)).collect();
        print(&report::term::plot("training loss", &points, report::axis::Scale::Log, 60, 8));
    }
    Ok(0)
}

/// sqrt(mse / mean Y^2): 0 is perfect, 1 is no better than predicting 0.
fn relative(mse: f64, data: &Data) -> f64 {
    if data.mean_square > 0.0 { (mse / data.mean_square).sqrt() } else { 0.0 }
}

/// The curve, as a table and perhaps a plot.
fn show(curve: &[Score], chosen: usize, args: &Args, data: &Data, facts: &mut Facts) {
    let mut table = Table::new(&["rank", "validation mse", "std. error", "relative", ""], &[0, 1, 2, 3]);
    for (i, s) in curve.iter().enumerate() {
        let mark = if i == chosen { "<- chosen" } else { "" };
        let cells =
            [format!("{:.4e}", s.mean()), format!("{:.1e}", s.error()), number(relative(s.mean(), data)), mark.into()];
        table.row([s.rank.to_string()].into_iter().chain(cells).collect());
    }
    let values: Vec<_> =
        curve.iter().map(|s| json!({"rank": s.rank, "mse": s.mean(), "standard_error": s.error()})).collect();
    if !args.json {
        print(&(table.render() + "\n"));
    }
    if args.plot {
        let points: Vec<(f64, f64)> = curve.iter().map(|s| (s.rank as f64, s.mean())).collect();
        print(&(report::term::plot("validation mse by rank", &points, report::axis::Scale::Log, 60, 8) + "\n"));
    }
    facts.say(
        "chosen rank",
        format!("{} of {} tried", curve[chosen].rank, curve.len()),
        json!({"rank": curve[chosen].rank, "curve": values}),
    );
}

/// Warns where the data leave the map open.
fn determined(data: &Data, fit: &Fit<f64>, rank: usize, facts: &mut Facts) -> Result<()> {
    let coordinates = |n| data.basis().len(n);
    let (equations, parameters) = (data.l * coordinates(data.q), fit.model.len());
    // Rotating the operators among themselves does not change one map.
    let free =
        if fit.model.depth() == 1 { parameters - rank.min(data.p * data.q) * (rank - 1) / 2 } else { parameters };
    if equations < free {
        facts.warn(format!("{} give {equations} equations for {free} free parameters: many maps fit equally well; lower the rank or add samples", count(data.l, "sample")));
        return Ok(());
    }
    let open = match data.total()? {
        Some(m) => m.least_squares().is_err(),
        None => data.l < coordinates(data.p),
    };
    if open {
        let directions = coordinates(data.p);
        let kind = if data.asymmetric.is_some() { "" } else { "symmetric " };
        facts.warn(format!("the inputs do not span all {directions} directions of {kind}{} matrices: in the others the map rests on its low rank alone; add samples or check the predictions on held-out data", times(&[data.p; 2])));
    }
    Ok(())
}

fn report(args: &Args, data: &Data, fit: &Fit<f64>, train: f64, validation: Option<&Score>, facts: &mut Facts) {
    let arch = fit.model.architecture();
    let rank = arch.ranks[0]; // every layer has the same rank, and there is at least one
    let path = arch.dims.iter().map(|d| format!("{d} x {d}")).collect::<Vec<_>>().join(" -> ");
    facts.say(
        "model",
        format!("{path}, rank {rank}, {} parameters", fit.model.len()),
        json!({"dims": arch.dims, "ranks": arch.ranks, "parameters": fit.model.len()}),
    );
    let h = &fit.history;
    let steps = count(h.loss.len(), if h.solver == "adam" { "epoch" } else { "iteration" });
    let closed = h.notes.iter().any(|n| n.contains("closed form"));
    facts.say(
        "solver",
        format!("{}{steps}", if closed { "lbfgs from the closed form, ".into() } else { format!("{}, ", h.solver) }),
        json!({"name": h.solver, "steps": h.loss.len(), "from_closed_form": closed}),
    );
    if let Some(ended) = h.convergence {
        let value = json!({"converged": ended.converged(), "measure": ended.measure, "value": ended.value, "tolerance": ended.tolerance});
        facts.say("ended", ended.to_string(), value);
    }
    let error = |mse: f64| json!({"mse": mse, "relative": relative(mse, data)});
    let words = |mse: f64| format!("mse {}, relative error {}", number(mse), number(relative(mse, data)));
    facts.say("train", words(train), error(train));
    if let Some(v) = validation {
        let folds = v.folds.len();
        facts.say("validation", format!("{} ({folds} folds)", words(v.mean())), error(v.mean()));
    }
    let gamma = args.loss_bound.unwrap_or(4.0 * data.peak * data.peak);
    let at = BoundParams { l: data.l, p: data.p, q: data.q, rank, gamma, delta: args.delta };
    let result = if arch.ranks.len() == 1 {
        bound(&at, BoundVersion::AsProved).map_err(|e| e.to_string())
    } else {
        Err("theorem 4 is about one map, not about a deeper stack".into())
    };
    match result {
        Ok(b) => {
            let source = if args.loss_bound.is_some() { "given" } else { "4 max Y^2" };
            let total = b.total(train);
            let sure = number(100.0 * (1.0 - args.delta));
            let empty = if total >= gamma { "; it says nothing here, since no loss exceeds gamma" } else { "" };
            facts.say(
                "bound",
                format!(
                    "expected mse <= {} with probability {sure} % (theorem 4 as proved, gamma = {} {source}){empty}",
                    number(total),
                    number(gamma)
                ),
                json!({"expected_mse": total, "gamma": gamma, "delta": args.delta}),
            );
        }
        Err(why) => facts.say("bound", format!("none: {why}"), serde_json::Value::Null),
    }
}
