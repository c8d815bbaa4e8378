//! Signatures of an index (Ed25519), which show who wrote it.
//!
//! A user who pushes has a private key: 64 hexadecimal digits in the file that `REPRO_SIGNING_KEY` names, or in `repro/signing-key` of
//! the user's configuration folder. The first push makes that file. The public key stands in the index beside the signature.

use crate::error::{Error, Result};
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The environment variable that names the file of the private key.
pub const VARIABLE: &str = "REPRO_SIGNING_KEY";
/// Signed bytes begin with this text, so that a signature of an index is not valid for anything else.
const CONTEXT: &[u8] = b"repro remote index\n";

/// A signature and the public key that made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signed {
    /// The public key, 64 hexadecimal digits.
    pub key: String,
    /// The signature, 128 hexadecimal digits.
    pub signature: String,
}

impl Signed {
    /// Checks that this key signed these bytes; an error says why it did not.
    pub fn check(&self, bytes: &[u8]) -> std::result::Result<(), String> {
        let (Some(key), Some(signature)) = (bytes_of(&self.key), bytes_of(&self.signature)) else {
            return Err("its signature cannot be read".to_string());
        };
        let public = UnparsedPublicKey::new(&ED25519, key);
        public
            .verify(&[CONTEXT, bytes].concat(), &signature)
            .map_err(|_| format!("its signature is not that of key {}: somebody changed it", self.key))
    }
}

/// A key that signs.
pub struct Signer {
    pair: Ed25519KeyPair,
    /// The path of the key's file if this call made it; none if the file existed.
    pub created_file: Option<PathBuf>,
}

impl Signer {
    /// The user's key, made if there is none. `None` where the environment names no folder for one, or the default file cannot be used.
    pub fn of_user() -> Result<Option<Self>> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(path) = variable(VARIABLE) {
            return Self::load_or_create(&path).map(Some);
        }
        let folder = variable("XDG_CONFIG_HOME").or_else(|| Some(variable("HOME")?.join(".config")));
        match folder.map(|folder| Self::load_or_create(&folder.join("repro").join("signing-key"))) {
            Some(Err(Error::File { source, .. })) if source.kind() != ErrorKind::Other => Ok(None),
            found => found.transpose(),
        }
    }

    /// The key in a file. Makes the file if it does not exist.
    pub fn load_or_create(path: &Path) -> Result<Self> {
        let here = |e| Error::file(path, e);
        match std::fs::read_to_string(path) {
            Ok(text) => {
                let seed = bytes_of(text.trim()).filter(|seed| seed.len() == 32);
                let pair = seed.and_then(|seed| Ed25519KeyPair::from_seed_unchecked(&seed).ok());
                let what = "not a signing key (64 hexadecimal digits); delete it, and the next push makes one";
                Ok(Self { pair: pair.ok_or_else(|| here(std::io::Error::other(what)))?, created_file: None })
            }
            Err(e) if e.kind() == ErrorKind::NotFound => {
                let mut seed = [0; 32];
                SystemRandom::new().fill(&mut seed).map_err(|_| here(std::io::Error::other("no random numbers")))?;
                let folder = path.parent().unwrap_or(Path::new("."));
                std::fs::create_dir_all(folder).map_err(here)?;
                // Only the owner may read a temporary file, and renaming it does not change its permissions.
                let mut file = tempfile::NamedTempFile::new_in(folder).map_err(here)?;
                writeln!(file, "{}", hex(&seed)).and_then(|()| file.as_file().sync_all()).map_err(here)?;
                match file.persist_noclobber(path) {
                    Ok(_) => Ok(Self { created_file: Some(path.to_path_buf()), ..Self::load_or_create(path)? }),
                    // Another push made the key meanwhile: use that one.
                    Err(e) if e.error.kind() == ErrorKind::AlreadyExists => Self::load_or_create(path),
                    Err(e) => Err(here(e.error)),
                }
            }
            Err(e) => Err(here(e)),
        }
    }

    /// The public key, 64 hexadecimal digits.
    pub fn key(&self) -> String {
        hex(self.pair.public_key().as_ref())
    }

    /// Signs bytes.
    pub fn sign(&self, bytes: &[u8]) -> Signed {
        Signed { key: self.key(), signature: hex(self.pair.sign(&[CONTEXT, bytes].concat()).as_ref()) }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    if !hex.is_ascii() || !hex.len().is_multiple_of(2) {
        return None;
    }
    (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_and_signs_what_it_says() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/key");
        let first = Signer::load_or_create(&path).unwrap();
        assert_eq!(first.created_file.as_deref(), Some(path.as_path()));
        let again = Signer::load_or_create(&path).unwrap();
        assert_eq!((again.created_file.is_none(), again.key()), (true, first.key()));
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let signed = first.sign(b"bytes");
        assert_eq!(signed.check(b"bytes"), Ok(()));
        assert!(signed.check(b"other").unwrap_err().contains("somebody changed it"));
        let other = Signer::load_or_create(&folder.path().join("other")).unwrap();
        let false_name = Signed { key: other.key(), ..signed };
        assert!(false_name.check(b"bytes").is_err());
        let cut = Signed { key: "ab".into(), signature: "zz".into() };
        assert_eq!(cut.check(b"bytes"), Err("its signature cannot be read".to_string()));
    }

    #[test]
    fn what_is_no_key_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "secret").unwrap();
        assert!(Signer::load_or_create(&path).err().unwrap().to_string().contains("64 hexadecimal digits"));
    }
}
