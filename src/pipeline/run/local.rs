//! The local executor: worker threads of this process.

use super::executor::{Executor, Job, Report, Reporter, Stop};
use crate::engine::Engine;
use crate::error::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, Scope};

type Work = (Job, Reporter);

/// Runs units on up to `most` threads, started when first needed. The scheduler counts the threads that units use
/// themselves, so that together they do not use more than there are.
pub struct Local<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    engine: &'env Engine,
    /// Units in flight see it as [`crate::Context::cancelled`].
    stop: Arc<AtomicBool>,
    most: usize,
    started: usize,
    sender: Sender<Work>,
    receiver: Arc<Mutex<Receiver<Work>>>,
}

impl<'scope, 'env> Local<'scope, 'env> {
    /// An executor whose threads end before `scope` does.
    pub fn new(scope: &'scope Scope<'scope, 'env>, engine: &'env Engine, most: usize) -> Self {
        let (sender, receiver) = channel();
        Self { scope, engine, stop: Arc::default(), most, started: 0, sender, receiver: Arc::new(Mutex::new(receiver)) }
    }

    fn start(&mut self) -> Result<()> {
        let (engine, stop, receiver) = (self.engine, self.stop.clone(), self.receiver.clone());
        let work = move || {
            loop {
                let next = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok((job, reporter)) = next else { return };
                let outcome = match stop.load(Ordering::Relaxed) {
                    true => super::executor::Outcome::Stopped,
                    false => engine.execute(&job, Some(&reporter), &stop),
                };
                reporter.report(Report::Done { unit: job.unit, outcome });
            }
        };
        let name = format!("unit worker {}", self.started + 1);
        match Builder::new().name(name).spawn_scoped(self.scope, work) {
            Ok(_) => self.started += 1,
            // The system gives no more threads: those that there are do the work.
            Err(_) if self.started > 0 => self.most = self.started,
            Err(e) => return Err(Error::Executor(format!("a worker thread could not be started: {e}"))),
        }
        Ok(())
    }
}

impl Executor for Local<'_, '_> {
    fn name(&self) -> &str {
        "local"
    }

    fn submit(&mut self, job: Job, reporter: &Reporter) -> Result<()> {
        if self.started < self.most {
            self.start()?;
        }
        let gone = |_| Error::Executor("the worker threads are gone".to_string());
        self.sender.send((job, reporter.clone())).map_err(gone)
    }

    fn stop(&mut self, how: Stop, _: &Reporter) {
        if how == Stop::Now {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}
