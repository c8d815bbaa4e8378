//! Remembers which hosts could not be reached lately, so that a machine without network does not wait for them at every run.
//!
//! Within one process an unreachable host is asked once. For other processes it is remembered for ten minutes in the download cache,
//! unless the user explicitly asks for the data ([`Options::ask_again`]). Only failures to connect count: a host that answers is asked
//! every time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::Options;

/// For how long a failure is remembered, in seconds.
const REMEMBERED: u64 = 600;

/// Hosts that could not be reached in this process.
static UNREACHABLE: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());

#[derive(Serialize, Deserialize)]
struct Failure {
    /// Seconds since 1970.
    at: u64,
    why: String,
}

/// Why not to ask a host now, if there is a reason.
pub(super) fn given_up(options: &Options, host: &str) -> Option<String> {
    if let Some(why) = UNREACHABLE.lock().unwrap_or_else(|e| e.into_inner()).get(host) {
        return Some(why.clone());
    }
    let dir = options.cache_dir.as_deref().filter(|_| !options.ask_again)?;
    let failure = list(dir).remove(host)?;
    // If the clock was set back, the failure seems to lie in the future: it is ignored.
    let age = now().checked_sub(failure.at).filter(|age| *age < REMEMBERED)?;
    let ago = if age < 60 { format!("{age} seconds ago") } else { format!("{} minutes ago", age / 60) };
    Some(format!("{} ({ago}, `repro fetch` asks again at once)", failure.why))
}

/// Remembers that a host cannot be reached.
pub(super) fn give_up(options: &Options, host: &str, why: &str) {
    UNREACHABLE.lock().unwrap_or_else(|e| e.into_inner()).insert(host.to_string(), why.to_string());
    change(options, |list| drop(list.insert(host.to_string(), Failure { at: now(), why: why.to_string() })));
}

/// Forgets that a host could not be reached.
pub(super) fn answered(options: &Options, host: &str) {
    if options.cache_dir.as_deref().is_some_and(|dir| list(dir).contains_key(host)) {
        change(options, |list| drop(list.remove(host)));
    }
}

fn change(options: &Options, edit: impl FnOnce(&mut BTreeMap<String, Failure>)) {
    let Some(dir) = &options.cache_dir else { return };
    let mut all = list(dir);
    edit(&mut all);
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(dir)?;
        let file = tempfile::NamedTempFile::new_in(dir)?;
        serde_json::to_writer(&file, &all)?;
        file.persist(file_of(dir)).map(drop).map_err(|e| e.error)
    };
    let _ = write(); // what is not remembered is asked again, nothing worse
}

fn list(dir: &Path) -> BTreeMap<String, Failure> {
    std::fs::read(file_of(dir)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

fn file_of(dir: &Path) -> PathBuf {
    dir.join("unreachable.json")
}

fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_secs())
}
