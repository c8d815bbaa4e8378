//! The end of a run: copies, the lock file, notes for gc and `verify`, the summary.

use super::Summary;
use super::schedule::{Phase, Scheduler};
use crate::error::Result;
use crate::freshness::key::Key;
use crate::store::record::Record;
use crate::store::roots;
use std::sync::Arc;
use std::time::Instant;

impl Scheduler<'_> {
    /// Ends the run. What goes wrong with a copy prevents nothing else.
    pub(super) fn finish(mut self, began: Instant) -> Result<Summary> {
        let plan = self.engine.plan();
        let id = |unit: usize| plan.units[unit].id.clone();
        self.ran.sort_unstable();
        self.summary.ran = self.ran.iter().map(|&u| id(u)).collect();
        let mut done: Vec<(usize, Key, &Arc<Record>)> = Vec::new();
        for (unit, phase) in self.phases.iter().enumerate() {
            match phase {
                Phase::Blocked(by) => self.summary.blocked.push((id(unit), id(*by))),
                Phase::Waiting(_) | Phase::Ready | Phase::Held => self.summary.not_started += 1,
                Phase::Done(record) => done.extend(self.keys[unit].map(|key| (unit, key, record))),
                _ => {}
            }
        }
        let (published, unpublished) =
            self.engine.publish(done.iter().map(|&(unit, _, record)| (unit, record)), self.events);
        (self.summary.published, self.summary.unpublished) = (published, unpublished);
        self.engine.write_lock(&done)?;
        roots::note(self.engine.store().folder(), done.iter().map(|(_, key, _)| *key));
        self.engine.store().note_seen();
        if self.summary.is_complete() {
            self.engine.store().note_mended();
        }
        self.summary.wall = began.elapsed().as_secs_f64();
        Ok(self.summary)
    }
}
