//! Kind `rivals-results`: the rows of the rivals as one table, and the mean accuracy of each method.

use super::results::source;
use super::rivals::METHODS;
use crate::shared::results::{Experiment, Numbers};
use anyhow::Result;
use pipeline::Context;
use report::frames::Results;
use report::polars::prelude::DataFrame;

/// The experiment.
pub struct Rivals;

impl Experiment for Rivals {
    const NAME: &'static str = "rivals-results";
    const ABOUT: &'static str = "the accuracies of the learned map and its rivals as one table";

    fn metrics(_: &Context, results: &DataFrame, out: &mut Numbers) -> Result<()> {
        metrics(results, out)
    }
}

fn metrics(results: &DataFrame, out: &mut Numbers) -> Result<()> {
    let classes = results.numbers("classes")?.first().copied().unwrap_or(0.0) as usize;
    out.source = source(results.with("data", "real")?.height() == results.height(), classes);
    for (method, _) in METHODS {
        let name = method.to_lowercase().replace(' ', "-");
        out.summary(&format!("rivals.{name}"), results.with("method", method)?.summary("accuracy")?);
    }
    Ok(())
}
