//! The download cache: one file per source, its checksums beside it, a lock against two downloads at once.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::sums::{Sums, sums};
use super::{Options, Progress, Remote, download};
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
    /// Whether its SHA-256 is the one in the list of sources.
    pub listed: bool,
}

/// The file if it is in the cache, `None` if it is not, an error if it is damaged.
pub fn cached(options: &Options, remote: &Remote) -> Result<Option<Fetched>> {
    let Some(dir) = &options.cache_dir else { return Ok(None) };
    let path = dir.join(&remote.file);
    if !path.is_file() {
        return Ok(None);
    }
    let found = sums(&path)?;
    let damaged = |expected: &str, found: &str| Error::Damaged {
        file: path.display().to_string(),
        expected: expected.into(),
        found: found.into(),
    };
    // The checksum that was recorded at the download has precedence over the listed one: the user may have accepted a change.
    match (recorded(&path), &remote.sha256) {
        (Some(record), _) if record != found.blake3 => return Err(damaged(&record, &found.blake3)),
        (None, Some(listed)) if *listed != found.sha256 => return Err(damaged(listed, &found.sha256)),
        (Some(_), _) => {}
        (None, _) => write_record(dir, &path, &found.blake3)?,
    }
    let (trust, listed) = (trust(remote, &found, true), remote.sha256.as_ref() == Some(&found.sha256));
    Ok(Some(Fetched { path, trust, listed, checksum: found.blake3 }))
}

/// The file from the cache or, if it is not there, from the first of its addresses that delivers it.
///
/// `validate` reads the downloaded file as the data set would; what it refuses never enters the cache.
pub fn get(options: &Options, remote: &Remote, validate: &dyn Fn(&Path) -> Result<()>) -> Result<Fetched> {
    if let Ok(Some(found)) = cached(options, remote) {
        return Ok(found);
    }
    let fail = |what: String| Error::Download { url: remote.address().to_string(), what };
    if options.offline {
        return Err(fail("not tried, the network is not to be used (--offline)".into()));
    }
    let Some(dir) = &options.cache_dir else {
        return Err(fail("not tried, there is no folder to keep downloads in: set REPRO_CACHE or HOME".into()));
    };
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
    let arrival = Arrival { options, remote, dir, part, validate };
    let mut failed = Vec::new();
    for address in &remote.addresses {
        match arrival.fetch_from(address) {
            Ok(fetched) => return Ok(fetched),
            Err(e) => failed.push(e),
        }
    }
    // A single error names its address itself. Several errors become one, which lists each address with its reason.
    if failed.len() > 1 {
        let all: Vec<String> = failed.iter().map(|e| e.reason_for(remote.address())).collect();
        return Err(fail(all.join("; ")));
    }
    Err(failed.pop().unwrap_or_else(|| fail("no address is listed".into())))
}

/// A download on its way into the cache.
struct Arrival<'a> {
    options: &'a Options,
    remote: &'a Remote,
    dir: &'a Path,
    /// Where the download grows; an interrupted one is resumed from there.
    part: PathBuf,
    validate: &'a dyn Fn(&Path) -> Result<()>,
}

impl Arrival<'_> {
    fn fetch_from(&self, address: &str) -> Result<Fetched> {
        download::download(self.options, self.remote, address, &self.part)?;
        let result = self.accept(address);
        if result.is_err() {
            // A refused download must not be resumed.
            download::forget(&self.part);
        }
        result
    }

    /// Checks a complete download and moves it to its place in one step.
    fn accept(&self, address: &str) -> Result<Fetched> {
        let Arrival { options, remote, dir, part, validate } = self;
        let path = dir.join(&remote.file);
        let found = sums(part)?;
        let expected = match &remote.sha256 {
            Some(listed) => Some((listed.clone(), &found.sha256)),
            None => recorded(&path).map(|record| (record, &found.blake3)),
        };
        let same = expected.as_ref().is_some_and(|(expected, found)| expected == *found);
        if let Some((expected, found)) = expected.filter(|_| !same && !options.accept_changed) {
            return Err(Error::Checksum { file: address.to_string(), expected, found: found.clone() });
        }
        validate(part)?;
        File::open(part).and_then(|f| f.sync_all()).map_err(|e| Error::io(part, e))?;
        // The record is written before the file: after a crash between the two, the old file does not match the record and is fetched again.
        write_record(dir, &path, &found.blake3)?;
        std::fs::rename(part, &path).map_err(|e| Error::io(&path, e))?;
        download::forget(part);
        let listed = remote.sha256.as_ref() == Some(&found.sha256);
        Ok(Fetched { path, trust: trust(remote, &found, same), listed, checksum: found.blake3 })
    }
}

fn write_record(dir: &Path, path: &Path, checksum: &str) -> Result<()> {
    let record = record_path(path);
    let temporary = tempfile::NamedTempFile::new_in(dir).map_err(|e| Error::io(&record, e))?;
    std::fs::write(temporary.path(), format!("{checksum}\n")).map_err(|e| Error::io(&record, e))?;
    temporary.persist(&record).map_err(|e| Error::io(&record, e.error))?;
    Ok(())
}

fn trust(remote: &Remote, found: &Sums, known: bool) -> String {
    match &remote.sha256 {
        Some(listed) if *listed == found.sha256 => "checksum as listed in data/sources.yaml".into(),
        Some(_) => "changed upstream, accepted by --accept-changed".into(),
        None if known => "checksum as recorded at the first download".into(),
        None => "first download: no checksum is listed, this one was recorded".into(),
    }
}

fn record_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(".blake3");
    PathBuf::from(name)
}

/// The recorded checksum of a file. The record stays when the file itself is deleted.
fn recorded(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(record_path(path)).ok()?;
    Some(text.trim().to_string()).filter(|t| t.len() == 64)
}
