//! One attempt at one unit, from its key to its artefacts in the store.

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::host;
use crate::kind::context::Context;
use crate::kind::{StageError, StageResult};
use crate::run::executor::{Job, Outcome, Report, Reporter};
use crate::store::record::Provenance;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Instant;

impl Engine {
    /// Runs a unit in an empty folder below [`Job::scratch`] and moves what it wrote into the store. Does not commit its
    /// record. A unit that panics is a unit that failed.
    pub fn execute(&self, job: &Job, reporter: Option<&Reporter>, cancel: &Arc<AtomicBool>) -> Outcome {
        // One folder per thread, empty between units: making and removing one per unit would cost more than a trivial
        // unit does, and file systems are slow to reuse what was just removed.
        let scratch = job.scratch.join(format!("{:?}", std::thread::current().id()));
        let began = (Instant::now(), host::thread_cpu(), host::process_cpu());
        let ended = self.attempt(job, &scratch, reporter, cancel);
        let outcome = match ended {
            Ok(()) => match self.store().take(&scratch) {
                Ok(taken) => {
                    let alone = job.threads >= host::cores();
                    let cpu = if alone { host::process_cpu() - began.2 } else { host::thread_cpu() - began.1 };
                    let provenance = Provenance {
                        host: self.host_digest(),
                        settings: self.settings().clone(),
                        threads: job.threads,
                        wall: began.0.elapsed().as_secs_f64(),
                        cpu,
                        peak_memory: host::peak_memory(),
                        attempts: job.attempt,
                        ended: host::now(),
                    };
                    return Outcome::Ran { taken, provenance };
                }
                Err(error) => failed(error.into(), &job.scratch),
            },
            Err(error) => failed(error, &job.scratch),
        };
        let _ = std::fs::remove_dir_all(&scratch);
        outcome
    }

    fn attempt(&self, job: &Job, scratch: &Path, reporter: Option<&Reporter>, cancel: &Arc<AtomicBool>) -> StageResult {
        let kind = &self.plan().stage_of(job.unit).kind;
        let context = self.context(job, scratch.to_path_buf(), reporter, cancel)?;
        let result = catch_unwind(AssertUnwindSafe(|| kind.run(&context))).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message");
            Err(format!("the stage panicked: {text}").into())
        });
        if let Err(error) = &result {
            context.log(&format!("error: {}", chain(error.as_ref())));
        }
        result
    }

    /// What the unit will see.
    pub(crate) fn context(
        &self,
        job: &Job,
        scratch: PathBuf,
        reporter: Option<&Reporter>,
        cancel: &Arc<AtomicBool>,
    ) -> Result<Context> {
        let plan = self.plan();
        let unit = &plan.units[job.unit];
        let stage = &plan.stages[unit.stage];
        let mut inputs: BTreeMap<String, Vec<crate::Input>> =
            stage.needs.iter().map(|n| (n.clone(), Vec::new())).collect();
        for &index in &unit.inputs {
            let input = &plan.units[index];
            let digests = job.parts.inputs.get(&input.id).into_iter().flatten();
            let artefacts = digests.map(|(name, digest)| (name.clone(), self.store().objects.path(digest))).collect();
            let entry = inputs.entry(plan.stages[input.stage].name.clone()).or_default();
            entry.push(crate::Input { id: input.id.clone(), axes: input.axes.clone(), artefacts });
        }
        let (reporter, unit_index) = (reporter.cloned(), job.unit);
        Ok(Context {
            id: unit.id.clone(),
            params: unit.params.clone(),
            axes: unit.axes.clone(),
            inputs,
            seed: unit.seed,
            threads: job.threads,
            env: self.env().clone(),
            scratch,
            log_path: self.store().log_path(&job.key),
            log: Mutex::new(None),
            progress: Arc::new(move |fraction, message| {
                if let Some(reporter) = &reporter {
                    let message = message.to_string();
                    reporter.report(Report::Progress { unit: unit_index, fraction, message });
                }
            }),
            cancel: cancel.clone(),
        })
    }
}

/// The error and its causes in one line.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let more = inner.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = inner.source();
    }
    text
}

/// A full disk stops the run, wherever it shows first; any other error is the unit's own. `scratch` is where units write.
fn failed(error: StageError, scratch: &Path) -> Outcome {
    let error = match error.downcast::<Error>() {
        Ok(error) => {
            return match *error {
                Error::NotAFile(_) => Outcome::Failed { error: error.to_string() },
                error => Outcome::Broken { error },
            };
        }
        Err(error) => error,
    };
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error.as_ref());
    while let Some(inner) = cause {
        if let Some(io) = inner.downcast_ref::<std::io::Error>()
            && matches!(io.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded)
        {
            return Outcome::Broken { error: Error::DiskFull(scratch.to_path_buf()) };
        }
        cause = inner.source();
    }
    Outcome::Failed { error: chain(error.as_ref()) }
}
