//! Kind `mask`: which samples are missing in which views.
//!
//! Every sample stays observed in at least one view and every view keeps samples, so with six views at most 5/6 of the pairs
//! can be missing: a higher level is lowered to that.

use crate::shared::files::{input_with, read_npy, write_npy};
use ndarray::Array1;
use pipeline::{Context, ParamError, Stage, StageResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind.
pub struct Mask;

/// Its parameters.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Share of missing (sample, view) pairs, in %.
    level: f64,
    /// Number of the mask.
    #[serde(default)]
    mask: u64,
}

impl Stage for Mask {
    const NAME: &'static str = "mask";
    const ABOUT: &'static str = "which samples are missing in which views";
    type Params = Params;

    fn check(&self, p: &Params) -> Result<(), ParamError> {
        if p.level > 0.0 && p.level < 100.0 {
            Ok(())
        } else {
            Err(ParamError::new("level", "lies strictly between 0 and 100 %"))
        }
    }

    fn run(&self, p: &Params, ctx: &Context) -> StageResult {
        let labels: Array1<i64> = read_npy(input_with(ctx, "labels.npy")?.path("labels.npy")?)?;
        let (samples, views) = (labels.len(), multiview::VIEWS.len());
        let most = multiview::largest_level(samples, views);
        let level = p.level / 100.0;
        if level > most {
            ctx.log(&format!(
                "level {} % lowered to {:.1} %: every sample keeps one of {views} views",
                p.level,
                100.0 * most
            ));
        }
        let mask = multiview::random_mask(samples, views, level.min(most), p.mask)?;
        write_npy(&ctx.output("mask.npy")?, &mask.into_flags())?;
        Ok(())
    }
}
