//! gc from roots: what goes, what stays, and who is kept out.

use crate::child;
use crate::common::*;
use pipeline::*;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

/// Only profiles, lock files and open runs count.
fn now() -> CollectOptions {
    CollectOptions { older_than: Duration::ZERO, ..Default::default() }
}

const TWO: &str = "
version: 1
stages:
  a: {kind: toy, with: {x: 1}}
  b: {kind: toy, needs: [a]}
profiles:
  big: {stages: {a: {with: {x: 9}}}}
";

fn run_as(p: &Project, yaml: &str, profile: &str) -> Summary {
    p.engine_for(p.plan_as(yaml, profile)).run(&RunOptions::default(), &mut |_| {}).unwrap()
}

#[test]
fn results_of_other_profiles_stay() {
    let p = Project::new();
    run_as(&p, TWO, "big");
    p.run(TWO);
    std::fs::remove_file(p.path("pipeline.big.lock")).unwrap();
    let options = CollectOptions { profiles: vec![p.plan_as(TWO, "big")], ..now() };
    assert_eq!(p.engine(TWO).gc(&options).unwrap().records, 0);
    assert_eq!(run_as(&p, TWO, "big").ran.len(), 0);
    // Without the profile in the file, its lock file alone protects them.
    let one = TWO.split("profiles:").next().unwrap();
    assert_eq!(p.engine(one).gc(&now()).unwrap().records, 0);
    // And without both they go.
    std::fs::remove_file(p.path("pipeline.big.lock")).unwrap();
    let gone = p.engine(one).gc(&now()).unwrap();
    assert_eq!(gone.records, 2);
    assert_eq!(gone.groups[0].reason, CollectReason::Superseded);
}

/// `--data-dir` is an external: another folder is another key of the same unit.
#[test]
fn results_of_another_data_folder_stay_for_thirty_days() {
    let mut p = Project::new();
    p.env.set("weather", "rain");
    p.run(TWO);
    p.env.set("weather", "sun");
    p.run(TWO);
    let engine = p.engine(TWO);
    assert_eq!(engine.gc(&CollectOptions::default()).unwrap().records, 0);
    p.env.set("weather", "rain");
    assert_eq!(p.run(TWO).ran.len(), 0);
    // The last run refers to the rain; the sun is in nothing but old runs. (`a` writes the same bytes under both, so
    // either of its results may be what `b` was computed from, and both stay.)
    let gone = p.engine(TWO).gc(&now()).unwrap();
    assert_eq!(gone.groups.iter().map(|g| (g.stage.as_str(), g.records)).collect::<Vec<_>>(), [("b", 1)]);
    assert_eq!(p.run(TWO).ran.len(), 0);
}

/// A result that was computed long ago and that a run of today found fresh is a result of today.
#[test]
fn what_a_recent_run_used_stays_however_old_it_is() {
    let mut p = Project::new();
    p.env.set("weather", "rain");
    p.run(TWO);
    // Computed a year ago by its own account, and used by no run since.
    age_records(&p, 365 * 86_400);
    remove_roots(&p);
    p.run(TWO);
    p.env.set("weather", "sun");
    p.run(TWO);
    assert_eq!(p.engine(TWO).gc(&CollectOptions::default()).unwrap().records, 0, "the run of the rain is of today");
    remove_roots(&p);
    let gone = p.engine(TWO).gc(&CollectOptions::default()).unwrap();
    assert_eq!(gone.records, 1, "nothing refers to `b` in the rain any more");
}

/// The lock file is rewritten by each run, so it does not protect here.
#[test]
fn what_is_below_a_damaged_or_stale_unit_stays() {
    for damage in ["delete", "edit"] {
        let p = Project::new();
        p.run(CHAIN);
        std::fs::remove_file(p.path("pipeline.lock")).unwrap();
        let mut yaml = CHAIN.to_string();
        match damage {
            "delete" => {
                let object = p.engine(CHAIN).locate(&["a/x=1.0"], None).unwrap()[0].path.clone();
                std::fs::remove_file(object).unwrap();
            }
            // Stale by a parameter that changes no byte: early cutoff would spare what is below.
            _ => yaml = CHAIN.replace("a: {kind: toy, matrix", "a: {kind: toy, with: {sleep_ms: 1}, matrix"),
        }
        let found = p.engine(&yaml).gc(&now()).unwrap();
        assert_eq!(found.records, 0, "{damage}: {found:?}");
        let summary = p.run(&yaml);
        let expected = if damage == "delete" { 1 } else { 2 };
        assert!(summary.ran.iter().all(|id| id.starts_with("a/")), "{damage}: {:?}", summary.ran);
        assert_eq!(summary.ran.len(), expected, "{damage}");
    }
}

#[test]
fn a_run_keeps_gc_out_from_before_it_judges() {
    let p = Project::new();
    std::fs::write(p.path("pipeline.yaml"), CHAIN).unwrap();
    p.run(CHAIN);
    // A run that has judged everything fresh and has not ended: the event comes right after judging.
    let engine = p.engine(CHAIN);
    let other = p.engine(CHAIN);
    let mut refused = None;
    engine
        .run(&RunOptions::default(), &mut |event| {
            if let Event::Planned { .. } = event {
                refused = Some(other.gc(&now()).unwrap_err().to_string());
            }
        })
        .unwrap();
    assert!(refused.unwrap().contains("is running in this project"));
    assert_eq!(p.engine(CHAIN).gc(&now()).unwrap().records, 0);
}

