//! Kind `completion-results`: the rows of kernel completion and classification as one table, and its numbers for figures 6
//! and 7. How rows are selected stands here too, for the figures.

use crate::shared::files::{input_with, read_json};
use crate::shared::results::{NoParams, Numbers, write_results};
use crate::shared::source::SOURCE;
use anyhow::Result;
use datasets::fetch::{Kind, Provenance};
use pipeline::{Context, Stage, StageResult};
use report::aggregate::Summary;
use report::results::Cell;
use report::{Results, Source};

/// The kind.
pub struct CompletionResults;

impl Stage for CompletionResults {
    const NAME: &'static str = "completion-results";
    const ABOUT: &'static str =
        "all completed kernels and their accuracies as one table, and the numbers their claims are judged by";
    const SCHEMA: u32 = 1;
    type Params = NoParams;

    fn run(&self, _: &NoParams, ctx: &Context) -> StageResult {
        Ok(write_results(ctx, |results, numbers| metrics(ctx, results, numbers))?)
    }
}

/// What identifies a completion.
const KEYS: [&str; 10] = ["method", "blocks", "depth", "rank", "order", "sizes", "epochs", "level", "missing", "mask"];

/// (p, q) as in pipeline.yaml, in metrics and in figures.
pub const GRIDS: [(&str, &str, &str); 3] =
    [("20x10", "p20q10", "(20, 10)"), ("10x20", "p10q20", "(10, 20)"), ("200x1", "p200q1", "(200, 1)")];

/// The grid whose orders and ranks are compared.
pub const GRID: &str = "10x20";

/// Sample orders, as in pipeline.yaml and in figures.
pub const ORDERS: [(&str, &str); 3] = [
    ("by-class", "by class (published, leaks labels)"),
    ("shuffled", "shuffled"),
    ("seriated", "seriated (label free)"),
];

/// Conditions on columns.
pub type Where<'a> = &'a [(&'a str, &'a str)];

/// The rows that fulfil all conditions.
pub fn only(results: &Results, wanted: Where<'_>) -> Result<Results> {
    let mut rows = results.clone();
    for (column, text) in wanted {
        rows = rows.only(column, text)?;
    }
    Ok(rows)
}

/// One row per completion: the errors of its views summed in `total`, its accuracy beside it where there is one.
pub fn per_completion(results: &Results) -> Result<Results> {
    let errors = results.only("measure", "error")?;
    let values = errors.numbers("error")?;
    let accuracies = results.only("measure", "accuracy")?;
    let (known, keys) = (accuracies.groups(&KEYS)?, errors.groups(&KEYS)?);
    let accuracy = if known.is_empty() { vec![] } else { accuracies.numbers("accuracy")? };
    let found = |key: &[Cell]| known.iter().find(|g| g.key == key).map(|g| Cell::Float(accuracy[g.rows[0]]));
    let mut columns: Vec<(String, Vec<Cell>)> = KEYS
        .iter()
        .enumerate()
        .map(|(k, n)| (n.to_string(), keys.iter().map(|g| g.key[k].clone()).collect()))
        .collect();
    let total = |rows: &[usize]| Cell::Float(rows.iter().map(|i| values[*i]).sum());
    columns.push(("total".into(), keys.iter().map(|g| total(&g.rows)).collect()));
    columns.push(("accuracy".into(), keys.iter().map(|g| found(&g.key).unwrap_or(Cell::Null)).collect()));
    Ok(Results::from_columns(columns)?)
}

/// The least Kraus rank that was run: the one at which depths and grids are compared.
pub fn base_rank(done: &Results) -> Result<String> {
    let least = done.only("method", "ptr")?.numbers("rank")?.into_iter().fold(f64::INFINITY, f64::min);
    Ok(least.to_string())
}

/// Of each mask the completion by blocks of several samples, in the published order, with the least error: what the paper
/// classifies. The least error is known only because the full kernels are.
pub fn best(done: &Results) -> Result<Results> {
    let rows = only(done, &[("method", "ptr"), ("order", "by-class")])?;
    let blocks = rows.column("blocks")?;
    let several: Vec<usize> = (0..rows.len()).filter(|i| blocks[*i].text() != "200x1").collect();
    Ok(rows.take(&several)?.best(&["level", "mask"], "total")?)
}

