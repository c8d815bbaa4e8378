//! The lock file: what a plan's units came out as, beside pipeline.yaml, meant to be committed and reviewed.
//!
//! YAML, one block per stage, stages and units sorted by name, one short line per unit: two branches that touch different
//! units merge without a conflict. The bytes depend on the results alone, not on the order, the machine or the number of
//! threads they were computed with.
//!
//! | a unit's line | holds | so that |
//! |---|---|---|
//! | first word | the first 16 digits of its key | equal keys with other results are told from other keys; the store's record is found by it |
//! | second word | 32 digits of one digest of all it wrote, names and bytes | a changed byte of any artefact changes the line |
//!
//! The words stand in quotes: sixteen digits without a letter would be a number to YAML.
//!
//! Which artefact differs, and its full digest, the record in the store says ([`Locked::find`]). Version 1 of the file had
//! whole keys and one digest for each artefact, 290 bytes a line; it is read and converted, since those give the short form.
//! This module is the only one that knows the format: readers use [`Lockfile`] and [`Locked`].

use crate::error::{Error, Result};
use crate::freshness::key::Key;
use crate::store::index::Index;
use crate::store::record::Record;
use crate::value::digest::Digest;
use crate::yaml::{Limits, Node, YamlText, parse_within};
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

/// Bytes of a key on a unit's line. Nobody can profit from a false match, and by chance there is none among any number of units.
const KEY: usize = 8;
/// Bytes of a result: enough that a result that somebody else computed can be compared by them alone.
const RESULT: usize = 16;
/// The version that is written.
const VERSION: u32 = 2;

/// One unit's line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Locked {
    key: [u8; KEY],
    result: [u8; RESULT],
}

/// The first bytes of a digest.
fn start<const N: usize>(digest: &Digest) -> [u8; N] {
    std::array::from_fn(|n| digest.0[n])
}

impl Locked {
    /// The line of a unit with this key that wrote these artefacts. They come sorted by name.
    pub fn new<'a>(key: &Key, artefacts: impl IntoIterator<Item = (&'a str, Digest)>) -> Self {
        let mut bytes = b"repro result 1\0".to_vec();
        for (name, digest) in artefacts {
            bytes.extend((name.len() as u64).to_le_bytes());
            bytes.extend(name.as_bytes());
            bytes.extend(digest.0);
        }
        Self { key: start(key), result: start(&Digest::of(&bytes)) }
    }

    /// The line of a finished unit.
    pub fn of(key: &Key, record: &Record) -> Self {
        Self::new(key, record.artefacts.iter().map(|(name, a)| (name.as_str(), a.digest)))
    }

    /// Whether the unit had this key.
    pub fn has_key(&self, key: &Key) -> bool {
        key.0.starts_with(&self.key)
    }

    /// Whether the other unit had the same key.
    pub fn same_key(&self, other: &Locked) -> bool {
        self.key == other.key
    }

    /// Whether the unit wrote exactly what the other one wrote.
    pub fn same_result(&self, other: &Locked) -> bool {
        self.result == other.result
    }

    /// The record of this very result in a store that has it: the same key and the same bytes.
    pub fn find(&self, index: &Index, stage: &str, label: &str) -> Option<(Key, Arc<Record>)> {
        // The unit's own history first: the whole store is searched only for one that was renamed or ran for another unit.
        let own = index.history.get(stage).and_then(|units| units.get(label)).into_iter().flatten();
        let hit = |key: &&Key| {
            self.has_key(key) && index.records.get(*key).is_some_and(|r| self.same_result(&Locked::of(key, r)))
        };
        let key = own.rev().find(hit).or_else(|| index.records.keys().find(hit))?;
        Some((*key, index.records.get(key)?.clone()))
    }
}

/// The content of the lock file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lockfile {
    /// By stage, then by label.
    pub stages: BTreeMap<String, BTreeMap<String, Locked>>,
}

/// Why a text is not a lock file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotALock {
    /// A later program wrote it.
    #[error("it is a lock file of version {0}, and this program reads versions 1 and {VERSION}; use a newer program")]
    Newer(u32),
    /// Damaged, in conflict after a merge, or something else.
    #[error("it is not a lock file that can be read")]
    Unreadable,
}

/// The first lines; `{}` is the program's name.
const HEAD: &str = "\
# Written by `{} run`; commit it. Each line: a unit, the start of its key, one digest of all it wrote.
# After a merge conflict keep either side and run again: keys say what is stale.
version: 2
";

