//! Which modules a stage can reach: the smallest set closed under the rules below.
//!
//! | rule | why |
//! |---|---|
//! | a path in a reached module reaches the module that defines what it names | its code is called |
//! | a private import is followed even if its name is not seen again | it may be a trait |
//! | a re-export counts only when something goes through it | else every `lib.rs` would pull in its whole crate |
//! | `use a::*` reaches `a` and all that it re-exports | any name may come from there |
//! | a macro's name reaches every module of the crate that defines it | macros ignore module borders |
//! | an impl whose trait and type are both reached reaches its module | method calls do not name it |
//! | a path that gets lost in a crate reaches all of that crate | too much is slow, too little is wrong |

use super::lockfile::Lockfile;
use super::resolve::{Resolver, Target};
use super::tokens::{self, Tok};
use super::tree::{Id, Tree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The closure from one stage file.
pub struct Reach<'a> {
    resolver: Resolver<'a>,
    bodies: BTreeSet<Id>,
    through: BTreeSet<(Id, usize)>,
    external: BTreeSet<String>,
    included: BTreeSet<PathBuf>,
    todo: Vec<Id>,
}

/// A source that a stage reaches, and its digest.
pub type SourceFile = (String, String);

impl<'a> Reach<'a> {
    /// Everything that the modules `start` reach.
    pub fn from(tree: &'a Tree, lock: &'a Lockfile, start: &[Id]) -> Reach<'a> {
        let mut reach = Reach {
            resolver: Resolver { tree, lock },
            bodies: BTreeSet::new(),
            through: BTreeSet::new(),
            external: BTreeSet::new(),
            included: BTreeSet::new(),
            todo: Vec::new(),
        };
        start.iter().for_each(|&id| reach.add(id));
        loop {
            while let Some(id) = reach.todo.pop() {
                reach.visit(id);
            }
            reach.add_impls();
            if reach.todo.is_empty() {
                return reach;
            }
        }
    }

    fn add(&mut self, id: Id) {
        if self.bodies.insert(id) {
            self.todo.push(id);
        }
    }

    fn apply(&mut self, target: Target) {
        let tree = self.resolver.tree;
        for (id, _) in target.items {
            self.add(id);
        }
        for krate in target.lost {
            for id in (0..tree.modules.len()).filter(|&i| tree.modules[i].krate == krate) {
                self.add(id);
            }
        }
        self.through.extend(target.through);
        self.external.extend(target.external);
    }

    fn visit(&mut self, id: Id) {
        let tree = self.resolver.tree;
        let m = &tree.modules[id];
        for (i, import) in m.names.imports.iter().enumerate() {
            let glob = import.name == "*";
            let used = !import.public
                || glob
                || import.name == "_"
                || m.names.idents.contains(&import.name)
                || self.resolver.is_trait(id, &import.path);
            if used {
                self.through.insert((id, i));
                let target = self.resolver.resolve(id, &import.path);
                for &inside in target.modules.iter().filter(|_| glob) {
                    self.add_all(inside);
                }
                self.apply(target);
            }
        }
        for path in &m.names.paths {
            let target = self.resolver.resolve(id, path);
            self.apply(target);
        }
        for (other, o) in tree.modules.iter().enumerate().filter(|(_, o)| o.krate == m.krate) {
            if o.names.macros.iter().any(|(name, _)| m.names.idents.contains(name)) {
                self.add(other);
            }
        }
        for args in &m.names.includes {
            self.included.extend(included_file(args, &m.file));
        }
    }

    /// A glob import: the module and everything it re-exports.
    fn add_all(&mut self, id: Id) {
        let m = &self.resolver.tree.modules[id];
        self.add(id);
        for (i, import) in m.names.imports.iter().enumerate().filter(|(_, import)| import.public) {
            if self.through.insert((id, i)) {
                let target = self.resolver.resolve(id, &import.path);
                for &inside in target.modules.iter().filter(|_| import.name == "*") {
                    self.add_all(inside);
                }
                self.apply(target);
            }
        }
    }

    fn add_impls(&mut self) {
        let tree = self.resolver.tree;
        for (id, m) in tree.modules.iter().enumerate() {
            if !self.bodies.contains(&id) && m.names.impls.iter().any(|header| self.can_apply(id, header)) {
                self.add(id);
            }
        }
    }

    /// An impl matters when every name of ours in its header is reached, and there is one.
    fn can_apply(&self, id: Id, header: &[super::module::Path]) -> bool {
        let mut ours = false;
        for path in header {
            let target = self.resolver.resolve(id, path);
            let lost_in_reached = |k: &usize| self.bodies.iter().any(|&b| self.resolver.tree.modules[b].krate == *k);
            if target.items.is_empty() && target.lost.is_empty() {
                continue;
            }
            ours = true;
            let reached = target.items.iter().any(|(m, _)| self.bodies.contains(m));
            if !reached && !target.lost.iter().any(lost_in_reached) {
                return false;
            }
        }
        ours
    }

    /// Files taken in by `include_str!` and its like.
    pub fn included(&self) -> impl Iterator<Item = &Path> {
        self.included.iter().map(PathBuf::as_path)
    }

    /// Every source with its digest, sorted by name.
    pub fn sources(&self, workspace: &Path) -> std::io::Result<Vec<SourceFile>> {
        let tree = self.resolver.tree;
        let mut hashers: BTreeMap<String, blake3::Hasher> = BTreeMap::new();
        for &id in &self.bodies {
            let m = &tree.modules[id];
            tokens::digest(&m.names.body, hashers.entry(m.label.clone()).or_default());
        }
        for &(id, i) in &self.through {
            let m = &tree.modules[id];
            let import = &m.names.imports[i];
            if import.public || !self.bodies.contains(&id) {
                let line = format!("\nuse {} as {}", import.path.join("::"), import.name);
                hashers.entry(m.label.clone()).or_default().update(line.as_bytes());
            }
        }
        let mut out: Vec<SourceFile> =
            hashers.into_iter().map(|(label, h)| (label, h.finalize().to_hex().to_string())).collect();
        let reached: BTreeSet<usize> = self.bodies.iter().map(|&id| tree.modules[id].krate).collect();
        for krate in reached.into_iter().map(|k| &tree.crates[k]).filter(|k| !k.features.is_empty()) {
            let digest = blake3::hash(krate.features.join("\n").as_bytes()).to_hex().to_string();
            out.push((format!("{}: features", krate.manifest), digest));
        }
        for entry in &self.external {
            out.push((format!("Cargo.lock: {entry}"), self.resolver.lock.digest(entry)));
        }
        for file in &self.included {
            let unreadable = |e| std::io::Error::other(format!("included file {}: {e}", file.display()));
            let bytes = std::fs::read(file).map_err(unreadable)?;
            let file = file.canonicalize()?;
            let label =
                file.strip_prefix(workspace.canonicalize()?).unwrap_or(&file).to_string_lossy().replace('\\', "/");
            out.push((label, blake3::hash(&bytes).to_hex().to_string()));
        }
        out.sort();
        Ok(out)
    }
}

/// The file that the arguments of an `include_..!` name: a literal beside the source, or
/// `concat!(env!("CARGO_MANIFEST_DIR"), "/..")`. What the build script itself wrote (`OUT_DIR`) comes from sources already
/// counted.
fn included_file(args: &[Tok], source: &Path) -> Option<PathBuf> {
    fn literals(toks: &[Tok], out: &mut Vec<String>) {
        for t in toks {
            match t {
                Tok::Literal(l) => out.push(l.trim_matches('"').to_string()),
                Tok::Group(_, inner) => literals(inner, out),
                _ => {}
            }
        }
    }
    let mut words = Vec::new();
    literals(args, &mut words);
    let folder = source.parent().unwrap_or(source);
    match words.first().map(String::as_str) {
        Some("OUT_DIR") => None,
        Some("CARGO_MANIFEST_DIR") => {
            let package = folder.ancestors().find(|p| p.join("Cargo.toml").is_file()).unwrap_or(folder);
            Some(package.join(words[1..].concat().trim_start_matches('/')))
        }
        _ => Some(folder.join(words.concat())),
    }
}
