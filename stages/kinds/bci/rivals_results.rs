//! Kind `rivals-results`: the rows of the rivals as one table, and the mean accuracy of each method.

use super::results::source;
use super::rivals::METHODS;
use crate::shared::results::{NoParams, Numbers, write_results};
use anyhow::Result;
use pipeline::{Context, Stage, StageResult};
use report::Results;

/// The kind.
pub struct RivalsResults;

impl Stage for RivalsResults {
    const NAME: &'static str = "rivals-results";
    const ABOUT: &'static str = "the accuracies of the learned map and its rivals as one table";
    const SCHEMA: u32 = 1;
    type Params = NoParams;

    fn run(&self, _: &NoParams, ctx: &Context) -> StageResult {
        Ok(write_results(ctx, metrics)?)
    }
}

fn metrics(results: &Results, out: &mut Numbers) -> Result<()> {
    let classes = results.numbers("classes")?.first().copied().unwrap_or(0.0) as usize;
    out.source = source(results.only("data", "real")?.len() == results.len(), classes);
    for (method, _) in METHODS {
        let name = method.to_lowercase().replace(' ', "-");
        out.summary(&format!("rivals.{name}"), results.only("method", method)?.numbers("accuracy")?);
    }
    Ok(())
}
