//! What several tests of this crate share.

use std::path::PathBuf;

/// A file of the shared data folder beside the project, or nothing (and a printed line) where the folder is missing.
pub fn shared(path: &str) -> Option<PathBuf> {
    let p = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(path);
    if !p.exists() {
        println!("skipped: the shared data folder has no {path}");
        return None;
    }
    Some(p)
}
