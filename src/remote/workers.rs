//! Several transfers at once, in the order of a list, until the end or the first error.

use crate::error::{Error, Result};
use crate::transport::Remote;
use crate::{Options, Progress};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Time between two reports of progress.
const TICK: Duration = Duration::from_millis(100);

/// Counts the objects and bytes that were transferred, and reports progress.
pub(crate) struct Tally<'a> {
    bytes: AtomicU64,
    objects: AtomicUsize,
    of: (usize, u64),
    options: &'a Options<'a>,
    remote: &'a Remote,
}

impl<'a> Tally<'a> {
    pub(crate) fn new(options: &'a Options<'a>, remote: &'a Remote, of: (usize, u64)) -> Self {
        Self { bytes: AtomicU64::new(0), objects: AtomicUsize::new(0), of, options, remote }
    }

    /// Bytes moved so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn report(&self) {
        (self.options.progress)(Progress {
            objects: self.objects.load(Ordering::Relaxed),
            of_objects: self.of.0,
            bytes: self.bytes(),
            of_bytes: self.of.1,
            retried: self.remote.retried(),
        });
    }
}

/// Counts the bytes of one object. Bytes of a failed attempt are subtracted again.
pub(crate) struct ObjectProgress<'t, 'a> {
    tally: &'t Tally<'a>,
    bytes: AtomicU64,
}

impl<'t, 'a> ObjectProgress<'t, 'a> {
    pub(crate) fn new(tally: &'t Tally<'a>) -> Self {
        Self { tally, bytes: AtomicU64::new(0) }
    }

    /// Counts `n` transferred bytes; `false` when the user wants to stop.
    pub(crate) fn moved(&self, n: u64) -> bool {
        self.bytes.fetch_add(n, Ordering::Relaxed);
        self.tally.bytes.fetch_add(n, Ordering::Relaxed);
        !self.tally.options.cancel.load(Ordering::Relaxed)
    }

    /// A new attempt begins: subtracts the bytes of the failed attempt before it.
    pub(crate) fn begin(&self) {
        self.tally.bytes.fetch_sub(self.bytes.swap(0, Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// Calls `work` for each item on several threads, and `done` on this thread for each item whose work succeeded. After an error
/// no new item begins; items in progress are finished and `done` is still called for them. Returns the first error.
pub(crate) fn each<T: Sync, R: Send>(
    items: &[T],
    tally: &Tally<'_>,
    work: impl Fn(&T) -> Result<R> + Sync,
    mut done: impl FnMut(&T, R) -> Result<()>,
) -> Result<()> {
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let threads = tally.options.jobs.clamp(1, items.len().max(1));
    std::thread::scope(|scope| {
        let (sender, inbox) = channel();
        let (next, stop, work) = (&next, &stop, &work);
        for n in 0..threads {
            let sender = sender.clone();
            let run = move || {
                while !stop.load(Ordering::Relaxed) {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { return };
                    if sender.send((at, work(item))).is_err() {
                        return;
                    }
                }
            };
            let spawned = std::thread::Builder::new().name(format!("transfer {n}")).spawn_scoped(scope, run);
            if let Err(e) = spawned
                && n == 0
            {
                return Err(Error::Address(format!("a thread could not be started: {e}")));
            }
        }
        drop(sender);
        let (mut first, mut told) = (None, Instant::now());
        loop {
            if told.elapsed() >= TICK {
                told = Instant::now();
                tally.report();
            }
            match inbox.recv_timeout(TICK) {
                Ok((at, answer)) => {
                    tally.objects.fetch_add(1, Ordering::Relaxed);
                    if let Err(error) = answer.and_then(|answer| done(&items[at], answer)) {
                        stop.store(true, Ordering::Relaxed);
                        first.get_or_insert(error);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        tally.report();
        first.map_or(Ok(()), Err)
    })
}