#[test]
fn what_queued_tasks_need_stays_although_their_driver_is_dead() {
    let p = Project::new();
    let yaml = TWO.split("profiles:").next().unwrap();
    p.run(yaml);
    // Someone submitted `b` of other parameters, and the driver died: a chunk file of an open run is all there is.
    let engine = p.engine(&yaml.replace("x: 1", "x: 5"));
    engine.run(&RunOptions { targets: vec!["a".into()], ..Default::default() }, &mut |_| {}).unwrap();
    let input = engine.locate(&["a"], None).unwrap()[0].clone();
    let info = RunInfo {
        program: "test".into(),
        plan: engine.plan_digest(),
        profile: "default".into(),
        sets: Vec::new(),
        env: Environment::default(),
        targets: Vec::new(),
        fail_fast: false,
        options: SlurmOptions::default(),
    };
    let run = RunFolder::create(engine.store().folder(), &info).unwrap();
    let why = engine.why(&["b"]).unwrap();
    let parts = serde_json::json!({
        "kind": "toy", "schema": 1, "code": why[0].key, "params": {}, "seed": 1,
        "inputs": {"a": {"out.txt": input.digest}},
    });
    let unit = serde_json::json!({"id": "b", "key": why[0].key, "parts": parts, "attempt": 1, "again": false});
    let chunk = serde_json::json!({"deadline": 60.0, "units": [unit]});
    std::fs::write(run.path().join("chunks/0.json"), chunk.to_string()).unwrap();
    // Back at x: 1, nothing else refers to x: 5.
    let _ = std::fs::remove_file(p.path("pipeline.lock"));
    p.run(yaml);
    assert_eq!(p.engine(yaml).gc(&now()).unwrap().records, 0);
    assert!(input.path.exists());
    run.end(130);
    assert_eq!(p.engine(yaml).gc(&now()).unwrap().records, 1);
    assert!(!input.path.exists());
}

#[test]
fn gc_leaves_permissions_as_they_were() {
    let p = Project::new();
    p.run(TWO);
    let journal = p.path(".pipeline/journal");
    std::fs::set_permissions(&journal, std::fs::Permissions::from_mode(0o664)).unwrap();
    p.engine(TWO).gc(&now()).unwrap();
    assert_eq!(std::fs::metadata(&journal).unwrap().permissions().mode() & 0o777, 0o664);
}

#[test]
fn a_stray_file_among_the_objects_breaks_nothing() {
    let p = Project::new();
    p.run(TWO);
    std::fs::write(p.path(".pipeline/objects/stray"), "x").unwrap();
    std::fs::create_dir_all(p.path(".pipeline/objects/zz/deep")).unwrap();
    let found = p.engine(TWO).gc(&now()).unwrap();
    assert_eq!((found.records, found.objects), (0, 0));
    assert!(p.path(".pipeline/objects/stray").exists());
}

#[test]
fn an_unreadable_root_stops_gc() {
    let p = Project::new();
    p.run(TWO);
    std::fs::write(p.path("pipeline.big.lock"), "<<<<<<< ours\n").unwrap();
    let error = p.engine(TWO).gc(&now()).unwrap_err().to_string();
    assert!(error.contains("pipeline.big.lock` is damaged"), "{error}");
}

#[test]
fn only_one_stage_is_collected_when_asked() {
    let p = Project::new();
    p.run(TWO);
    let other = TWO.replace("x: 1", "x: 2");
    p.run(&other);
    let only = CollectOptions { only: Some("b".into()), dry_run: true, ..now() };
    let found = p.engine(&other).gc(&only).unwrap();
    assert_eq!(found.groups.iter().map(|g| (g.stage.as_str(), g.records)).collect::<Vec<_>>(), [("b", 1)]);
    assert_eq!(p.engine(&other).gc(&CollectOptions { dry_run: true, ..now() }).unwrap().records, 2);
}

/// Two processes run, edit and run while a third collects without end: no result that a run reported is ever missing.
#[test]
fn gc_beside_runs_never_takes_what_they_use() {
    let p = Project::new();
    std::fs::write(p.path("pipeline.yaml"), CHAIN).unwrap();
    p.run(CHAIN);
    let log = p.path("ran.log");
    let mut children: Vec<_> = (0..6).map(|_| child::command(p.folder.path(), &log, 1).spawn().unwrap()).collect();
    let (mut collected, mut refused) = (0, 0);
    while children.iter_mut().any(|c| c.try_wait().unwrap().is_none()) {
        match p.engine(CHAIN).gc(&now()) {
            Ok(found) => {
                assert_eq!(found.records, 0);
                collected += 1;
            }
            Err(Error::Busy { .. }) => refused += 1,
            Err(error) => panic!("{error}"),
        }
    }
    for child in children {
        let said = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        assert!(said.contains("RAN 0 of 7"), "{said}");
    }
    println!("gc ran {collected} times and was kept out {refused} times");
}

fn remove_roots(p: &Project) {
    std::fs::remove_dir_all(p.path(".pipeline/roots")).unwrap();
}

/// Makes all records in the journal older.
fn age_records(p: &Project, seconds: u64) {
    let journal = p.path(".pipeline/journal");
    let text = std::fs::read_to_string(&journal).unwrap();
    let aged = text.lines().map(|line| {
        let mut json: serde_json::Value = serde_json::from_str(&line[17..]).unwrap();
        if let Some(ended) = json.pointer_mut("/record/record/provenance/ended") {
            *ended = (ended.as_u64().unwrap() - seconds).into();
        }
        let text = json.to_string();
        format!("{} {text}\n", &Digest::of(text.as_bytes()).to_string()[..16])
    });
    std::fs::write(&journal, aged.collect::<String>()).unwrap();
}
