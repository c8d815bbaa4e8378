//! From a path in a module to what defines it, through imports, re-exports and globs.

use super::lockfile::Lockfile;
use super::module::Path;
use super::tree::{Id, Tree};
use std::collections::{BTreeSet, HashSet};

/// What a path leads to. Several answers may hold at once: a module and a function may share a name.
#[derive(Debug, Default, Clone)]
pub struct Target {
    /// The path ends at these modules.
    pub modules: BTreeSet<Id>,
    /// The path ends at (or goes on inside) these items.
    pub items: BTreeSet<(Id, String)>,
    /// Imports gone through: module and index in its list.
    pub through: BTreeSet<(Id, usize)>,
    /// External dependencies: crate that names it, entry of Cargo.lock.
    pub external: BTreeSet<String>,
    /// Crates in which the path was lost: they count as a whole.
    pub lost: BTreeSet<usize>,
    /// Whether anything at all was found; a local variable or a name of the standard library is not.
    pub found: bool,
}

/// Looks names up in a tree.
pub struct Resolver<'a> {
    /// The modules.
    pub tree: &'a Tree,
    /// The external versions.
    pub lock: &'a Lockfile,
}

/// What a search has asked already, and the imports it is inside of: `use gemm::gemm` must not explain itself.
#[derive(Default, Clone)]
struct Busy {
    asked: HashSet<(Id, Path)>,
    inside: HashSet<(Id, usize)>,
}

impl Resolver<'_> {
    /// What `path` means in module `from`.
    pub fn resolve(&self, from: Id, path: &[String]) -> Target {
        let mut out = Target::default();
        self.follow(from, path, &mut out, &mut Busy::default());
        out
    }

    fn follow(&self, from: Id, path: &[String], out: &mut Target, busy: &mut Busy) {
        let here = &self.tree.modules[from];
        match path.first().map(String::as_str) {
            None => {
                out.found = true;
                out.modules.insert(from);
            }
            Some("crate") => self.walk(self.tree.crates[here.krate].root, &path[1..], out, busy),
            Some("self") => self.walk(from, &path[1..], out, busy),
            Some("super") => {
                let up = here.parent.unwrap_or(from);
                let more = path.get(1).is_some_and(|s| s == "super");
                if more { self.follow(up, &path[1..], out, busy) } else { self.walk(up, &path[1..], out, busy) }
            }
            Some(name) => {
                self.lookup(from, path, out, busy);
                if let Some(k) = self.tree.crate_named(name) {
                    self.walk(self.tree.crates[k].root, &path[1..], out, busy);
                } else if let Some(entry) = self.lock.dependency(&self.tree.crates[here.krate].package, name) {
                    out.found = true;
                    out.external.insert(entry.to_string());
                }
            }
        }
    }

    /// `path` must be found inside `module`; if it is not, its whole crate counts.
    fn walk(&self, module: Id, path: &[String], out: &mut Target, busy: &mut Busy) {
        if path.is_empty() {
            out.found = true;
            out.modules.insert(module);
            return;
        }
        let again = busy.asked.contains(&(module, path.to_vec()));
        if !self.lookup(module, path, out, busy) && !again {
            out.found = true;
            out.lost.insert(self.tree.modules[module].krate);
        }
    }

    fn lookup(&self, module: Id, path: &[String], out: &mut Target, busy: &mut Busy) -> bool {
        if !busy.asked.insert((module, path.to_vec())) {
            return false;
        }
        let (name, rest) = (&path[0], &path[1..]);
        let m = &self.tree.modules[module];
        let mut found = false;
        if let Some(&child) = m.children.get(name) {
            found = true;
            self.walk(child, rest, out, busy);
        }
        if m.names.items.contains(name) {
            found = true;
            out.items.insert((module, name.clone()));
        }
        for definer in self.exported_macro(module, name) {
            found = true;
            out.items.insert((definer, name.clone()));
        }
        for (i, import) in m.names.imports.iter().enumerate() {
            if import.name == *name && busy.inside.insert((module, i)) {
                found = true;
                out.through.insert((module, i));
                let whole: Path = import.path.iter().chain(rest).cloned().collect();
                self.follow(module, &whole, out, busy);
                busy.inside.remove(&(module, i));
            } else if import.name == "*" {
                let mut inside = Target::default();
                self.follow(module, &import.path, &mut inside, &mut busy.clone());
                for &g in &inside.modules {
                    if self.lookup(g, path, out, busy) {
                        found = true;
                        out.through.insert((module, i));
                    }
                }
            }
        }
        out.found |= found;
        found
    }

    /// Modules whose `#[macro_export]` macro of that name lives at the root of its crate, if `module` is that root.
    fn exported_macro(&self, module: Id, name: &str) -> Vec<Id> {
        let krate = self.tree.modules[module].krate;
        if self.tree.crates[krate].root != module {
            return Vec::new();
        }
        let defines = |id: &Id| {
            let m = &self.tree.modules[*id];
            m.krate == krate && m.names.macros.iter().any(|(n, exported)| *exported && n == name)
        };
        (0..self.tree.modules.len()).filter(defines).collect()
    }

    /// Whether an import can bring a trait into scope (an unknown name of ours might).
    pub fn is_trait(&self, from: Id, path: &[String]) -> bool {
        let t = self.resolve(from, path);
        !t.lost.is_empty() || t.items.iter().any(|(m, n)| self.tree.modules[*m].names.traits.contains(n))
    }
}
