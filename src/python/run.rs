//! Runs Rust work for Python: without the interpreter's lock, on threads of our own, stoppable, with progress.
//!
//! | promise | how |
//! |---|---|
//! | other Python threads go on | the work runs detached from the interpreter |
//! | Ctrl-C stops a fit | the calling thread asks for signals while a second thread works; a [`Watcher`] tells the work to end |
//! | a callback may raise | the same way; it is only ever called by the calling thread |
//! | forks never hang | each process builds its pools; those of its parent have no threads in the child and are never touched |
//!
//! Results do not depend on the number of threads.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How often the calling thread looks for signals.
const POLL: Duration = Duration::from_millis(50);

/// The pools of one process, one per number of threads. A list that only grows, one node per process: a forked child finds its parent's node, sees another
/// process number, and appends its own. Nothing is locked before that, so a lock that some thread of the parent held cannot block the child.
struct Pools {
    process: u32,
    pools: Mutex<Vec<(usize, Arc<ThreadPool>)>>,
    child: OnceLock<Box<Pools>>,
}

static PARENT: OnceLock<Pools> = OnceLock::new();

impl Pools {
    fn new(process: u32) -> Self {
        Pools { process, pools: Mutex::new(Vec::new()), child: OnceLock::new() }
    }

    fn here() -> &'static Pools {
        let process = std::process::id();
        let mut node = PARENT.get_or_init(|| Pools::new(process));
        while node.process != process {
            node = node.child.get_or_init(|| Box::new(Pools::new(process)));
        }
        node
    }

    fn of(threads: usize) -> PyResult<Arc<ThreadPool>> {
        let mut pools = unpoisoned(&Pools::here().pools);
        if let Some((_, pool)) = pools.iter().find(|(n, _)| *n == threads) {
            return Ok(pool.clone());
        }
        let named = |i| format!("kraus {i}");
        let pool = ThreadPoolBuilder::new().num_threads(threads).thread_name(named).build();
        let refused = |e| PyRuntimeError::new_err(format!("n_jobs = {threads}: no more threads can be started ({e})"));
        let pool = Arc::new(pool.map_err(refused)?);
        pools.push((threads, pool.clone()));
        Ok(pool)
    }
}

/// What a lock protects here is valid after any panic: single assignments.
fn unpoisoned<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

enum Message {
    Progress(String, f64),
    Done,
}

/// What the work sees of the caller: whether to go on, and where to report progress.
pub struct Watcher {
    stop: AtomicBool,
    /// Where progress goes, the step that was reported last and when; none without a callback.
    progress: Option<Mutex<(Sender<Message>, String, Instant)>>,
}

impl Watcher {
    /// Reports a step and the share of it done; false when the work shall end.
    pub fn go_on(&self, step: &str, share: f64) -> bool {
        if let Some(progress) = &self.progress {
            let mut progress = unpoisoned(progress);
            if progress.1 != step || progress.2.elapsed() >= POLL {
                (progress.1, progress.2) = (step.to_owned(), Instant::now());
                // Nobody listens any more when the caller is gone; the work ends by itself then.
                let _ = progress.0.send(Message::Progress(step.to_owned(), share));
            }
        }
        !self.stop.load(Ordering::Relaxed)
    }

    /// The same for the functions of the crate `kraus`.
    pub fn kraus(&self) -> impl Fn(&str, f64) -> kraus::Result<()> + Sync + '_ {
        |step: &str, share: f64| if self.go_on(step, share) { Ok(()) } else { Err(kraus::Error::Cancelled) }
    }
}

/// Runs `work` on `threads` threads. Ctrl-C and errors of the callback end it and come back as the Python error they are.
pub fn run<T: Send>(
    py: Python<'_>,
    threads: usize,
    callback: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watcher) -> T + Send,
) -> PyResult<T> {
    let pool = Pools::of(threads.max(1))?;
    let (sender, receiver) = channel();
    let progress = callback.map(|_| Mutex::new((sender.clone(), String::new(), Instant::now())));
    let watcher = Watcher { stop: AtomicBool::new(false), progress };
    let callback = callback.map(|c| c.clone().unbind());
    py.detach(move || {
        std::thread::scope(|scope| {
            let watcher = &watcher;
            let worker = scope.spawn(move || {
                let finish = Finish(sender);
                let result = pool.install(|| work(watcher));
                drop(finish);
                result
            });
            let wrong = attend(&receiver, watcher, callback.as_ref());
            let result = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            wrong.map_or(Ok(result), Err)
        })
    })
}

/// Says `Done` when dropped: after a panic too.
struct Finish(Sender<Message>);

impl Drop for Finish {
    fn drop(&mut self) {
        // The receiver outlives the worker, see `run`.
        let _ = self.0.send(Message::Done);
    }
}

/// Waits for the end of the work; the first Python error on the way stops it.
fn attend(receiver: &Receiver<Message>, watcher: &Watcher, callback: Option<&Py<PyAny>>) -> Option<PyErr> {
    let (mut wrong, mut asked) = (None, Instant::now());
    loop {
        let message = receiver.recv_timeout(POLL);
        let asking = asked.elapsed() >= POLL;
        let answer = match (&message, callback) {
            (Ok(Message::Done) | Err(RecvTimeoutError::Disconnected), _) => return wrong,
            (Ok(Message::Progress(step, share)), Some(callback)) if wrong.is_none() => {
                Python::attach(|py| callback.call1(py, (step, *share)).map(drop))
            }
            _ => Ok(()),
        };
        let answer = answer.and_then(|()| match asking && wrong.is_none() {
            true => {
                asked = Instant::now();
                Python::attach(|py| py.check_signals())
            }
            false => Ok(()),
        });
        if let Err(e) = answer {
            watcher.stop.store(true, Ordering::Relaxed);
            wrong = Some(e);
        }
    }
}

/// Work that neither iterates nor reports.
pub fn compute<T: Send>(py: Python<'_>, threads: usize, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    run(py, threads, None, |_| work())
}
