//! How fast others are beside us: their time over ours, per case, on a log axis.

use polars::prelude::{Column, DataFrame, Expr, IntoLazy, JoinType, UniqueKeepStrategy, col, cols, lit};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::charts::axis::Axis;
use crate::charts::figure::{Bars, Content, Figure, Panel};
use crate::charts::style::Width;
use crate::error::Error;
use crate::frames::{Results, from_rows};
use crate::source::Source;

/// Times measured in one sitting (`benches/`), by whom and of what.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Timings {
    /// Day of the sitting.
    pub date: String,
    /// Where.
    pub machine: Machine,
    /// The measurements: `group` (the panel), `case` (what was timed), `who` (ours is `ours`), `threads`, `milliseconds` (the least).
    pub rows: Vec<Map<String, Value>>,
}

/// The machine of a sitting.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Machine {
    /// Its processor.
    pub model: String,
    /// Cores.
    pub cores: usize,
    /// Load average during the sitting: above zero others disturbed it.
    pub load: f64,
}

/// Read a file of timings.
pub fn read_timings(json: &str) -> Result<Timings, Error> {
    serde_json::from_str(json).map_err(|source| Error::Json { what: "file of timings".into(), source })
}

/// How many times our time the others take: training epochs in a panel for each number of threads, all else in another.
pub fn speed(timings: &Timings) -> Result<Figure, Error> {
    let ratios = ratios(&from_rows(&timings.rows)?)?;
    let epoch = || col("group").eq(lit("epoch"));
    let mut panels = Vec::new();
    for threads in ratios.only(epoch())?.distinct("threads")? {
        let title = format!("an epoch of training, {threads} {}", if threads == 1 { "thread" } else { "threads" });
        panels.push(panel(title, &ratios.only(epoch().and(col("threads").eq(lit(threads as i64))))?)?);
    }
    let others = ratios.only(epoch().not().and(col("threads").eq(lit(1))))?;
    if others.height() > 0 {
        panels.push(panel("all else, 1 thread".into(), &others)?);
    }
    let Machine { model, cores, load } = &timings.machine;
    let caption = format!("Measured on {}: {cores} cores, {model}, load average {load:.1}.", timings.date);
    let mut figure =
        Figure::panels("speed", "Time of others over ours", Source::None, Width::TwoColumns, 1, 110.0, panels).words(
            "For each benchmark, the time that other programs take divided by ours, on a logarithmic axis; above one we are faster.",
            format!("{caption} Above one we are faster."),
        );
    figure.own_legends = true;
    Ok(figure)
}

/// The times of others beside ours of the same case: `ratio`. A group that completes the sentence ("to test MSE 1e-6") is part of a
/// case's `name`.
fn ratios(rows: &DataFrame) -> Result<DataFrame, Error> {
    let same = ["group", "case", "threads"];
    let ours = |is: Expr| rows.only(col("who").eq(lit("ours")).eq(is));
    let our_time =
        ours(lit(true))?.lazy().select([cols(same).as_expr(), col("milliseconds").alias("ours")]).collect()?;
    let both = ours(lit(false))?.joined(&our_time, &same, JoinType::Inner)?;
    let name = |(case, group): (Option<String>, Option<String>)| match group.filter(|g| g.starts_with("to ")) {
        Some(group) => format!("{} {group}", case.unwrap_or_default()),
        None => case.unwrap_or_default(),
    };
    let names: Vec<String> = both.texts("case")?.into_iter().zip(both.texts("group")?).map(name).collect();
    let ratio = (col("milliseconds") / col("ours")).alias("ratio");
    let mut both = both.lazy().with_column(ratio).collect()?;
    both.with_column(Column::new("name".into(), names))?;
    Ok(both)
}

fn panel(title: String, ratios: &DataFrame) -> Result<Panel, Error> {
    let who = ratios.unique_stable(Some(&["who".into()]), UniqueKeepStrategy::First, None)?.texts("who")?;
    let who: Vec<&str> = who.iter().flatten().map(String::as_str).collect();
    let table = ratios.spread(&["name"], ("who", &who), &["ratio"])?;
    let series = who.iter().map(|w| Ok((w.to_string(), table.numbers(&format!("ratio {w}"))?)));
    let series = series.collect::<Result<Vec<_>, Error>>()?;
    let cases = table.texts("name")?.into_iter().flatten().collect();
    // Equal is always in sight. `min` and `max` pass over NaN.
    let all = || series.iter().flat_map(|(_, ratios)| ratios.iter().copied());
    let (low, high) = (all().fold(1.0, f64::min), all().fold(1.0, f64::max));
    let bars = Bars {
        series,
        cases,
        y: Axis::log("times our time").between(if low < 1.0 { low / 1.5 } else { 0.8 }, high * 1.4),
    };
    Ok(Panel { title, content: Content::Bars(bars) })
}
