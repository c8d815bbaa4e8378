//! What one module says: its items, imports, the paths it names, its impls, the files it includes.
//!
//! This is a reader of names, not a parser of Rust. Where it is unsure it sees a name too many, never one too few.

use super::tokens::{Tok, attribute};
use std::collections::BTreeSet;

/// A path as written: `crate::a::b` is `["crate", "a", "b"]`.
pub type Path = Vec<String>;

/// One leaf of a `use` tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// The name it brings into scope; `*` for all names.
    pub name: String,
    /// Where it comes from.
    pub path: Path,
    /// Whether other modules can import through it (`pub use`, `pub(crate) use`).
    pub public: bool,
}

/// A module declared inside this one.
#[derive(Debug)]
pub struct Child {
    /// Its name.
    pub name: String,
    /// `#[path = ".."]`, if given.
    pub path: Option<String>,
    /// Its tokens if it is written in place.
    pub inline: Option<Vec<Tok>>,
}

/// The names of one module.
#[derive(Debug, Default)]
pub struct Names {
    /// Items defined here.
    pub items: BTreeSet<String>,
    /// Those of them that are traits: importing one can change a method call that never names it.
    pub traits: BTreeSet<String>,
    /// Macros defined here; true when exported to the crate root.
    pub macros: Vec<(String, bool)>,
    /// Imports, function-level ones included.
    pub imports: Vec<Import>,
    /// Modules declared here.
    pub children: Vec<Child>,
    /// Every path of two or more names.
    pub paths: BTreeSet<Path>,
    /// Every single name.
    pub idents: BTreeSet<String>,
    /// For each impl, the paths in its header: the trait with its arguments, the type with its arguments.
    pub impls: Vec<Vec<Path>>,
    /// Arguments of `include_str!`, `include_bytes!`, `include!`.
    pub includes: Vec<Vec<Tok>>,
    /// The tokens that count as this module's own text: without child modules and without re-exports.
    pub body: Vec<Tok>,
}

impl Names {
    /// Read a module.
    pub fn read(toks: &[Tok]) -> Names {
        let mut names = Names::default();
        names.top_level(toks);
        let body = std::mem::take(&mut names.body);
        names.scan(&body, '{');
        names.body = body;
        names
    }

    fn top_level(&mut self, toks: &[Tok]) {
        let (mut i, mut file, mut exported) = (0, None, false);
        while i < toks.len() {
            if let Some((attr, len)) = attribute(toks, i) {
                match attr {
                    [Tok::Ident(k), _, Tok::Literal(l)] if k == "path" => file = Some(l.trim_matches('"').to_string()),
                    [Tok::Ident(k), ..] if k == "macro_export" => exported = true,
                    _ => {}
                }
                self.body.extend_from_slice(&toks[i..i + len]);
                i += len;
                continue;
            }
            let public = toks[i].ident() == Some("pub");
            let mut at = i + usize::from(public);
            if public && toks.get(at).is_some_and(|t| t.group('(').is_some()) {
                at += 1;
            }
            let word = toks.get(at).and_then(Tok::ident);
            let name = toks.get(at + 1).and_then(Tok::ident);
            match (word, name, toks.get(at + 2)) {
                (Some("mod"), Some(name), Some(end)) if end.is_sign(';') || end.group('{').is_some() => {
                    let inline = end.group('{').map(<[Tok]>::to_vec);
                    self.children.push(Child { name: name.into(), path: file.take(), inline });
                    i = at + 3;
                    continue;
                }
                (Some("use"), ..) if public => {
                    let end = (at..toks.len()).find(|&k| toks[k].is_sign(';')).unwrap_or(toks.len() - 1);
                    use_tree(&toks[at + 1..end], &[], true, &mut self.imports);
                    i = end + 1;
                    continue;
                }
                (Some("macro_rules"), _, Some(Tok::Ident(name))) => self.macros.push((name.clone(), exported)),
                (Some("trait"), Some(name), _) => {
                    self.items.insert(name.into());
                    self.traits.insert(name.into());
                }
                (Some("fn" | "struct" | "enum" | "union" | "type" | "const" | "static"), Some(name), next) => {
                    let name = if name == "mut" { next.and_then(Tok::ident).unwrap_or(name) } else { name };
                    self.items.insert(name.into());
                }
                _ => {}
            }
            if toks[i].is_sign(';') || toks[i].group('{').is_some() {
                (file, exported) = (None, false);
            }
            self.body.push(toks[i].clone());
            i += 1;
        }
    }

