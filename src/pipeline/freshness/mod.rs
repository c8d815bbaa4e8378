//! Who decides whether a unit must run: `Judge`.
//!
//! [`key`] says what a result depends on, [`stale`] lists the reasons for a run.
//!
//! Units are judged in plan order, so a unit's inputs are judged before it is. A unit whose inputs all have results has a
//! key; a record under that key, with healthy objects, makes it fresh. For the others, `Judge::reasons` finds the
//! former unit that resembles it most and names the difference.

pub mod key;
pub mod stale;

use crate::error::Result;
use crate::kind::Kind;
use crate::kind::context::Environment;
use crate::plan::Plan;
use crate::store::Store;
use crate::store::index::Index;
use crate::store::objects::Health;
use crate::store::record::Record;
use crate::value::digest::Digest;
use key::{Key, KeyBytes, KeyParts, Sources, code_digest, digest_sources};
use stale::Stale;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

/// Whether a unit has a current result.
#[derive(Clone, Debug)]
pub(crate) enum Freshness {
    /// It has a current result.
    Fresh { key: Key, record: Arc<Record> },
    /// Its inputs are known and it has no current result. `damage` says what is wrong with the objects of its record.
    Stale { key: Key, damage: Vec<Stale> },
    /// `count` of its inputs are stale, `upstream` is one of them, so its key is not known yet.
    Unknown { upstream: usize, count: usize },
}

/// At most this many former units are compared when looking for the nearest.
const NEAREST: usize = 200;

/// Judges the units of a plan against a store.
pub(crate) struct Judge<'a> {
    plan: &'a Plan,
    store: &'a Store,
    env: &'a Environment,
    /// Per stage: the digest of its sources.
    pub(crate) code: Vec<Digest>,
    /// Per stage, found when first asked for: the last results of units that the plan no longer has.
    former: Vec<OnceLock<Vec<(String, Key)>>>,
    /// [`Judge::sources`], found when first asked for.
    now: OnceLock<BTreeMap<Digest, Sources>>,
}

/// The record of a unit that is fresh.
fn fresh(state: &Option<Freshness>) -> Option<&Record> {
    if let Some(Freshness::Fresh { record, .. }) = state { Some(record) } else { None }
}

/// The sources of a kind by path.
fn sources_of(kind: &dyn Kind) -> Sources {
    kind.sources().iter().cloned().collect()
}

impl<'a> Judge<'a> {
    pub(crate) fn new(plan: &'a Plan, store: &'a Store, env: &'a Environment) -> Self {
        // Several stages have one kind, and a kind reaches hundreds of sources.
        let mut known: HashMap<&str, Digest> = HashMap::new();
        let code = plan.stages.iter().map(|stage| {
            *known.entry(stage.kind.name()).or_insert_with(|| {
                let sources = stage.kind.sources();
                match sources.is_sorted_by(|a, b| a.0 < b.0) {
                    true => digest_sources(sources.iter().map(|(path, digest)| (path, digest))),
                    false => code_digest(&sources_of(stage.kind.as_ref())),
                }
            })
        });
        let code = code.collect();
        let former = plan.stages.iter().map(|_| OnceLock::new()).collect();
        Self { plan, store, env, code, former, now: OnceLock::new() }
    }

    /// The sources of every stage by their digest.
    pub(crate) fn sources(&self) -> BTreeMap<Digest, Sources> {
        let all = self.code.iter().zip(&self.plan.stages);
        all.map(|(digest, stage)| (*digest, sources_of(stage.kind.as_ref()))).collect()
    }

    /// What a unit depends on outside the DAG.
    fn externals(&self, unit: usize) -> BTreeMap<String, String> {
        let u = &self.plan.units[unit];
        // When a kind cannot say what it depends on, its error enters the key. The unit then runs, meets the same error and
        // reports it.
        let externals = self.plan.stages[u.stage].kind.externals(&u.params, self.env);
        externals.unwrap_or_else(|e| BTreeMap::from([("error".to_string(), e.to_string())]))
    }

