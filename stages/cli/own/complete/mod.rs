//! `repro complete`: fill the missing entries of a positive semidefinite matrix.

mod blocks;
mod evidence;
mod input;

use super::arrays::ArrayInput;
use super::facts::Facts;
use super::progress::Line;
use super::{gamma, output, pictures, times};
use crate::cli::text::duration;
use anyhow::{Result, ensure};
use evidence::{add_result_facts, scores};
use input::{observed, partial, view};
use kraus::Gamma;
use kraus::completion::{Cone, FillParams, Partial, fill_from, fill_watched};
use ndarray::Array2;
use serde_json::json;
use std::path::PathBuf;
use std::time::Instant;

/// Fill the missing entries of a positive semidefinite matrix (a kernel, a covariance)
///
/// NaN, or 0 in --mask, marks what is missing. The matrix is taken as low rank plus a diagonal, with a penalty on the trace; penalty and rank are
/// those that predict best what validation hides (a tenth of the entries, or whole rows where whole rows are missing). The errors of softImpute, of
/// filling with the mean and with zero on the same hidden entries are printed beside it. Observed entries are kept to the bit, and the result is
/// positive semidefinite where they allow it.
///
/// A row that was never seen can only come from elsewhere: from other matrices of the same samples (--view), from its neighbours in the file where
/// neighbours are alike (then the result depends on the order of the samples, and that is said; --order ignore prevents it), else it is the mean of
/// the other rows. Hidden rows decide.
///
/// With --p, --q, --rank, --depth or --gamma the paper's model is fitted instead: a p x p grid of q x q blocks and a map from the position of a block to
/// the block. Two layers can say something about rows never seen, but only through the order of the samples: that of the file, or with --view an order in
/// which similar samples stand side by side.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro complete --matrix M.npy -o M_full.npy                       NaN is missing, everything chosen
  repro complete --matrix M.npy --mask W.npy --psd -o M_full.npy    positive semidefinite in any case
  repro complete --matrix K1.npy --view K2.npy --view K3.npy -o K1_full.npy     missing rows from other kernels
  repro complete --matrix M.csv -o M_full.csv --plot M.svg          empty fields are missing; a picture of both
  repro complete --matrix M.npy --p 20 --q 10 --rank 10 --depth 2 --gamma clamp:1e-4 -o M_full.npy

From Python: M[missing] = numpy.nan; numpy.save(\"M.npy\", M). A mask has 1 where observed, 0 where missing.")]
pub struct Args {
    /// The matrix, n x n, symmetric: .npy, file.npz:name or .csv
    #[arg(long, value_name = "FILE")]
    matrix: String,
    /// 1 where observed, 0 where missing [default: NaN marks what is missing]
    #[arg(long, value_name = "FILE")]
    mask: Option<String>,
    /// Another matrix of the same samples, for rows that are missing whole; NaN where it misses some itself
    #[arg(long = "view", value_name = "FILE")]
    views: Vec<String>,
    /// Where to write the completed matrix (.npy or .csv)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Positive semidefinite in any case, even if observed entries must move a little [default: if they need not]
    #[arg(long, conflicts_with = "no_psd")]
    psd: bool,
    /// Do not care whether the result is positive semidefinite
    #[arg(long)]
    no_psd: bool,
    /// Replace observed entries by the model's values too
    #[arg(long)]
    denoise: bool,
    /// May missing rows come from their neighbours in the file?
    #[arg(long, value_enum, default_value_t = Order::Auto)]
    order: Order,
    /// Blocks per side, n = p q
    #[arg(long)]
    p: Option<usize>,
    /// Rows of a block, n = p q
    #[arg(long)]
    q: Option<usize>,
    /// Kraus rank [default: chosen]
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rank: Option<u32>,
    /// Layers of the block model [default there: 1, or 2 where whole rows are missing]
    #[arg(long, value_name = "L", value_parser = clap::value_parser!(u16).range(1..=20))]
    depth: Option<u16>,
    /// Between the layers: `none`, or `clamp:EPS` to raise singular values below EPS to it
    #[arg(long, value_name = "GAMMA", value_parser = gamma, default_value = "none")]
    gamma: Gamma,
    /// Seed of starts and of what is hidden to choose
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Draw the matrix before and after (.svg or .png)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What the order of the samples may be used for.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// Where hidden rows show that neighbours are alike
    Auto,
    /// Never: the same samples in another order give the same numbers
    Ignore,
}

