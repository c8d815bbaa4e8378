//! Progress of one long command: a line on stderr that renews itself on a terminal, and nothing elsewhere.
//!
//! Shown after a second, so that quick work stays silent. Ctrl-C ends the command as it always does; nothing half-written is left, because files
//! appear whole or not at all.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Time before the first line and between lines.
const EVERY: Duration = Duration::from_secs(1);

/// The line.
pub struct Line {
    state: Option<Mutex<(Instant, Instant, usize)>>,
}

impl Line {
    /// A line on this process's stderr, if that is a terminal.
    pub fn new() -> Line {
        let now = Instant::now();
        Line { state: std::io::stderr().is_terminal().then(|| Mutex::new((now, now, 0))) }
    }

    /// Shows a step and its share done.
    pub fn show(&self, step: &str, share: f64) {
        let Some(state) = &self.state else { return };
        // A poisoned lock means another thread panicked; a missing progress line is no reason to panic too.
        let Ok(mut state) = state.lock() else { return };
        if state.1.elapsed() < EVERY {
            return;
        }
        let text = format!("{:>4} s  {step}, {:.0} %", state.0.elapsed().as_secs(), 100.0 * share);
        let blank = " ".repeat(state.2.saturating_sub(text.chars().count()));
        write_now(&format!("\r{text}{blank}"));
        (state.1, state.2) = (Instant::now(), text.chars().count());
    }

    /// Removes the line.
    pub fn clear(&self) {
        if let Some(Ok(state)) = self.state.as_ref().map(|s| s.lock())
            && state.2 > 0
        {
            write_now(&format!("\r{}\r", " ".repeat(state.2)));
        }
    }
}

/// Writes to stderr at once. Progress is a courtesy: a stderr that cannot be written stops nothing.
fn write_now(text: &str) {
    let mut err = std::io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}
