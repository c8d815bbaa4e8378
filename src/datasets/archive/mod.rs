//! A folder or an archive as a set of named files, read safely.
//!
//! Data sets arrive flat, in a folder, zipped, or as an archive inside a zip; [`Files`] makes these look the same.
//! Members are read into memory, never unpacked to disk. An archive is refused as a whole when a member's path is absolute or
//! climbs with `..`, when a member would unpack to more than [`Limits::ratio`] times its packed size, when it would grow beyond
//! [`Limits::member`] bytes, or when it is cut short.

mod tar;
mod zipped;

use std::io::Cursor;
use std::path::{Path, PathBuf};

use crate::{Error, Result};
use zipped::Zip;

/// The limits of an archive. The defaults allow ten times the largest file of BCI Competition IV 2a.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of one unpacked member.
    pub member: u64,
    /// Bytes of all members of an archive together, as its directory states them.
    pub total: u64,
    /// Unpacked over packed bytes of a member (64 KiB are always allowed).
    pub ratio: u64,
    /// Number of members.
    pub members: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { member: 512 << 20, total: 4 << 30, ratio: 100, members: 10_000 }
    }
}

/// Where a file lies.
enum Place {
    /// On disk.
    Disk(PathBuf),
    /// Member `index` of archive number `zip`.
    Member { zip: usize, index: usize },
    /// Unpacked already, from an archive inside an archive.
    Memory(Vec<u8>),
}

/// A set of named files: a folder, a zip, or both nested.
pub struct Files {
    root: String,
    zips: Vec<Zip>,
    entries: Vec<(String, Place)>,
    limits: Limits,
}

