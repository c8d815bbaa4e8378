//! `data/sources.yaml`: address, size, checksum, licence and attribution of every remote file.

use serde::Deserialize;

use crate::{Error, Result};

/// One remote file.
#[derive(Debug, Clone, PartialEq)]
pub struct Remote {
    /// Name used in the program, for example `mfeat` or `bnci-A01T`.
    pub id: String,
    /// Where it is.
    pub address: String,
    /// Its name in the cache.
    pub file: String,
    /// BLAKE3 in hexadecimal; `None` where upstream's is not known to us.
    pub checksum: Option<String>,
    /// A download beyond this is refused.
    pub max_bytes: u64,
    /// Licence of the data.
    pub licence: String,
    /// Whom to credit.
    pub attribution: String,
}

/// All remote files.
#[derive(Debug, Clone, PartialEq)]
pub struct Sources {
    files: Vec<Remote>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    files: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: String,
    address: String,
    file: String,
    #[serde(default)]
    names: Vec<String>,
    size: String,
    checksum: String,
    max_bytes: u64,
    licence: String,
    attribution: String,
}

impl Sources {
    /// The list that comes with the program.
    pub fn embedded() -> Self {
        // The test below reads this file, so it cannot fail in a program that was tested.
        Self::parse(include_str!("../../../data/sources.yaml")).expect("data/sources.yaml is checked by a test")
    }

    /// Reads a list in the format of `data/sources.yaml`.
    pub fn parse(yaml: &str) -> Result<Self> {
        let bad = |what: String| Error::dataset("sources.yaml", what);
        let written: Written = serde_saphyr::from_str(yaml).map_err(|e| bad(e.to_string()))?;
        let mut files = Vec::new();
        for e in &written.files {
            if e.size != "unknown" && e.size.parse::<u64>().is_err() {
                return Err(bad(format!("`{}`: size is a number of bytes or `unknown`", e.id)));
            }
            let known = e.checksum != "unknown";
            if known && !(e.checksum.len() == 64 && e.checksum.bytes().all(|b| b.is_ascii_hexdigit())) {
                return Err(bad(format!("`{}`: checksum is 64 hexadecimal digits (BLAKE3) or `unknown`", e.id)));
            }
            let plain = [String::new()];
            for name in if e.names.is_empty() { &plain[..] } else { &e.names } {
                let fill = |text: &str| text.replace("{name}", name);
                files.push(Remote {
                    id: fill(&e.id),
                    address: fill(&e.address),
                    file: fill(&e.file),
                    checksum: known.then(|| e.checksum.clone()),
                    max_bytes: e.size.parse().unwrap_or(e.max_bytes),
                    licence: e.licence.clone(),
                    attribution: e.attribution.clone(),
                });
            }
        }
        Ok(Sources { files })
    }

    /// The file with this id.
    pub fn get(&self, id: &str) -> Result<&Remote> {
        self.files
            .iter()
            .find(|f| f.id == id)
            .ok_or_else(|| Error::dataset("sources.yaml", format!("no source `{id}`")))
    }

    /// All files.
    pub fn iter(&self) -> impl Iterator<Item = &Remote> {
        self.files.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_list_is_complete() {
        let sources = Sources::embedded();
        assert_eq!(sources.iter().count(), 3 + 18);
        assert!(sources.get("bnci-A09E").unwrap().address.ends_with("001-2014/A09E.mat"));
        for f in sources.iter() {
            assert!(f.address.starts_with("https://") && !f.licence.is_empty() && !f.attribution.is_empty());
            assert!(!f.file.contains(['/', '\\']));
        }
        assert!(sources.get("nothing").is_err());
        assert!(Sources::parse("files: [{id: a}]").is_err());
    }
}
