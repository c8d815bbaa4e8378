//! The stage kinds that `kind:` in pipeline.yaml may name: one file or folder each, in the room of its experiment.
//!
//! | room | experiment |
//! |---|---|
//! | `regression/` | simulated regression: figure 2, table 2, the bound |
//! | `bci/` | adaptation between sessions of a brain-computer interface: table 3, embedding, plan |
//! | `matrices/` | completion of simulated matrices: figures 3 to 5, table 4 |
//! | `completion/` | completion of the kernels of Multiple Features: figures 6 and 7 |
//!
//! `cost` says what units of each kind cost, for the order of a run and the time it tells.
//! In each room `results` selects rows and holds the paper's numbers, and `figures` draws: the caption of a table is a matter
//! of one file, and editing it redraws one experiment. A new kind is one file with an `impl Stage` (or `Experiment`, or `Drawings`) and one line
//! here; the build script finds the file by the name in that impl and fingerprints all that it reaches.

mod bci;
mod completion;
mod cost;
mod figure1;
mod matrices;
mod probe;
mod regression;

use crate::shared::pool::Pooled;
use crate::shared::render::Drawn;
use crate::shared::results::Gathered;
use crate::shared::source::Wanted;
use pipeline::{Registry, Stage};
use std::marker::PhantomData;

/// For each kind, the sources it reaches and their digests, as the build script found them.
static FINGERPRINTS: &[(&str, &[(&str, &str)])] = include!(concat!(env!("OUT_DIR"), "/fingerprints.rs"));

/// The sources of a kind.
///
/// # Panics
/// If the build script found no such kind: without a fingerprint it would never be stale. Any test that starts the program
/// sees it.
fn code(kind: &str) -> &'static [(&'static str, &'static str)] {
    let found = FINGERPRINTS.iter().find(|(name, _)| *name == kind);
    found.unwrap_or_else(|| panic!("no fingerprint of the kind `{kind}`: is its file below stages/kinds?")).1
}

/// Adds a kind whose units compute in a pool of their own.
fn add<S: Stage>(kinds: &mut Registry, stage: S)
where
    S::Params: Sync,
{
    kinds.costed(Pooled(stage), code(S::NAME), cost::of(S::NAME));
}

/// What a unit of that kind with these parameters needs from outside, if it is a kind that fetches.
pub fn wanted(kind: &str, params: &pipeline::Value) -> Option<Wanted> {
    match kind {
        completion::fetch_digits::FetchDigits::NAME => Some(Wanted::Digits),
        bci::fetch_recordings::FetchRecordings::NAME => {
            let p: bci::fetch_recordings::Params = pipeline::from_value(params).ok()?;
            Some(Wanted::Recording(p.subject, p.session))
        }
        _ => None,
    }
}

/// All kinds.
pub fn kinds() -> Registry {
    let mut kinds = Registry::new();
    let k = &mut kinds;
    add(k, figure1::Figure1);

    add(k, regression::simulate::Simulate);
    add(k, regression::train::Train);
    add(k, regression::baselines::Baselines);
    add(k, Gathered(regression::results::Regression));
    add(k, Drawn(PhantomData::<regression::figures::What>));

    add(k, bci::fetch_recordings::FetchRecordings);
    add(k, bci::covariances::Covariances);
    add(k, bci::transport::Transport);
    add(k, bci::adapt::Adapt);
    add(k, bci::rivals::Rivals);
    add(k, Gathered(bci::results::Bci));
    add(k, Gathered(bci::rivals_results::Rivals));
    add(k, bci::figures::BciFigures);

    add(k, matrices::simulate_matrices::SimulateMatrices);
    add(k, matrices::complete_matrix::CompleteMatrix);
    add(k, Gathered(matrices::results::Matrices));
    add(k, Drawn(PhantomData::<matrices::figures::What>));

    add(k, completion::fetch_digits::FetchDigits);
    add(k, completion::kernels::Kernels);
    add(k, completion::mask::Mask);
    add(k, completion::complete_kernels::CompleteKernels);
    add(k, completion::classify::Classify);
    add(k, Gathered(completion::results::Completion));
    add(k, Drawn(PhantomData::<completion::figures::What>));

    // The probe measures the engine and computes nothing: no pool.
    k.stage(probe::Probe, code("probe"));
    kinds
}
