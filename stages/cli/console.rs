//! What commands write: results to stdout, messages to stderr. A stream that cannot be written never ends the work.
//!
//! | stream | what fails | what happens |
//! |---|---|---|
//! | stdout | its reader went away (`repro status \| head -1`) | nothing: the reader has what it wanted |
//! | stdout | any other error (a full disk, an I/O error) | the command ends with exit code [`MACHINE`] |
//! | stderr | any error (a closed terminal, a log on a full disk) | messages are dropped and counted; the last line of a run says so |
//!
//! The macros of the standard library panic in these cases. Clippy refuses them in this program (see `main.rs`).

use std::io::{ErrorKind, Write};
use std::sync::{Mutex, PoisonError};

/// Exit code when the machine is at fault: a stream, a disk, the store, a cluster.
pub const MACHINE: u8 = 3;

/// The error of stdout, if it had one.
static OUTPUT_ERROR: Mutex<Option<String>> = Mutex::new(None);

/// The first error of stderr and the number of messages dropped since.
static MESSAGES_LOST: Mutex<Option<(String, usize)>> = Mutex::new(None);

/// Prints a result.
pub fn output(text: &str) {
    let mut out = std::io::stdout().lock();
    if let Err(e) = out.write_all(text.as_bytes()).and_then(|()| out.flush())
        && e.kind() != ErrorKind::BrokenPipe
    {
        let mut first = OUTPUT_ERROR.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| e.to_string());
    }
}

/// Prints a result as JSON.
pub fn json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    output(&(serde_json::to_string_pretty(value)? + "\n"));
    Ok(())
}

/// Prints one line to stderr. [`message!`] formats it.
pub fn line(text: &str) {
    let mut err = std::io::stderr().lock();
    if let Err(e) = err.write_all(format!("{text}\n").as_bytes()) {
        let mut lost = MESSAGES_LOST.lock().unwrap_or_else(PoisonError::into_inner);
        lost.get_or_insert_with(|| (e.to_string(), 0)).1 += 1;
    }
}

/// Prints a line to stderr, with the arguments of `format!`.
macro_rules! message {
    ($($argument:tt)*) => { $crate::cli::console::line(&format!($($argument)*)) };
}
pub(crate) use message;

/// What was lost on stderr, as the end of a line on stdout; empty if nothing was.
pub fn lost() -> String {
    match &*MESSAGES_LOST.lock().unwrap_or_else(PoisonError::into_inner) {
        Some((why, 1)) => format!("; one message was lost, stderr: {why}"),
        Some((why, n)) => format!("; {n} messages were lost, stderr: {why}"),
        None => String::new(),
    }
}

/// The exit code of a command whose own is `code`: success without its result is no success.
pub fn exit_code(code: u8) -> u8 {
    match &*OUTPUT_ERROR.lock().unwrap_or_else(PoisonError::into_inner) {
        Some(why) => {
            line(&format!("error: the result could not be written to stdout: {why}"));
            if code == 0 { MACHINE } else { code }
        }
        None => code,
    }
}

/// Whether the machine is at fault rather than what the user wrote: a full disk, a store that cannot be written or is in use, a
/// cluster.
pub fn is_machine(error: &anyhow::Error) -> bool {
    use pipeline::Error::{Busy, DiskFull, Executor, Io, ReadOnly};
    use std::io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    error.chain().any(|cause| {
        let engine = cause.downcast_ref::<pipeline::Error>();
        let remote = cause.downcast_ref::<remote::Error>();
        let system = cause.downcast_ref::<std::io::Error>();
        matches!(engine, Some(DiskFull(_) | ReadOnly(_) | Io { .. } | Busy { .. } | Executor(_)))
            || matches!(remote, Some(remote::Error::Remote { .. } | remote::Error::File { .. }))
            || system.is_some_and(|e| matches!(e.kind(), StorageFull | QuotaExceeded | ReadOnlyFilesystem))
    })
}
