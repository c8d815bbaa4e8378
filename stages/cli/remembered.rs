//! The settings of the last run. `repro run` leaves its flags in the store, and the commands that look at results take them
//! when they get no such flag themselves: after `run --profile smoke`, a plain `status` is about that run.

use super::options::View;
use super::project::STORE;
use std::io::Write;
use std::path::{Path, PathBuf};

fn file(project: &Path) -> PathBuf {
    project.join(STORE).join("last-run.json")
}

/// Remembers the settings of a run that begins. A store that cannot be written remembers nothing, which harms no result.
pub fn write(project: &Path, view: &View) {
    let mut view = view.clone();
    // The environment variable counts as a flag: without it, the next command would look at other data.
    view.surroundings.data_dir = view.surroundings.data_folder();
    let store = project.join(STORE);
    let _ = (|| -> anyhow::Result<()> {
        // The engine makes the folder with its first record, which may come later.
        std::fs::create_dir_all(&store)?;
        let mut new = tempfile::Builder::new().prefix(".last-run-").tempfile_in(&store)?;
        new.write_all(&serde_json::to_vec_pretty(&view)?)?;
        new.persist(file(project))?;
        Ok(())
    })();
}

/// The settings of the last run; none if there was no run or they cannot be read.
pub fn read(project: &Path) -> Option<View> {
    serde_json::from_slice(&std::fs::read(file(project)).ok()?).ok()
}
