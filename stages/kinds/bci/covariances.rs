//! Kind `covariances`: one session of one subject of BCI Competition IV 2a, from recording to trial covariances.
//!
//! Real recordings come from the user's folder, the download cache or the official addresses; offline they are simulated,
//! written as GDF and read back through the same path. Recordings are not kept as artefacts: a simulated one follows
//! from its seed in a second, a real one is already on disk.

use crate::shared::files::write_npy;
use crate::shared::source::{externals, options_of, record};
use datasets::bci::{self, Session, SessionData};
use datasets::signal::SignalParams;
use datasets::simulate::SimParams;
use ndarray::Array1;
use pipeline::{Context, Environment, ParamError, Stage, StageError, StageResult};
use serde::{Deserialize, Serialize};
use spd::{Estimator, covariances};
use std::collections::BTreeMap;

/// The kind.
pub struct Covariances;

/// Its parameters.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// 1 to 9.
    subject: u8,
    /// `T` (first day) or `E` (second).
    session: Session,
    /// Filter and epochs.
    #[serde(default)]
    signal: SignalParams,
    /// `sample`, `oas` or `ledoit-wolf`.
    #[serde(default)]
    estimator: Shrinkage,
    /// How to simulate where there are no recordings.
    #[serde(default)]
    simulation: SimParams,
}

#[derive(Serialize, Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum Shrinkage {
    #[default]
    Sample,
    Oas,
    LedoitWolf,
}

impl Stage for Covariances {
    const NAME: &'static str = "covariances";
    const ABOUT: &'static str = "trial covariances of one BCI session, from real recordings or simulated ones";
    const SCHEMA: u32 = 1;
    type Params = Params;

    fn check(&self, p: &Params) -> Result<(), ParamError> {
        if !(1..=9).contains(&p.subject) {
            return Err(ParamError::new("subject", "subjects are 1 to 9"));
        }
        p.simulation.check().map_err(|e| ParamError::new("simulation", e))?;
        p.signal.check(f64::from(p.simulation.rate)).map_err(|e| ParamError::new("signal", e))?;
        Ok(())
    }

    fn externals(&self, p: &Params, env: &Environment) -> Result<BTreeMap<String, String>, StageError> {
        let stem = format!("A{:02}{}", p.subject, p.session).to_lowercase();
        Ok(externals(env, |name| {
            let name = name.to_lowercase();
            name.contains(&stem) || name.contains("bciciv") || name.contains("bci-") || name.contains("label")
        })?)
    }

    fn run(&self, p: &Params, ctx: &Context) -> StageResult {
        let (data, provenance) = bci::load(&options_of(ctx), p.subject, p.session, &p.simulation.check()?)?;
        let (matrices, labels) = match data {
            SessionData::Covariances(bundle) => (bundle.covariances, bundle.labels),
            SessionData::Recording(recording) => {
                let (starts, labels) = recording.usable();
                let epochs = p.signal.check(recording.rate)?.run(recording.signal.view(), &starts)?;
                let estimator = match p.estimator {
                    Shrinkage::Sample => Estimator::Sample,
                    Shrinkage::Oas => Estimator::Oas,
                    Shrinkage::LedoitWolf => Estimator::LedoitWolf,
                };
                (covariances(epochs.view(), estimator)?, labels)
            }
        };
        write_npy(&ctx.output("covariances.npy")?, &matrices)?;
        write_npy(&ctx.output("labels.npy")?, &labels.iter().map(|l| i64::from(*l)).collect::<Array1<i64>>())?;
        Ok(record(ctx, &provenance)?)
    }
}
