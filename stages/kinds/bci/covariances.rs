//! Kind `covariances`: one session of one subject of BCI Competition IV 2a, from recording to trial covariances.
//!
//! The input is the reference that `fetch-recordings` wrote: the content of a real recording, which is looked up on this machine, or a note to
//! simulate one, which is written as GDF and read back through the same path.

use crate::shared::files::{input_with, read_json, write_npy};
use crate::shared::source::{REFERENCE, SOURCE, options, record};
use datasets::bci::{self, Session, SessionData};
use datasets::fetch::{Kind, Provenance};
use datasets::signal::SignalParams;
use datasets::simulate::SimParams;
use ndarray::{Array1, Axis};
use pipeline::{Context, ParamError, Stage, StageResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spd::{Estimator, covariances};
use std::collections::BTreeSet;

/// The kind.
pub struct Covariances;

/// Its parameters.
#[derive(Serialize, Deserialize, JsonSchema)]
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
    /// The classes that are kept: 1 left hand, 2 right hand, 3 feet, 4 tongue.
    #[serde(default = "all_classes")]
    classes: Vec<u8>,
    /// How to simulate where there are no recordings.
    #[serde(default)]
    simulation: SimParams,
}

fn all_classes() -> Vec<u8> {
    vec![1, 2, 3, 4]
}

#[derive(Serialize, Deserialize, Default, Clone, Copy, JsonSchema)]
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
    type Params = Params;

    fn check(&self, p: &Params) -> Result<(), ParamError> {
        if !(1..=9).contains(&p.subject) {
            return Err(ParamError::new("subject", "subjects are 1 to 9"));
        }
        if p.classes.len() < 2 || p.classes.iter().any(|c| !(1..=4).contains(c)) {
            return Err(ParamError::new("classes", "at least two of 1, 2, 3, 4"));
        }
        p.simulation.check().map_err(|e| ParamError::new("simulation", e))?;
        p.signal.check(f64::from(p.simulation.rate)).map_err(|e| ParamError::new("signal", e))?;
        Ok(())
    }

    fn run(&self, p: &Params, ctx: &Context) -> StageResult {
        let reference: Provenance = read_json(input_with(ctx, REFERENCE)?.path(REFERENCE)?)?;
        let (data, provenance) = match reference.kind {
            Kind::Simulated => {
                let (recording, provenance) = bci::simulated(&p.simulation.check()?, p.subject, p.session)?;
                (SessionData::Recording(recording), provenance)
            }
            _ => (bci::open(&options(ctx.env())?, p.subject, p.session, &reference.checksum)?, reference),
        };
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
        let kept: Vec<usize> = (0..labels.len()).filter(|&i| p.classes.contains(&labels[i])).collect();
        let labels: Vec<u8> = kept.iter().map(|&i| labels[i]).collect();
        let present = labels.iter().collect::<BTreeSet<_>>().len();
        if present < 2 {
            let wanted = p.classes.iter().map(u8::to_string).collect::<Vec<_>>().join(", ");
            return Err(
                anyhow::anyhow!("the session has trials of {present} of the classes {wanted}; two are needed").into()
            );
        }
        let matrices = matrices.select(Axis(0), &kept);
        write_npy(&ctx.output("covariances.npy")?, &matrices)?;
        write_npy(&ctx.output("labels.npy")?, &labels.iter().map(|l| i64::from(*l)).collect::<Array1<i64>>())?;
        Ok(record(ctx, SOURCE, &provenance)?)
    }
}
