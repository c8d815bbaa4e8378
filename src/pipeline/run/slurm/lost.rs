//! Tasks that ended without ending their chunk: who is to blame, and what is tried again.

use super::commands::TaskState;
use super::folder::tail;
use super::watch::report;
use super::{Queued, Slurm, stop};
use crate::freshness::key::Key;
use crate::run::executor::{Job, Outcome, Reporter};
use std::time::Instant;

/// A unit that was lost that often (with its chunk, not by its own fault) is given up.
const LOSSES: u32 = 5;
/// On so many nodes in a row may tasks end without a message before the run stops.
const SILENT: u32 = 3;

impl Slurm<'_> {
    /// A task ended without ending its chunk.
    pub(super) fn lost(
        &mut self,
        id: usize,
        state: &TaskState,
        (node, running): (Option<String>, Option<Key>),
        inherited: bool,
        left: Vec<Job>,
        reporter: &Reporter,
    ) {
        let job = &state.job;
        let on = if state.node.is_empty() { String::new() } else { format!(" on {}", state.node) };
        if state.state == "CANCELLED" && inherited {
            let due = Instant::now();
            self.waiting.extend(left.into_iter().map(|job| Queued { job, due }));
            return;
        }
        if state.state == "CANCELLED" {
            let text = format!(
                "job {job} was cancelled from outside this program: nothing that had finished is lost; the same command, or attaching to run {}, resumes",
                self.run.id
            );
            left.iter().for_each(|j| report(reporter, j, stop(text.clone())));
            return;
        }
        let log = tail(&self.run.path().join(format!("logs/{job}.log")));
        let log = if log.is_empty() { String::new() } else { format!("; its log ends: {log}") };
        let code: Option<i32> = self.run.read(&format!("chunks/{id}.exit")).ok();
        let word = match code {
            Some(137) => format!("{}, killed", state.state),
            Some(code) => format!("{}, exit code {code}", state.state),
            None => state.state.clone(),
        };
        if node.is_none() && matches!(state.state.as_str(), "FAILED" | "COMPLETED" | "BOOT_FAIL") {
            // A bad node fails fast and would draw all tasks to itself: it counts once.
            let news = state.node.is_empty() || self.avoid.insert(state.node.clone());
            self.silent += u32::from(news);
            if self.silent >= SILENT {
                let text = format!(
                    "tasks end without having worked (the last: {job}{on}, {word}{log}); can the nodes read the program and write the store? nothing that had finished is lost, run again to resume"
                );
                left.iter().for_each(|j| report(reporter, j, stop(text.clone())));
                return;
            }
            if news && !state.node.is_empty() {
                self.note(reporter, format!("a task ended without a word on {}: avoiding that node{log}", state.node));
            }
        }
        for unit in left {
            let blamed = running == Some(unit.key);
            let passing = matches!(state.state.as_str(), "NODE_FAIL" | "PREEMPTED" | "BOOT_FAIL" | "unknown to Slurm");
            if blamed && !passing {
                let boost = self.boosts.entry(unit.key).or_default();
                match state.state.as_str() {
                    "TIMEOUT" | "DEADLINE" => boost.1 += 1,
                    "OUT_OF_MEMORY" => boost.0 += 1,
                    _ if code == Some(137) => boost.0 += 1,
                    _ => {}
                }
                let error = format!("job {job}{on} ended ({word}) while this unit ran{log}");
                report(reporter, &unit, Outcome::Failed { error });
                continue;
            }
            let losses = self.losses.entry(unit.key).or_default();
            *losses += 1;
            if *losses > LOSSES {
                let error = format!(
                    "it was submitted {LOSSES} times and its jobs ended each time (the last: {job}{on}, {word}{log})"
                );
                report(reporter, &unit, Outcome::Failed { error });
            } else {
                self.waiting.push(Queued { job: unit, due: Instant::now() });
            }
        }
        self.note(reporter, format!("job {job}{on} ended early ({word}): submitting what it left again"));
    }
}
