//! Whether a worker is the same as the driver, and whether two tasks wrote the same.

use super::files::{ChunkFile, ChunkUnit};
use crate::engine::Engine;
use crate::store::record::{Provenance, Record};

/// The first unit that is not here what it is for the driver, and in what.
pub(super) fn other_inputs(engine: &Engine, file: &ChunkFile) -> Option<String> {
    let judge = engine.judge();
    for unit in &file.units {
        let Some(index) = engine.unit_named(&unit.id) else {
            return Some(format!("there is no unit `{}` here", unit.id));
        };
        let mut here = judge.parts(index, |_| None);
        here.inputs = unit.parts.inputs.clone();
        if here.key() != unit.key {
            let differ =
                |what: &str| format!("`{}` would be another unit here: {what} differ from the driver's", unit.id);
            return Some(differ(match () {
                () if here.code != unit.parts.code || here.schema != unit.parts.schema => "the sources of its kind",
                () if here.externals != unit.parts.externals => "the data or devices that it uses outside the store",
                () => "its parameters",
            }));
        }
    }
    None
}

/// The recorded settings of a result, as text.
fn settings(p: &Provenance) -> String {
    p.settings.iter().map(|(name, value)| format!(", {name} {value}")).collect()
}

/// A sentence about two tasks that wrote different bytes, with the provenance of both.
pub(super) fn differs(engine: &Engine, unit: &ChunkUnit, artefact: &str, first: &Record, second: &Record) -> String {
    let about = |record: &Record| {
        let p = &record.provenance;
        let host = engine.store().journal.with(|i| i.hosts.get(&p.host).cloned());
        let host =
            host.map_or("an unknown machine".to_string(), |h| format!("{} {} ({} cores)", h.program, h.cpu, h.cores));
        let digest = record.artefacts.get(artefact).map_or("absent".to_string(), |a| a.digest.short());
        format!("{digest} by {host}, {} threads{}, ended {}", p.threads, settings(p), p.ended)
    };
    let verb = if unit.again { "replaced by" } else { "kept; not kept:" };
    format!(
        "`{}` is not deterministic: two tasks wrote different bytes in `{artefact}`: {} ({verb}) {}",
        unit.id,
        about(first),
        about(second)
    )
}
