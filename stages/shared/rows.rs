//! Result rows: flat JSON objects, one per fit, in the artefact `rows.json`. Stages that fit write them, `*-results` stages
//! gather them. They hold no times, because the same inputs must give the same bytes; times are in the unit's record.

use crate::shared::files::{inputs_with, read_json, write_json};
use anyhow::Result;
use pipeline::Context;
use serde_json::{Map, Value};

/// The artefact.
pub const ROWS: &str = "rows.json";

/// One flat row.
pub type Row = Map<String, Value>;

/// A row from any serialisable struct; nested values are refused by the reader of the table, not here.
pub fn row(value: &impl serde::Serialize) -> Result<Row> {
    match serde_json::to_value(value)? {
        Value::Object(map) => Ok(map),
        other => anyhow::bail!("a row must be an object, not {other}"),
    }
}

/// The columns that say which task of simulated regression a row is about, and the rank of its model.
#[derive(serde::Serialize)]
pub struct Task<'a> {
    pub map: &'a str,
    pub true_rank: usize,
    pub noise: f64,
    pub dataset: u64,
    /// Training samples.
    pub l: usize,
    pub rank: usize,
}

/// Writes the unit's rows.
pub fn write_rows(ctx: &Context, rows: &[Row]) -> Result<()> {
    let path = ctx.output(ROWS).map_err(|e| anyhow::anyhow!("{e}"))?;
    write_json(&path, &rows)
}

/// The rows of all inputs, in the order of stages and labels.
pub fn gather(ctx: &Context) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for input in inputs_with(ctx, ROWS)? {
        rows.extend(read_json::<Vec<Row>>(input.path(ROWS)?)?);
    }
    Ok(rows)
}
