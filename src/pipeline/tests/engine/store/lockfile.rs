//! The lock file: short lines that change with every byte of a result, and the long ones of before.

use crate::common::{CHAIN, Project};
use pipeline::Digest;
use pipeline::engine::answers::Finding;
use pipeline::store::lockfile::{Lockfile, NotALock};
use std::fmt::Write as _;

/// The file as version 1 wrote it: whole keys, a digest for each artefact.
fn version_1(p: &Project) -> String {
    let mut out = "# Written by `pipeline run`; commit it.\nversion: 1\nstages:\n".to_string();
    p.engine(CHAIN).store().journal.with(|index| {
        for (stage, units) in std::collections::BTreeMap::from_iter(&index.history) {
            writeln!(out, "  \"{stage}\":").unwrap();
            for (label, keys) in units {
                let key = keys.last().unwrap();
                let files: Vec<String> =
                    index.records[key].artefacts.iter().map(|(name, a)| format!("\"{name}\": {}", a.digest)).collect();
                writeln!(out, "    \"{label}\": {{key: {key}, files: {{{}}}}}", files.join(", ")).unwrap();
            }
        }
    });
    out
}

#[test]
fn a_line_is_at_most_100_bytes_longer_than_the_units_name() {
    let p = Project::new();
    p.run(CHAIN);
    let (text, lock) = (p.lock(), Lockfile::load(&p.path("pipeline.lock")).unwrap());
    let labels: Vec<&String> = lock.stages.values().flat_map(|units| units.keys()).collect();
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("    ")).collect();
    assert_eq!(lines.len(), labels.len());
    for (line, label) in lines.iter().zip(labels) {
        assert!(line.len() <= label.len() + 100, "{line}");
    }
}

#[test]
fn the_long_form_of_before_is_read_as_the_short_one() {
    let p = Project::new();
    p.run(CHAIN);
    let (now, before) = (p.lock(), version_1(&p));
    assert_eq!(Lockfile::read(&before), Lockfile::read(&now));
    // Nothing runs, `verify` compares with it, and the next run writes the short form.
    std::fs::write(p.path("pipeline.lock"), &before).unwrap();
    assert_eq!(p.engine(CHAIN).verify(&["all"]).unwrap().problems, []);
    assert!(p.run(CHAIN).ran.is_empty());
    assert_eq!(p.lock(), now);
}

#[test]
fn one_other_digest_of_one_artefact_is_found_in_either_form() {
    let p = Project::new();
    p.run(CHAIN);
    let (now, before) = (p.lock(), version_1(&p));
    let damage = |text: &str, after: &str, digits: usize| {
        let at = text.find(after).unwrap() + after.len();
        format!("{}{}{}", &text[..at], "c".repeat(digits), &text[at + digits..])
    };
    let unit = p.lock().lines().find(|line| line.starts_with("    ")).unwrap().to_string();
    let (key, result) = unit.rsplit('"').nth(1).unwrap().split_once(' ').unwrap();
    for text in [now.replacen(result, &"c".repeat(32), 1), damage(&before, "files: {\"out.txt\": ", 64)] {
        std::fs::write(p.path("pipeline.lock"), text).unwrap();
        let problems = p.engine(CHAIN).verify(&["all"]).unwrap().problems;
        assert!(matches!(problems[..], [Finding::LockDiffers { .. }]), "{problems:?}");
    }
    // With another key nothing is said: the result is another one by right.
    std::fs::write(
        p.path("pipeline.lock"),
        now.replacen(&format!("{key} {result}"), &format!("{} {}", "a".repeat(16), "c".repeat(32)), 1),
    )
    .unwrap();
    assert_eq!(p.engine(CHAIN).verify(&["all"]).unwrap().problems, []);
}

#[test]
fn a_record_is_found_by_its_line_and_by_no_other() {
    let p = Project::new();
    p.run(CHAIN);
    let lock = Lockfile::load(&p.path("pipeline.lock")).unwrap();
    p.engine(CHAIN).store().journal.with(|index| {
        for (stage, units) in &lock.stages {
            for (label, line) in units {
                let (key, record) = line.find(index, stage, label).unwrap();
                assert!(line.has_key(&key) && record.stage == *stage && record.label == *label);
                // A renamed stage keeps its results.
                assert_eq!(line.find(index, "renamed", label).map(|(k, _)| k), Some(key));
                assert!(!line.has_key(&Digest::of(b"another")));
            }
        }
        let mut lines = lock.stages.values().flat_map(|units| units.values());
        let (a, b) = (lines.next().unwrap(), lines.next().unwrap());
        assert!(a != b && !a.same_result(b));
    });
}

#[test]
fn what_cannot_be_read_is_told_in_one_sentence() {
    let newer = Lockfile::read("version: 3\nstages: {}\n").unwrap_err();
    assert_eq!(newer, NotALock::Newer(3));
    assert!(newer.to_string().contains("version 3") && newer.to_string().contains("use a newer program"));
    let line = |body: &str| Lockfile::read(&format!("version: 2\nstages:\n  a:\n    \"\": {body}\n"));
    // Digests without a letter are digests too.
    assert!(line(&format!("\"{} {}\"", "0".repeat(16), "9".repeat(32))).is_ok());
    for body in [
        "{}".to_string(),
        "00 11".to_string(),
        format!("\"{} {}\"", "0".repeat(64), "9".repeat(64)),
        format!("\"{} {}\"", "0".repeat(16), "x".repeat(32)),
        format!("\"{}\"", "0".repeat(49)),
    ] {
        assert_eq!(line(&body).unwrap_err(), NotALock::Unreadable, "{body}");
    }
    assert_eq!(Lockfile::read("<<<<<<< ours\n").unwrap_err(), NotALock::Unreadable);
}
