//! pipeline.yaml, from text to a [`Plan`](crate::Plan).
//!
//! The text becomes a tree with positions ([`crate::yaml`]); a profile and `--set` override parts of it ([`overlay`]);
//! `${name}` is replaced ([`substitute`]); matrices are multiplied out ([`matrix`]); kinds check the parameters, and units
//! are joined along `needs` (`build`). A mistake is a [`ConfigError`] that points at its line, before anything runs.
//!
//! ```yaml
//! version: 1
//! seed: 42                              # optional, 0 when absent
//! params: {samples: 1000}               # globals, for ${samples}
//! stages:
//!   simulate:
//!     kind: simulate                    # which code; default: the stage's own name
//!     with: {size: 20, samples: "${samples}"}
//!     matrix: {seed: 1..5}              # five units: seed=1 ... seed=5
//!   train:
//!     kind: train
//!     needs: [simulate]
//!     matrix: {seed: 1..5, rank: [1..3, 5, 10]}
//!     exclude: [{rank: 10, seed: [4, 5]}]
//!     resources: {threads: 2, memory: 2GB, gpu: 0}
//!     retries: 1
//!   figure:
//!     kind: render
//!     needs: [train]
//!     publish: figures                  # copy its artefacts into that folder
//! remotes: {lab: /shared/results}       # where results are pushed to and pulled from
//! profiles:
//!   smoke:
//!     params: {samples: 10}
//!     stages: {train: {matrix: {rank: [1, 2]}}}
//! ```
//!
//! A profile overrides `params` and `with` key by key, `matrix` axis by axis, and everything else as a whole. `null`
//! removes a key or an axis. With `like: NAME` it overrides a profile above it instead of the file. Published files of a
//! profile that is not `default` go into a folder of its name inside the `publish` folder, and the profile has a lock file of its own. `--set name=value` sets a global parameter,
//! `--set seed=7` the run seed, `--set stage.key=value` a parameter or an axis of one stage.

mod build;
mod join;
pub mod matrix;
mod options;
pub mod overlay;
mod seed;
pub mod substitute;

pub use crate::yaml::ConfigError;
use crate::yaml::{self, Limits, Node, YamlText};
use overlay::Overlaid;
use std::path::{Path, PathBuf};

use crate::kind::Registry;

/// A parsed pipeline.yaml.
#[derive(Clone, Debug)]
pub struct Config {
    root: Node,
    folder: PathBuf,
}

impl Config {
    /// Reads and parses the file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        let unreadable = |e: std::io::Error| ConfigError::unreadable(path, &e);
        let meta = std::fs::metadata(path).map_err(unreadable)?;
        if !meta.is_file() || meta.len() > Limits::WRITTEN.bytes as u64 {
            let most = Limits::WRITTEN.bytes;
            return Err(unreadable(std::io::Error::other(format!("it is not a plain file of at most {most} bytes"))));
        }
        let text = fs_err::read_to_string(path).map_err(unreadable)?;
        let name = path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned());
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Self::parse(&name, &text, folder)
    }

    /// Parses text; `name` is how messages call it, `folder` is where the store and the lock file will lie.
    pub fn parse(name: &str, text: &str, folder: &Path) -> Result<Self, ConfigError> {
        let root = yaml::parse(YamlText::new(name, text))?;
        Ok(Self { root, folder: folder.to_path_buf() })
    }

    /// The folder of the file: the root of the project.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The profiles the file defines, sorted. `default` always exists and is the file as it stands.
    pub fn profiles(&self) -> Vec<String> {
        let mut names: Vec<String> = vec!["default".into()];
        if let Some(entries) = self.root.get("profiles").and_then(Node::entries) {
            names.extend(entries.iter().map(|(k, _)| k.text()).filter(|k| k != "default"));
        }
        names.sort();
        names
    }

    /// Everything that would run under `profile` and `sets`: checked, multiplied out, joined.
    pub fn plan(&self, profile: &str, sets: &[(String, String)], kinds: &Registry) -> Result<crate::Plan, ConfigError> {
        let overlaid = Overlaid::new(&self.root, profile, sets)?;
        build::build(overlaid, profile, &self.folder, kinds)
    }
}
