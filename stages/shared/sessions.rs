//! The two sessions of a subject as the stages after `covariances` read them.

use crate::shared::files::{inputs_with, read_json, read_npy};
use crate::shared::source::SOURCE;
use anyhow::{Result, anyhow};
use datasets::bci::Session;
use datasets::fetch::Provenance;
use ndarray::{Array1, Array3};
use pipeline::Context;

/// Trials of one session.
pub struct Trials {
    /// (trials, channels, channels).
    pub matrices: Array3<f64>,
    /// Class of each trial.
    pub labels: Vec<i64>,
    /// Which data.
    pub provenance: Provenance,
}

/// The default of a parameter that names the source: the first day.
pub fn first_day() -> Session {
    Session::T
}

/// Source and target: session `source` of one subject and the other one.
///
/// Both must be real or both simulated: transport between a real session and a simulated one means nothing.
pub fn sessions(ctx: &Context, source: Session) -> Result<(Trials, Trials)> {
    let (first, second) = (session(ctx, "T")?, session(ctx, "E")?);
    if first.provenance.kind != second.provenance.kind {
        let (a, b) = (first.provenance.caption(), second.provenance.caption());
        return Err(anyhow!("the sessions are of different kinds ({a}; {b}); give the files of both or of none"));
    }
    let (a, b) = (first.matrices.dim().1, second.matrices.dim().1);
    if a != b {
        return Err(anyhow!("session T has {a} channels and session E {b}; take both from one source"));
    }
    Ok(match source {
        Session::T => (first, second),
        Session::E => (second, first),
    })
}

/// Session `T` or `E` among the inputs.
fn session(ctx: &Context, name: &str) -> Result<Trials> {
    let units = inputs_with(ctx, "covariances.npy")?;
    let is = |value: Option<&pipeline::Value>| value.is_some_and(|v| v.to_string().trim_matches('"') == name);
    let unit = units.iter().find(|u| is(u.axes.get("session"))).ok_or_else(|| anyhow!("no input is session {name}"))?;
    let labels: Array1<i64> = read_npy(unit.path("labels.npy")?)?;
    Ok(Trials {
        matrices: read_npy(unit.path("covariances.npy")?)?,
        labels: labels.to_vec(),
        provenance: read_json(unit.path(SOURCE)?)?,
    })
}
