//! Transports, the ways to a remote: a folder, a web server, S3. Each moves named files and knows nothing of their meaning.
//!
//! A transport makes one attempt. [`Remote`] counts requests and repeats those that failed for a reason that may pass.

pub mod folder;
pub mod http;
pub mod s3;

use crate::error::{Error, Result};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Attempts at each request, the first one included.
pub const ATTEMPTS: u32 = 6;
/// The pause after the first failure. It doubles after each further failure.
const PAUSE: Duration = Duration::from_millis(100);

/// Why an attempt failed.
#[derive(Debug)]
pub enum Failure {
    /// The reason may pass, for example a busy server: another attempt is made.
    Transient(String),
    /// Another attempt would get the same answer.
    Final(String),
    /// The file in the remote is no longer the one that was read before.
    Changed,
    /// A file of this machine cannot be read or written.
    Local(Error),
}

/// The answer of one attempt.
pub type Attempt<T> = std::result::Result<T, Failure>;

/// A file that was read. A later write compares it with the file in the remote ([`When::Same`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The server's identifier of this content (ETag); none where the transport has no such thing.
    pub tag: Option<String>,
}

/// The condition under which a write may replace the file in the remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// Always. For files that are named by their content.
    Always,
    /// Only if there is no such file.
    Absent,
    /// Only if the file is still the one that was read.
    Same(Read),
}

/// Bytes to send.
#[derive(Clone, Copy, Debug)]
pub enum Body<'a> {
    /// Bytes in memory.
    Bytes(&'a [u8]),
    /// The bytes of a file on this machine, with its size.
    File(&'a Path, u64),
}

impl Body<'_> {
    /// The number of bytes.
    pub fn size(&self) -> u64 {
        match self {
            Body::Bytes(bytes) => bytes.len() as u64,
            Body::File(_, size) => *size,
        }
    }
}

/// Called with the number of bytes just transferred; returns `false` to stop the transfer.
pub type Moved<'a> = &'a (dyn Fn(u64) -> bool + Sync);

/// Moves named files to and from a remote.
pub trait Transport: Send + Sync {
    /// Reads a small file; none when it does not exist, an error when it has more than `most` bytes.
    fn read(&self, name: &str, most: u64) -> Attempt<Option<Read>>;
    /// Reads a file of `size` bytes into `part`, which may hold its beginning already. `false` when the file does not exist.
    /// A file that is longer is not read to its end: the caller sees the wrong size or gets an error.
    fn fetch(&self, name: &str, part: &Path, size: u64, moved: Moved<'_>) -> Attempt<bool>;
    /// Writes a file, whole or not at all.
    fn write(&self, name: &str, body: Body<'_>, when: &When, moved: Moved<'_>) -> Attempt<()>;
    /// The size of a file; none when it does not exist.
    fn size(&self, name: &str) -> Attempt<Option<u64>>;
    /// Removes a file. One that does not exist is no error.
    fn remove(&self, name: &str) -> Attempt<()>;
}

/// A remote: a transport with retries, a name for messages and the keys that may sign its index.
pub struct Remote {
    name: String,
    transport: Box<dyn Transport>,
    keys: Vec<String>,
    requests: AtomicUsize,
    retried: AtomicUsize,
}

impl Remote {
    /// The remote that this transport reaches.
    pub fn new(name: String, transport: Box<dyn Transport>) -> Self {
        Self { name, transport, keys: Vec::new(), requests: AtomicUsize::new(0), retried: AtomicUsize::new(0) }
    }

    /// The same remote, whose index must be signed by one of these keys. An empty list accepts any signature, or none.
    pub fn trusting(self, keys: Vec<String>) -> Self {
        Self { keys, ..self }
    }

    /// The keys that may sign its index.
    pub fn keys(&self) -> &[String] {
        &self.keys
    }

    /// Its name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Requests made so far, repeated ones included.
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }

    /// Requests that failed and were repeated.
    pub fn retried(&self) -> usize {
        self.retried.load(Ordering::Relaxed)
    }

    /// An error of this remote.
    pub fn error(&self, what: impl Into<String>) -> Error {
        Error::Remote { remote: self.name.clone(), what: what.into() }
    }

    /// Repeats `attempt` until it succeeds, fails for good, has been made [`ATTEMPTS`] times, or `cancel` is set. `None` when the file in
    /// the remote has changed ([`Failure::Changed`]). `what` is the subject of messages.
    pub fn ask<T>(
        &self,
        what: &str,
        cancel: &AtomicBool,
        mut attempt: impl FnMut(&dyn Transport) -> Attempt<T>,
    ) -> Result<Option<T>> {
        let mut pause = PAUSE;
        for n in 1.. {
            if cancel.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            self.requests.fetch_add(1, Ordering::Relaxed);
            let why = match attempt(self.transport.as_ref()) {
                Ok(answer) => return Ok(Some(answer)),
                Err(Failure::Changed) => return Ok(None),
                Err(Failure::Local(error)) => return Err(error),
                Err(Failure::Final(why)) => return Err(self.error(format!("{what}: {why}"))),
                Err(Failure::Transient(why)) => why,
            };
            if cancel.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            if n == ATTEMPTS {
                return Err(self.error(format!("{what}: {why}, {ATTEMPTS} times; the same command goes on later")));
            }
            self.retried.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(pause);
            pause *= 2;
        }
        Err(Error::Interrupted)
    }
}
