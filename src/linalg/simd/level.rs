//! Which instruction set the kernels use.
//!
//! All levels give the same bits (see the module above), so a change at any moment changes the speed and nothing else.

use std::sync::atomic::{AtomicU8, Ordering};

/// An instruction set that the kernels are compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Level {
    /// No more than every processor of the target has; fused multiply-add in software where it must be.
    Plain = 1,
    /// AVX2 with FMA.
    Avx2 = 2,
    /// AVX-512.
    Avx512 = 3,
}

impl Level {
    /// The name that `REPRO_SIMD` takes.
    pub fn name(self) -> &'static str {
        match self {
            Level::Plain => "plain",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }
}

/// The arithmetic class of this crate: all processors that follow IEEE 754 belong to it and compute the same bits. Results of
/// another class (`cuda`) differ in their last digits and must never share a key with these.
pub const CLASS: &str = "portable";

/// The level in use; 0 before it is known.
static LEVEL: AtomicU8 = AtomicU8::new(0);

/// The levels that this machine has, the widest last.
pub fn levels() -> Vec<Level> {
    let mut found = vec![Level::Plain];
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        found.push(Level::Avx2);
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
            found.push(Level::Avx512);
        }
    }
    found
}

/// Whether this machine has an instruction for fused multiply-add; without it the products are slow.
pub fn has_fma() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    return cfg!(target_arch = "aarch64");
}

/// The level in use: the widest of this machine, or the one that `REPRO_SIMD` names.
///
/// A name that is unknown, or that this machine lacks, is refused by [`requested_level`]; here it counts as not given.
#[inline]
pub fn level() -> Level {
    match LEVEL.load(Ordering::Relaxed) {
        1 => Level::Plain,
        2 => Level::Avx2,
        3 => Level::Avx512,
        _ => first(),
    }
}

#[cold]
fn first() -> Level {
    let widest = levels().last().copied().unwrap_or(Level::Plain);
    let level = requested_level().ok().flatten().unwrap_or(widest);
    LEVEL.store(level as u8, Ordering::Relaxed);
    level
}

/// The level that the environment variable `REPRO_SIMD` asks for.
///
/// # Errors
/// A sentence for the user if the name is unknown or if this machine lacks that instruction set.
pub fn requested_level() -> Result<Option<Level>, String> {
    match std::env::var("REPRO_SIMD") {
        Ok(name) => named_level(&name),
        Err(_) => Ok(None),
    }
}

fn named_level(name: &str) -> Result<Option<Level>, String> {
    if name.is_empty() || name == "auto" {
        return Ok(None);
    }
    let have = levels();
    if let Some(level) = have.iter().find(|l| l.name() == name) {
        return Ok(Some(*level));
    }
    let names = have.iter().map(|l| l.name()).collect::<Vec<_>>().join(", ");
    let known = ["plain", "avx2", "avx512"].contains(&name);
    let why = if known { "this machine does not have it" } else { "there is no such instruction set" };
    Err(format!("REPRO_SIMD={name}: {why}; this machine has {names} (the default, auto, takes the last)"))
}

/// Uses another level from now on, in the whole process. Returns false, and changes nothing, if this machine lacks it.
pub fn set_level(level: Level) -> bool {
    let have = levels().contains(&level);
    if have {
        LEVEL.store(level as u8, Ordering::Relaxed);
    }
    have
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_named_or_refused_with_what_there_is() {
        assert_eq!(named_level("plain"), Ok(Some(Level::Plain)));
        assert_eq!(named_level("auto"), Ok(None));
        let said = named_level("avx1024").unwrap_err();
        assert!(said.contains("avx1024") && said.contains("plain"), "{said}");
        for level in levels() {
            assert_eq!(named_level(level.name()), Ok(Some(level)));
        }
    }
}
