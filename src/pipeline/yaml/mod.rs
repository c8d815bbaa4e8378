//! Reading YAML with positions: every value knows the line and column it was written at.
//!
//! `config` reads pipeline.yaml with it, the store reads the lock file, and the cluster options read `--slurm`. What
//! the keys of a file mean is decided there, not here.
//!
//! * `tree`: text to a tree of [`Node`]s; `scalar`: text to a typed value.
//! * `error`: [`ConfigError`], a mistake shown with its line and a caret under it.

mod error;
mod scalar;
mod tree;

pub use error::{ConfigError, suggestion};
pub use tree::{Data, Limits, Node, YamlText, parse, parse_within};
