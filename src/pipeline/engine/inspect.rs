//! Questions about results: `status`, `why`, `path` and `log`.

use crate::engine::Engine;
use crate::engine::answers::{Located, StageStatus, UnitLog, Why};
use crate::error::{Error, Result};
use crate::freshness::{Freshness, Judge};
use crate::plan::target::select;

impl Engine {
    /// Judges every unit of the plan.
    pub(crate) fn states(&self, judge: &Judge<'_>, health: bool) -> Result<Vec<Option<Freshness>>> {
        self.store().journal.refresh()?;
        judge.all(&vec![true; self.plan().units.len()], health)
    }

    /// One row per stage, in plan order.
    pub fn status(&self) -> Result<Vec<StageStatus>> {
        let judge = self.judge();
        let states = self.states(&judge, true)?;
        let mut rows = Vec::new();
        for stage in &self.plan().stages {
            let mut row = StageStatus {
                stage: stage.name.clone(),
                kind: stage.kind.name().to_string(),
                fresh: 0,
                stale: 0,
                failed: 0,
                size: 0,
                duration: 0.0,
                first_stale: None,
                reason: None,
            };
            for unit in stage.units.clone() {
                match &states[unit] {
                    Some(Freshness::Fresh { record, .. }) => {
                        row.fresh += 1;
                        row.size += record.size();
                        row.duration += record.provenance.wall;
                        continue;
                    }
                    Some(Freshness::Stale { key, .. })
                        if self.store().journal.with(|i| i.failures.contains_key(key)) =>
                    {
                        row.failed += 1;
                    }
                    _ => row.stale += 1,
                }
                if row.reason.is_none() {
                    row.reason = states[unit].as_ref().and_then(|state| {
                        judge.reasons(unit, state, || judge.parts_in(unit, &states)).0.into_iter().next()
                    });
                    row.first_stale = Some(self.plan().units[unit].id.clone());
                }
            }
            rows.push(row);
        }
        Ok(rows)
    }

    /// Why the targets are stale, or that they are not.
    pub fn why<S: AsRef<str>>(&self, targets: &[S]) -> Result<Vec<Why>> {
        let chosen = select(self.plan(), targets)?;
        let judge = self.judge();
        let states = self.states(&judge, true)?;
        let answer = |unit: usize| {
            let (reasons, compared_with) = match &states[unit] {
                Some(state) => judge.reasons(unit, state, || judge.parts_in(unit, &states)),
                None => Default::default(),
            };
            let (key, record) = match &states[unit] {
                Some(Freshness::Fresh { key, record }) => (Some(*key), Some(record)),
                Some(Freshness::Stale { key, .. }) => (Some(*key), None),
                _ => (None, None),
            };
            let provenance = record.map(|r| r.provenance.clone());
            let host = provenance.as_ref().and_then(|p| self.store().journal.with(|i| i.hosts.get(&p.host).cloned()));
            let (id, fresh) = (self.plan().units[unit].id.clone(), record.is_some());
            Why { id, fresh, key, compared_with, reasons, provenance, host }
        };
        Ok(chosen.into_iter().map(answer).collect())
    }

    /// Where the artefacts of the targets lie; only `artefact` when given. A target that is not fresh is an error: a
    /// path to something stale is never shown.
    pub fn locate<S: AsRef<str>>(&self, targets: &[S], artefact: Option<&str>) -> Result<Vec<Located>> {
        let chosen = select(self.plan(), targets)?;
        let states = self.states(&self.judge(), true)?;
        let mut out = Vec::new();
        for unit in chosen {
            let id = &self.plan().units[unit].id;
            let Some(Freshness::Fresh { record, .. }) = &states[unit] else {
                return Err(Error::NoResult { unit: id.clone() });
            };
            let publish = &self.plan().stage_of(unit).publish;
            let before = out.len();
            for (name, a) in record.artefacts.iter().filter(|(name, _)| artefact.is_none_or(|a| a == *name)) {
                out.push(Located {
                    unit: id.clone(),
                    artefact: name.clone(),
                    path: self.store().objects.path(&a.digest),
                    digest: a.digest,
                    size: a.size,
                    published: publish.as_ref().and_then(|p| p.place(name, a.size)),
                });
            }
            if let Some(artefact) = artefact.filter(|_| out.len() == before) {
                let have = record.artefacts.keys().cloned().collect::<Vec<_>>().join(", ");
                return Err(Error::NoArtefact { unit: id.clone(), artefact: artefact.to_string(), have });
            }
        }
        Ok(out)
    }

    /// The logs of the targets' last attempts.
    pub fn logs<S: AsRef<str>>(&self, targets: &[S]) -> Result<Vec<UnitLog>> {
        let chosen = select(self.plan(), targets)?;
        let states = self.states(&self.judge(), false)?;
        let mut out = Vec::new();
        for unit in chosen {
            let u = &self.plan().units[unit];
            let (key, provenance) = match &states[unit] {
                Some(Freshness::Fresh { key, record }) => (*key, Some(record.provenance.clone())),
                Some(Freshness::Stale { key, .. }) => (*key, None),
                _ => return Err(Error::NoResult { unit: u.id.clone() }),
            };
            let path = self.store().log_path(&key);
            let error = self.store().journal.with(|i| i.failures.get(&key).map(|f| f.error.clone()));
            let text = std::fs::read_to_string(&path).ok();
            if text.is_none() && error.is_none() && provenance.is_none() {
                return Err(Error::NoResult { unit: u.id.clone() });
            }
            out.push(UnitLog { id: u.id.clone(), params: u.params.clone(), path, text, error, provenance });
        }
        Ok(out)
    }
}