/// Run the command.
pub fn run(args: &Args) -> Result<u8> {
    let began = Instant::now();
    output::check_ends(&args.output, &["npy", "csv"])?;
    pictures::check(args.plot.as_deref())?;
    let mut source = ArrayInput::open(&args.matrix)?;
    let original = source.matrix("M")?;
    let mask = observed(args.mask.as_deref(), &source.name, &original)?;
    let partial = partial(&source, &original, &mask)?;
    let (n, seen) = (partial.n(), partial.observed());
    let one_sided = partial.mask().observed() - mask.observed();
    ensure!(
        seen < n * n || one_sided > 0,
        "{} has no missing entry; mark what is missing by NaN or --mask",
        source.name
    );
    let mut facts = Facts::default();
    let share = 100.0 * (n * n - seen) as f64 / (n * n) as f64;
    facts.say("matrix", format!("{}, {share:.1} % missing", times(&[n, n])), json!({"n": n, "missing": n * n - seen}));
    if one_sided > 0 {
        let text = format!(
            "{} missing on one side of the diagonal and observed on the other: taken from there",
            count_are(one_sided)
        );
        facts.say("mirrored", text, one_sided);
    }
    let views: Vec<Partial> = args.views.iter().map(|file| view(file, n)).collect::<Result<_>>()?;
    let cone = match (args.psd, args.no_psd) {
        (true, _) => Cone::Always,
        (_, true) => Cone::No,
        _ => Cone::IfPossible,
    };
    let params = FillParams { cone, denoise: args.denoise, ignore_order: args.order == Order::Ignore, seed: args.seed };
    let by_blocks = args.p.is_some()
        || args.q.is_some()
        || args.rank.is_some()
        || args.depth.is_some()
        || args.gamma != Gamma::None;
    let layers = args.depth.map_or(if partial.empty_rows().is_empty() { 1 } else { 2 }, usize::from);
    if layers == 1 && args.gamma != Gamma::None {
        facts.warn(
            "--gamma acts between layers and there is one layer, so it changes nothing; give --depth 2 or leave it out",
        );
    }
    let done = if seen == n * n {
        fill_from(&partial, partial.values().to_owned(), &params)?
    } else if by_blocks {
        let prediction = blocks::predict(args, &partial, &views, &mut facts)?;
        fill_from(&partial, prediction, &params)?
    } else {
        let line = Line::new();
        let watch = |step: &str, share: f64| {
            line.show(step, share);
            Ok(())
        };
        let done = fill_watched(&partial, &views, &params, &watch);
        line.clear();
        let done = done?;
        scores(args, &done, &mut facts);
        done
    };
    add_result_facts(args, &done, !views.is_empty(), by_blocks, &mut facts);
    let keep = !(args.denoise || args.psd && done.moved > 0.0);
    let full = Array2::from_shape_fn((n, n), |at| if keep && mask[at] { original[at] } else { done.matrix[at] });
    output::matrix(&args.output, full.view(), source.single())?;
    if let Some(path) = &args.plot {
        let given = Array2::from_shape_fn((n, n), |at| if mask[at] { original[at] } else { f64::NAN });
        let panels = [("given".to_owned(), given), ("completed".to_owned(), full.clone())];
        pictures::save(path, &pictures::matrices(&args.matrix, "Completion", &panels))?;
        facts.say("picture", path.display().to_string(), path.display().to_string());
    }
    facts.say("time", duration(began.elapsed()), began.elapsed().as_secs_f64());
    facts.say("wrote", args.output.display().to_string(), args.output.display().to_string());
    facts.print(args.json)?;
    Ok(0)
}

fn count_are(n: usize) -> String {
    if n == 1 { "1 entry is".into() } else { format!("{n} entries are") }
}
