//! Checksums: BLAKE3 for what this program records, SHA-256 for what others publish.

use std::io::Read;
use std::path::Path;

use ring::digest::{Context, SHA256, digest};

use crate::{Error, Result};

/// Both checksums of a file, in hexadecimal.
pub(crate) struct Sums {
    pub blake3: String,
    pub sha256: String,
}

/// BLAKE3 of some bytes, in hexadecimal.
pub fn checksum(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// SHA-256 of some bytes, in hexadecimal.
///
/// ```
/// let sum = datasets::fetch::sha256(b"abc");
/// assert_eq!(sum, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
/// ```
pub fn sha256(bytes: &[u8]) -> String {
    hex(digest(&SHA256, bytes).as_ref())
}

/// The name in captions of files without a known address: their checksum, not their place on this machine.
pub(crate) fn by_content(content: &str) -> String {
    format!("files of BLAKE3 {}", content.get(..16).unwrap_or(content))
}

/// Both checksums of a file, read once and in pieces.
pub(crate) fn sums(path: &Path) -> Result<Sums> {
    let mut file = std::fs::File::open(path).map_err(|e| Error::io(path, e))?;
    let (mut ours, mut theirs) = (blake3::Hasher::new(), Context::new(&SHA256));
    let mut buffer = vec![0u8; 1 << 18];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => {
                ours.update(&buffer[..n]);
                theirs.update(&buffer[..n]);
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(Error::io(path, e)),
        }
    }
    Ok(Sums { blake3: ours.finalize().to_hex().to_string(), sha256: hex(theirs.finish().as_ref()) })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
