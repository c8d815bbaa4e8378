//! Cargo.lock: which versions an external crate brings with it, and Cargo.toml: with which features.

use std::collections::{BTreeMap, BTreeSet};

/// One `[[package]]`.
#[derive(Debug, Default, Clone)]
struct Package {
    name: String,
    /// Version, source and checksum: what tells one build of it from another.
    identity: String,
    version: String,
    dependencies: Vec<String>,
}

/// The packages of a Cargo.lock.
#[derive(Debug, Default)]
pub struct Lockfile {
    packages: BTreeMap<String, Vec<Package>>,
    manifests: String,
}

impl Lockfile {
    /// Read the text of Cargo.lock and those of all manifests of the workspace.
    pub fn read(text: &str, manifests: &str) -> Lockfile {
        let mut lock = Lockfile { manifests: manifests.to_string(), ..Lockfile::default() };
        for block in text.split("[[package]]").skip(1) {
            let mut p = Package::default();
            let mut in_dependencies = false;
            for line in block.lines() {
                let value = line.split('"').nth(1).unwrap_or_default().to_string();
                match line.split_whitespace().next() {
                    Some("name") => p.name = value,
                    Some("version") => {
                        p.identity.push_str(&value);
                        p.version = value;
                    }
                    Some("source" | "checksum") => p.identity.push_str(&format!(" {value}")),
                    Some("dependencies") => in_dependencies = true,
                    Some("]") => in_dependencies = false,
                    Some(_) if in_dependencies => p.dependencies.push(value),
                    _ => {}
                }
            }
            lock.packages.entry(p.name.clone()).or_default().push(p);
        }
        lock
    }

    /// The packages that a dependency entry (`name` or `name version`) means.
    fn named(&self, entry: &str) -> impl Iterator<Item = &Package> {
        let mut words = entry.split(' ');
        let name = words.next().unwrap_or_default();
        let version = words.next().map(str::to_string);
        let all = self.packages.get(name).map(Vec::as_slice).unwrap_or_default();
        all.iter().filter(move |p| version.as_ref().is_none_or(|v| *v == p.version))
    }

    /// The dependency entry of `package` whose library is called `name` in paths.
    pub fn dependency(&self, package: &str, name: &str) -> Option<&str> {
        let all = self.packages.get(package)?.iter().flat_map(|p| &p.dependencies);
        all.map(String::as_str).find(|d| d.split(' ').next().is_some_and(|n| n.replace('-', "_") == name))
    }

    /// Digest of the exact versions of a dependency entry and of all that it depends on, and of the lines that ask for
    /// it: a feature switched on changes code without changing a version.
    pub fn digest(&self, entry: &str) -> String {
        let mut seen = BTreeSet::new();
        let mut todo: Vec<&Package> = self.named(entry).collect();
        while let Some(p) = todo.pop() {
            if seen.insert(format!("{} {}\n", p.name, p.identity)) {
                todo.extend(p.dependencies.iter().flat_map(|d| self.named(d)));
            }
        }
        let name = entry.split(' ').next().unwrap_or_default();
        let asks = |l: &&str| l.split([' ', '.', '=']).next() == Some(name);
        let asked = self.manifests.lines().filter(asks).map(|l| l.split_whitespace().collect::<String>());
        let mut hasher = blake3::Hasher::new();
        for line in seen.into_iter().chain(asked) {
            hasher.update(line.as_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }
}
