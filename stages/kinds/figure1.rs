//! Kind `figure1`: the partial trace drawn on an example. Needs no results.

use crate::shared::render::figure;
use crate::shared::results::NoParams;
use pipeline::{Context, Stage, StageResult};

/// The kind.
pub struct Figure1;

impl Stage for Figure1 {
    const NAME: &'static str = "figure1";
    const ABOUT: &'static str = "figure 1: the partial trace of an example matrix";
    type Params = NoParams;

    fn run(&self, _: &NoParams, ctx: &Context) -> StageResult {
        // 12 x 12 with blocks of 3 x 3: small enough to check by hand.
        let matrix = ndarray::Array2::from_shape_fn((12, 12), |(i, j)| ((i * 5 + j * 3) % 7) as f64);
        Ok(figure(ctx, &report::figures::partial_trace(&matrix, 3))?)
    }
}
