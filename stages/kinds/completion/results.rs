//! Kind `completion-results`: the rows of kernel completion and classification as one table, and its numbers for figures 6
//! and 7. How rows are selected stands here too, for the figures.

use crate::shared::files::{input_with, read_json};
use crate::shared::results::{Experiment, Numbers};
use crate::shared::source::SOURCE;
use anyhow::Result;
use datasets::fetch::{Kind, Provenance};
use pipeline::Context;
use report::Source;
use report::frames::{Results, Summary};
use report::polars::prelude::{DataFrame, Expr, IntoLazy, JoinType, col, lit};

/// The experiment.
pub struct Completion;

impl Experiment for Completion {
    const NAME: &'static str = "completion-results";
    const ABOUT: &'static str =
        "all completed kernels and their accuracies as one table, and the numbers their claims are judged by";

    fn metrics(ctx: &Context, results: &DataFrame, out: &mut Numbers) -> Result<()> {
        metrics(ctx, results, out)
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

/// The published order.
pub const BY_CLASS: &str = ORDERS[0].0;

/// The completions by one method.
pub fn method(name: &str) -> Expr {
    col("method").eq(lit(name))
}

/// The completions at a level of missing samples.
pub fn level(level: f64) -> Expr {
    col("level").eq(lit(level))
}

/// The completions by partial trace regression with these blocks, depth and rank, in this order of the samples.
pub fn ptr(blocks: &str, depth: i64, rank: usize, order: &str) -> Expr {
    let model = col("blocks").eq(lit(blocks)).and(col("depth").eq(lit(depth))).and(col("rank").eq(lit(rank as i64)));
    model.and(col("order").eq(lit(order)))
}

/// One row per completion: the errors of its views summed in `total`, its accuracy beside it where there is one.
pub fn per_completion(results: &DataFrame) -> Result<DataFrame> {
    let one = |measure: &str, value: Expr| -> Result<DataFrame> {
        Ok(results.with("measure", measure)?.lazy().group_by_stable(KEYS.map(col)).agg([value]).collect()?)
    };
    let errors = one("error", col("error").sum().alias("total"))?;
    Ok(errors.joined(&one("accuracy", col("accuracy").first())?, &KEYS, JoinType::Left)?)
}

/// The least Kraus rank that was run: the one at which depths and grids are compared.
pub fn base_rank(done: &DataFrame) -> Result<usize> {
    Ok(done.only(method("ptr"))?.summary("rank")?.min as usize)
}

/// Of each mask the completion by blocks of several samples, in the published order, with the least error: what the paper
/// classifies. The least error is known only because the full kernels are.
pub fn best(done: &DataFrame) -> Result<DataFrame> {
    let several = col("blocks").neq(lit("200x1")).and(col("order").eq(lit(BY_CLASS)));
    Ok(done.only(method("ptr").and(several))?.best(&["level", "mask"], "total")?)
}

/// Mean and spread against the share that is missing.
pub fn curve(done: &DataFrame, wanted: Expr, value: &str) -> Result<Vec<(f64, Summary)>> {
    let points = done.only(wanted)?.curve("missing", value)?;
    Ok(points.into_iter().filter(|(_, s)| s.n > 0).collect())
}

/// Accuracy on the full kernels and its deviation over the splits.
pub fn full(results: &DataFrame) -> Result<Option<(f64, f64)>> {
    let rows = results.only(method("full").and(col("measure").eq(lit("accuracy"))))?;
    let (a, sd) = (rows.numbers("accuracy")?, rows.numbers("accuracy_sd")?);
    Ok(a.first().copied().zip(sd.first().copied()))
}

/// At a level, for the orders at depth 2 and mean imputation: name and the mean over the masks of each column.
pub fn at_level<const N: usize>(
    rows: &DataFrame,
    rank: usize,
    at: f64,
    columns: [&str; N],
) -> Result<Vec<(&'static str, [f64; N])>> {
    let orders = ORDERS.map(|(order, _)| (order, ptr(GRID, 2, rank, order)));
    let mut found = Vec::new();
    for (name, wanted) in orders.into_iter().chain([("mean imputation", method("mean"))]) {
        let rows = rows.only(level(at).and(wanted))?;
        let mut means = [0.0; N];
        for (mean, column) in means.iter_mut().zip(columns) {
            *mean = rows.summary(column)?.mean;
        }
        if rows.height() > 0 {
            found.push((name, means));
        }
    }
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
fn metrics(ctx: &Context, results: &DataFrame, out: &mut Numbers) -> Result<()> {
    out.source = source(&provenance(ctx)?);
    let done = per_completion(results)?;
    let rank = base_rank(&done)?;
    if rank != 50 {
        return Ok(());
    }
    for (grid, name, _) in GRIDS {
        for depth in [1, 2] {
            let rows = done.only(ptr(grid, depth, rank, BY_CLASS).and(level(30.0)))?;
            out.summary(&format!("figure6.{name}.depth{depth}.error"), rows.summary("total")?);
        }
    }
    let accuracy = |wanted: Expr| -> Result<Summary> { Ok(done.only(level(60.0).and(wanted))?.summary("accuracy")?) };
    out.number("figure7.full.accuracy", full(results)?.map(|f| f.0));
    for name in ["zero", "mean", "cvkt"] {
        out.summary(&format!("figure7.{name}.accuracy"), accuracy(method(name))?);
    }
    out.summary("figure7.ptr.accuracy", best(&done)?.only(level(60.0))?.summary("accuracy")?);
    out.summary("figure7.ptr-depth1.accuracy", accuracy(ptr(GRID, 1, rank, BY_CLASS))?);
    for order in ["shuffled", "seriated"] {
        out.summary(&format!("figure7.ptr-{order}.accuracy"), accuracy(ptr(GRID, 2, rank, order))?);
    }
    for rank in [50, 200] {
        out.summary(&format!("figure7.rank{rank}.accuracy"), accuracy(ptr(GRID, 2, rank, BY_CLASS))?);
    }
    Ok(())
}