    /// Collect names at every depth; `open` is the bracket around `toks`.
    fn scan(&mut self, toks: &[Tok], open: char) {
        let mut i = 0;
        while i < toks.len() {
            match &toks[i] {
                Tok::Group(c, inner) => self.scan(inner, *c),
                Tok::Ident(word) if word == "use" && !toks.get(i + 1).is_some_and(|t| t.is_sign('<')) => {
                    let end = (i..toks.len()).find(|&k| toks[k].is_sign(';')).unwrap_or(toks.len());
                    use_tree(&toks[i + 1..end], &[], false, &mut self.imports);
                    i = end;
                }
                Tok::Ident(word) if word == "impl" && item_position(toks, i, open) => {
                    if let Some(end) = (i..toks.len()).find(|&k| toks[k].group('{').is_some()) {
                        self.impls.push(impl_header(&toks[i + 1..end]));
                    }
                }
                Tok::Ident(_) => i = self.path(toks, i),
                _ => {}
            }
            i += 1;
        }
    }

    /// Record the path that starts at `i`; the index of its last token.
    fn path(&mut self, toks: &[Tok], i: usize) -> usize {
        let (path, end) = path_at(toks, i);
        if toks.get(end + 1).is_some_and(|t| t.is_sign('!')) {
            let last = path.last().map(String::as_str);
            if let (Some("include_str" | "include_bytes" | "include"), Some(Tok::Group(_, args))) =
                (last, toks.get(end + 2))
            {
                self.includes.push(args.clone());
            }
        }
        if path.len() == 1 {
            self.idents.extend(path)
        } else {
            _ = self.paths.insert(path)
        }
        end
    }
}

/// The path that starts at `i`, and the index of its last name.
fn path_at(toks: &[Tok], mut i: usize) -> (Path, usize) {
    let mut path = vec![toks[i].ident().unwrap_or_default().to_string()];
    while let [Tok::Sign(':', true), Tok::Sign(':', _), Tok::Ident(next), ..] = &toks[i + 1..] {
        path.push(next.clone());
        i += 3;
    }
    (path, i)
}

/// `impl` opens an item (and is not `impl Trait` in a type) at the start of a block or after another item.
fn item_position(toks: &[Tok], i: usize, open: char) -> bool {
    match i.checked_sub(1).map(|k| &toks[k]) {
        None => open == '{',
        Some(Tok::Group('{' | '[', _)) | Some(Tok::Sign(';', _)) => true,
        Some(Tok::Ident(word)) => word == "unsafe" || word == "default",
        Some(_) => false,
    }
}

/// All paths named between `impl<..>` and `where` or `{`.
fn impl_header(toks: &[Tok]) -> Vec<Path> {
    let mut i = 0;
    if toks.first().is_some_and(|t| t.is_sign('<')) {
        let mut depth = 0i32;
        while i < toks.len() {
            let arrow = i > 0 && matches!(toks[i - 1], Tok::Sign('-', true));
            depth += i32::from(toks[i].is_sign('<')) - i32::from(toks[i].is_sign('>') && !arrow);
            i += 1;
            if depth == 0 {
                break;
            }
        }
    }
    fn collect(toks: &[Tok], out: &mut Vec<Path>) {
        let mut i = 0;
        while i < toks.len() {
            match &toks[i] {
                Tok::Ident(word) if word == "where" => return,
                Tok::Ident(_) => {
                    let (path, end) = path_at(toks, i);
                    out.push(path);
                    i = end;
                }
                Tok::Group(_, inner) => collect(inner, out),
                _ => {}
            }
            i += 1;
        }
    }
    let mut out = Vec::new();
    collect(&toks[i..], &mut out);
    out
}

/// Flatten a `use` tree into its leaves.
fn use_tree(toks: &[Tok], prefix: &[String], public: bool, out: &mut Vec<Import>) {
    for branch in toks.split(|t| t.is_sign(',')) {
        let mut path = prefix.to_vec();
        let mut alias = None;
        let mut leaf = true;
        let mut i = 0;
        while i < branch.len() {
            match &branch[i] {
                Tok::Ident(word) if word == "as" => {
                    alias = branch.get(i + 1).and_then(Tok::ident).map(str::to_string);
                    i += 1;
                }
                Tok::Ident(word) if word == "self" && !path.is_empty() => {}
                Tok::Ident(word) => path.push(word.clone()),
                Tok::Group('{', inner) => {
                    use_tree(inner, &path, public, out);
                    leaf = false;
                }
                Tok::Sign('*', _) => alias = Some("*".into()),
                _ => {}
            }
            i += 1;
        }
        if leaf && let Some(last) = path.last() {
            out.push(Import { name: alias.unwrap_or_else(|| last.clone()), path, public });
        }
    }
}
