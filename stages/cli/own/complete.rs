//! `repro complete`: fill the missing entries of a positive semidefinite matrix.

use super::super::output as print;
use super::super::text::{Table, count, duration};
use super::arrays::Source;
use super::facts::{Facts, number};
use super::{gamma, output, times};
use anyhow::{Result, bail, ensure};
use kraus::completion::{Completion, CompletionParams, HoldOut, Partial, candidates, choose, complete};
use kraus::{Gamma, LbfgsParams, Stopping};
use ndarray::Array2;
use serde_json::json;
use std::path::PathBuf;
use std::time::Instant;

/// Fill the missing entries of a positive semidefinite matrix (a kernel, a covariance)
///
/// NaN, or 0 in --mask, marks what is missing. The matrix is read as a p x p grid of q x q blocks, and a map from the position of a
/// block to the block is learned from what is there. Observed entries are kept to the bit.
///
/// One layer (the default) finds the best positive semidefinite matrix of the given rank; it cannot say anything about a row
/// that was never seen. Two layers share what blocks have in common and can; they are the default where whole rows are missing.
/// What you do not give (rank, p, q) is chosen by hiding a fifth of the observed entries (or rows) and predicting them.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro complete --matrix M.npy -o M_full.npy                       NaN is missing, everything chosen
  repro complete --matrix M.npy --mask W.npy --rank 8 -o M_full.npy
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
    /// Where to write the completed matrix (.npy or .csv)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Blocks per side, n = p q
    #[arg(long)]
    p: Option<usize>,
    /// Rows of a block, n = p q
    #[arg(long)]
    q: Option<usize>,
    /// Kraus rank [default: chosen]
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rank: Option<u32>,
    /// Layers [default: 1, or 2 where whole rows are missing]
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
    ensure!(seen < n * n, "{} has no missing entry; mark what is missing by NaN or --mask", source.name);
    let mut facts = Facts::default();
    let share = 100.0 * (n * n - seen) as f64 / (n * n) as f64;
    facts.say("matrix", format!("{}, {share:.1} % missing", times(&[n, n])), json!({"n": n, "missing": n * n - seen}));
    let (params, chosen) = model(args, &partial, &mut facts)?;
    let solver = LbfgsParams { stopping: Stopping::after(3000), restarts: 3, ..LbfgsParams::default() };
    let done = complete(&partial, &params, &solver)?;
    let how = if chosen { "chosen by validation" } else { "given" };
    facts.say(
        "model",
        format!(
            "rank {}, {} of {} x {} blocks ({how})",
            params.rank,
            count(params.depth(), "layer"),
            params.q,
            params.q
        ),
        json!({"rank": params.rank, "p": params.p, "q": params.q, "depth": params.depth(), "chosen": chosen}),
    );
    tell(&partial, &done, &params, &mut facts);
    let full = Array2::from_shape_fn((n, n), |at| if mask[at] == 1.0 { original[at] } else { done.matrix[at] });
    output::matrix(&args.output, full.view(), source.single())?;
    facts.say("time", duration(began.elapsed()), began.elapsed().as_secs_f64());
    facts.say("wrote", args.output.display().to_string(), args.output.display().to_string());
    facts.print(args.json)?;
    Ok(0)
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

