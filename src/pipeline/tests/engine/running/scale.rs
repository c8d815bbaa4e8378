//! A million units: what asking about them costs.

use crate::child;
use crate::common::*;

/// In a process of its own, so that its peak memory is that of this alone.
#[test]
fn a_million_units_are_asked_about_within_a_gigabyte() {
    let p = Project::new();
    let yaml = "version: 1\nstages:\n  many: {kind: toy, matrix: {x: 1..1000, rank: 1..1000}}\n";
    std::fs::write(p.path("pipeline.yaml"), yaml).unwrap();
    let child = child::command(p.folder.path(), &p.path("ran.log"), 1).env("CHILD_STATUS", "1").spawn().unwrap();
    let said = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let number =
        |name: &str| said.split(name).nth(1).unwrap().split_whitespace().next().unwrap().parse::<u64>().unwrap();
    println!("peak {} MiB", number("PEAK ") >> 20);
    assert_eq!(number("STALE "), 1_000_000);
    assert!(number("PEAK ") < 1 << 30, "{said}");
}
