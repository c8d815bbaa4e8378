//! The lock file: keys and digests of a plan's results, beside pipeline.yaml, meant to be committed.
//!
//! YAML, one block per stage, stages and units sorted by name, one line per unit: two branches that touch different
//! units merge without a conflict. The bytes depend on the results alone, not on the order, the machine or the number of
//! threads they were computed with.

use crate::error::{Error, Result};
use crate::freshness::key::{ArtefactDigests, Key};
use crate::value::digest::Digest;
use crate::yaml::{Limits, Node, YamlText, parse_within};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

/// One unit's line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locked {
    /// Its key.
    pub key: Key,
    /// Its artefacts.
    pub artefacts: ArtefactDigests,
}

/// The content of the lock file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lockfile {
    /// By stage, then by label.
    pub stages: BTreeMap<String, BTreeMap<String, Locked>>,
}

/// The first lines; `{}` is the program's name.
const HEAD: &str = "\
# Written by `{} run`; commit it. Each line: a unit, its key, the digests of what it wrote.
# After a merge conflict keep either side and run again: keys say what is stale.
version: 1
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
                let _ = write!(out, ": {{key: {}, files: {{", locked.key);
                for (n, (name, digest)) in locked.artefacts.iter().enumerate() {
                    out.push_str(if n == 0 { "" } else { ", " });
                    quote(&mut out, name);
                    let _ = write!(out, ": {digest}");
                }
                out.push_str("}}\n");
            }
        }
        out
    }

    /// Reads a lock file; `None` when there is none or it cannot be understood (a merge conflict, say), since it can
    /// always be written anew.
    pub fn load(path: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(path).ok()?;
        let root = parse_within(YamlText::new("the lock file", &text), Limits::GENERATED).ok()?;
        let mut out = Self::default();
        let digest = |node: &Node| node.text().parse::<Digest>().ok();
        for (stage, units) in root.get("stages")?.entries().unwrap_or(&[]) {
            let block = out.stages.entry(stage.text()).or_default();
            for (label, body) in units.entries().unwrap_or(&[]) {
                let files = body.get("files")?.entries().unwrap_or(&[]);
                let artefacts = files.iter().map(|(k, v)| Some((k.text(), digest(v)?))).collect::<Option<_>>()?;
                block.insert(label.text(), Locked { key: digest(body.get("key")?)?, artefacts });
            }
        }
        Some(out)
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

/// Makes a temporary file readable by others; it is created private.
pub(crate) fn set_mode(file: &std::fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}