/// The model: as given, or the best of the candidates.
fn model(args: &Args, partial: &Partial, facts: &mut Facts) -> Result<(CompletionParams, bool)> {
    let n = partial.n();
    let whole_rows = !partial.empty_rows().is_empty();
    let depth = args.depth.map_or(if whole_rows { 2 } else { 1 }, usize::from);
    let other = |v: usize, name: &str| {
        ensure!(v > 0 && n.is_multiple_of(v), "--{name} {v} does not divide n = {n}; choose p q = n");
        Ok(n / v)
    };
    let grid = match (args.p, args.q) {
        (None, None) => None,
        (Some(p), Some(q)) => {
            ensure!(p.checked_mul(q) == Some(n), "--p {p} blocks of --q {q} rows do not make n = {n}; choose p q = n");
            Some((p, q))
        }
        (Some(p), None) => Some((p, other(p, "p")?)),
        (None, Some(q)) => Some((other(q, "q")?, q)),
    };
    let rank = args.rank.map(|r| r as usize);
    let deep_ranks: Vec<usize> =
        rank.map_or_else(|| [1, 2, 5, 10, 20].into_iter().filter(|r| *r <= n).collect(), |r| vec![r]);
    let mut list = candidates(n, &[depth], &deep_ranks, args.gamma);
    if depth > 1 && list.is_empty() {
        ensure!(grid.is_some(), "n = {n} has no divisor to make blocks of; use --depth 1, or give --p {n} --q 1");
        list = vec![CompletionParams::deep(n, 1, 1, depth, args.gamma)];
    }
    if let Some(r) = rank {
        list.iter_mut().for_each(|c| c.rank = r);
    }
    if let Some((p, q)) = grid {
        for c in &mut list {
            *c = if depth == 1 {
                CompletionParams::single(p, q, c.rank)
            } else {
                CompletionParams::deep(p, q, c.rank, depth, args.gamma)
            };
        }
    }
    list.iter_mut().for_each(|c| c.seed = args.seed);
    let mut seen: Vec<CompletionParams> = Vec::new();
    list.retain(|c| {
        !seen.contains(c) && {
            seen.push(c.clone());
            true
        }
    });
    if let [one] = list.as_slice() {
        return Ok((one.clone(), false));
    }
    let stopping = Stopping { max: 300, tolerance: 1e-7, target: 0.0, patience: None };
    let quick = LbfgsParams { stopping, restarts: if depth == 1 { 2 } else { 1 }, ..LbfgsParams::default() };
    let choice = choose(partial, &list, &HoldOut::like(partial, args.seed), |m, c| complete(m, c, &quick))?;
    let mut table = Table::new(&["rank", "p", "q", "layers", "error on hidden entries", ""], &[0, 1, 2, 3, 4]);
    for (c, e) in &choice.scores {
        let mark = if *c == choice.params { "<- chosen" } else { "" };
        let cells = [c.rank, c.p, c.q, c.depth()].map(|v| v.to_string());
        table.row(cells.into_iter().chain([number(*e), mark.into()]).collect());
    }
    if !args.json {
        print(&(table.render() + "\n"));
    }
    let best = choice.scores.iter().map(|s| s.1).fold(f64::INFINITY, f64::min);
    facts.say("validation", format!("relative error {} on hidden entries", number(best)), best);
    if best > 0.9 {
        facts.warn("hidden entries were predicted hardly better than by 0: what is observed does not determine what is missing");
    }
    Ok((choice.params, true))
}

/// What is to be said about the result.
fn tell(partial: &Partial, done: &Completion, params: &CompletionParams, facts: &mut Facts) {
    let (mut wrong, mut total) = (0.0, 0.0);
    for (at, _) in partial.mask().indexed_iter().filter(|(_, w)| **w == 1.0) {
        let truth = partial.values()[at];
        wrong += (done.prediction[at] - truth).powi(2);
        total += truth * truth;
    }
    let error = (wrong / total.max(f64::MIN_POSITIVE)).sqrt();
    facts.say("fit", format!("relative error {} on observed entries", number(error)), error);
    let (low, high) = done.spectrum;
    let psd = if done.is_psd() { "yes" } else { "no, since observed entries are kept as they are" };
    facts.say(
        "psd",
        format!("{psd}: eigenvalues {} to {}", number(low), number(high)),
        json!({"psd": done.is_psd(), "least": low, "most": high}),
    );
    let rows = |list: &[usize]| {
        let shown = list.iter().take(20).map(usize::to_string).collect::<Vec<_>>().join(", ");
        if list.len() > 20 { format!("{shown}, ... ({} rows)", list.len()) } else { shown }
    };
    if !done.empty_rows.is_empty() {
        let (list, many) = (rows(&done.empty_rows), done.empty_rows.len() > 1);
        let (noun, verb) = if many { ("rows", "have") } else { ("row", "has") };
        facts.warn(match params.depth() {
            1 => format!("{noun} {list} {verb} no observed entry, and one layer cannot determine such rows: what is written there is arbitrary; use --depth 2"),
            _ => format!("{noun} {list} {verb} no observed entry: what is written there is inferred from the blocks around it alone"),
        });
    }
    let weak: Vec<usize> = done.weak_rows.iter().copied().filter(|r| !done.empty_rows.contains(r)).collect();
    if params.depth() == 1 && !weak.is_empty() {
        facts.warn(format!(
            "rows {} have fewer observed entries than the rank {}, which leaves them open; lower the rank",
            rows(&weak),
            params.rank
        ));
    }
    facts.say(
        "undetermined rows",
        if done.weak_rows.is_empty() { "none".into() } else { rows(&done.weak_rows) },
        json!({"empty": done.empty_rows, "weak": weak}),
    );
}