    /// The key parts of a unit whose inputs have the records that `record` gives; inputs without one are left out.
    pub(crate) fn parts<'r>(&self, unit: usize, record: impl Fn(usize) -> Option<&'r Record>) -> KeyParts {
        self.parts_with(unit, self.externals(unit), record)
    }

    /// The same with externals that are known already: asking for them may read large files.
    pub(crate) fn parts_with<'r>(
        &self,
        unit: usize,
        externals: BTreeMap<String, String>,
        record: impl Fn(usize) -> Option<&'r Record>,
    ) -> KeyParts {
        let u = &self.plan.units[unit];
        let kind = &self.plan.stages[u.stage].kind;
        let digests = |r: &Record| r.artefacts.iter().map(|(name, a)| (name.clone(), a.digest)).collect();
        let inputs = u.inputs.iter().filter_map(|&i| Some((self.plan.units[i].id.clone(), digests(record(i)?))));
        KeyParts {
            kind: kind.name().to_string(),
            schema: kind.schema(),
            code: self.code[u.stage],
            params: u.params.clone(),
            seed: u.seed,
            inputs: inputs.collect(),
            externals,
        }
    }

    /// The key of a unit whose inputs have the records that `record` gives, with its externals. It is the key of
    /// [`Judge::parts`], without copying them: most units are fresh, and nobody wants their parts.
    pub(crate) fn key<'r>(
        &self,
        unit: usize,
        record: impl Fn(usize) -> Option<&'r Record>,
    ) -> (Key, BTreeMap<String, String>) {
        let u = &self.plan.units[unit];
        let kind = &self.plan.stages[u.stage].kind;
        let id = |i: usize| self.plan.units[i].id.as_str();
        let mut inputs: Vec<(&str, &Record)> = u.inputs.iter().filter_map(|&i| Some((id(i), record(i)?))).collect();
        inputs.sort_unstable_by_key(|(id, _)| *id);
        let mut bytes = KeyBytes::new(kind.name(), kind.schema(), self.code[u.stage], &u.params, u.seed, inputs.len());
        for (id, record) in inputs {
            bytes.input(id, record.artefacts.iter().map(|(name, a)| (name, &a.digest)));
        }
        let externals = self.externals(unit);
        (bytes.end(&externals), externals)
    }

    /// Judges a unit by its key. `health` asks for the objects too.
    pub(crate) fn judge(&self, key: Key, health: bool) -> Result<Freshness> {
        if !health {
            let record = self.store.journal.with(|i| i.records.get(&key).cloned());
            return Ok(match record {
                Some(record) => Freshness::Fresh { key, record },
                None => Freshness::Stale { key, damage: Vec::new() },
            });
        }
        let Some((record, damage)) = self.store.look_up(&key)? else {
            return Ok(Freshness::Stale { key, damage: Vec::new() });
        };
        if damage.is_empty() {
            return Ok(Freshness::Fresh { key, record });
        }
        let name = |(artefact, health)| match health {
            Health::Missing => Stale::Missing { artefact },
            _ => Stale::Corrupt { artefact },
        };
        Ok(Freshness::Stale { key, damage: damage.into_iter().map(name).collect() })
    }

    /// Judges the units in `scope`, which must hold the inputs of each of its units. `health` asks for the objects too.
    pub(crate) fn all(&self, scope: &[bool], health: bool) -> Result<Vec<Option<Freshness>>> {
        let mut states: Vec<Option<Freshness>> = vec![None; self.plan.units.len()];
        for unit in 0..self.plan.units.len() {
            if scope[unit] {
                states[unit] = Some(self.one(unit, &states, health)?);
            }
        }
        Ok(states)
    }

    /// Judges a unit whose inputs have been judged.
    pub(crate) fn one(&self, unit: usize, states: &[Option<Freshness>], health: bool) -> Result<Freshness> {
        let stale = |&&i: &&usize| !matches!(states[i], Some(Freshness::Fresh { .. }));
        let mut stale = self.plan.units[unit].inputs.iter().filter(stale);
        match stale.next() {
            Some(&upstream) => Ok(Freshness::Unknown { upstream, count: 1 + stale.count() }),
            None => self.judge(self.key(unit, |i| fresh(&states[i])).0, health),
        }
    }

    /// The key parts of a unit whose inputs have been judged; inputs without a current result are left out.
    pub(crate) fn parts_in(&self, unit: usize, states: &[Option<Freshness>]) -> KeyParts {
        self.parts(unit, |i| fresh(&states[i]))
    }

    /// Why a unit is stale, and the former unit it was compared with when that has another label. `parts` gives the
    /// unit's key parts where they are needed: keeping them for every unit would cost a kilobyte each.
    pub(crate) fn reasons(
        &self,
        unit: usize,
        state: &Freshness,
        parts: impl FnOnce() -> KeyParts,
    ) -> (Vec<Stale>, Option<String>) {
        self.store.journal.with(|index| self.reasons_in(index, unit, state, parts))
    }

    fn reasons_in(
        &self,
        index: &Index,
        unit: usize,
        state: &Freshness,
        parts: impl FnOnce() -> KeyParts,
    ) -> (Vec<Stale>, Option<String>) {
        let upstream = match state {
            Freshness::Fresh { .. } => return (Vec::new(), None),
            Freshness::Stale { damage, .. } if !damage.is_empty() => return (damage.clone(), None),
            Freshness::Stale { key, .. } => {
                if let Some(failure) = index.failures.get(key) {
                    let error = failure.error.lines().next().unwrap_or_default().to_string();
                    return (vec![Stale::Failed { error }], None);
                }
                None
            }
            Freshness::Unknown { upstream, count } => Some((*upstream, *count)),
        };
        let parts = &parts();
        let mut former = None;
        let mut reasons = match self.nearest(index, unit, parts, upstream.is_none()) {
            Some((label, reasons)) => {
                former = (label != self.plan.units[unit].label).then(|| self.id(unit, &label));
                reasons
            }
            None => vec![Stale::NeverRan],
        };
        if let Some((upstream, count)) = upstream {
            let unit = self.plan.units[upstream].id.clone();
            reasons.push(Stale::UpstreamStale { unit, count });
        } else if reasons.is_empty() {
            // Its record was lost (a damaged line, say) and an equal one under another stage's name was found.
            reasons.push(Stale::NeverRan);
        }
        (reasons, former)
    }

    fn id(&self, unit: usize, label: &str) -> String {
        format!("{}/{label}", self.plan.stage_of(unit).name)
    }

    /// The former unit of the same stage that differs least: one of the same label when there is, else one whose label
    /// the plan no longer has. (A unit that is still in the plan is not an earlier form of this one.)
    fn nearest(&self, index: &Index, unit: usize, parts: &KeyParts, known: bool) -> Option<(String, Vec<Stale>)> {
        let stage = self.plan.stage_of(unit);
        let labels = index.history.get(&stage.name)?;
        let own = &self.plan.units[unit].label;
        let mut candidates: Vec<(&String, &Key)> = Vec::new();
        if let Some(keys) = labels.get(own) {
            candidates.extend(keys.iter().rev().take(NEAREST).map(|k| (own, k)));
        } else {
            let former = self.former[self.plan.units[unit].stage].get_or_init(|| {
                let current: HashSet<&String> = self.plan.units[stage.units.clone()].iter().map(|u| &u.label).collect();
                let gone = labels.iter().filter(|(label, _)| !current.contains(label));
                gone.filter_map(|(label, keys)| Some((label.clone(), *keys.last()?))).take(NEAREST).collect()
            });
            candidates.extend(former.iter().map(|(label, key)| (label, key)));
        }
        let mine = self.now.get_or_init(|| self.sources());
        let sources = |digest: &Digest| mine.get(digest).or_else(|| index.sources.get(digest).map(AsRef::as_ref));
        let diffs = candidates.into_iter().filter_map(|(label, key)| {
            let record = index.records.get(key)?;
            Some((label.clone(), record.parts.diff(parts, known, sources)))
        });
        // The first of equals wins, and the newest come first.
        diffs.min_by_key(|(_, diff)| diff.len())
    }
}
