//! The stage kinds that `kind:` in pipeline.yaml may name. A new kind is one file in `stages/` and one line here.

use crate::pool::Pooled;
use crate::{
    adapt, baselines, classify, complete, covariances, evaluate, fetch, fill, kernels, mask, matrices, probe, render,
    simulate, train, transport,
};
use pipeline::{Registry, Stage};

/// For each stage file, the sources it reaches and their digests, as the build script found them.
static FINGERPRINTS: &[(&str, &[(&str, &str)])] = include!(concat!(env!("OUT_DIR"), "/fingerprints.rs"));

/// The sources of `stages/FILE.rs`.
///
/// # Panics
/// If there is no such file: a kind without a fingerprint would never be stale, and any test that starts the program
/// sees it.
fn code(file: &str) -> &'static [(&'static str, &'static str)] {
    let found = FINGERPRINTS.iter().find(|(name, _)| *name == file);
    found.unwrap_or_else(|| panic!("no fingerprint of stages/{file}.rs: is it declared in main.rs?")).1
}

/// Adds a kind whose units compute in a pool of their own.
fn add<S: Stage>(kinds: &mut Registry, stage: S, file: &str)
where
    S::Params: Sync,
{
    kinds.stage(Pooled(stage), code(file));
}

/// All kinds.
pub fn kinds() -> Registry {
    let mut kinds = Registry::new();
    add(&mut kinds, adapt::Adapt, "adapt");
    add(&mut kinds, baselines::Baselines, "baselines");
    add(&mut kinds, classify::Classify, "classify");
    add(&mut kinds, complete::Complete, "complete");
    add(&mut kinds, covariances::Covariances, "covariances");
    add(&mut kinds, evaluate::Evaluate, "evaluate");
    add(&mut kinds, fetch::Fetch, "fetch");
    add(&mut kinds, fill::Fill, "fill");
    add(&mut kinds, kernels::Kernels, "kernels");
    add(&mut kinds, mask::Mask, "mask");
    add(&mut kinds, matrices::Matrices, "matrices");
    // The probe measures the engine and computes nothing: no pool.
    kinds.stage(probe::Probe, code("probe"));
    add(&mut kinds, render::Render, "render");
    add(&mut kinds, simulate::Simulate, "simulate");
    add(&mut kinds, train::Train, "train");
    add(&mut kinds, transport::Transport, "transport");
    kinds
}
