//! One zip archive, checked when it is opened.

use std::io::{Read, Seek};

use zip::ZipArchive;

use super::{Limits, check_name};
use crate::{Error, Result};

/// What a zip can be read from.
pub(super) trait ReadSeek: Read + Seek + Send {}
impl<T: Read + Seek + Send> ReadSeek for T {}

pub(super) struct Zip {
    name: String,
    archive: ZipArchive<Box<dyn ReadSeek>>,
    members: Vec<(usize, String)>,
    limits: Limits,
}

/// A member that unpacks to at most this many bytes may have any ratio.
const ALWAYS_ALLOWED: u64 = 64 << 10;

impl Zip {
    /// Opens the archive and checks every name and stated size.
    pub fn open(name: &str, source: Box<dyn ReadSeek>, limits: Limits) -> Result<Self> {
        let refuse = |what: String| Error::Archive { file: name.to_string(), what };
        let mut archive = ZipArchive::new(source).map_err(|e| refuse(format!("it is not a readable zip ({e})")))?;
        if archive.len() > limits.members {
            return Err(refuse(format!("it has {} members, more than {}", archive.len(), limits.members)));
        }
        let mut members = Vec::new();
        let mut total = 0u64;
        for index in 0..archive.len() {
            let member = archive.by_index_raw(index).map_err(|e| refuse(format!("member {} ({e})", index + 1)))?;
            let path =
                member.name().map_err(|e| refuse(format!("member {} has no name ({e})", index + 1)))?.to_string();
            check_name(name, &path)?;
            let (packed, size) = (member.compressed_size(), member.size());
            if member.is_dir() {
                continue;
            }
            if member.is_symlink() || member.encrypted() {
                return Err(refuse(format!("the member `{path}` is a link or encrypted")));
            }
            total = total.saturating_add(size);
            if size > limits.member || total > limits.total {
                return Err(refuse(format!("`{path}` would unpack to {size} bytes ({total} in all), too many")));
            }
            if size > ALWAYS_ALLOWED && size > packed.saturating_mul(limits.ratio) {
                return Err(refuse(format!("`{path}` would unpack from {packed} to {size} bytes: a bomb")));
            }
            members.push((index, path));
        }
        Ok(Zip { name: name.to_string(), archive, members, limits })
    }

    /// Index and path of each file.
    pub fn members(&self) -> Vec<(usize, String)> {
        self.members.clone()
    }

    /// Unpacks one member. Refuses it if its size is not the one that the directory of the archive states.
    pub fn read(&mut self, index: usize) -> Result<Vec<u8>> {
        let refuse = |what: String| Error::Archive { file: self.name.clone(), what };
        let mut member = self.archive.by_index(index).map_err(|e| refuse(format!("member {} ({e})", index + 1)))?;
        let path = member.name().map(|n| n.to_string()).unwrap_or_default();
        let size = member.size().min(self.limits.member);
        let mut bytes = Vec::new();
        let read = (&mut member).take(size + 1).read_to_end(&mut bytes);
        read.map_err(|e| refuse(format!("`{path}` is cut short or damaged ({e})")))?;
        if bytes.len() as u64 != size {
            return Err(refuse(format!("`{path}` unpacks to {} bytes where {size} were stated", bytes.len())));
        }
        Ok(bytes)
    }
}
