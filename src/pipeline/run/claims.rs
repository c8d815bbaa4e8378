//! Starting units: each key is claimed first, so that no two processes compute it, and computed once in this process.

use super::event::Event;
use super::executor::{Executor, Job, Reporter};
use super::schedule::{AtWork, Phase, Scheduler};
use crate::error::Result;
use crate::freshness::Freshness;
use crate::freshness::stale::Stale;
use crate::plan::Resources;
use crate::store::claim::Verdict;
use crate::store::index::Entry;
use crate::store::{Session, owner};
use std::collections::hash_map;

impl Scheduler<'_> {
    /// Starts what fits, each unit claimed first. Starts nothing when the run stops.
    pub(super) fn dispatch(
        &mut self,
        executor: &mut dyn Executor,
        session: &Session,
        reporter: &Reporter,
    ) -> Result<()> {
        while self.stop.is_none() {
            let plan = self.engine.plan();
            let mut batch = Vec::new();
            while let Some(unit) = self.pool.pop(|u| plan.stage_of(u).resources) {
                batch.push(unit);
            }
            if batch.is_empty() {
                return Ok(());
            }
            let leaders = self.join_keys_at_work(batch)?;
            let verdicts = match self.claim(&leaders, session) {
                Ok(verdicts) => verdicts,
                Err(error) => {
                    leaders.into_iter().for_each(|unit| self.not_at_work(unit));
                    return Err(error);
                }
            };
            let mut begun = Ok(());
            for (unit, verdict) in verdicts {
                match begun {
                    Ok(()) => begun = self.begin(unit, verdict, executor, session, reporter),
                    // After an error nothing more starts, and the machine's share goes back.
                    Err(_) => self.not_at_work(unit),
                }
            }
            begun?;
        }
        Ok(())
    }

    /// Does with a unit what the claim protocol says.
    fn begin(
        &mut self,
        unit: usize,
        verdict: Verdict,
        executor: &mut dyn Executor,
        session: &Session,
        reporter: &Reporter,
    ) -> Result<()> {
        match verdict {
            Verdict::Ours | Verdict::Served => {
                let share = self.engine.plan().stage_of(unit).resources;
                let job = self.start(unit, session, &share);
                executor.submit(job, reporter).inspect_err(|_| {
                    self.phases[unit] = Phase::Ready;
                    self.not_at_work(unit);
                })
            }
            Verdict::Theirs(holder) => {
                self.not_at_work(unit);
                self.hold(unit, holder);
                self.held.push(unit);
                Ok(())
            }
            Verdict::Recorded => {
                self.not_at_work(unit);
                self.spare_or_retry(unit)
            }
        }
    }

    /// Of units with one key the first leads, the others wait for it, and those that come after its end share what became
    /// of it. Returns the units that lead.
    fn join_keys_at_work(&mut self, batch: Vec<usize>) -> Result<Vec<usize>> {
        let mut leaders = Vec::with_capacity(batch.len());
        for unit in batch {
            let Some(key) = self.tasks[unit].as_ref().map(|t| t.key) else { continue };
            if let Some(settled) = self.settled.get(&key).cloned() {
                self.pool.release(&self.engine.plan().stage_of(unit).resources);
                self.share(unit, settled);
                self.wake_dependents(unit)?;
                continue;
            }
            match self.at_work.entry(key) {
                hash_map::Entry::Occupied(mut work) if work.get().leader != unit => {
                    work.get_mut().followers.push(unit);
                    self.pool.release(&self.engine.plan().stage_of(unit).resources);
                    self.phases[unit] = Phase::Held;
                }
                // The leader itself comes again when it is tried again.
                hash_map::Entry::Occupied(_) => leaders.push(unit),
                hash_map::Entry::Vacant(free) => {
                    free.insert(AtWork { leader: unit, followers: Vec::new() });
                    leaders.push(unit);
                }
            }
        }
        Ok(leaders)
    }

    /// This process does not work on the unit after all; those that waited for it are ready again.
    fn not_at_work(&mut self, unit: usize) {
        self.pool.release(&self.engine.plan().stage_of(unit).resources);
        self.followers(unit).into_iter().for_each(|follower| self.ready(follower));
    }

    /// Ends the work on a unit's key in this process: the units that waited for it.
    pub(super) fn followers(&mut self, unit: usize) -> Vec<usize> {
        let key = self.tasks[unit].as_ref().map(|t| t.key);
        key.and_then(|key| self.at_work.remove(&key)).map(|work| work.followers).unwrap_or_default()
    }

    /// Under the journal's lock: what nobody works on becomes ours.
    fn claim(&mut self, batch: &[usize], session: &Session) -> Result<Vec<(usize, Verdict)>> {
        let (tasks, forced, locks) = (&self.tasks, &self.forced, self.engine.store().locks());
        self.engine.store().journal.update(|index| {
            let (mut entries, mut verdicts) = (Vec::new(), Vec::new());
            for &unit in batch {
                let Some(task) = &tasks[unit] else { continue };
                let redo = !task.damage.is_empty() || forced[unit];
                let verdict = session.owner.decide(index, &task.key, redo, &locks);
                if verdict == Verdict::Ours {
                    entries.push(session.owner.claim(task.key));
                }
                verdicts.push((unit, verdict));
            }
            (entries, verdicts)
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
        let state = Freshness::Stale { key: task.key, damage: task.damage.clone() };
        self.judge.reasons(unit, &state, || task.parts.clone()).0
    }

    fn hold(&mut self, unit: usize, holder: String) {
        self.phases[unit] = Phase::Held;
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

    /// Looks at the units that other processes work on: whether they are done, or their holder is gone.
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
                Some(claim) if owner::alive(&locks, &claim.owner).is_some() => self.held.push(unit),
                _ if recorded => self.spare_or_retry(unit)?,
                _ => self.ready(unit),
            }
        }
        Ok(())
    }
}

impl owner::Owner {
    /// The journal entry that claims a key for this process.
    pub(crate) fn claim(&self, key: crate::Key) -> Entry {
        Entry::Claim { key, owner: self.id.clone(), role: self.role.clone() }
    }
}
