//! `repro complete`: fill the missing entries of a positive semidefinite matrix.

mod blocks;

use super::arrays::Source;
use super::facts::{Facts, number};
use super::progress::Line;
use super::{gamma, output, times};
use crate::cli::output as print;
use crate::cli::text::{Table, count, duration};
use anyhow::{Result, bail, ensure};
use kraus::Gamma;
use kraus::completion::{Cone, FillParams, Filled, Partial, fill_from, fill_watched};
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
/// A row that was never seen can only come from elsewhere: from other matrices of the same samples (--view), else it is the mean of the other rows.
/// Neither depends on the order of the samples.
///
/// With --p, --q, --rank, --depth or --gamma the paper's model is fitted instead: a p x p grid of q x q blocks and a map from the position of a block to
/// the block. Two layers can say something about rows never seen, but only through the order of the samples.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro complete --matrix M.npy -o M_full.npy                       NaN is missing, everything chosen
  repro complete --matrix M.npy --mask W.npy --psd -o M_full.npy    positive semidefinite in any case
  repro complete --matrix K1.npy --view K2.npy --view K3.npy -o K1_full.npy     missing rows from other kernels
  repro complete --matrix M.csv -o M_full.csv                       empty fields are missing
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
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Run the command.
pub fn run(args: &Args) -> Result<u8> {
    let began = Instant::now();
    output::check_ends(&args.output, &["npy", "csv"])?;
    let mut source = Source::open(&args.matrix)?;
    let original = source.matrix("M")?;
    let mask = observed(args, &source.name, &original)?;
    let partial = partial(&source, &original, &mask)?;
    let (n, seen) = (partial.n(), partial.observed());
    let one_sided = partial.mask().iter().zip(&mask).filter(|(both, own)| **both == 1.0 && **own == 0.0).count();
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
    let params = FillParams { cone, denoise: args.denoise, seed: args.seed };
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
        ensure!(
            views.is_empty(),
            "--view belongs to the model that is chosen; leave out --p, --q, --rank, --depth and --gamma"
        );
        let prediction = blocks::predict(args, &partial, &mut facts)?;
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
    tell(args, &done, !views.is_empty(), by_blocks, &mut facts);
    let keep = !(args.denoise || args.psd && done.moved > 0.0);
    let full = Array2::from_shape_fn((n, n), |at| if keep && mask[at] == 1.0 { original[at] } else { done.matrix[at] });
    output::matrix(&args.output, full.view(), source.single())?;
    facts.say("time", duration(began.elapsed()), began.elapsed().as_secs_f64());
    facts.say("wrote", args.output.display().to_string(), args.output.display().to_string());
    facts.print(args.json)?;
    Ok(0)
}

fn count_are(n: usize) -> String {
    if n == 1 { "1 entry is".into() } else { format!("{n} entries are") }
}

/// Another matrix of the same samples.
fn view(file: &str, n: usize) -> Result<Partial> {
    let mut source = Source::open(file)?;
    let m = source.matrix("a view")?;
    ensure!(
        m.dim() == (n, n),
        "{file} is {} and the matrix has {n} rows; a view shows the same samples",
        times(m.shape())
    );
    let mask = m.mapv(|v| if v.is_nan() { 0.0 } else { 1.0 });
    partial(&source, &m, &mask)
}

/// 1 where observed.
fn observed(args: &Args, name: &str, m: &Array2<f64>) -> Result<Array2<f64>> {
    let n = m.nrows();
    ensure!(m.dim() == (n, n), "{name} is {}; a matrix to complete is square", times(m.shape()));
    let mask = match &args.mask {
        None => m.mapv(|v| if v.is_nan() { 0.0 } else { 1.0 }),
        Some(file) => {
            let mask = Source::open(file)?.matrix("the mask")?;
            ensure!(
                mask.dim() == (n, n),
                "{file} is {} and {name} is {}; both must agree",
                times(mask.shape()),
                times(&[n, n])
            );
            if let Some(((i, j), v)) = mask.indexed_iter().find(|(_, v)| **v != 0.0 && **v != 1.0) {
                bail!("{file}: entry ({i}, {j}) is {v}; a mask has 1 where observed and 0 where missing");
            }
            mask
        }
    };
    for ((i, j), v) in m.indexed_iter().filter(|(at, _)| mask[*at] == 1.0) {
        ensure!(v.is_finite(), "{name}: entry ({i}, {j}) is {v} although it counts as observed; repair it or mask it");
        ensure!(
            i != j || *v >= 0.0,
            "{name}: diagonal entry {i} is {v}, so no completion is positive semidefinite; check that M is a kernel or a covariance"
        );
    }
    Ok(mask)
}

