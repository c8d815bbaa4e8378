//! The module trees of all crates of the workspace, read from disk the way the compiler finds them.

use super::module::Names;
use super::tokens;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Index of a module in [`Tree::modules`].
pub type Id = usize;

/// One module: a file, or a `mod x { .. }` inside one.
#[derive(Debug)]
pub struct Module {
    /// Index of its crate in [`Tree::crates`].
    pub krate: usize,
    /// The module around it.
    pub parent: Option<Id>,
    /// Its file, relative to the workspace with `/`, plus the names of inline modules.
    pub label: String,
    /// Its file.
    pub file: PathBuf,
    /// Modules inside it, by name.
    pub children: BTreeMap<String, Id>,
    /// Its names.
    pub names: Names,
}

/// One crate of the workspace.
#[derive(Debug)]
pub struct Crate {
    /// Its package name as in Cargo.lock.
    pub package: String,
    /// Its root module.
    pub root: Id,
    /// Its manifest, relative to the workspace.
    pub manifest: String,
    /// The lines of the manifest's `[features]`: what they switch on is code, too.
    pub features: Vec<String>,
}

/// Everything read.
#[derive(Debug, Default)]
pub struct Tree {
    /// All modules of all crates.
    pub modules: Vec<Module>,
    /// All crates; the program's is the first.
    pub crates: Vec<Crate>,
    /// The texts of all manifests: cargo builds a dependency once, with the features that any of them asks for.
    pub manifests: String,
}

impl Tree {
    /// Read the program in `stages/main.rs` and the libraries in `src/*/`.
    pub fn read(workspace: &Path) -> std::io::Result<Tree> {
        let mut tree = Tree::default();
        tree.add_crate(workspace, workspace.join("Cargo.toml"), workspace.join("stages/main.rs"))?;
        let mut folders: Vec<PathBuf> =
            fs::read_dir(workspace.join("src"))?.map(|e| Ok(e?.path())).collect::<std::io::Result<_>>()?;
        folders.sort();
        for folder in folders {
            let root = [folder.join("lib.rs"), folder.join("src/lib.rs")].into_iter().find(|p| p.is_file());
            if let (Some(root), true) = (root, folder.join("Cargo.toml").is_file()) {
                tree.add_crate(workspace, folder.join("Cargo.toml"), root)?;
            }
        }
        Ok(tree)
    }

    fn add_crate(&mut self, workspace: &Path, manifest: PathBuf, root: PathBuf) -> std::io::Result<()> {
        let text = fs::read_to_string(&manifest)?;
        let package = package_name(&text)
            .ok_or_else(|| std::io::Error::other(format!("{}: no package name", manifest.display())))?;
        let krate = self.crates.len();
        let folder = root.parent().unwrap_or(workspace).to_path_buf();
        let label = manifest.strip_prefix(workspace).unwrap_or(&manifest).to_string_lossy().replace('\\', "/");
        let features = section(&text, "[features]");
        self.manifests.push_str(&text);
        self.crates.push(Crate { package, root: self.modules.len(), manifest: label, features });
        self.add_file(workspace, krate, None, root, folder)
    }

    /// Add a module that has its own file; its child files lie in `folder`.
    fn add_file(
        &mut self,
        workspace: &Path,
        krate: usize,
        parent: Option<(Id, String)>,
        file: PathBuf,
        folder: PathBuf,
    ) -> std::io::Result<()> {
        let text = fs::read_to_string(&file)?;
        // A file that is no Rust counts as one literal: the compiler reports it, and nothing looks fresh meanwhile.
        let toks = tokens::read(&text).unwrap_or_else(|| vec![tokens::Tok::Literal(text)]);
        let label = file.strip_prefix(workspace).unwrap_or(&file).to_string_lossy().replace('\\', "/");
        self.add(workspace, krate, parent, label, file, folder, &toks)
    }

    fn add(
        &mut self,
        workspace: &Path,
        krate: usize,
        parent: Option<(Id, String)>,
        label: String,
        file: PathBuf,
        folder: PathBuf,
        toks: &[tokens::Tok],
    ) -> std::io::Result<()> {
        let id = self.modules.len();
        let mut names = Names::read(toks);
        let children = std::mem::take(&mut names.children);
        let outer = parent.as_ref().map(|p| p.0);
        if let Some((up, name)) = parent {
            self.modules[up].children.insert(name, id);
        }
        self.modules.push(Module {
            krate,
            parent: outer,
            label: label.clone(),
            file: file.clone(),
            children: BTreeMap::new(),
            names,
        });
        for child in children {
            let inside = folder.join(&child.name);
            let up = Some((id, child.name.clone()));
            if let Some(toks) = child.inline {
                let label = format!("{label}::{}", child.name);
                self.add(workspace, krate, up, label, file.clone(), inside, &toks)?;
                continue;
            }
            let beside = file.parent().unwrap_or(workspace);
            let found = match child.path {
                Some(p) => {
                    let p = beside.join(p);
                    let dir = p.parent().unwrap_or(workspace).to_path_buf();
                    Some((p, dir))
                }
                None => [folder.join(format!("{}.rs", child.name)), inside.join("mod.rs")]
                    .into_iter()
                    .find(|p| p.is_file())
                    .map(|p| (p, inside)),
            };
            // A missing file is the compiler's to report.
            if let Some((file, folder)) = found.filter(|f| f.0.is_file()) {
                self.add_file(workspace, krate, up, file, folder)?;
            }
        }
        Ok(())
    }

    /// The crate with this name in paths (`-` reads `_`).
    pub fn crate_named(&self, name: &str) -> Option<usize> {
        self.crates.iter().skip(1).position(|c| c.package.replace('-', "_") == name).map(|i| i + 1)
    }
}

/// `name = ".."` of the `[package]` table.
fn package_name(manifest: &str) -> Option<String> {
    let table = manifest.split("[package]").nth(1)?;
    let line = table.lines().find(|l| l.trim_start().starts_with("name"))?;
    Some(line.split('"').nth(1)?.to_string())
}

/// The lines of one section of a manifest, without spaces and comments.
fn section(manifest: &str, head: &str) -> Vec<String> {
    let mut lines =
        manifest.lines().map(|l| l.split('#').next().unwrap_or_default().split_whitespace().collect::<String>());
    lines.by_ref().find(|l| l == head);
    lines.take_while(|l| !l.starts_with('[')).filter(|l| !l.is_empty()).collect()
}
