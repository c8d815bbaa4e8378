//! What every `*-results` kind writes and every `*-figures` kind reads: the rows of all fits of an experiment in one table,
//! and its summary numbers by name.
//!
//! `results.csv` is for people, `results.json` for the next stage, `metrics.json` holds the numbers that the paper's claims are
//! judged by (their names are listed in `report::claims::METRICS`).

use crate::shared::files::{input_with, write_json};
use crate::shared::rows::gather;
use anyhow::Result;
use pipeline::Context;
use report::aggregate::Summary;
use report::claims::{Metric, Metrics};
use report::{Results, Source};
use serde::{Deserialize, Serialize};

/// The parameters of a kind that needs none.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoParams {}

/// Metrics of one experiment as they are collected.
pub struct Numbers {
    /// The data that the next numbers were measured on.
    pub source: Source,
    metrics: Metrics,
}

impl Numbers {
    /// A number measured several times; nothing when no value is finite.
    pub fn summary(&mut self, name: &str, values: Vec<f64>) {
        let s = Summary::of(values);
        if s.n > 0 {
            let sd = s.sd.is_finite().then_some(s.sd);
            self.metrics.insert(name.into(), Metric { value: s.mean, sd, source: self.source.clone() });
        }
    }

    /// A number; nothing when there is none.
    pub fn number(&mut self, name: &str, value: Option<f64>) {
        if let Some(value) = value.filter(|v| v.is_finite()) {
            self.metrics.insert(name.into(), Metric { value, sd: None, source: self.source.clone() });
        }
    }
}

/// Gathers the rows of all inputs, computes the experiment's numbers with `metrics`, and writes both.
pub fn write_results(ctx: &Context, metrics: impl FnOnce(&Results, &mut Numbers) -> Result<()>) -> Result<()> {
    let results = Results::from_rows(&gather(ctx)?)?;
    let mut numbers = Numbers { source: Source::Generated, metrics: Metrics::new() };
    metrics(&results, &mut numbers)?;
    let path = |name: &str| ctx.output(name).map_err(|e| anyhow::anyhow!("{e}"));
    fs_err::write(path("results.csv")?, results.to_csv())?;
    write_json(&path("results.json")?, &results.rows())?;
    write_json(&path("metrics.json")?, &numbers.metrics)
}

/// The table that [`write_results`] wrote, as a rendering stage reads it.
pub fn read_results(ctx: &Context) -> Result<Results> {
    let input = input_with(ctx, "results.json")?;
    Ok(Results::from_json(&fs_err::read_to_string(input.path("results.json")?)?)?)
}

/// The values of a column of whole numbers, ascending.
pub fn values(results: &Results, column: &str) -> Result<Vec<usize>> {
    let mut found: Vec<usize> = results.numbers(column)?.into_iter().map(|v| v as usize).collect();
    found.sort_unstable();
    found.dedup();
    Ok(found)
}
