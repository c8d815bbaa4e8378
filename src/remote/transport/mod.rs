//! Ways to a remote: a folder, a web server, S3. Each moves named files; what they mean is not known here.
//!
//! A transport makes one attempt. [`Remote`] counts requests and repeats those that failed for a reason that may pass.

pub mod folder;
pub mod http;
pub mod s3;

use crate::error::{Error, Result};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Attempts at each request.
pub const ATTEMPTS: u32 = 6;
/// The pause after the first failure; it doubles with each.
const PAUSE: Duration = Duration::from_millis(100);

/// Why an attempt failed.
#[derive(Debug)]
pub enum Failure {
    /// It may pass: another attempt is made.
    Passing(String),
    /// Another attempt would get the same answer.
    Final(String),
    /// The file on the remote is not what was read before.
    Changed,
    /// A file of this machine.
    Here(Error),
}

/// The answer of one attempt.
pub type Attempt<T> = std::result::Result<T, Failure>;

/// A file that was read, and by what a later write knows that it is still the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The server's name for this content; none where there are no conditions.
    pub tag: Option<String>,
}

/// When a write may replace what is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// Always: files named by content.
    Always,
    /// When nothing is there.
    Absent,
    /// When it is what was read.
    Same(Read),
}

/// Bytes to send.
#[derive(Clone, Copy, Debug)]
pub enum Body<'a> {
    /// These.
    Bytes(&'a [u8]),
    /// Those of a file of that size.
    File(&'a Path, u64),
}

impl Body<'_> {
    /// Their number.
    pub fn size(&self) -> u64 {
        match self {
            Body::Bytes(bytes) => bytes.len() as u64,
            Body::File(_, size) => *size,
        }
    }
}

/// Notes bytes as they move; `false` says stop.
pub type Moved<'a> = &'a (dyn Fn(u64) -> bool + Sync);

/// One way to a remote.
pub trait Transport: Send + Sync {
    /// A small file, at most `most` bytes; none when it is not there.
    fn read(&self, name: &str, most: u64) -> Attempt<Option<Read>>;
    /// A file into `part`, which may hold its beginning; no more than `size` bytes. `false` when it is not there.
    fn fetch(&self, name: &str, part: &Path, size: u64, moved: Moved<'_>) -> Attempt<bool>;
    /// Writes a file, whole or not at all.
    fn write(&self, name: &str, body: Body<'_>, when: &When, moved: Moved<'_>) -> Attempt<()>;
    /// The size of a file; none when it is not there.
    fn size(&self, name: &str) -> Attempt<Option<u64>>;
    /// Removes a file.
    fn remove(&self, name: &str) -> Attempt<()>;
}

/// A remote.
pub struct Remote {
    name: String,
    way: Box<dyn Transport>,
    keys: Vec<String>,
    requests: AtomicUsize,
    retried: AtomicUsize,
}

impl Remote {
    /// The remote at the end of that way.
    pub fn new(name: String, way: Box<dyn Transport>) -> Self {
        Self { name, way, keys: Vec::new(), requests: AtomicUsize::new(0), retried: AtomicUsize::new(0) }
    }

    /// The same remote, whose index must be signed by one of these keys; none means by anybody or nobody.
    pub fn trusting(self, keys: Vec<String>) -> Self {
        Self { keys, ..self }
    }

    /// The keys that may sign its index.
    pub fn keys(&self) -> &[String] {
        &self.keys
    }

    /// What messages call it.
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

    /// Tries until it succeeds, cannot succeed, or `cancel` is raised. `None` when the remote has changed.
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
            let why = match attempt(self.way.as_ref()) {
                Ok(answer) => return Ok(Some(answer)),
                Err(Failure::Changed) => return Ok(None),
                Err(Failure::Here(error)) => return Err(error),
                Err(Failure::Final(why)) => return Err(self.error(format!("{what}: {why}"))),
                Err(Failure::Passing(why)) => why,
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