/// The matrix with its mask; what is symmetric up to the rounding of the file counts as symmetric.
fn partial(source: &Source, m: &Array2<f64>, mask: &Array2<f64>) -> Result<Partial> {
    let scale = m.iter().zip(mask).filter(|(_, w)| **w == 1.0).fold(0.0f64, |s, (v, _)| s.max(v.abs()));
    let mut even = m.clone();
    for ((i, j), v) in m.indexed_iter().filter(|((i, j), _)| i > j && mask[[*i, *j]] == 1.0 && mask[[*j, *i]] == 1.0) {
        let mirror = m[[j, i]];
        ensure!(
            (v - mirror).abs() <= source.tolerance() * scale,
            "{}: entries ({i}, {j}) = {v} and ({j}, {i}) = {mirror} differ; a matrix to complete is symmetric",
            source.name
        );
        (even[[i, j]], even[[j, i]]) = (0.5 * (v + mirror), 0.5 * (v + mirror));
    }
    Ok(Partial::new(even.view(), mask.view())?)
}

/// The validation errors, as a table.
fn scores(args: &Args, done: &Filled, facts: &mut Facts) {
    let mut table = Table::new(&["filled by", "relative error on hidden entries", ""], &[1]);
    let least = done.scores.iter().map(|s| s.error).fold(f64::INFINITY, f64::min);
    for (i, s) in done.scores.iter().enumerate() {
        let mark = if i == 0 { "<- chosen" } else { "" };
        table.row(vec![s.name.clone(), number(s.error), mark.into()]);
    }
    if !args.json {
        print(&(table.render() + "\n"));
    }
    let values: Vec<_> = done.scores.iter().map(|s| json!({"filled_by": s.name, "error": s.error})).collect();
    let name = done.scores.first().map_or("", |s| s.name.as_str());
    facts.say(
        "chosen",
        format!("{name}: relative error {} on hidden entries", number(done.error())),
        json!({"name": name, "error": done.error(), "scores": values}),
    );
    if done.error().is_nan() {
        facts.warn("so little is observed that none of it could be hidden: the result is not validated");
    } else if least > 0.9 {
        facts.warn("hidden entries were predicted hardly better than by 0: what is observed does not determine what is missing");
    }
}

/// What is to be said about the result.
fn tell(args: &Args, done: &Filled, views: bool, blocks: bool, facts: &mut Facts) {
    if !blocks {
        let text =
            format!("{} beside the diagonal, trace penalty {}", count(done.rank, "dimension"), number(done.penalty));
        facts.say("model", text, json!({"rank": done.rank, "penalty": done.penalty}));
        let words = if done.converged {
            "yes"
        } else {
            "no: the iteration limit was reached; the validation error above is that of what is written"
        };
        facts.say("converged", words, done.converged);
    }
    let (low, high) = done.spectrum;
    let psd = match (done.is_psd(), args.no_psd) {
        (true, _) => "yes".to_string(),
        (false, true) => "no, and not asked for".into(),
        (false, false) => format!(
            "no: the observed entries do not allow it here, the nearest such matrix is {} away (relative); --psd or --denoise moves them",
            number(done.outside)
        ),
    };
    facts.say(
        "psd",
        format!("{psd}; eigenvalues {} to {}", number(low), number(high)),
        json!({"psd": done.is_psd(), "least": low, "most": high, "outside": done.outside}),
    );
    if done.moved > 0.0 {
        facts.say("observed entries", format!("changed by at most {} of the largest", number(done.moved)), done.moved);
    }
    if !done.empty_rows.is_empty() && !blocks {
        let shown = done.empty_rows.iter().take(20).map(usize::to_string).collect::<Vec<_>>().join(", ");
        let more =
            if done.empty_rows.len() > 20 { format!(", ... ({} rows)", done.empty_rows.len()) } else { String::new() };
        let source = match views {
            true => "they come from the other views and from the mean of the other rows",
            false => {
                "nothing is known of them but the mean of the other rows; other matrices of the same samples help (--view)"
            }
        };
        facts.warn(format!(
            "rows without any observed entry: {shown}{more}; {source}. The order of the samples plays no part"
        ));
    }
    facts.silent("undetermined_rows", json!({"empty": done.empty_rows}));
}
