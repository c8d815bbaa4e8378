//! Kind `evaluate`: the rows of all fits of an experiment in one table, and its summary numbers by name.
//!
//! `results.csv` is for people, `results.json` for the next stage, `metrics.json` holds the numbers that the paper's claims are
//! judged by (their names are listed in `report::claims::METRICS`).

pub mod bci;
pub mod completion;
pub mod matrices;
pub mod regression;

use crate::files::write_json;
use crate::rows::gather;
use anyhow::Result;
use pipeline::{Context, Stage, StageResult};
use report::aggregate::Summary;
use report::claims::{Metric, Metrics};
use report::{Results, Source};
use serde::{Deserialize, Serialize};

/// The kind.
pub struct Evaluate;

/// Its parameters.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Which experiment's numbers to compute.
    experiment: Experiment,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum Experiment {
    Bci,
    Completion,
    Matrices,
    Regression,
}

impl Stage for Evaluate {
    const NAME: &'static str = "evaluate";
    const ABOUT: &'static str = "the results of an experiment as one table, and the numbers its claims are judged by";
    const SCHEMA: u32 = 1;
    type Params = Params;

    fn run(&self, p: &Params, ctx: &Context) -> StageResult {
        let results = Results::from_rows(&gather(ctx)?)?;
        let mut numbers = Numbers { source: Source::Generated, metrics: Metrics::new() };
        match p.experiment {
            Experiment::Bci => bci::metrics(&results, &mut numbers)?,
            Experiment::Completion => completion::metrics(ctx, &results, &mut numbers)?,
            Experiment::Matrices => matrices::metrics(&results, &mut numbers)?,
            Experiment::Regression => regression::metrics(&results, &mut numbers)?,
        }
        fs_err::write(ctx.output("results.csv")?, results.to_csv())?;
        write_json(&ctx.output("results.json")?, &results.rows())?;
        write_json(&ctx.output("metrics.json")?, &numbers.metrics)?;
        Ok(())
    }
}

/// Metrics of one experiment as they are collected.
pub struct Numbers {
    source: Source,
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

/// The results that `evaluate` gathered, as a rendering stage reads them.
pub fn results(ctx: &Context) -> Result<Results> {
    let input = crate::files::input_with(ctx, "results.json")?;
    Ok(Results::from_json(&fs_err::read_to_string(input.path("results.json")?)?)?)
}
