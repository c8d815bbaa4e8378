//! Reading YAML with positions: every value knows the line and column it was written at.
//!
//! `config` reads pipeline.yaml with it, the store reads the lock file, and the cluster options read `--slurm`. What
//! the keys of a file mean is decided there, not here.
//!
//! * `tree`: text to a tree of [`Node`]s.
//! * `error`: [`ConfigError`], a mistake shown with its line and a caret under it.

mod error;
mod tree;

pub use error::{ConfigError, suggestion};
pub use tree::{Data, Node, YamlText, parse};
