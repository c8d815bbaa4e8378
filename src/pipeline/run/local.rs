//! The local executor: worker threads of this process.

use super::executor::{Executor, Job, Reporter};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::run::executor::Report;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, Scope};

type Work = (Job, Reporter);

/// Runs units on up to `most` threads, started when first needed. The scheduler sees to it that units that use several
/// threads themselves leave room for one another.
pub struct Local<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    engine: &'env Engine,
    cancel: Arc<AtomicBool>,
    most: usize,
    started: usize,
    sender: Sender<Work>,
    receiver: Arc<Mutex<Receiver<Work>>>,
}

impl<'scope, 'env> Local<'scope, 'env> {
    /// An executor whose threads end before `scope` does.
    pub fn new(scope: &'scope Scope<'scope, 'env>, engine: &'env Engine, most: usize, cancel: Arc<AtomicBool>) -> Self {
        let (sender, receiver) = channel();
        Self { scope, engine, cancel, most, started: 0, sender, receiver: Arc::new(Mutex::new(receiver)) }
    }

    fn start(&mut self) -> Result<()> {
        let (engine, cancel, receiver) = (self.engine, self.cancel.clone(), self.receiver.clone());
        let work = move || {
            loop {
                let next = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok((job, reporter)) = next else { return };
                let outcome = engine.execute(&job, Some(&reporter), &cancel);
                reporter.report(Report::Done { unit: job.unit, outcome });
            }
        };
        let name = format!("unit worker {}", self.started + 1);
        let spawned = Builder::new().name(name).spawn_scoped(self.scope, work);
        spawned.map_err(|e| Error::Executor(format!("a worker thread could not be started: {e}")))?;
        self.started += 1;
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

    /// Units in flight see [`crate::Context::cancelled`], which is the caller's own flag; nothing is left to do here.
    fn cancel(&mut self) {}
}
