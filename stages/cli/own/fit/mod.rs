//! `repro fit`: learn a map from matrices to matrices.

mod curves;
mod data;
mod evidence;

use super::facts::Facts;
use super::progress::Line;
use super::{Memory, gamma, gib, output, pictures, ranks, times};
use crate::cli::text::{count, duration, size};
use anyhow::{Result, ensure};
use curves::families;
use data::{Need, load};
use evidence::{about_outputs, regression, unpenalised};
use kraus::Gamma;
use kraus::regress::{Family, FitParams, Method, Positivity, SolverPlan, fit_watched, save_affine};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Fit a map from matrices to matrices: Y = sum_k s_k A_k X A_k^T + B
///
/// X holds l symmetric p x p matrices, Y the l symmetric q x q matrices they are mapped to. Two families are fitted and compared by
/// cross-validation: completely positive maps (all signs +, B positive semidefinite: the paper's model, which keeps positive semidefinite
/// matrices so), and differences of two such maps. Coordinates, penalty and number of operators are chosen; every choice is printed.
///
/// With --rank, --ranks, --depth, --solver or --noise-free, and on data with hardly any noise, the paper's model is fitted exactly, without
/// penalty and intercept. A rank chosen by cross-validation is the smallest whose error is within one standard error of the least.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro fit --x X.npy --y Y.npy -o model.npz                    choose everything, print the evidence
  repro fit --x X.npy --y Y.npy --positivity complete -o model.npz     the paper's family, with intercept
  repro fit --x X.npy --y Y.npy -o model.npz --plot=evidence.svg        a picture of the evidence
  repro fit --x X.npy --y Y.npy --rank 5 -o model.npz           a given rank
  repro fit --x X.npy --y Y.npy --noise-free -o model.npz       Y is exact: the smallest rank that explains it
  repro fit --x X.npy --y Y.npy --rank 5 --depth 2 --hidden 15 --gamma clamp:1e-4 -o model.npz
  repro predict --model model.npz --x new.npy -o new_Y.npy      then: apply it

From Python: numpy.save(\"X.npy\", X) with X of shape (l, p, p), numpy.save(\"Y.npy\", Y) with Y of shape (l, q, q).
numpy.load(\"model.npz\") has the A_k as `layer0`, shape (r, q, p), and perhaps `signs` (r) and `intercept` (q, q).

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
    /// Ranks of a map without penalty to choose from, for example 1..20 or 1,2,5; the search ends after three that bring nothing
    #[arg(long, value_name = "LIST", value_parser = ranks_value)]
    ranks: Option<Ranks>,
    /// Which maps: completely positive, or any that keep symmetry with outputs projected into the cone or not
    #[arg(long, value_enum, default_value_t = Kind::Auto)]
    positivity: Kind,
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
    #[arg(long, value_enum, default_value_t = SolverName::Auto)]
    solver: SolverName,
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
    /// Draw the curve and the loss in the terminal, or the curve to a file: --plot=FILE (.svg or .png)
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    plot: Option<Option<PathBuf>>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// The file to draw to, if one was named.
    fn picture(&self) -> Option<&Path> {
        self.plot.as_ref()?.as_deref()
    }

    /// Whether to draw with the text.
    fn in_terminal(&self) -> bool {
        self.plot == Some(None)
    }
}

/// A list of ranks; clap would take a plain vector for a repeated option.
#[derive(Clone, Debug)]
pub struct Ranks(pub Vec<usize>);

/// Parser of [`Ranks`].
pub fn ranks_value(text: &str) -> Result<Ranks, String> {
    ranks(text).map(Ranks)
}

/// Names of families.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Cross-validation chooses between `complete` and `output`
    Auto,
    /// Completely positive: the paper's model
    Complete,
    /// Differences of two such maps; outputs that leave the cone are projected back
    Output,
    /// Differences of two such maps, outputs as they come
    None,
}

/// Names of solvers.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq)]
pub enum SolverName {
    /// Closed form as the start of L-BFGS where it exists, else random starts
    Auto,
    /// Minibatches, the paper's protocol: scale the data to about 1 first
    Adam,
    /// L-BFGS from random starts
    Lbfgs,
    /// Without iteration: needs symmetric X, 2 rank <= p + 1 and little noise
    ClosedForm,
    /// One operator at a time, to compare
    BlockCoordinate,
}

impl SolverName {
    fn method(self) -> Method {
        match self {
            SolverName::Auto => Method::Auto,
            SolverName::Adam => Method::Adam,
            SolverName::Lbfgs => Method::Lbfgs,
            SolverName::ClosedForm => Method::ClosedForm,
            SolverName::BlockCoordinate => Method::BlockCoordinate,
        }
    }
}

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

/// Refuses layers that do not fit into memory. A layer holds rank x (size before) x (size after) numbers, a sample between two layers a
/// square of that size, and fitting keeps a few copies of both. An allocation that the system refuses would end the program.
fn layers_fit(p: usize, hidden: &[usize], q: usize, rank: usize, memory: Memory) -> Result<()> {
    let sizes: Vec<f64> = [&[p], hidden, &[q]].concat().into_iter().map(|n| n as f64).collect();
    let layers: f64 = sizes.windows(2).map(|pair| rank as f64 * pair[0] * pair[1]).sum();
    let between: f64 = hidden.iter().map(|&n| (n as f64).powi(2)).sum();
    let bytes = 8.0 * (layers + between);
    ensure!(
        bytes <= memory.share() as f64,
        "--hidden {}: layers of these sizes take {} or more, which is over a quarter of memory; lower --hidden, or raise --memory",
        hidden.iter().map(usize::to_string).collect::<Vec<_>>().join(","),
        size(bytes as u64)
    );
    Ok(())
}
