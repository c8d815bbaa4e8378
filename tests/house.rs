//! The house stays in order: no Rust file past 300 lines without a reason, folders of at most a dozen files, and a page at the head
//! of each that says what belongs there.

use std::path::{Path, PathBuf};

/// Lines of a Rust file; a longer one says in its first lines why ("long because ...").
const LINES: usize = 300;
/// Files of one folder.
const FILES: usize = 12;
/// Folders whose files are programs of their own: they have no common page, and each file opens with its own sentence.
const PROGRAMS: [&str; 3] = ["tests", "benches", "examples"];

/// Files and subfolders of a folder, sorted.
fn entries(folder: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let mut all: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    // Hidden files, and what Python leaves behind, are nobody's rooms.
    let ours = |name: &str| !name.starts_with('.') && name != "__pycache__";
    all.retain(|path| ours(&path.file_name().unwrap().to_string_lossy()));
    all.sort();
    all.into_iter().partition(|path| path.is_file())
}

fn is_rust(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "rs")
}

/// The comment that a Rust file opens with.
fn head(text: &str) -> String {
    text.lines().take_while(|line| line.starts_with("//!")).collect::<Vec<_>>().join("\n")
}

/// What is out of order in `folder` and below. `counted` says whether the rules for folders hold there, too.
fn complaints(root: &Path, folder: &Path, counted: bool, found: &mut Vec<String>) {
    let named = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
    let (files, folders) = entries(folder);
    let rust: Vec<&PathBuf> = files.iter().filter(|path| is_rust(path)).collect();
    for path in &rust {
        let text = std::fs::read_to_string(path).unwrap();
        let (head, lines) = (head(&text), text.lines().count());
        if head.is_empty() {
            found.push(format!("{} does not open with a sentence (`//!`) on what it is", named(path)));
        }
        if lines > LINES && !head.contains("long because") {
            found.push(format!(
                "{} has {lines} lines, more than {LINES}: split it by ideas, or say in its first lines why it is `long because ...`",
                named(path)
            ));
        }
    }
    if counted {
        if files.len() > FILES {
            found.push(format!("{} holds {} files, more than {FILES}: make rooms of it", named(folder), files.len()));
        }
        let programs = PROGRAMS.iter().any(|name| folder.file_name().is_some_and(|f| f == *name));
        let page = ["lib.rs", "mod.rs", "main.rs"].iter().any(|name| folder.join(name).is_file());
        if !rust.is_empty() && !programs && !page {
            found.push(format!(
                "{} has no page (lib.rs, mod.rs or main.rs) that says what belongs there",
                named(folder)
            ));
        }
    }
    for folder in folders {
        complaints(root, &folder, counted, found);
    }
}

#[test]
fn every_room_has_its_page_and_no_file_is_too_long() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let (_, crates) = entries(&root.join("src"));
    assert!(crates.len() >= 10, "{crates:?}");
    for folder in crates.iter().chain([&root.join("stages")]) {
        complaints(root, folder, true, &mut found);
    }
    complaints(root, &root.join("tests"), false, &mut found);
    assert!(found.is_empty(), "{} out of order:\n{}", found.len(), found.join("\n"));
}

#[test]
fn each_kind_of_disorder_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let put = |name: &str, text: &str| {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let long = "fn f() {}\n".repeat(LINES);
    put("good/mod.rs", "//! A page.\n");
    put("good/table.rs", &format!("//! It is long because a table is.\n{long}"));
    put("good/tests/one.rs", "//! A program.\n");
    put("bare/part.rs", "//! A part.\n");
    put("long/mod.rs", &format!("//! A page.\n{long}"));
    put("mute/mod.rs", "fn f() {}\n");
    put("full/mod.rs", "//! A page.\n");
    (0..FILES).for_each(|k| put(&format!("full/{k}.txt"), ""));
    let mut found = Vec::new();
    complaints(root, root, true, &mut found);
    let expected =
        ["bare has no page", "full holds 13 files", "long/mod.rs has 301 lines", "mute/mod.rs does not open"];
    assert_eq!(found.len(), expected.len(), "{found:?}");
    assert!(found.iter().zip(expected).all(|(f, e)| f.starts_with(e)), "{found:?}");
}
