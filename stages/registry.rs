//! The stage kinds that `kind:` in pipeline.yaml may name. A new kind is one file in `stages/` and one line here.

use crate::{adapt, baselines, covariances, evaluate, fetch, probe, render, simulate, train, transport};
use pipeline::Registry;

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

/// All kinds.
pub fn kinds() -> Registry {
    let mut kinds = Registry::new();
    kinds.stage(adapt::Adapt, code("adapt"));
    kinds.stage(baselines::Baselines, code("baselines"));
    kinds.stage(covariances::Covariances, code("covariances"));
    kinds.stage(evaluate::Evaluate, code("evaluate"));
    kinds.stage(fetch::Fetch, code("fetch"));
    kinds.stage(probe::Probe, code("probe"));
    kinds.stage(render::Render, code("render"));
    kinds.stage(simulate::Simulate, code("simulate"));
    kinds.stage(train::Train, code("train"));
    kinds.stage(transport::Transport, code("transport"));
    kinds
}
