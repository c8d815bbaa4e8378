//! `data/sources.yaml`: addresses, checksum, size limit, licence and attribution of every remote file.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::yaml;
use crate::{Error, Result};

/// One remote file.
#[derive(Debug, Clone, PartialEq)]
pub struct Remote {
    /// Name used in the program, for example `mfeat` or `bnci-A01T`.
    pub id: String,
    /// Its addresses, at least one. They are tried one after the other.
    pub addresses: Vec<String>,
    /// Its name in the cache.
    pub file: String,
    /// SHA-256 in hexadecimal; `None` where we know no published one.
    pub sha256: Option<String>,
    /// A larger download is refused.
    pub max_bytes: u64,
    /// Licence of the data.
    pub licence: String,
    /// Whom to credit.
    pub attribution: String,
}

impl Remote {
    /// The official address, which messages name.
    pub fn address(&self) -> &str {
        self.addresses.first().map_or("", String::as_str) // `Sources::parse` refuses an entry without one
    }
}

/// All remote files.
#[derive(Debug, Clone, PartialEq)]
pub struct Sources {
    files: Vec<Remote>,
}

/// An entry as it stands in the file; every scalar is text.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    line: u64,
    id: String,
    addresses: Vec<String>,
    file: String,
    #[serde(default)]
    names: BTreeMap<String, serde_json::Value>,
    sha256: Option<String>,
    max_bytes: String,
    licence: String,
    attribution: String,
}

impl Sources {
    /// The list that comes with the program. It is read once: every unit that fetches asks for it.
    pub fn embedded() -> Self {
        static LIST: LazyLock<Sources> = LazyLock::new(|| {
            // The test below reads this file, so it cannot fail in a program that was tested.
            Sources::parse(include_str!("../../../data/sources.yaml")).expect("data/sources.yaml is checked by a test")
        });
        LIST.clone()
    }

    /// Reads a list in the format of `data/sources.yaml`.
    pub fn parse(text: &str) -> Result<Self> {
        let bad = |what: String| Error::dataset("sources.yaml", what);
        let mut written = yaml::read(text).map_err(bad)?;
        let Some(serde_json::Value::Array(entries)) = written.get_mut("files").map(serde_json::Value::take) else {
            return Err(bad("there is no list `files`".into()));
        };
        let mut files = Vec::new();
        for value in entries {
            let line = value.get("line").cloned().unwrap_or_default();
            let entry: Entry = serde_json::from_value(value).map_err(|e| bad(format!("line {line}: {e}")))?;
            entry.expand(&mut files).map_err(|what| bad(format!("line {}, `{}`: {what}", entry.line, entry.id)))?;
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

impl Entry {
    /// Adds the file, or one file for each entry of `names`, which replaces `{name}` in id, addresses and file.
    fn expand(&self, files: &mut Vec<Remote>) -> std::result::Result<(), String> {
        let max_bytes = self.max_bytes.parse().map_err(|_| "max_bytes is a number of bytes".to_string())?;
        if self.addresses.is_empty() {
            return Err("addresses needs at least one".into());
        }
        let names: Vec<(&str, Option<&str>)> = match self.names.is_empty() {
            true => vec![("", self.sha256.as_deref())],
            // The YAML reader adds the key `line` to every map: it is not a name.
            false => self.names.iter().filter(|n| n.0 != "line").map(|(n, sum)| (n.as_str(), sum.as_str())).collect(),
        };
        for (name, sum) in names {
            let fill = |text: &String| text.replace("{name}", name);
            let sha256 = match sum {
                Some("unknown") => None,
                Some(sum) if sum.len() == 64 && sum.bytes().all(|b| b.is_ascii_hexdigit()) => {
                    Some(sum.to_ascii_lowercase())
                }
                _ => return Err("sha256 is 64 hexadecimal digits or `unknown`".into()),
            };
            files.push(Remote {
                id: fill(&self.id),
                addresses: self.addresses.iter().map(fill).collect(),
                file: fill(&self.file),
                sha256,
                max_bytes,
                licence: self.licence.clone(),
                attribution: self.attribution.clone(),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_list_is_complete() {
        let sources = Sources::embedded();
        assert_eq!(sources.iter().count(), 3 + 18);
        let last = sources.get("bnci-A09E").unwrap();
        assert_eq!(last.addresses.len(), 2);
        assert!(last.addresses.iter().all(|a| a.ends_with("001-2014/A09E.mat")));
        assert!(last.sha256.as_ref().unwrap().starts_with("5d79649a"));
        for f in sources.iter() {
            assert!(f.addresses.iter().all(|a| a.starts_with("https://")), "{f:?}");
            assert!(!f.licence.is_empty() && !f.attribution.is_empty() && !f.file.contains(['/', '\\']));
            assert_eq!(f.sha256.is_none(), f.id == "mfeat", "{}", f.id);
        }
        assert!(sources.get("nothing").is_err());
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let said = |text: &str| Sources::parse(text).unwrap_err().to_string();
        assert!(said("files: [{id: a}]").contains("line 1: missing field"));
        let entry =
            "files:\n  - {id: a, addresses: [b], file: c, sha256: 12, max_bytes: 1, licence: d, attribution: e}\n";
        assert!(said(entry).contains("line 2, `a`: sha256 is 64"), "{}", said(entry));
        assert!(said("files:\n  - id: a\n    id: b\n").contains("line 3: `id` stands here twice"));
        assert!(said("files: [a\n").contains("not valid YAML"), "{}", said("files: [a\n"));
        assert!(said("other: 1").contains("no list `files`"));
    }
}
