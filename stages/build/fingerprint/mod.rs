//! Code fingerprints: for each stage kind, the sources it can reach and a digest of each.
//!
//! A unit of work is fresh only if the code that made it is the code that would make it now. So the fingerprint of a
//! kind is derived from the sources themselves, at build time: nobody keeps a list. Comments, doc comments and tests do
//! not count; a changed expression does, wherever it is, if the stage can get there (see [`reach`]).

mod lockfile;
mod module;
mod reach;
mod resolve;
mod tokens;
mod tree;

pub use reach::Source;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Files directly under `stages/` that are no stage: the program's root and the list of kinds.
const NOT_STAGES: [&str; 2] = ["main", "registry"];

/// The sources of each stage kind (the name of its file), and the files outside `stages/` and `src/` that they include.
pub struct Fingerprints {
    /// Kind to sources.
    pub kinds: BTreeMap<String, Vec<Source>>,
    /// Included files, for `rerun-if-changed`.
    pub included: Vec<PathBuf>,
}

/// Read the workspace and compute the fingerprint of every `stages/*.rs`.
pub fn compute(workspace: &Path) -> std::io::Result<Fingerprints> {
    let tree = tree::Tree::read(workspace)?;
    let text = |file: &str| std::fs::read_to_string(workspace.join(file));
    let lock = lockfile::Lockfile::read(&text("Cargo.lock")?, &text("Cargo.toml")?);
    let mut out = Fingerprints { kinds: BTreeMap::new(), included: Vec::new() };
    for (name, &id) in &tree.modules[tree.crates[0].root].children {
        if NOT_STAGES.contains(&name.as_str()) || tree.modules[id].label != format!("stages/{name}.rs") {
            continue;
        }
        let reach = reach::Reach::from(&tree, &lock, id);
        out.included.extend(reach.included().map(Path::to_path_buf));
        out.kinds.insert(name.clone(), reach.sources(workspace)?);
    }
    Ok(out)
}
