//! Kind `fetch-digits`: Multiple Features, six descriptions of handwritten digits, the first samples of each class.

use crate::shared::defaults::number;
use crate::shared::files::write_npy;
use crate::shared::source::{externals, options_of, record};
use datasets::mfeat;
use ndarray::Array1;
use pipeline::{Context, Environment, ParamError, Stage, StageError, StageResult};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The kind.
pub struct FetchDigits;

/// Its parameters.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Samples of each of the ten classes; the paper takes 20.
    #[serde(default = "number::<20>")]
    per_class: usize,
}

impl Stage for FetchDigits {
    const NAME: &'static str = "fetch-digits";
    const ABOUT: &'static str = "Multiple Features (UCI): the first samples of each digit in six views";
    const SCHEMA: u32 = 1;
    type Params = Params;

    fn check(&self, p: &Params) -> Result<(), ParamError> {
        if (1..=200).contains(&p.per_class) {
            Ok(())
        } else {
            Err(ParamError::new("per_class", "lies between 1 and 200"))
        }
    }

    fn externals(&self, _: &Params, env: &Environment) -> Result<BTreeMap<String, String>, StageError> {
        Ok(externals(env, |name| name.contains("mfeat") || name.contains("multiple"))?)
    }

    fn run(&self, p: &Params, ctx: &Context) -> StageResult {
        let (all, provenance) = mfeat::load(&options_of(ctx))?;
        let digits = all.first_per_class(p.per_class)?;
        for ((name, _), view) in mfeat::VIEWS.iter().zip(&digits.views) {
            write_npy(&ctx.output(&format!("{name}.npy"))?, view)?;
        }
        write_npy(&ctx.output("labels.npy")?, &digits.labels.iter().map(|l| i64::from(*l)).collect::<Array1<i64>>())?;
        Ok(record(ctx, &provenance)?)
    }
}
