//! What happens during a run, as it happens: the stream a progress display reads.

use crate::freshness::stale::Stale;

/// One thing that happened. Units are indices into [`crate::Plan::units`].
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The run begins. Sent once, first.
    Planned {
        /// How many of the units that the targets and their upstream name are fresh already.
        fresh: usize,
        /// The others, each with the seconds it is expected to take, where former runs tell. Some may be spared yet.
        stale: Vec<(usize, Option<f64>)>,
    },
    /// A unit starts.
    Started {
        /// The unit.
        unit: usize,
        /// Why it must run.
        reasons: Vec<Stale>,
        /// 1 for the first attempt.
        attempt: u32,
    },
    /// A unit's progress.
    Progress {
        /// The unit.
        unit: usize,
        /// In 0..=1.
        fraction: f64,
        /// A few words.
        message: String,
    },
    /// A unit's results are in the store.
    Finished {
        /// The unit.
        unit: usize,
        /// Seconds it took.
        wall: f64,
        /// Bytes it wrote.
        size: u64,
    },
    /// A unit need not run after all: its inputs came out with equal bytes, or another process did it.
    Spared {
        /// The unit.
        unit: usize,
    },
    /// A unit failed and is tried again.
    Retrying {
        /// The unit.
        unit: usize,
        /// What went wrong.
        error: String,
        /// The attempt that failed.
        attempt: u32,
    },
    /// A unit failed for good.
    Failed {
        /// The unit.
        unit: usize,
        /// What went wrong.
        error: String,
    },
    /// A unit cannot run because one it needs failed.
    Blocked {
        /// The unit.
        unit: usize,
        /// The failed unit.
        by: usize,
    },
    /// Another process works on a unit, and this run waits for it.
    Waiting {
        /// The unit.
        unit: usize,
        /// The process: `process 4711`, with the host when it is another.
        holder: String,
    },
    /// A rerun with an equal key wrote other bytes.
    Nondeterministic {
        /// The unit.
        unit: usize,
        /// An artefact that differs.
        artefact: String,
    },
    /// An artefact was copied to its `publish` folder.
    Published {
        /// The unit.
        unit: usize,
        /// Where to.
        path: std::path::PathBuf,
    },
    /// A note for the user that is no error.
    Note(String),
}
