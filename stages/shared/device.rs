//! Where the stages train: what `--backend` and `--tf32` mean to them, and how that enters the key of a unit.
//!
//! Numbers of a GPU differ from a processor's in their last digits. So a unit that a GPU would train has the external
//! `backend: cuda` (or `cuda, tf32`), and one that a processor trains has none: results of processors are shared by all
//! machines, those of GPUs by machines that have one, and the two are never mixed. Processors need no name in the key,
//! because all of them compute the same bits (see `linalg::simd`).

use anyhow::{Context as _, Result};
use kraus::backend::{self, Choice, Fits, Job, Trainable, Trial};
use kraus::{Fit, Flow, Problem, Progress};
use pipeline::{Context, Environment};
use std::collections::BTreeMap;

/// Name of the value of the environment that says where to train: `auto`, `cpu`, `cuda`, with `-tf32` where TF32 is allowed.
pub const BACKEND: &str = "backend";

/// Name of the value of the environment that says how this machine computes; it is recorded with each result, for the reader.
pub const ARITHMETIC: &str = "arithmetic";

/// How the processor computes: the class, the instruction set in use, and where fused multiply-add is done. Only the class
/// decides bits, and all processors have the same one, so none of this enters a key.
pub fn arithmetic() -> String {
    let fma = if linalg::simd::has_fma() { "in hardware" } else { "in software (slow)" };
    format!("{}, instructions {}, fused multiply-add {fma}", linalg::simd::CLASS, linalg::simd::level().name())
}

/// The backend that the user asked for, and whether TF32 is allowed.
pub fn choice(env: &Environment) -> (Choice, bool) {
    match env.get(BACKEND).unwrap_or_default() {
        "cpu" => (Choice::Cpu, false),
        "cuda" => (Choice::Cuda, false),
        "cuda-tf32" => (Choice::Cuda, true),
        "auto-tf32" => (Choice::Auto, true),
        _ => (Choice::Auto, false),
    }
}

/// The externals of a unit that trains by Adam: the backend, if it is a GPU.
pub fn externals(env: &Environment) -> BTreeMap<String, String> {
    let (choice, tf32) = choice(env);
    let name = if tf32 { "cuda, tf32" } else { "cuda" };
    let gpu = choice != Choice::Cpu && backend::probe().is_ok();
    gpu.then(|| ("backend".to_string(), name.to_string())).into_iter().collect()
}

/// Trains one model on the chosen backend and stops when the run is cancelled; `progress` is called after each epoch.
pub fn train_one<T: Trainable>(
    ctx: &Context,
    problem: &Problem<'_, T>,
    trial: Trial<T>,
    progress: impl Fn(&Progress),
) -> Result<Fit<T>> {
    let mut watch = |_: usize, now: &Progress| {
        progress(now);
        if ctx.cancelled() { Flow::Cancel } else { Flow::Continue }
    };
    let fits = train(ctx, Job { problem, validation: None, trials: vec![trial], tf32: false }, &mut watch)?;
    Ok(fits.into_iter().next().context("a backend returns one result per trial")??)
}

/// Trains a job on the chosen backend. A fall back to the processor is written to the unit's log.
pub fn train<T: Trainable>(
    ctx: &Context,
    job: Job<'_, T>,
    watch: &mut dyn FnMut(usize, &Progress) -> Flow,
) -> Result<Fits<T>> {
    let (choice, tf32) = choice(ctx.env());
    let done = backend::train(choice, &Job { tf32, ..job }, watch)?;
    if let Some(why) = done.fell_back.filter(|_| backend::probe().is_ok()) {
        ctx.log(&format!("trained on the processor: {why}"));
    }
    anyhow::ensure!(!ctx.cancelled(), "cancelled");
    Ok(done.fits)
}
