//! Kind `rivals-results`: the rows of the rivals as one table. No claim of the paper rests on them, so there are no numbers by name.

use crate::shared::results::{Experiment, Numbers};
use anyhow::Result;
use pipeline::Context;
use report::polars::prelude::DataFrame;

/// The experiment.
pub struct Rivals;

impl Experiment for Rivals {
    const NAME: &'static str = "rivals-results";
    const ABOUT: &'static str = "the accuracies of the learned map and its rivals as one table";

    fn metrics(_: &Context, _: &DataFrame, _: &mut Numbers) -> Result<()> {
        Ok(())
    }
}