impl Files {
    /// Opens a folder (with the archives in it) or a zip file.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_with(path, Limits::default())
    }

    /// [`Files::open`] with other limits.
    pub fn open_with(path: &Path, limits: Limits) -> Result<Self> {
        let mut files = Files::empty(&path.display().to_string(), limits);
        if path.is_dir() {
            files.add_folder(path, "", 0)?;
        } else if path.is_file() {
            files.add_disk_zip(path, "")?;
        } else {
            let what = if path.exists() { "neither a folder nor a file" } else { "no such folder or zip file" };
            return Err(Error::dataset(path.display().to_string(), what));
        }
        Ok(files)
    }

    /// Opens a zip that is in memory.
    pub fn from_zip_bytes(name: &str, bytes: Vec<u8>) -> Result<Self> {
        Self::from_zip_bytes_with(name, bytes, Limits::default())
    }

    /// [`Files::from_zip_bytes`] with other limits.
    pub fn from_zip_bytes_with(name: &str, bytes: Vec<u8>, limits: Limits) -> Result<Self> {
        let mut files = Files::empty(name, limits);
        files.add_zip(Zip::open(name, Box::new(Cursor::new(bytes)), limits)?, "", 0)?;
        Ok(files)
    }

    fn empty(root: &str, limits: Limits) -> Self {
        Files { root: root.to_string(), zips: Vec::new(), entries: Vec::new(), limits }
    }

    /// The names of all files, with their folders.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(n, _)| n.as_str())
    }

    /// The first file whose base name (without folders) passes the test.
    pub fn find(&self, wanted: impl Fn(&str) -> bool) -> Option<&str> {
        self.names().find(|n| wanted(n.rsplit('/').next().unwrap_or(n)))
    }

    /// The first file with this base name, whatever its case.
    pub fn find_named(&self, base: &str) -> Option<&str> {
        self.find(|n| n.eq_ignore_ascii_case(base))
    }

    /// Where these files come from, for messages.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Reads one file by the name [`Files::names`] gave.
    pub fn read(&mut self, name: &str) -> Result<Vec<u8>> {
        let found = self.entries.iter().find(|(n, _)| n == name);
        let Some((_, place)) = found else {
            return Err(Error::Archive { file: self.root.clone(), what: format!("there is no file `{name}`") });
        };
        match place {
            Place::Disk(path) => {
                let size = path.metadata().map_err(|e| Error::io(path, e))?.len();
                if size > self.limits.member {
                    let what = format!("`{name}` has {size} bytes, more than the limit of {}", self.limits.member);
                    return Err(Error::Archive { file: self.root.clone(), what });
                }
                std::fs::read(path).map_err(|e| Error::io(path, e))
            }
            Place::Member { zip, index } => {
                let (zip, index) = (*zip, *index);
                self.zips[zip].read(index)
            }
            Place::Memory(bytes) => Ok(bytes.clone()),
        }
    }

    fn add_folder(&mut self, folder: &Path, prefix: &str, depth: usize) -> Result<()> {
        let list = std::fs::read_dir(folder).map_err(|e| Error::io(folder, e))?;
        let mut paths = Vec::new();
        for entry in list {
            paths.push(entry.map_err(|e| Error::io(folder, e))?.path());
        }
        paths.sort(); // the order of a folder is not defined; the one found first must be
        for path in paths {
            let Some(base) = path.file_name().and_then(|n| n.to_str()) else { continue };
            let name = format!("{prefix}{base}");
            if path.is_dir() {
                if depth < 4 {
                    self.add_folder(&path, &format!("{name}/"), depth + 1)?;
                }
            } else if !path.is_file() {
                // A pipe or a device is skipped: reading it could block for ever.
            } else if base.to_ascii_lowercase().ends_with(".zip") {
                self.add_disk_zip(&path, &format!("{name}/"))?;
            } else if self.entries.len() >= self.limits.members {
                let what =
                    format!("more than {} files; name the folder that holds the data alone", self.limits.members);
                return Err(Error::io(folder, std::io::Error::other(what)));
            } else {
                self.entries.push((name, Place::Disk(path)));
            }
        }
        Ok(())
    }

    fn add_disk_zip(&mut self, path: &Path, prefix: &str) -> Result<()> {
        let file = std::fs::File::open(path).map_err(|e| Error::io(path, e))?;
        let zip = Zip::open(&path.display().to_string(), Box::new(std::io::BufReader::new(file)), self.limits)?;
        self.add_zip(zip, prefix, 0)
    }

    /// Adds the members of an archive; archives inside it are opened in turn, two levels deep.
    fn add_zip(&mut self, mut zip: Zip, prefix: &str, depth: usize) -> Result<()> {
        let number = self.zips.len();
        let mut nested = Vec::new();
        for (index, name) in zip.members() {
            let lower = name.to_ascii_lowercase();
            if lower.ends_with(".zip") || lower.ends_with(".tar") {
                nested.push((index, name));
            } else {
                self.entries.push((format!("{prefix}{name}"), Place::Member { zip: number, index }));
            }
        }
        let inner: Vec<(String, Vec<u8>)> = match depth {
            0 | 1 => nested.into_iter().map(|(i, n)| Ok((n, zip.read(i)?))).collect::<Result<_>>()?,
            _ => Vec::new(),
        };
        self.zips.push(zip);
        for (name, bytes) in inner {
            let prefix = format!("{prefix}{name}/");
            if name.to_ascii_lowercase().ends_with(".tar") {
                for (member, data) in tar::read(&name, &bytes)? {
                    self.entries.push((format!("{prefix}{member}"), Place::Memory(data.to_vec())));
                }
            } else {
                let zip = Zip::open(&name, Box::new(Cursor::new(bytes)), self.limits)?;
                self.add_zip(zip, &prefix, depth + 1)?;
            }
        }
        Ok(())
    }
}

/// Refuses names that would leave the folder they are unpacked in.
fn check_name(archive: &str, name: &str) -> Result<()> {
    let absolute = name.starts_with(['/', '\\']) || name.as_bytes().get(1) == Some(&b':');
    let climbs = name.split(['/', '\\']).any(|part| part == "..");
    if absolute || climbs || name.contains('\0') {
        let what = format!("the member `{}` lies outside the archive", name.escape_default());
        return Err(Error::Archive { file: archive.to_string(), what });
    }
    Ok(())
}
