//! Kind `rivals-results`: the rows of the rivals as one table. No claim of the paper rests on them, so there are no numbers by name.

use crate::shared::results::{NoParams, write_results};
use pipeline::{Context, Stage, StageResult};

/// The kind.
pub struct RivalsResults;

impl Stage for RivalsResults {
    const NAME: &'static str = "rivals-results";
    const ABOUT: &'static str = "the accuracies of the learned map and its rivals as one table";
    const SCHEMA: u32 = 1;
    type Params = NoParams;

    fn run(&self, _: &NoParams, ctx: &Context) -> StageResult {
        Ok(write_results(ctx, |_, _| Ok(()))?)
    }
}
