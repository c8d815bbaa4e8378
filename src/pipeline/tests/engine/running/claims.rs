//! One key is computed once, whoever asks; and runs of different targets lose nothing of each other.

use crate::child;
use crate::common::*;
use pipeline::*;
use std::collections::BTreeMap;

/// `one`, `two` and `three` differ in nothing that enters a key.
const TRIPLETS: &str = "
version: 1
stages:
  one: {kind: toy, with: {x: 3, sleep_ms: 20}, matrix: {rank: 1..4}}
  two: {kind: toy, with: {x: 3, sleep_ms: 20}, matrix: {rank: 1..4}}
  three: {kind: toy, with: {x: 3, sleep_ms: 20}, matrix: {rank: 1..4}}
  sum: {kind: toy, needs: [one, two, three]}
";

#[test]
fn equal_keys_are_computed_once_in_a_process() {
    for jobs in [1, 4, 12] {
        let p = Project::new();
        let options = RunOptions { jobs, ..Default::default() };
        let summary = p.engine(TRIPLETS).run(&options, &mut |_| {}).unwrap();
        assert_eq!((summary.ran.len(), summary.spared), (5, 8), "{jobs} jobs: {summary:?}");
        assert_eq!(p.ran().len(), 5);
        assert!(summary.is_complete());
        assert_eq!(p.run(TRIPLETS).ran.len(), 0);
        // Forced, they are computed once more, once.
        let force =
            RunOptions { jobs, targets: vec!["one".into(), "two".into()], force: Force::Targets, ..Default::default() };
        assert_eq!(p.engine(TRIPLETS).run(&force, &mut |_| {}).unwrap().ran.len(), 4);
        assert_eq!(p.ran().len(), 9);
    }
}

#[test]
fn a_failure_is_a_failure_of_every_unit_with_the_key() {
    let yaml = "
version: 1
stages:
  one: {kind: toy, with: {mood: fail, sleep_ms: 30}}
  two: {kind: toy, with: {mood: fail, sleep_ms: 30}}
  below: {kind: toy, needs: [two]}
";
    for jobs in [1, 2] {
        let p = Project::new();
        let summary = p.engine(yaml).run(&RunOptions { jobs, ..Default::default() }, &mut |_| {}).unwrap();
        let mut failed: Vec<&str> = summary.failed.iter().map(|f| f.id.as_str()).collect();
        failed.sort_unstable();
        assert_eq!((failed, p.ran().len()), (vec!["one", "two"], 1));
        assert_eq!(summary.blocked, [("below".to_string(), "two".to_string())]);
    }
}

#[test]
fn equal_keys_are_computed_once_by_three_processes() {
    let p = Project::new();
    std::fs::write(p.path("pipeline.yaml"), TRIPLETS).unwrap();
    let log = p.path("ran.log");
    let children: Vec<_> = (0..3).map(|_| child::command(p.folder.path(), &log, 2).spawn().unwrap()).collect();
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    let ran: Vec<String> = p.ran().into_iter().filter(|l| !l.starts_with("finished")).collect();
    assert_eq!(ran.len(), 5, "{ran:?}");
}

/// Each round two processes run different targets at once and end at about the same time.
#[test]
fn two_runs_of_different_targets_lose_no_line_of_the_lock_file() {
    let yaml = "
version: 1
stages:
  left: {kind: toy, matrix: {x: 1..3}, with: {sleep_ms: 10}}
  right: {kind: toy, matrix: {x: 1..3}, with: {rank: 2, sleep_ms: 10}}
";
    let whole = Project::new();
    whole.run(yaml);
    for round in 0..20 {
        let p = Project::new();
        std::fs::write(p.path("pipeline.yaml"), yaml).unwrap();
        let log = p.path("ran.log");
        let children: Vec<_> = ["left", "right"]
            .into_iter()
            .map(|target| child::command(p.folder.path(), &log, 1).env("CHILD_TARGET", target).spawn().unwrap())
            .collect();
        for child in children {
            assert!(child.wait_with_output().unwrap().status.success());
        }
        assert_eq!(p.lock(), whole.lock(), "round {round}");
    }
}

/// The same in one process, where the end of one run can be put between the judging and the end of the other.
#[test]
fn a_run_that_ends_inside_another_keeps_its_lines() {
    let p = Project::new();
    let yaml = "{version: 1, stages: {left: {kind: toy}, right: {kind: toy, with: {rank: 2}}}}";
    let (outer, inner) = (p.engine(yaml), p.engine(yaml));
    let target = |name: &str| RunOptions { targets: vec![name.into()], ..Default::default() };
    outer
        .run(&target("left"), &mut |event| {
            if let Event::Finished { .. } = event {
                inner.run(&target("right"), &mut |_| {}).unwrap();
            }
        })
        .unwrap();
    let lock = p.lock();
    assert!(lock.contains("left") && lock.contains("right"), "{lock}");
}

#[test]
fn nothing_is_recorded_twice() {
    let p = Project::new();
    p.run(TRIPLETS);
    let journal = std::fs::read_to_string(p.path(".pipeline/journal")).unwrap();
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for line in journal.lines().filter(|l| l.contains("{\"record\":{\"key\":")) {
        *count.entry(line.split("\"key\":\"").nth(1).unwrap().split('"').next().unwrap()).or_default() += 1;
    }
    assert_eq!(count.len(), 5);
    assert!(count.values().all(|&n| n == 1), "{count:?}");
}
