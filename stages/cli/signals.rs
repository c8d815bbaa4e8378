//! Ctrl-C: the first one asks to stop, the second one leaves at once.
//!
//! To leave at once is safe: results appear whole or not at all, so at most the work of running units is lost.

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
        // The exit is registered first: handlers run in this order, and it must see the flag as it was before this signal.
        flag::register_conditional_shutdown(signal, i32::from(INTERRUPTED), stop.clone())?;
        flag::register(signal, stop.clone())?;
    }
    Ok(stop)
}
