//! The end of a run, for whoever is not looking: a command of the user's, or the terminal's bell.

use crate::cli::console::message;
use crate::cli::text::dumb;
use std::io::{IsTerminal, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A run as long as this rings the bell.
const LONG: Duration = Duration::from_secs(60);

/// Announces the end of a run: runs `notify` in a shell, or rings the terminal's bell after a long one.
///
/// The command finds the exit code in `REPRO_CODE` and the last line in `REPRO_SUMMARY`. What becomes of it changes nothing.
pub fn announce(notify: Option<&str>, code: u8, summary: &str, wall: Duration) {
    if let Some(command) = notify {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(command).stdin(Stdio::null());
        shell.env("REPRO_CODE", code.to_string()).env("REPRO_SUMMARY", summary);
        match shell.status() {
            Ok(status) if status.success() => {}
            Ok(status) => message!("--notify: the command ended with {status}"),
            Err(e) => message!("--notify: the command could not be started: {e}"),
        }
    } else if wall >= LONG && std::io::stderr().is_terminal() && !dumb() {
        // OSC 9 is a notification in some terminals; its end is the bell in all.
        let text: String = summary.chars().filter(|c| !c.is_control()).collect();
        let _ = write!(std::io::stderr(), "\x1b]9;repro: {text}\x07\x07");
    }
}
