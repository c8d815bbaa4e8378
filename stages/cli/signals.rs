//! Ctrl-C: the first one asks to stop, the second one leaves at once.
//!
//! Leaving at once is safe: results appear whole or not at all, so the worst loss is the work of units in flight.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Exit code after an interruption.
pub const INTERRUPTED: u8 = 130;

/// A flag that the first Ctrl-C (or SIGTERM) raises. From then on a second one ends the process.
pub fn stop_flag() -> std::io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // Order matters: the exit is registered first, so that it sees the flag as it was before this signal.
        flag::register_conditional_shutdown(signal, i32::from(INTERRUPTED), stop.clone())?;
        flag::register(signal, stop.clone())?;
    }
    Ok(stop)
}
