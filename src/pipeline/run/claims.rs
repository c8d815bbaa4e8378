//! Starting units: each is claimed first, so that no two processes run one unit; what others hold is waited for.

use super::event::Event;
use super::executor::{Executor, Job, Reporter};
use super::schedule::{Phase, Scheduler};
use crate::error::Result;
use crate::freshness::Freshness;
use crate::freshness::stale::Stale;
use crate::plan::Resources;
use crate::store::index::Entry;
use crate::store::{Session, owner};

/// Who works on a unit.
enum Claim {
    Ours,
    Theirs(String),
    Recorded,
}

impl Scheduler<'_> {
    /// Starts what fits, each unit claimed first.
    pub(super) fn dispatch(
        &mut self,
        executor: &mut dyn Executor,
        session: &Session,
        reporter: &Reporter,
    ) -> Result<()> {
        while !self.stopping {
            let engine = self.engine;
            let plan = engine.plan();
            let mut batch = Vec::new();
            while let Some(unit) = self.pool.pop(|u| plan.stage_of(u).resources) {
                batch.push(unit);
            }
            if batch.is_empty() {
                return Ok(());
            }
            for (unit, claim) in self.claim(&batch, session)? {
                let share = plan.stage_of(unit).resources;
                match claim {
                    Claim::Ours => {
                        let job = self.start(unit, session, &share);
                        executor.submit(job, reporter)?;
                    }
                    Claim::Theirs(holder) => {
                        self.pool.release(&share);
                        self.hold(unit, holder);
                    }
                    Claim::Recorded => {
                        self.pool.release(&share);
                        self.spare_or_retry(unit)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Under the journal's lock: what nobody works on becomes ours.
    fn claim(&mut self, batch: &[usize], session: &Session) -> Result<Vec<(usize, Claim)>> {
        let (tasks, forced, locks) = (&self.tasks, &self.forced, self.engine.store().locks());
        self.engine.store().journal.update(|index| {
            let (mut entries, mut claims) = (Vec::new(), Vec::new());
            for &unit in batch {
                let Some(task) = &tasks[unit] else { continue };
                let known_damaged = !task.damage.is_empty() || forced[unit];
                let claim = match index.claims.get(&task.key) {
                    _ if index.records.contains_key(&task.key) && !known_damaged => Claim::Recorded,
                    Some(id) if *id != session.owner.id => match owner::alive(&locks, id) {
                        Some(holder) => Claim::Theirs(holder),
                        None => Claim::Ours,
                    },
                    _ => Claim::Ours,
                };
                if matches!(claim, Claim::Ours) {
                    entries.push(Entry::Claim { key: task.key, owner: session.owner.id.clone() });
                }
                claims.push((unit, claim));
            }
            (entries, claims)
        })
    }

    fn start(&mut self, unit: usize, session: &Session, share: &Resources) -> Job {
        let expected = self.expected(unit);
        self.phases[unit] = Phase::Running;
        // A unit is started only from `Ready`, and `Ready` is set together with its task.
        let (key, parts, attempt) = match &self.tasks[unit] {
            Some(task) => (task.key, task.parts.clone(), task.attempt),
            None => unreachable!("a ready unit has a task"),
        };
        let reasons = self.reasons(unit);
        (self.events)(Event::Started { unit, reasons, attempt });
        let threads = self.pool.threads(share);
        Job { unit, key, parts, threads, expected, attempt, scratch: session.scratch.clone() }
    }

    fn reasons(&self, unit: usize) -> Vec<Stale> {
        let Some(task) = &self.tasks[unit] else { return Vec::new() };
        let state = Freshness::Stale { key: task.key, parts: task.parts.clone(), damage: task.damage.clone() };
        self.judge.reasons(unit, &state).0
    }

    fn hold(&mut self, unit: usize, holder: String) {
        self.phases[unit] = Phase::Held;
        self.held.push(unit);
        if let Some(task) = self.tasks[unit].as_mut().filter(|t| !t.waited) {
            task.waited = true;
            (self.events)(Event::Waiting { unit, holder });
        }
    }

    /// A record turned up while the unit waited its turn.
    fn spare_or_retry(&mut self, unit: usize) -> Result<()> {
        if self.resolve(unit)? {
            self.summary.spared += 1;
            (self.events)(Event::Spared { unit });
            self.wake_dependents(unit)?;
        }
        Ok(())
    }

    /// Units that another process works on: are they done, or is their holder gone?
    pub(super) fn look_at_held(&mut self) -> Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        let store = self.engine.store();
        store.journal.refresh()?;
        let locks = store.locks();
        for unit in std::mem::take(&mut self.held) {
            let Some(key) = self.tasks[unit].as_ref().map(|t| t.key) else { continue };
            let (recorded, claim) = store.journal.with(|i| (i.records.contains_key(&key), i.claims.get(&key).cloned()));
            match claim {
                Some(id) if owner::alive(&locks, &id).is_some() => self.held.push(unit),
                _ if recorded => self.spare_or_retry(unit)?,
                _ => self.ready(unit),
            }
        }
        Ok(())
    }
}
