//! Code fingerprints: for each stage kind, the sources it can reach and a digest of each.
//!
//! A unit of work is fresh only if the code that made it is the code that would make it now. So the fingerprint of a
//! kind is derived from the sources themselves, at build time: nobody keeps a list. Comments, doc comments and tests do
//! not count; a changed expression does, wherever it is, if the stage can get there (see [`reach`]).
//!
//! A kind is a module below `stages/kinds/` with an impl of a trait that names it (`const NAME`). Nothing else under `stages/`
//! has a fingerprint of its own: a file in `stages/shared/` counts for the kinds that reach it.

mod lockfile;
mod module;
mod reach;
mod resolve;
mod tokens;
mod tree;

pub use reach::SourceFile;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tokens::Tok;

/// Where the kinds are.
const KINDS: &str = "stages/kinds/";

/// What runs every kind: it can change results as the kinds can.
const WRAPPER: &str = "stages/shared/pool.rs";

/// The sources of each stage kind, and the files outside `stages/` and `src/` that they include.
pub struct Fingerprints {
    /// Kind to sources.
    pub kinds: BTreeMap<String, Vec<SourceFile>>,
    /// Included files, for `rerun-if-changed`.
    pub included: Vec<PathBuf>,
}

/// Read the workspace and compute the fingerprint of every kind.
pub fn compute(workspace: &Path) -> std::io::Result<Fingerprints> {
    let tree = tree::Tree::read(workspace)?;
    let text = |file: &str| std::fs::read_to_string(workspace.join(file));
    let lock = lockfile::Lockfile::read(&text("Cargo.lock")?, &tree.manifests);
    let wrapper = tree.modules.iter().position(|m| m.label == WRAPPER);
    let wrapper = wrapper.ok_or_else(|| std::io::Error::other(format!("{WRAPPER} is not there; where is it now?")))?;
    let mut out = Fingerprints { kinds: BTreeMap::new(), included: Vec::new() };
    for (id, module) in tree.modules.iter().enumerate().filter(|(_, m)| m.label.starts_with(KINDS)) {
        for kind in kinds_in(&module.names.body) {
            let reach = reach::Reach::from(&tree, &lock, &[id, wrapper]);
            out.included.extend(reach.included().map(Path::to_path_buf));
            if out.kinds.insert(kind.clone(), reach.sources(workspace)?).is_some() {
                return Err(std::io::Error::other(format!("{}: a second kind is named `{kind}`", module.label)));
            }
        }
    }
    Ok(out)
}

/// The names in `impl .. for .. { const NAME: .. = "name"; .. }`, for each such impl of a module.
fn kinds_in(body: &[Tok]) -> Vec<String> {
    let word = |t: &Tok, w: &str| t.ident() == Some(w);
    let mut found = Vec::new();
    for start in (0..body.len()).filter(|&i| word(&body[i], "impl")) {
        let Some((header, inside)) = (start..body.len()).find_map(|k| Some((&body[start..k], body[k].group('{')?)))
        else {
            continue;
        };
        if !header.iter().any(|t| word(t, "for")) {
            continue;
        }
        let name = inside.windows(2).position(|w| word(&w[0], "const") && word(&w[1], "NAME"));
        let value = name.and_then(|at| inside[at..].iter().take_while(|t| !t.is_sign(';')).last());
        if let Some(Tok::Literal(text)) = value {
            found.push(text.trim_matches('"').to_string());
        }
    }
    found
}
