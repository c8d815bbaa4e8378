//! Code fingerprints on a toy workspace: what must change them and what must not.
//!
//! The build script's own module is compiled in here, so that these tests and the build share the code.

#[path = "../stages/build/fingerprint/mod.rs"]
mod fingerprint;

use std::collections::BTreeMap;
use std::path::Path;
use tempfile::TempDir;

type Kinds = BTreeMap<String, BTreeMap<String, String>>;

const FILES: &[(&str, &str)] = &[
    ("Cargo.toml", "[package]\nname = \"toy\"\n[workspace.dependencies]\narray = \"1\"\nclap = \"4\"\n"),
    (
        "Cargo.lock",
        r#"
[[package]]
name = "toy"
dependencies = [
 "maths",
 "array",
 "clap",
]
[[package]]
name = "maths"
dependencies = [
 "array",
]
[[package]]
name = "array"
version = "1.0.0"
checksum = "aa"
dependencies = [
 "simd",
]
[[package]]
name = "simd"
version = "0.1.0"
[[package]]
name = "clap"
version = "4.0.0"
"#,
    ),
    ("stages/main.rs", "mod cli; mod kinds; mod shared;\nfn main() { cli::go() }"),
    (
        "stages/kinds/mod.rs",
        "mod simulate; mod train; mod pictures; pub fn kinds() -> [fn(); 2] { [train::run, simulate::run] }",
    ),
    ("stages/cli/mod.rs", "use clap::Parser; pub fn go() { println!(\"hello\") }"),
    ("stages/shared/mod.rs", "pub mod rows; pub mod paper; pub mod pool;"),
    ("stages/shared/pool.rs", "pub fn threads() -> usize { 2 }"),
    ("stages/shared/rows.rs", "pub fn rows() -> usize { 3 }\n#[cfg(test)] mod tests { fn t() { assert_eq!(1, 1) } }"),
    ("stages/shared/paper.rs", "pub fn size() -> usize { 7 }"),
    (
        "stages/kinds/simulate.rs",
        "use crate::shared::rows::rows; use maths::Noise; pub struct S; impl maths::Stage for S { const NAME: &'static str = \"simulate\"; } pub fn run() { Noise::draw(rows()); }",
    ),
    (
        "stages/kinds/train.rs",
        "use maths::{Solver, fit}; pub struct T; impl maths::Stage for T { const NAME: &'static str = \"train\"; }\n/// Trains.\npub fn run() { let s = Solver::new(); s.step(); fit(0.5) }",
    ),
    ("stages/kinds/pictures/mod.rs", "//! Two kinds of one experiment.\npub mod draw; pub mod results;"),
    (
        "stages/kinds/pictures/results.rs",
        "use crate::shared::paper::size; use crate::shared::rows::rows; pub struct R; impl maths::Stage for R { const NAME: &'static str = \"results\"; } pub fn selected() -> usize { size() + rows() }",
    ),
    (
        "stages/kinds/pictures/draw.rs",
        "use super::results::selected; use maths::prelude::*; pub struct D; impl maths::Stage for D { const NAME: &'static str = \"draw\"; } pub fn run() { let font = include_bytes!(\"../../../data/font.bin\"); maths::square!(2); line(font, \"a caption\", selected()) }",
    ),
    ("data/font.bin", "font"),
    ("src/maths/Cargo.toml", "[package]\nname = \"maths\"\n"),
    (
        "src/maths/lib.rs",
        "//! Toy.\npub mod solver; pub mod prelude; mod noise; mod fitting; mod speed; mod macros; mod stage; mod line;\npub use line::line; pub use solver::Solver; pub use noise::Noise; pub use fitting::inner::fit; pub use stage::Stage;",
    ),
    ("src/maths/stage.rs", "pub trait Stage {}"),
    (
        "src/maths/solver.rs",
        "pub struct Solver { pub x: f64 }\nimpl Solver { pub fn new() -> Self { Solver { x: 1.0 } } }",
    ),
    ("src/maths/speed.rs", "use crate::Solver; impl Solver { pub fn step(&self) -> f64 { self.x * 2.0 } }"),
    (
        "src/maths/noise.rs",
        "use array::Array; pub struct Noise; impl Noise { pub fn draw(_: usize) -> Array { todo!() } }",
    ),
    ("src/maths/fitting.rs", "pub mod inner { pub fn fit(x: f64) { super::helper(x) } }\nfn helper(_: f64) {}"),
    ("src/maths/macros.rs", "#[macro_export] macro_rules! square { ($x:expr) => { $x * $x } }"),
    ("src/maths/prelude.rs", "pub use crate::line::line;"),
    ("src/maths/line.rs", "pub fn line(_: &[u8]) {}"),
];

