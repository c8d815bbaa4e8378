//! From waiting units to job arrays.

use super::chunks::chunks;
use super::commands::{self, Submitted, arguments, sbatch};
use super::files::{ArrayFile, ChunkFile, ChunkUnit};
use super::{Chunk, Queued, Sent, Slurm};
use crate::error::{Error, Result};
use crate::run::executor::{Job, Reporter};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// While tasks are at work, units that become ready are collected for that long: a wave of them is one array.
const LINGER: Duration = Duration::from_millis(700);
/// That often `sbatch` may say "not now" before the run stops.
const PATIENCE: u32 = 12;

impl Slurm<'_> {
    /// Submits the units that are due.
    pub(super) fn form(&mut self, reporter: &Reporter) -> Result<()> {
        let now = Instant::now();
        let busy = self.chunks.values().any(|c| c.units.iter().any(|u| u.job.is_some() && !u.done));
        let linger = if busy { LINGER } else { Duration::ZERO };
        if !self.waiting.iter().any(|w| w.due + linger <= now) {
            return Ok(());
        }
        let (due, later): (Vec<Queued>, Vec<Queued>) = self.waiting.drain(..).partition(|w| w.due <= now);
        self.waiting = later;
        let mut groups: BTreeMap<(usize, (u32, u32)), Vec<Job>> = BTreeMap::new();
        for Queued { job, .. } in due {
            let stage = self.engine.plan().units[job.unit].stage;
            let boost = self.boosts.get(&job.key).copied().unwrap_or_default();
            groups.entry((stage, boost)).or_default().push(job);
        }
        for ((stage, boost), jobs) in groups {
            let name = &self.engine.plan().stages[stage].name;
            let mean = self.engine.store().journal.with(|i| i.stage_mean(name));
            let expected: Vec<Option<f64>> = jobs.iter().map(|j| j.expected.or(mean)).collect();
            let mut cut: Vec<Vec<Job>> = Vec::new();
            let mut jobs = jobs.into_iter();
            for range in chunks(&expected, &self.options) {
                cut.push(jobs.by_ref().take(range.len()).collect());
            }
            while !cut.is_empty() {
                let rest = cut.split_off(cut.len().min(self.options.max_array));
                if let Some(back) = self.array(stage, boost, cut, reporter)? {
                    cut = back;
                    cut.extend(rest);
                } else {
                    cut = rest;
                }
            }
        }
        Ok(())
    }

    /// Submits one array; gives the chunks back when it is too large for the site.
    fn array(
        &mut self,
        stage: usize,
        boost: (u32, u32),
        cut: Vec<Vec<Job>>,
        reporter: &Reporter,
    ) -> Result<Option<Vec<Vec<Job>>>> {
        let (first, count) = (self.next_chunk, cut.len());
        let name = format!("{}-{}-{}", self.engine.name(), self.run.id, self.next_array);
        let array = ArrayFile { name, first, count };
        for (at, jobs) in cut.iter().enumerate() {
            let units = jobs.iter().map(|job| self.chunk_unit(job)).collect();
            let file = ChunkFile { deadline: self.options.deadline(boost.1), units };
            self.run.write(&format!("chunks/{}.json", first + at), &file)?;
        }
        let plan = self.engine.plan();
        let text = commands::script(&self.worker, &self.run, &array, &self.options.setup);
        let script = format!("arrays/{}.sh", self.next_array);
        self.run.write_bytes(&script, text.as_bytes())?;
        // Before submitting: whoever finds this note asks Slurm for the name, whether `sbatch` returned or not.
        self.run.write(&format!("arrays/{}.json", self.next_array), &array)?;
        let avoid: Vec<String> = self.avoid.iter().cloned().collect();
        let args = arguments(&self.run, &array, &self.options, &plan.stages[stage].resources, boost, &avoid);
        self.next_array += 1;
        self.next_chunk += count;
        let submitted = match sbatch(args, &self.run.path().join(&script), count, self.options.timeout()) {
            Err(_) if !avoid.is_empty() => {
                // Perhaps no node is left.
                self.avoid.clear();
                return Ok(Some(cut));
            }
            submitted => submitted?,
        };
        match submitted {
            Submitted::Yes => self.refusals = 0,
            Submitted::Unknown => {
                let text = "sbatch does not answer; waiting until squeue knows whether the job is there";
                self.note(reporter, text.into());
            }
            Submitted::TooLarge => {
                self.options.max_array = count / 2;
                let text = format!("this site takes no job array of {count} tasks; submitting smaller ones");
                self.note(reporter, text);
                return Ok(Some(cut));
            }
            Submitted::Later(why) => {
                self.refusals += 1;
                if self.refusals > PATIENCE {
                    return Err(Error::Executor(format!(
                        "sbatch has refused {PATIENCE} times: {why}; nothing that had finished is lost, run again when Slurm takes jobs"
                    )));
                }
                self.note(reporter, format!("sbatch: {why}; trying again"));
                let due = Instant::now() + Duration::from_secs(1 << self.refusals.min(6));
                self.waiting.extend(cut.into_iter().flatten().map(|job| Queued { job, due }));
                return Ok(None);
            }
        }
        self.submitted = (self.submitted.0 + 1, self.submitted.1 + count);
        let units: usize = cut.iter().map(Vec::len).sum();
        let stage = &plan.stages[stage].name;
        self.note(reporter, format!("submitted {units} units of `{stage}` in {count} tasks as {}", array.name));
        for (at, jobs) in cut.into_iter().enumerate() {
            let units: Vec<Sent> = jobs.into_iter().map(|job| Sent::new(self.chunk_unit(&job), Some(job))).collect();
            self.places.extend(units.iter().map(|u| (u.unit.key, first + at)));
            self.chunks.insert(first + at, Chunk::new(&array.name, at, units, false));
        }
        self.wake();
        Ok(None)
    }

    fn chunk_unit(&self, job: &Job) -> ChunkUnit {
        let again = self.engine.store().journal.with(|i| i.records.contains_key(&job.key));
        let id = self.engine.plan().units[job.unit].id.clone();
        ChunkUnit { id, key: job.key, parts: job.parts.clone(), attempt: job.attempt, again }
    }
}
