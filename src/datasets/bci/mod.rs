//! BCI Competition IV, data set 2a (BNCI Horizon 001-2014): motor imagery, nine subjects, two sessions on two days.
//!
//! 22 EEG and 3 EOG channels at 250 Hz; 288 trials per session, 72 each of left hand (1), right hand (2), feet (3), tongue (4).
//! A trial starts with code 768; the cue (769..772, or 783 where the class is kept secret) comes two seconds later; code
//! 1023 marks trials that an expert rejected. [`load`] takes the session from the first source that has it:
//!
//! 1. `--data-dir`, a folder or zip with `A01T.gdf` and label files `A01T.mat` (or the two official zips, not unpacked), or BNCI `A01T.mat`,
//!    or bundles of covariances `A01T.npz` (arrays `covariances` (n, c, c) and `labels` (n)),
//! 2. the download cache, into which [`download`] brings the file of BNCI Horizon or the archive of the competition,
//! 3. the [simulation](crate::simulate), which goes through the same GDF reader.

mod bnci;
mod bundle;
pub mod codes;
mod from_gdf;
mod load;

pub use bnci::read_bnci;
pub use bundle::read_bundle;
pub use from_gdf::{read_gdf, read_labels};
pub use load::{content, download, find, load, open, simulated};

use std::fmt;

use ndarray::{Array2, Array3};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Number of EEG channels. They are the first channels of a recording.
pub const EEG_CHANNELS: usize = 22;

/// The two days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Session {
    /// Day one, "training".
    T,
    /// Day two, "evaluation".
    E,
}

impl fmt::Display for Session {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Session::T => "T",
            Session::E => "E",
        })
    }
}

/// One trial of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trial {
    /// Sample at which it starts.
    pub start: usize,
    /// Class, 1 to 4.
    pub label: u8,
    /// Whether an expert marked it as an artefact.
    pub rejected: bool,
}

/// A continuous recording with its trials.
#[derive(Debug, Clone)]
pub struct Recording {
    /// Samples per second.
    pub rate: f64,
    /// (22 channels, samples) in microvolts, NaN where samples are lost.
    pub signal: Array2<f64>,
    /// The trials in order of time.
    pub trials: Vec<Trial>,
}

/// Covariances of a session that the user computed before (a bundle).
#[derive(Debug, Clone)]
pub struct Bundle {
    /// (trials, channels, channels).
    pub covariances: Array3<f64>,
    /// Class of each trial.
    pub labels: Vec<u8>,
}

/// A session: its signal, or only its covariances.
#[derive(Debug, Clone)]
pub enum SessionData {
    /// The signal itself.
    Recording(Recording),
    /// Covariances only.
    Covariances(Bundle),
}

impl Recording {
    /// Starts and labels of the trials that were not rejected.
    pub fn usable(&self) -> (Vec<usize>, Vec<u8>) {
        self.trials.iter().filter(|t| !t.rejected).map(|t| (t.start, t.label)).unzip()
    }

    /// Checks that there are `per_class` trials of each of the four classes (72 in the real recordings).
    pub fn check_counts(&self, name: &str, per_class: usize) -> Result<()> {
        let mut counts = [0usize; 4];
        for t in &self.trials {
            match t.label {
                1..=4 => counts[t.label as usize - 1] += 1,
                other => return Err(Error::dataset(name, format!("a trial of class {other}; classes are 1 to 4"))),
            }
        }
        if counts != [per_class; 4] {
            let what = format!("trials per class are {counts:?}, they should be {per_class} each");
            return Err(Error::dataset(name, what));
        }
        Ok(())
    }
}

/// Trials per class of a real session.
pub const TRIALS_PER_CLASS: usize = 72;
