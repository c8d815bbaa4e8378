//! Which instruction set the kernels use on this machine.
#![cfg(target_arch = "x86_64")]

/// An instruction set that the kernels are compiled for.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Level {
    Avx512,
    Avx2,
    Plain,
}

/// The widest instruction set of this machine, asked once. `REPRO_SIMD` = `avx2` or `plain` asks for a narrower one.
pub(super) fn level() -> Level {
    static LEVEL: std::sync::OnceLock<Level> = std::sync::OnceLock::new();
    *LEVEL.get_or_init(|| {
        let fma = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        let wide = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl");
        match std::env::var("REPRO_SIMD").as_deref() {
            Ok("plain") => Level::Plain,
            Ok("avx2") if fma => Level::Avx2,
            _ if fma && wide => Level::Avx512,
            _ if fma => Level::Avx2,
            _ => Level::Plain,
        }
    })
}
