//! What a running unit sees: its parameters, its inputs, where to write, how many threads it may use.
//!
//! A unit sees nothing else of the engine, and nothing of its inputs but what enters its key: their labels and their
//! artefacts. (Their parameters are not offered on purpose: a parameter that changes no byte of an input must not change
//! this unit's result behind the key's back. A stage that wants to hand on a parameter writes it into an artefact.)

use crate::kind::StageError;
use crate::value::{Value, ValueMap};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Values that the program hands to its stages, by name: options of its command line, say. The engine gives them no
/// meaning, and they enter no key by themselves: a kind whose bytes depend on one names it in [`crate::Kind::externals`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Environment {
    values: BTreeMap<String, String>,
}

impl Environment {
    /// What a flag that is set holds.
    const YES: &'static str = "yes";

    /// The value of that name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// Sets a value.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.values.insert(name.into(), value.into());
    }

    /// Removes a value.
    pub fn remove(&mut self, name: &str) {
        self.values.remove(name);
    }

    /// Whether the flag of that name is set.
    pub fn flag(&self, name: &str) -> bool {
        self.get(name) == Some(Self::YES)
    }

    /// Sets or removes a flag.
    pub fn set_flag(&mut self, name: &str, on: bool) {
        if on { self.set(name, Self::YES) } else { self.remove(name) }
    }
}

/// One unit of an upstream stage.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// `stage/label`.
    pub id: String,
    /// Its cell of its stage's matrix.
    pub axes: ValueMap,
    /// Where each artefact lies, by name. Read only.
    pub artefacts: BTreeMap<String, PathBuf>,
}

impl Input {
    /// Where the artefact of that name lies.
    pub fn path(&self, artefact: &str) -> Result<&Path, InputError> {
        self.artefacts.get(artefact).map(PathBuf::as_path).ok_or_else(|| InputError::NoArtefact {
            unit: self.id.clone(),
            artefact: artefact.to_string(),
            have: self.artefacts.keys().cloned().collect::<Vec<_>>().join(", "),
        })
    }
}

/// A stage asked for an input or an output that it cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// The upstream unit wrote no such artefact.
    #[error("`{unit}` has no artefact `{artefact}`; it has: {have}")]
    NoArtefact {
        /// The upstream unit.
        unit: String,
        /// The name asked for.
        artefact: String,
        /// The names it has.
        have: String,
    },
    /// The stage does not list that upstream stage in `needs`.
    #[error("no input from a stage `{stage}`; add it to `needs` (inputs: {have})")]
    NoStage {
        /// The stage asked for.
        stage: String,
        /// The stages in `needs`.
        have: String,
    },
    /// The stage expected one unit and there are several, or none.
    #[error("expected one unit of `{stage}` and got {count}; the join gathers the axes this stage does not have")]
    NotOne {
        /// The upstream stage.
        stage: String,
        /// How many units the join gave.
        count: usize,
    },
    /// An artefact's name is a plain file name.
    #[error("`{0}` is not a file name: artefacts have no folders and do not start with a dot")]
    BadName(String),
}

/// Receives progress: the fraction done and a message.
pub(crate) type ProgressFn = dyn Fn(f64, &str) + Send + Sync;

/// What a running unit sees.
pub struct Context {
    pub(crate) id: String,
    pub(crate) params: Value,
    pub(crate) axes: ValueMap,
    pub(crate) inputs: BTreeMap<String, Vec<Input>>,
    pub(crate) seed: u64,
    pub(crate) threads: usize,
    pub(crate) env: Arc<Environment>,
    pub(crate) scratch: PathBuf,
    pub(crate) log_path: PathBuf,
    pub(crate) log: Mutex<Option<File>>,
    pub(crate) progress: Arc<ProgressFn>,
    pub(crate) cancel: Arc<AtomicBool>,
}

impl Context {
    /// `stage/label` of this unit.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The canonical parameters: `with` overlaid with the matrix cell, checked, defaults filled in.
    pub fn params(&self) -> &Value {
        &self.params
    }

    /// This unit's cell of the matrix, for labels in tables.
    pub fn axes(&self) -> &ValueMap {
        &self.axes
    }

    /// The units of an upstream stage that join with this one, sorted by label.
    pub fn inputs(&self, stage: &str) -> Result<&[Input], InputError> {
        self.inputs.get(stage).map(Vec::as_slice).ok_or_else(|| InputError::NoStage {
            stage: stage.to_string(),
            have: self.inputs.keys().cloned().collect::<Vec<_>>().join(", "),
        })
    }

    /// The one unit of an upstream stage that joins with this one.
    pub fn input(&self, stage: &str) -> Result<&Input, InputError> {
        match self.inputs(stage)? {
            [one] => Ok(one),
            many => Err(InputError::NotOne { stage: stage.to_string(), count: many.len() }),
        }
    }

    /// The names of the upstream stages, sorted.
    pub fn needs(&self) -> impl Iterator<Item = &str> {
        self.inputs.keys().map(String::as_str)
    }

    /// Where to write the artefact `name`: a file in this unit's scratch folder. When the unit ends well, every file in
    /// that folder becomes an artefact, all of them or none.
    pub fn output(&self, name: &str) -> Result<PathBuf, StageError> {
        let fits = Path::new(name).file_name().is_some_and(|f| f == name) && !name.starts_with('.');
        if !fits || name.contains(['\n', '/', '\\']) {
            return Err(InputError::BadName(name.to_string()).into());
        }
        fs_err::create_dir_all(&self.scratch)?;
        Ok(self.scratch.join(name))
    }

    /// The seed of this unit's randomness, derived from the run seed, the kind, and the parameters that the user set to
    /// something else than their default, without those that do not matter to randomness ([`crate::Kind::seedless`]).
    ///
    /// Neither code nor inputs enter it: editing a message in a trainer must not change its initial weights, or every
    /// difference after an edit would be edit and luck mixed. Nor do defaults: a new parameter, or a default written out,
    /// changes no seed. A unit keeps its seed when others come and go.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// How many threads the unit may use. The bytes it writes must not depend on it.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// The values that the program hands to its stages.
    pub fn env(&self) -> &Environment {
        &self.env
    }

    /// Reports the unit's progress: the fraction done, in 0..=1, and a short text.
    pub fn progress(&self, fraction: f64, message: &str) {
        (self.progress)(fraction.clamp(0.0, 1.0), message);
    }

    /// [`progress`](Self::progress) as a callback that outlives the borrow, for libraries that report while they work.
    pub fn reporter(&self) -> Arc<dyn Fn(f64, &str) + Send + Sync> {
        self.progress.clone()
    }

    /// Adds a line to the unit's log. When the log cannot be written, lines are lost and results are not.
    pub fn log(&self, line: &str) {
        let Ok(mut file) = self.log.lock() else { return };
        if file.is_none() {
            let _ = self.log_path.parent().map(fs_err::create_dir_all);
            *file = File::create(&self.log_path).ok();
        }
        if let Some(file) = file.as_mut() {
            let _ = writeln!(file, "{line}");
        }
    }

    /// Whether the run is to stop. A long unit asks now and then and returns early with any error.
    pub fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}
