//! What pipeline.yaml says beside units: the cluster, remotes, resources of a stage, and which of its artefacts are published.

use super::overlay::{Declared, keys, map, whole};
use crate::plan::{Publish, RemoteOptions, Resources, SlurmOptions};
use crate::value::Value;
use crate::value::size::bytes;
use crate::yaml::{ConfigError, Data, Node};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

type Result<T> = std::result::Result<T, ConfigError>;

/// The options of the cluster. They are checked here, so that a mistake is shown at its line before a cluster is used.
pub(super) fn slurm(node: Option<&Node>) -> Result<SlurmOptions> {
    let Some(node) = node else { return Ok(SlurmOptions::default()) };
    SlurmOptions::from_value(&node.value()).map_err(|e| {
        let place = node.get(e.path.split('.').next().unwrap_or_default()).unwrap_or(node);
        let what = if e.path.is_empty() { "`slurm`".to_string() } else { format!("`slurm`, option `{}`", e.path) };
        ConfigError::at(place, format!("{what}: {}", e.message)).suggest(&e.path, &e.candidates)
    })
}

/// The remotes by name.
pub(super) fn remotes(node: Option<&Node>) -> Result<BTreeMap<String, RemoteOptions>> {
    let Some(node) = node else { return Ok(BTreeMap::new()) };
    let one = |(name, body): &(Node, Node)| {
        let options = RemoteOptions::from_value(&body.value()).map_err(|e| {
            let place = body.get(e.path.split('.').next().unwrap_or_default()).unwrap_or(body);
            ConfigError::at(place, format!("remote `{}`: `{}`: {}", name.text(), e.path, e.message))
                .suggest(&e.path, &e.candidates)
        })?;
        if name.text().contains(['/', ':']) {
            return Err(ConfigError::at(name, "a remote's name has no `/` and no `:`, which addresses have"));
        }
        Ok((name.text(), options))
    };
    super::overlay::map(node, "`remotes`")?.iter().map(one).collect()
}

pub(super) fn resources(declared: &Declared) -> Result<Resources> {
    let mut out = Resources::default();
    let Some(node) = &declared.resources else { return Ok(out) };
    let what = format!("stage `{}`: `resources`", declared.name.text());
    keys(node, &["threads", "memory", "gpu"], &what)?;
    if let Some(threads) = node.get("threads") {
        out.threads = match threads.value() {
            Value::Str(s) if s == "all" => None,
            Value::Int(n) if n >= 1 => Some(n as usize),
            _ => {
                return Err(ConfigError::at(threads, format!("{what}: `threads` is a number from 1, or `all`")));
            }
        };
    }
    if let Some(memory) = node.get("memory") {
        out.memory = bytes(&memory.value()).ok_or_else(|| {
            ConfigError::at(memory, format!("{what}: `memory` is a size, found {}", memory.type_name()))
                .help("write `500MB`, `2GB` or a number of bytes")
        })?;
    }
    if let Some(gpu) = node.get("gpu") {
        out.gpu = match gpu.value() {
            Value::Bool(b) => usize::from(b),
            _ => whole(gpu, &format!("{what}: `gpu`"))? as usize,
        };
    }
    Ok(out)
}

/// The folder to copy artefacts into: `publish: folder` for all of them, or `{folder, files: {artefact: name}, at-most}`.
/// A profile that is not the default has a folder of its own inside it, so that the copies of a quick run never replace those
/// of the default profile.
pub(super) fn publish(declared: &Declared, profile: &str) -> Result<Option<Publish>> {
    let Some(node) = &declared.publish else { return Ok(None) };
    let what = format!("stage `{}`: `publish`", declared.name.text());
    let mut out = Publish { folder: PathBuf::new(), files: None, at_most: None };
    let folder = match &node.data {
        Data::Map(_) => {
            keys(node, &["folder", "files", "at-most"], &what)?;
            let missing = |key: &str| ConfigError::at(node, format!("{what}: `{key}` is missing"));
            let mut files = BTreeMap::new();
            for (artefact, name) in map(node.get("files").ok_or_else(|| missing("files"))?, &what)? {
                inside(Path::new(&name.text()), name, &what)?;
                files.insert(artefact.text(), name.text());
            }
            out.files = Some(files);
            if let Some(most) = node.get("at-most") {
                out.at_most = Some(bytes(&most.value()).ok_or_else(|| {
                    ConfigError::at(most, format!("{what}: `at-most` is a size, found {}", most.type_name()))
                        .help("write `2MB` or a number of bytes")
                })?);
            }
            node.get("folder").ok_or_else(|| missing("folder"))?
        }
        _ => node,
    };
    let Value::Str(text) = folder.value() else {
        return Err(ConfigError::at(folder, format!("{what}: expected a folder, found {}", folder.type_name())));
    };
    out.folder = inside(&PathBuf::from(&text), folder, &what)?;
    if profile != "default" {
        out.folder.push(profile);
    }
    Ok(Some(out))
}

/// The path, if it stays in the project's folder.
fn inside(path: &Path, node: &Node, what: &str) -> Result<PathBuf> {
    if path.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir)) {
        return Ok(path.to_path_buf());
    }
    Err(ConfigError::at(node, format!("{what}: `{}` leaves the project's folder", path.display())))
}
