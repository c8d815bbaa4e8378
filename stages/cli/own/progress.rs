//! Progress of one long command: a line on stderr that renews itself on a terminal, and nothing elsewhere.
//!
//! Shown after a second, so that quick work stays silent, and renewed every second by a thread of its own: a solver that says nothing for a minute
//! still shows that time passes. Ctrl-C ends the command as it always does; nothing half-written is left, because files appear whole or not at all.

use std::io::{IsTerminal, Write};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time before the first line and between lines.
const EVERY: Duration = Duration::from_secs(1);
/// Characters of the bar.
const BAR: usize = 20;

#[derive(Default)]
struct State {
    step: String,
    share: f64,
    done: bool,
}

/// The line.
pub struct Line {
    shared: Arc<(Mutex<State>, Condvar)>,
    renewer: Mutex<Option<JoinHandle<()>>>,
}

impl Line {
    /// A line on this process's stderr, if that is a terminal.
    pub fn new() -> Line {
        let shared = Arc::new((Mutex::new(State::default()), Condvar::new()));
        let renewer = std::io::stderr().is_terminal().then(|| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || renew(&shared))
        });
        Line { shared, renewer: Mutex::new(renewer) }
    }

    /// Says which step is under way and its share done.
    pub fn show(&self, step: &str, share: f64) {
        // A poisoned lock means another thread panicked; a missing progress line is no reason to panic too.
        if let Ok(mut state) = self.shared.0.lock() {
            (state.step, state.share) = (step.to_owned(), share);
        }
    }

    /// Removes the line.
    pub fn clear(&self) {
        if let Ok(mut state) = self.shared.0.lock() {
            state.done = true;
        }
        self.shared.1.notify_all();
        if let Some(renewer) = self.renewer.lock().ok().and_then(|mut r| r.take()) {
            let _ = renewer.join(); // it cannot have failed in a way that matters here
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Draws the line every second until the work is done, then removes it.
fn renew(shared: &(Mutex<State>, Condvar)) {
    let (began, mut shown) = (Instant::now(), 0);
    let Ok(mut state) = shared.0.lock() else { return };
    while !state.done {
        let Ok((now, waited)) = shared.1.wait_timeout(state, EVERY) else { return };
        state = now;
        if waited.timed_out() && !state.done {
            let line = text(began.elapsed().as_secs(), &state.step, state.share);
            let blank = " ".repeat(usize::saturating_sub(shown, line.chars().count()));
            shown = line.chars().count();
            write_now(&format!("\r{line}{blank}"));
        }
    }
    if shown > 0 {
        write_now(&format!("\r{}\r", " ".repeat(shown)));
    }
}

/// Seconds, a bar of what is done of this step, and its name.
fn text(seconds: u64, step: &str, share: f64) -> String {
    let full = (share.clamp(0.0, 1.0) * BAR as f64).round() as usize;
    format!("{seconds:>4} s  [{}{}] {:>3.0} %  {step}", "=".repeat(full), " ".repeat(BAR - full), 100.0 * share)
}

/// Writes to stderr at once. Progress is a courtesy: a stderr that cannot be written stops nothing.
fn write_now(text: &str) {
    let mut err = std::io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_bar_fills() {
        assert_eq!(super::text(7, "rank 3", 0.25), "   7 s  [=====               ]  25 %  rank 3");
        assert_eq!(super::text(61, "all samples", 1.0), "  61 s  [====================] 100 %  all samples");
    }
}