/// Appends text in quotes, as JSON has it.
fn quote(out: &mut String, text: &str) {
    if text.bytes().all(|b| b >= b' ' && b != b'"' && b != b'\\') {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        out.push_str(&serde_json::Value::from(text).to_string());
    }
}

impl Lockfile {
    /// The text, as the program of that name writes it.
    pub fn render(&self, program: &str) -> String {
        let mut out = HEAD.replace("{}", program);
        out.push_str(if self.stages.is_empty() { "stages: {}\n" } else { "stages:\n" });
        for (stage, units) in &self.stages {
            out.push_str("  ");
            quote(&mut out, stage);
            out.push_str(":\n");
            for (label, locked) in units {
                out.push_str("    ");
                quote(&mut out, label);
                // Writing to a String cannot fail.
                let _ = writeln!(out, ": \"{} {}\"", Hex(&locked.key), Hex(&locked.result));
            }
        }
        out
    }

    /// Reads a lock file; `None` when there is none or it cannot be understood (a merge conflict, say), since it can
    /// always be written anew.
    pub fn load(path: &Path) -> Option<Self> {
        Self::read(&std::fs::read_to_string(path).ok()?).ok()
    }

    /// Reads the text of a lock file of any version so far.
    pub fn read(text: &str) -> std::result::Result<Self, NotALock> {
        let root = parse_within(YamlText::new("the lock file", text), Limits::GENERATED);
        let root = root.map_err(|_| NotALock::Unreadable)?;
        let version = root.get("version").and_then(|v| v.text().parse().ok()).ok_or(NotALock::Unreadable)?;
        let line = match version {
            1 => line_1,
            VERSION => line_2,
            newer => return Err(NotALock::Newer(newer)),
        };
        let mut out = Self::default();
        for (stage, units) in root.get("stages").ok_or(NotALock::Unreadable)?.entries().unwrap_or(&[]) {
            let block = out.stages.entry(stage.text()).or_default();
            for (label, body) in units.entries().unwrap_or(&[]) {
                block.insert(label.text(), line(body).ok_or(NotALock::Unreadable)?);
            }
        }
        Ok(out)
    }

    /// The keys in a store that lines of this file name.
    pub(crate) fn keys(&self, index: &Index) -> impl Iterator<Item = Key> {
        let named: HashSet<[u8; KEY]> = self.stages.values().flat_map(BTreeMap::values).map(|l| l.key).collect();
        index.records.keys().copied().filter(move |key| named.contains(&start::<KEY>(key)))
    }

    /// Writes the file whole or not at all, and not when it says the same already. Returns whether it wrote.
    pub fn save(&self, path: &Path, program: &str) -> Result<bool> {
        let text = self.render(program);
        if std::fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
            return Ok(false);
        }
        let wrong = |e| Error::io("write", path, e);
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = tempfile::Builder::new().prefix(".lock-").tempfile_in(folder).map_err(wrong)?;
        file.write_all(text.as_bytes()).map_err(wrong)?;
        set_mode(file.as_file()).map_err(wrong)?;
        file.as_file().sync_all().map_err(wrong)?;
        file.persist(path).map_err(|e| wrong(e.error))?;
        Ok(true)
    }
}

/// A unit's line of version 1: `{key: 64 digits, files: {name: 64 digits, ...}}`.
fn line_1(body: &Node) -> Option<Locked> {
    let digest = |node: &Node| node.text().parse::<Digest>().ok();
    let files = body.get("files")?.entries().unwrap_or(&[]);
    let artefacts: BTreeMap<String, Digest> =
        files.iter().map(|(name, v)| Some((name.text(), digest(v)?))).collect::<Option<_>>()?;
    Some(Locked::new(&digest(body.get("key")?)?, artefacts.iter().map(|(name, d)| (name.as_str(), *d))))
}

/// A unit's line as it is written now: `"16 digits 32 digits"`.
fn line_2(body: &Node) -> Option<Locked> {
    let text = body.text();
    let (key, result) = text.split_once(' ')?;
    Some(Locked { key: bytes(key)?, result: bytes(result)? })
}

/// The bytes that these hexadecimal digits stand for, if there are that many.
fn bytes<const N: usize>(digits: &str) -> Option<[u8; N]> {
    // A digest reads 64 digits: the missing ones are zeros.
    let whole: Digest = format!("{digits:0<64}").parse().ok()?;
    (digits.len() == 2 * N).then(|| start(&whole))
}

/// Bytes as hexadecimal digits.
struct Hex<'a>(&'a [u8]);

impl std::fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Makes a temporary file readable by others; it is created private.
pub(crate) fn set_mode(file: &std::fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}
