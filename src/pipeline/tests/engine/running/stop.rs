//! One way to stop, for every cause.

use crate::common::*;
use pipeline::*;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const SLOW: &str = "
version: 1
stages:
  long: {kind: toy, with: {sleep_ms: 60000}}
  bad: {kind: toy, with: {sleep_ms: 100, mood: MOOD}}
";

#[test]
fn a_full_disk_stops_a_long_unit() {
    let p = Project::new();
    let start = Instant::now();
    let options = RunOptions { jobs: 2, ..Default::default() };
    let error = p.engine(&SLOW.replace("MOOD", "full")).run(&options, &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("the disk is full"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

/// The store breaks at another place: a claim cannot be written.
#[test]
fn a_journal_that_cannot_be_written_stops_a_long_unit() {
    let p = Project::new();
    let yaml = "
version: 1
stages:
  long: {kind: toy, with: {sleep_ms: 60000}}
  first: {kind: toy, with: {sleep_ms: 50}}
  second: {kind: toy, needs: [first]}
";
    let start = Instant::now();
    let journal = p.path(".pipeline/journal");
    let error = p.engine(yaml).run(&RunOptions { jobs: 2, ..Default::default() }, &mut |event| {
        if let Event::Finished { .. } = event {
            // A folder in its place: nothing can be appended, whoever tries.
            std::fs::rename(&journal, p.path(".pipeline/old")).unwrap();
            std::fs::create_dir(&journal).unwrap();
        }
    });
    assert!(error.is_err());
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn fail_fast_starts_nothing_new_and_lets_units_end() {
    let p = Project::new();
    let yaml = "
version: 1
stages:
  bad: {kind: toy, with: {mood: fail}}
  beside: {kind: toy, with: {sleep_ms: 300}, matrix: {x: 1..20}}
";
    let options = RunOptions { jobs: 2, fail_fast: true, ..Default::default() };
    let summary = p.engine(yaml).run(&options, &mut |_| {}).unwrap();
    assert_eq!(summary.failed.len(), 1);
    assert!(!summary.interrupted && summary.ran.len() <= 3 && summary.not_started >= 17, "{summary:?}");
    assert_eq!(p.ran().len(), summary.ran.len() + 1, "what had started was let finish");
}

#[test]
fn cancel_after_fail_fast_ends_what_still_runs() {
    let p = Project::new();
    let options = RunOptions { jobs: 2, fail_fast: true, ..Default::default() };
    let start = Instant::now();
    let summary = p.engine(&SLOW.replace("MOOD", "fail")).run(&options, &mut |event| {
        if let Event::Failed { .. } = event {
            options.cancel.store(true, Ordering::Relaxed);
        }
    });
    let summary = summary.unwrap();
    assert!(summary.interrupted && summary.failed.len() == 1 && summary.not_started == 1, "{summary:?}");
    assert!(start.elapsed() < Duration::from_secs(20));
}

/// A folder where the copy should go, and a pipe: neither is waited for, and neither costs the rest.
#[test]
fn a_figure_that_cannot_be_copied_costs_nothing_else() {
    let yaml = "
version: 1
stages:
  a: {kind: toy, publish: figures}
  bad: {kind: toy, with: {mood: fail}}
";
    let p = Project::new();
    std::fs::create_dir_all(p.path("figures/out.txt/full")).unwrap();
    let summary = p.run(yaml);
    assert_eq!((summary.unpublished.len(), summary.failed.len()), (1, 1));
    assert!(summary.unpublished[0].1.contains("is not a plain file"), "{:?}", summary.unpublished);
    assert!(p.lock().contains("\"a\""), "the lock file was written");
    let p = Project::new();
    std::fs::create_dir_all(p.path("figures")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(p.path("figures/out.txt")).status().unwrap();
    assert!(made.success());
    let summary = p.run(yaml);
    assert_eq!(summary.unpublished.len(), 1, "and a pipe is not opened, which would hang");
}

/// A line whose checksum is right and whose time cannot be.
#[test]
fn a_time_that_cannot_be_true_counts_as_none() {
    let p = Project::new();
    p.run(CHAIN);
    let journal = p.path(".pipeline/journal");
    let text = std::fs::read_to_string(&journal).unwrap();
    let lines = text.lines().map(|line| {
        let mut json: serde_json::Value = serde_json::from_str(&line[17..]).unwrap();
        if let Some(wall) = json.pointer_mut("/record/record/provenance/wall") {
            *wall = 1e300.into();
        }
        let text = json.to_string();
        format!("{} {text}\n", &Digest::of(text.as_bytes()).to_string()[..16])
    });
    std::fs::write(&journal, lines.collect::<String>()).unwrap();
    for row in p.engine(CHAIN).status().unwrap() {
        assert_eq!(std::time::Duration::from_secs_f64(row.duration), Duration::ZERO, "{row:?}");
    }
}

#[test]
fn verify_is_content_again_after_a_run_mended_a_line() {
    let p = Project::new();
    p.run(CHAIN);
    let journal = p.path(".pipeline/journal");
    let mut bytes = std::fs::read(&journal).unwrap();
    let at = String::from_utf8(bytes.clone()).unwrap().find("\"stage\":\"c\"").unwrap();
    bytes[at + 9] = b'x';
    std::fs::write(&journal, bytes).unwrap();
    assert_eq!(p.engine(CHAIN).verify(&["all"]).unwrap().problems.len(), 1);
    assert_eq!(p.run(CHAIN).ran, ["c"]);
    assert_eq!(p.engine(CHAIN).verify(&["all"]).unwrap().problems, []);
    // And it says so when the lock file cannot be read.
    std::fs::write(p.path("pipeline.lock"), "a: [\n").unwrap();
    let problems = p.engine(CHAIN).verify(&["all"]).unwrap().problems;
    assert!(matches!(problems[..], [Finding::LockUnreadable { .. }]), "{problems:?}");
}
