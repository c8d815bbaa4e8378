//! The download cache: one file per source, its checksum beside it, a lock against two downloads at once.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::{Options, Progress, Remote, checksum_file, download};
use crate::{Error, Result};

/// A file in the cache.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// Where it is.
    pub path: PathBuf,
    /// Its BLAKE3.
    pub checksum: String,
    /// What the checksum was compared with.
    pub trust: String,
}

/// The file if it is in the cache and unharmed, `None` if it is not there.
pub fn cached(options: &Options, remote: &Remote) -> Result<Option<Fetched>> {
    let path = options.cache_dir.join(&remote.file);
    if !path.is_file() {
        return Ok(None);
    }
    let found = checksum_file(&path)?;
    // What was recorded when the file came in wins: it may be a change that the user accepted.
    let recorded = recorded(&path);
    if let Some(expected) = recorded.as_ref().or(remote.checksum.as_ref()).filter(|e| **e != found) {
        let expected = expected.clone();
        return Err(Error::Checksum { file: path.display().to_string(), expected, found });
    }
    let known = match &remote.checksum {
        Some(listed) => *listed == found,
        None => recorded.is_some(),
    };
    if recorded.is_none() {
        write_record(options, &path, &found)?;
    }
    Ok(Some(Fetched { path, trust: trust(remote, known), checksum: found }))
}

/// The file from the cache, else from its address.
///
/// `validate` reads the downloaded file as the data set would; what it refuses never enters the cache.
pub fn get(options: &Options, remote: &Remote, validate: &dyn Fn(&Path) -> Result<()>) -> Result<Fetched> {
    if let Ok(Some(found)) = cached(options, remote) {
        return Ok(found);
    }
    let fail = |what: String| Error::Download { url: remote.address.clone(), what };
    if options.offline {
        return Err(fail("not tried, the network is not to be used (--offline)".into()));
    }
    let dir = &options.cache_dir;
    std::fs::create_dir_all(dir).map_err(|e| Error::io(dir, e))?;
    let lock_path = dir.join(format!("{}.lock", remote.file));
    let lock = File::create(&lock_path).map_err(|e| Error::io(&lock_path, e))?;
    if lock.try_lock().is_err() {
        if let Some(p) = &options.progress {
            p(&Progress { file: &remote.file, done: 0, total: None, note: Some("waiting for another download of it") });
        }
        lock.lock().map_err(|e| Error::io(&lock_path, e))?;
        // Whoever held the lock has probably brought the file.
        if let Ok(Some(found)) = cached(options, remote) {
            return Ok(found);
        }
    }
    let part = dir.join(format!("{}.part", remote.file));
    download::download(options, remote, &part)?;
    let result = accept(options, remote, &part, validate);
    if result.is_err() {
        // What was refused must not be resumed from.
        download::forget(&part);
    }
    result
}

/// Checks a complete download and moves it to its place in one step.
fn accept(options: &Options, remote: &Remote, part: &Path, validate: &dyn Fn(&Path) -> Result<()>) -> Result<Fetched> {
    let path = options.cache_dir.join(&remote.file);
    let found = checksum_file(part)?;
    let expected = remote.checksum.clone().or_else(|| recorded(&path));
    if let Some(expected) = expected.as_ref().filter(|e| **e != found && !options.accept_changed) {
        return Err(Error::Checksum { file: remote.address.clone(), expected: expected.clone(), found });
    }
    validate(part)?;
    File::open(part).and_then(|f| f.sync_all()).map_err(|e| Error::io(part, e))?;
    // The record first: a crash between the two leaves an old file that no longer fits and is fetched again.
    write_record(options, &path, &found)?;
    std::fs::rename(part, &path).map_err(|e| Error::io(&path, e))?;
    download::forget(part);
    Ok(Fetched { path, trust: trust(remote, expected.as_ref() == Some(&found)), checksum: found })
}

fn write_record(options: &Options, path: &Path, checksum: &str) -> Result<()> {
    let record = record_path(path);
    let temporary = tempfile::NamedTempFile::new_in(&options.cache_dir).map_err(|e| Error::io(&record, e))?;
    std::fs::write(temporary.path(), format!("{checksum}\n")).map_err(|e| Error::io(&record, e))?;
    temporary.persist(&record).map_err(|e| Error::io(&record, e.error))?;
    Ok(())
}

fn trust(remote: &Remote, known: bool) -> String {
    match (&remote.checksum, known) {
        (Some(_), true) => "checksum as listed in data/sources.yaml".into(),
        (Some(_), false) => "changed upstream, accepted by --accept-changed".into(),
        (None, true) => "checksum as recorded at the first download".into(),
        (None, false) => "first download: no checksum is listed, this one was recorded".into(),
    }
}

fn record_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(".blake3");
    PathBuf::from(name)
}

/// The checksum recorded when the file was first seen. It outlives the file itself.
fn recorded(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(record_path(path)).ok()?;
    Some(text.trim().to_string()).filter(|t| t.len() == 64)
}
