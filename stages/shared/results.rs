//! What every `*-results` kind writes and every `*-figures` kind reads: the rows of all fits of an experiment in one table,
//! and its summary numbers by name.
//!
//! `results.parquet` is for the next stage and for Python, `results.csv` for people, `metrics.json` holds the numbers that the paper's
//! claims are judged by (their names are listed in `report::claims::METRICS`).

use crate::shared::files::{input_with, write_json};
use crate::shared::rows::gather;
use anyhow::Result;
use pipeline::{Context, Stage, StageResult};
use report::Source;
use report::claims::{Metric, Metrics};
use report::frames::{Summary, from_parquet, from_rows, to_csv, to_parquet};
use report::polars::prelude::DataFrame;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The parameters of a kind that needs none.
#[derive(Serialize, Deserialize, JsonSchema)]
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
    pub fn summary(&mut self, name: &str, s: Summary) {
        if s.n > 0 {
            let sd = s.sd.is_finite().then_some(s.sd);
            self.metrics.insert(name.into(), Metric { value: s.mean, sd, n: Some(s.n), source: self.source.clone() });
        }
    }

    /// A mean over `n` of which only the mean is told; nothing when it is not finite.
    pub fn mean(&mut self, name: &str, value: f64, n: f64) {
        if value.is_finite() {
            let n = (n >= 1.0).then_some(n as usize);
            self.metrics.insert(name.into(), Metric { value, sd: None, n, source: self.source.clone() });
        }
    }

    /// A number; nothing when there is none.
    pub fn number(&mut self, name: &str, value: Option<f64>) {
        if let Some(value) = value.filter(|v| v.is_finite()) {
            self.metrics.insert(name.into(), Metric { value, sd: None, n: None, source: self.source.clone() });
        }
    }
}

/// The artefact that a rendering stage reads.
pub const RESULTS: &str = "results.parquet";

/// The numbers of one experiment. [`Gathered`] makes a kind of it.
pub trait Experiment: Send + Sync + 'static {
    /// The name of the kind.
    const NAME: &'static str;
    /// One line that says what the kind does.
    const ABOUT: &'static str;

    /// Computes the numbers from the rows of all fits.
    fn metrics(ctx: &Context, results: &DataFrame, out: &mut Numbers) -> Result<()>;
}

/// The kind that gathers the rows of all inputs and writes them with the experiment's numbers.
pub struct Gathered<E>(pub E);

impl<E: Experiment> Stage for Gathered<E> {
    const NAME: &'static str = E::NAME;
    const ABOUT: &'static str = E::ABOUT;
    type Params = NoParams;

    fn run(&self, _: &NoParams, ctx: &Context) -> StageResult {
        let results = from_rows(&gather(ctx)?)?;
        let mut numbers = Numbers { source: Source::Generated, metrics: Metrics::new() };
        E::metrics(ctx, &results, &mut numbers)?;
        fs_err::write(ctx.output(RESULTS)?, to_parquet(&results)?)?;
        fs_err::write(ctx.output("results.csv")?, to_csv(&results)?)?;
        write_json(&ctx.output("metrics.json")?, &numbers.metrics)?;
        Ok(())
    }
}

/// The table that [`Gathered`] wrote, as a rendering stage reads it.
pub fn read_results(ctx: &Context) -> Result<DataFrame> {
    Ok(from_parquet(&fs_err::read(input_with(ctx, RESULTS)?.path(RESULTS)?)?)?)
}