/// Mean and spread against the share that is missing.
pub fn curve(done: &Results, wanted: Where<'_>, value: &str) -> Result<Vec<(f64, Summary)>> {
    let rows = only(done, wanted)?;
    let points = rows.curves(&["method"], "missing", value)?.into_iter().flat_map(|(_, points)| points);
    Ok(points.filter(|(_, s)| s.n > 0).collect())
}

/// Accuracy on the full kernels and its deviation over the splits.
pub fn full(results: &Results) -> Result<Option<(f64, f64)>> {
    let rows = only(results, &[("method", "full"), ("measure", "accuracy")])?;
    let (a, sd) = (rows.numbers("accuracy")?, rows.numbers("accuracy_sd")?);
    Ok(a.first().copied().zip(sd.first().copied()))
}

/// At a level, for the orders at depth 2 and mean imputation: name and the mean over the masks of each column.
pub fn at_level<const N: usize>(
    rows: &Results,
    rank: &str,
    level: &str,
    columns: [&str; N],
) -> Result<Vec<(&'static str, [f64; N])>> {
    let rows = rows.only("level", level)?;
    let mut found = Vec::new();
    let mut add = |name, rows: Results| -> Result<()> {
        if !rows.is_empty() {
            let mut means = [0.0; N];
            for (mean, column) in means.iter_mut().zip(columns) {
                *mean = Summary::of(rows.numbers(column)?).mean;
            }
            found.push((name, means));
        }
        Ok(())
    };
    for (order, _) in ORDERS {
        add(order, only(&rows, &[("blocks", GRID), ("depth", "2"), ("rank", rank), ("order", order)])?)?;
    }
    add("mean imputation", rows.only("method", "mean")?)?;
    Ok(found)
}

/// Where the digits came from.
pub fn provenance(ctx: &Context) -> Result<Provenance> {
    read_json(input_with(ctx, SOURCE)?.path(SOURCE)?)
}

/// The same as figures and metrics say it.
pub fn source(p: &Provenance) -> Source {
    match p.kind {
        Kind::Real => Source::Real(p.dataset.clone()),
        Kind::Embedded => Source::Embedded(p.dataset.clone()),
        Kind::Simulated => Source::Simulated,
    }
}

/// The numbers. Only the paper's ranks count: what a smaller profile trains says nothing about the paper's claims.
fn metrics(ctx: &Context, results: &Results, out: &mut Numbers) -> Result<()> {
    out.source = source(&provenance(ctx)?);
    let done = per_completion(results)?;
    let rank = base_rank(&done)?;
    if rank != "50" {
        return Ok(());
    }
    for (grid, name, _) in GRIDS {
        for depth in ["1", "2"] {
            let at = [("blocks", grid), ("depth", depth), ("rank", &rank), ("order", "by-class"), ("level", "30")];
            out.summary(&format!("figure6.{name}.depth{depth}.error"), only(&done, &at)?.numbers("total")?);
        }
    }
    let accuracy = |wanted: Where<'_>| -> Result<Vec<f64>> {
        Ok(only(&done, &[&[("level", "60")], wanted].concat())?.numbers("accuracy")?)
    };
    out.number("figure7.full.accuracy", full(results)?.map(|f| f.0));
    for method in ["zero", "mean", "cvkt"] {
        out.summary(&format!("figure7.{method}.accuracy"), accuracy(&[("method", method)])?);
    }
    out.summary("figure7.ptr.accuracy", best(&done)?.only("level", "60")?.numbers("accuracy")?);
    let ptr = |depth: &str, order: &str, rank: &str| {
        accuracy(&[("blocks", GRID), ("depth", depth), ("order", order), ("rank", rank)])
    };
    out.summary("figure7.ptr-depth1.accuracy", ptr("1", "by-class", &rank)?);
    out.summary("figure7.ptr-shuffled.accuracy", ptr("2", "shuffled", &rank)?);
    out.summary("figure7.ptr-seriated.accuracy", ptr("2", "seriated", &rank)?);
    for rank in ["50", "200"] {
        out.summary(&format!("figure7.rank{rank}.accuracy"), ptr("2", "by-class", rank)?);
    }
    Ok(())
}
