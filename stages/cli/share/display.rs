//! Shows a transfer: a bar with rate and time left on a terminal, a line every few seconds elsewhere.

use crate::cli::console::message;
use crate::cli::text::{count, dumb, duration, size};
use indicatif::{ProgressBar, ProgressStyle};
use remote::Progress;
use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Least time between two lines where there is no bar.
const LINE_INTERVAL: Duration = Duration::from_secs(3);

/// The display of one transfer.
pub struct Display {
    verb: &'static str,
    start: Instant,
    last: Mutex<Instant>,
    bar: Option<ProgressBar>,
}

impl Display {
    /// A display; `verb` is `pushing` or `pulling`.
    pub fn new(verb: &'static str) -> Self {
        let bar = (std::io::stderr().is_terminal() && !dumb()).then(|| {
            let bar = ProgressBar::new(0);
            if let Ok(style) =
                ProgressStyle::with_template("{msg} {bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left")
            {
                bar.set_style(style);
            }
            bar
        });
        Self { verb, start: Instant::now(), last: Mutex::new(Instant::now()), bar }
    }

    /// Shows the progress.
    pub fn show(&self, p: Progress) {
        if p.of_objects == 0 {
            return;
        }
        let objects = format!("{} {} of {}", self.verb, p.objects, count(p.of_objects, "object"));
        if let Some(bar) = &self.bar {
            bar.set_length(p.of_bytes);
            bar.set_position(p.bytes.min(p.of_bytes));
            bar.set_message(objects);
            return;
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.elapsed() < LINE_INTERVAL || p.objects == p.of_objects {
            return;
        }
        *last = Instant::now();
        message!("{objects}, {} of {}{}", size(p.bytes), size(p.of_bytes), rate(p, self.start.elapsed()));
    }

    /// Removes the bar.
    pub fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// The end of a line: `, 1.2 MiB/s, 5.0 s left`, and the number of repeated requests if there were any.
fn rate(p: Progress, since: Duration) -> String {
    let speed = p.bytes as f64 / since.as_secs_f64().max(1e-3);
    let left = p.of_bytes.saturating_sub(p.bytes) as f64 / speed.max(1.0);
    let left = Duration::try_from_secs_f64(left).unwrap_or_default();
    let again = if p.retried > 0 { format!(", {} repeated", count(p.retried, "request")) } else { String::new() };
    format!(", {}/s, {} left{again}", size(speed as u64), duration(left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_and_time_left() {
        let p = Progress { bytes: 1 << 20, of_bytes: 3 << 20, retried: 1, ..Progress::default() };
        assert_eq!(rate(p, Duration::from_secs(2)), ", 512 KiB/s, 4.0 s left, 1 request repeated");
    }
}