fn toy() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in FILES {
        write(dir.path(), path, text);
    }
    dir
}

fn write(dir: &Path, path: &str, text: &str) {
    let path = dir.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn prints(dir: &Path) -> Kinds {
    let all = fingerprint::compute(dir).unwrap();
    all.kinds.into_iter().map(|(kind, sources)| (kind, sources.into_iter().collect())).collect()
}

/// Replace `old` by `new` in one file of a fresh toy tree; the kinds whose fingerprint changed.
fn changed_by(path: &str, old: &str, new: &str) -> Vec<String> {
    let dir = toy();
    let before = prints(dir.path());
    let text = std::fs::read_to_string(dir.path().join(path)).unwrap();
    assert!(text.contains(old), "{path} does not contain {old}");
    write(dir.path(), path, &text.replacen(old, new, 1));
    let after = prints(dir.path());
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    before.keys().filter(|k| before[*k] != after[*k]).cloned().collect()
}

#[test]
fn every_kind_has_a_fingerprint_and_nothing_else_has_one() {
    let kinds = prints(toy().path());
    assert_eq!(kinds.keys().collect::<Vec<_>>(), ["draw", "results", "simulate", "train"]);
    let train: Vec<_> = kinds["train"].keys().map(String::as_str).collect();
    assert_eq!(
        train,
        [
            "src/maths/fitting.rs",
            "src/maths/fitting.rs::inner",
            "src/maths/lib.rs",
            "src/maths/solver.rs",
            "src/maths/speed.rs",
            "src/maths/stage.rs",
            "stages/kinds/train.rs",
            "stages/shared/pool.rs"
        ]
    );
}

#[test]
fn comments_docs_formatting_and_tests_do_not_count() {
    assert!(changed_by("stages/kinds/train.rs", "/// Trains.", "// note\n/// Trains, says this text.\n").is_empty());
    assert!(changed_by("stages/kinds/train.rs", "let s", "let\n    s /* why */").is_empty());
    assert!(changed_by("src/maths/lib.rs", "//! Toy.", "//! Another page.").is_empty());
    assert!(changed_by("stages/shared/rows.rs", "assert_eq!(1, 1)", "assert_eq!(2, 2)").is_empty());
}

#[test]
fn the_program_around_the_stages_does_not_count() {
    assert!(changed_by("stages/cli/mod.rs", "hello", "good morning").is_empty());
    assert!(changed_by("stages/kinds/mod.rs", "train::run", "simulate::run").is_empty());
    assert!(changed_by("Cargo.lock", "4.0.0", "4.0.1").is_empty());
}

#[test]
fn an_expression_counts_where_it_is_reached() {
    assert_eq!(changed_by("stages/kinds/train.rs", "0.5", "0.25"), ["train"]);
    assert_eq!(changed_by("src/maths/solver.rs", "1.0", "1.5"), ["train"]);
}

#[test]
fn a_caption_counts_for_the_drawing_alone() {
    assert_eq!(changed_by("stages/kinds/pictures/draw.rs", "a caption", "another caption"), ["draw"]);
}

#[test]
fn a_shared_helper_counts_for_the_kinds_that_reach_it() {
    assert_eq!(changed_by("stages/shared/paper.rs", "7", "8"), ["draw", "results"]);
    assert_eq!(changed_by("stages/shared/rows.rs", "3", "4"), ["draw", "results", "simulate"]);
}

#[test]
fn what_runs_every_kind_counts_for_every_kind() {
    let all = ["draw", "results", "simulate", "train"];
    assert_eq!(changed_by("stages/shared/pool.rs", "2", "3"), all);
}

#[test]
fn features_of_a_manifest_count_for_the_kinds_that_reach_its_crate() {
    let name = "[package]\nname = \"maths\"\n";
    let with = |more: &str| changed_by("src/maths/Cargo.toml", name, &format!("{name}{more}"));
    let all = ["draw", "results", "simulate", "train"];
    assert_eq!(with("[features]\nfast = []\n"), all);
    assert_eq!(with("[dependencies]\narray = { workspace = true, features = [\"wide\"] }\n"), ["simulate"]);
    assert!(with("description = \"sums\"\n[features]\n# none yet\n").is_empty());
}

#[test]
fn two_kinds_of_one_name_are_refused() {
    let dir = toy();
    write(dir.path(), "stages/kinds/train.rs", "impl maths::Stage for T { const NAME: &'static str = \"simulate\"; }");
    let error = fingerprint::compute(dir.path()).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(error.contains("a second kind is named `simulate`"), "{error}");
}

#[test]
fn an_impl_in_another_module_is_reached_through_its_type() {
    assert_eq!(changed_by("src/maths/speed.rs", "2.0", "3.0"), ["train"]);
}

#[test]
fn a_shared_trait_does_not_tie_its_implementors_together() {
    let kinds = prints(toy().path());
    assert!(!kinds["simulate"].contains_key("stages/kinds/train.rs"));
    let all = ["draw", "results", "simulate", "train"];
    assert_eq!(changed_by("src/maths/stage.rs", "Stage {}", "Stage { fn n() {} }"), all);
}

#[test]
fn re_exports_globs_and_macros_lead_to_the_definition() {
    assert_eq!(changed_by("src/maths/fitting.rs", "helper(_: f64) {}", "helper(_: f64) { go() }"), ["train"]);
    assert_eq!(changed_by("src/maths/line.rs", "{}", "{ thick() }"), ["draw"]);
    assert_eq!(changed_by("src/maths/macros.rs", "$x * $x", "$x + $x"), ["draw"]);
    assert_eq!(changed_by("src/maths/lib.rs", "fitting::inner::fit", "solver::fit"), ["train"]);
}

#[test]
fn included_files_and_external_versions_count() {
    assert_eq!(changed_by("data/font.bin", "font", "other font"), ["draw"]);
    assert_eq!(changed_by("Cargo.lock", "0.1.0", "0.1.1"), ["simulate"]);
    assert_eq!(
        changed_by("Cargo.toml", "array = \"1\"", "array = { version = \"1\", features = [\"fast\"] }"),
        ["simulate"]
    );
    let kinds = prints(toy().path());
    assert!(kinds["simulate"].contains_key("Cargo.lock: array"));
    assert!(kinds["draw"].contains_key("data/font.bin"));
}

#[test]
fn a_path_that_gets_lost_takes_the_whole_crate() {
    let dir = toy();
    write(
        dir.path(),
        "stages/kinds/train.rs",
        "impl maths::Stage for T { const NAME: &'static str = \"train\"; } pub fn run() { maths::made_by_a_macro() }",
    );
    let train = &prints(dir.path())["train"];
    assert!(train.contains_key("src/maths/noise.rs") && train.contains_key("src/maths/line.rs"));
}

#[test]
fn this_workspace_has_fingerprints() {
    let all = fingerprint::compute(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
    for (kind, sources) in &all.kinds {
        println!("{kind}: {} sources", sources.len());
        for (source, _) in sources {
            println!("  {source}");
        }
        assert!(sources.iter().any(|(s, _)| s.starts_with("stages/kinds/")));
    }
}

/// Replaces `old` by `new` in one file of a copy of this workspace; the kinds whose fingerprint changed.
fn changed_here(path: &str, old: &str, new: &str) -> Vec<String> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR"));
    let copy = tempfile::tempdir().unwrap();
    for name in ["Cargo.toml", "Cargo.lock", "stages", "src", "data"] {
        copy_all(&workspace.join(name), &copy.path().join(name));
    }
    let before = prints(copy.path());
    let text = std::fs::read_to_string(copy.path().join(path)).unwrap();
    assert!(text.contains(old), "{path} does not contain {old}");
    write(copy.path(), path, &text.replacen(old, new, 1));
    let after = prints(copy.path());
    before.keys().filter(|k| before[*k] != after[*k]).cloned().collect()
}

fn copy_all(from: &Path, to: &Path) {
    if !from.is_dir() {
        std::fs::copy(from, to).unwrap();
        return;
    }
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        copy_all(&entry.path(), &to.join(entry.file_name()));
    }
}

#[test]
fn the_caption_of_table_4_redraws_that_experiment_and_nothing_else() {
    let changed = changed_here("stages/kinds/matrices/figures.rs", "Completion of missing blocks of", "Filling of");
    assert_eq!(changed, ["matrices-figures"]);
    // What units cost decides the order of a run and no result.
    assert!(changed_here("stages/kinds/cost.rs", "0.075", "0.08").is_empty());
}

#[test]
fn a_helper_in_shared_that_two_kinds_use_makes_exactly_those_two_stale() {
    let changed = changed_here("stages/shared/protocol.rs", "0xb10c", "0xb10d");
    assert_eq!(changed, ["complete-kernels", "complete-matrix"]);
}
