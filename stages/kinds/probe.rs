//! The engine's self-test kind: writes bytes that follow from its parameters and inputs, and misbehaves on request.
//!
//! No experiment uses it; the end-to-end tests do. A unit can sleep, fail a few times, ask for memory and leave a trace of each run
//! outside the store, so that tests see whether the engine keeps its promises.

use pipeline::{Context, Stage, StageResult};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::time::{Duration, Instant};

/// See the module.
pub struct Probe;

/// What a probe does.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Enters the bytes written.
    value: f64,
    /// Enters the bytes written.
    text: String,
    /// Size of the artefact `out.bin`.
    bytes: usize,
    /// Write the same bytes whatever `value` and `text` are: what follows must then stay fresh.
    constant: bool,
    /// Take that long.
    sleep_ms: u64,
    /// Fail with this message, if not empty.
    fail: String,
    /// Fail that many times before succeeding; counted in the trace.
    fail_first: usize,
    /// Hold that much memory while running.
    allocate_mib: usize,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            value: 0.0,
            text: String::new(),
            bytes: 64,
            constant: false,
            sleep_ms: 0,
            fail: String::new(),
            fail_first: 0,
            allocate_mib: 0,
        }
    }
}

impl Stage for Probe {
    const NAME: &'static str = "probe";
    const ABOUT: &'static str = "the engine's self-test: bytes from parameters, on request slow or failing";
    type Params = Params;

    fn run(&self, p: &Params, ctx: &Context) -> StageResult {
        let earlier = trace("start", ctx)?;
        ctx.log(&format!("probe {} with seed {}", ctx.id(), ctx.seed()));
        let held = vec![1u8; p.allocate_mib << 20];
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(p.sleep_ms) {
            if ctx.cancelled() {
                return Err("stopped on request".into());
            }
            let part = start.elapsed().as_secs_f64() * 1e3 / p.sleep_ms as f64;
            ctx.progress(part, "sleeping");
            std::thread::sleep(Duration::from_millis(p.sleep_ms.min(5)));
        }
        if !p.fail.is_empty() {
            return Err(p.fail.clone().into());
        }
        if earlier < p.fail_first {
            return Err(format!("asked to fail {} times, this was attempt {}", p.fail_first, earlier + 1).into());
        }
        drop(held);
        fs_err::write(ctx.output("out.bin")?, bytes(p, ctx)?)?;
        trace("end", ctx)?;
        Ok(())
    }
}

/// Append one line to the trace, the file that the environment variable names; how many such lines of this unit there
/// were. No parameter names it, so that where it lies enters no key.
fn trace(word: &str, ctx: &Context) -> std::io::Result<usize> {
    let Some(file) = std::env::var_os("REPRO_PROBE_TRACE") else { return Ok(0) };
    let line = format!("{word} {}\n", ctx.id());
    let earlier = fs_err::read_to_string(&file).unwrap_or_default().matches(&line).count();
    fs_err::OpenOptions::new().create(true).append(true).open(&file)?.write_all(line.as_bytes())?;
    Ok(earlier)
}

/// A stream keyed by parameters, seed and input bytes, made in parallel blocks of a fixed size.
fn bytes(p: &Params, ctx: &Context) -> Result<Vec<u8>, pipeline::StageError> {
    const BLOCK: usize = 1 << 12;
    let mut key = blake3::Hasher::new();
    if !p.constant {
        key.update(&p.value.to_bits().to_le_bytes());
        key.update(p.text.as_bytes());
        key.update(&ctx.seed().to_le_bytes());
        for stage in ctx.needs() {
            for input in ctx.inputs(stage)? {
                for path in input.artefacts.values() {
                    key.update(&fs_err::read(path)?);
                }
            }
        }
    }
    let mut out = vec![0u8; p.bytes];
    out.par_chunks_mut(BLOCK).enumerate().for_each(|(i, block)| {
        key.finalize_xof_at((i * BLOCK) as u64, block);
    });
    Ok(out)
}

/// A block of the hash stream at a position.
trait At {
    fn finalize_xof_at(&self, position: u64, out: &mut [u8]);
}

impl At for blake3::Hasher {
    fn finalize_xof_at(&self, position: u64, out: &mut [u8]) {
        let mut reader = self.finalize_xof();
        reader.set_position(position);
        reader.fill(out);
    }
}
