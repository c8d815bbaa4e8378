//! Kind `fetch-digits`: Multiple Features, six descriptions of handwritten digits, the first samples of each class.

use crate::shared::files::write_npy;
use crate::shared::params::number;
use crate::shared::source::{SOURCE, Wanted, options, record};
use datasets::mfeat;
use ndarray::Array1;
use pipeline::{Context, Environment, ParamError, Stage, StageError, StageResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The kind.
pub struct FetchDigits;

/// Its parameters.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Samples of each of the ten classes; the paper takes 20.
    #[serde(default = "number::<20>")]
    per_class: usize,
}

impl Stage for FetchDigits {
    const NAME: &'static str = "fetch-digits";
    const ABOUT: &'static str = "Multiple Features (UCI): the first samples of each digit in six views";
    type Params = Params;

    fn check(&self, p: &Params) -> Result<(), ParamError> {
        if (1..=200).contains(&p.per_class) {
            Ok(())
        } else {
            Err(ParamError::new("per_class", "lies between 1 and 200"))
        }
    }

    fn externals(&self, _: &Params, env: &Environment) -> Result<BTreeMap<String, String>, StageError> {
        Ok(Wanted::Digits.externals(env)?)
    }

    fn run(&self, p: &Params, ctx: &Context) -> StageResult {
        let (all, provenance) = mfeat::load(&options(ctx.env())?)?;
        let digits = all.first_per_class(p.per_class)?;
        for ((name, _), view) in mfeat::VIEWS.iter().zip(&digits.views) {
            write_npy(&ctx.output(&format!("{name}.npy"))?, view)?;
        }
        write_npy(&ctx.output("labels.npy")?, &digits.labels.iter().map(|l| i64::from(*l)).collect::<Array1<i64>>())?;
        Ok(record(ctx, SOURCE, &provenance)?)
    }
}
