//! What a user sees: what runs, what does not, and what the engine says about it.

use crate::common::*;
use pipeline::*;

fn ids(pending: &[Pending]) -> Vec<&str> {
    pending.iter().map(|p| p.id.as_str()).collect()
}

fn texts(reasons: &[Stale]) -> Vec<String> {
    reasons.iter().map(ToString::to_string).collect()
}

#[test]
fn a_second_run_does_nothing_and_reads_nothing() {
    let p = Project::new();
    let first = p.run(CHAIN);
    assert_eq!(
        first.ran,
        ["a/x=1.0", "a/x=2.0", "b/rank=1,x=1.0", "b/rank=1,x=2.0", "b/rank=2,x=1.0", "b/rank=2,x=2.0", "c"]
    );
    let lock = p.lock();
    // Spelt otherwise, the values are the same.
    let again = CHAIN
        .replace("[1, 2]", "[1e0, 2.0]")
        .replace("1..2", "{from: 1, to: 2}")
        .replace("seed: 7", "seed: 0x7 # the same");
    let second = p.run(&again);
    assert_eq!((second.ran.len(), second.fresh, second.published.len()), (0, 7, 0));
    assert_eq!(p.lock(), lock);
    assert_eq!(p.ran().len(), 7);
}

#[test]
fn one_changed_value_reruns_its_units_and_what_is_below() {
    let p = Project::new();
    p.run(CHAIN);
    let changed = CHAIN
        .replace("a: {kind: toy, matrix: {x: [1, 2]}}", "a: {kind: toy, matrix: {x: [1, 3]}}")
        .replace("matrix: {x: [1, 2], rank", "matrix: {x: [1, 3], rank");
    let engine = p.engine(&changed);
    let pending = engine.dry_run(&RunOptions::default()).unwrap();
    assert_eq!(ids(&pending), ["a/x=3.0", "b/rank=1,x=3.0", "b/rank=2,x=3.0", "c"]);
    assert_eq!(texts(&pending[0].reasons), ["parameter x: 2.0 -> 3.0"]);
    assert_eq!(texts(&pending[1].reasons), ["parameter x: 2.0 -> 3.0", "upstream a/x=3.0 must run first"]);
    let why = engine.why(&["a/x=3.0"]).unwrap();
    assert_eq!(why[0].compared_with.as_deref(), Some("a/x=2.0"));
    let summary = p.run(&changed);
    assert_eq!(summary.ran, ids(&pending));
    // And back: everything is still there.
    assert_eq!(p.run(CHAIN).ran.len(), 0);
}

#[test]
fn equal_bytes_upstream_spare_what_is_below() {
    let p = Project::new();
    let yaml = |x: u32| {
        format!(
            "{{version: 1, stages: {{a: {{kind: toy, with: {{x: {x}}}}}, b: {{kind: toy, needs: [a], with: {{blunt: true}}}}, c: {{kind: toy, needs: [b]}}}}}}"
        )
    };
    p.run(&yaml(1));
    let mut seen = Vec::new();
    let p2 = p.engine(&yaml(2));
    let summary = p2.run(&RunOptions::default(), &mut |e| seen.push(e)).unwrap();
    assert_eq!((summary.ran, summary.spared), (vec!["a".to_string(), "b".to_string()], 1));
    assert!(seen.contains(&Event::Spared { unit: 2 }));
    // Forcing `a` writes equal bytes for certain.
    let options = RunOptions { targets: vec!["a".into()], force: Force::Targets, ..Default::default() };
    assert_eq!(p2.run(&options, &mut |_| {}).unwrap().ran, ["a"]);
    assert_eq!(p.run(&yaml(2)).ran.len(), 0);
}

#[test]
fn code_schema_seed_and_externals_are_named() {
    let mut p = Project::new();
    p.kinds = kinds_with(&[("toy.rs", "a"), ("helper.rs", "b")]);
    p.run(CHAIN);
    p.kinds = kinds_with(&[("toy.rs", "a"), ("helper.rs", "c"), ("new.rs", "d")]);
    let why = p.engine(CHAIN).why(&["a/x=1.0"]).unwrap();
    assert_eq!(texts(&why[0].reasons), ["code helper.rs changed", "code new.rs changed"]);
    p.kinds = kinds_with(&[("toy.rs", "a"), ("helper.rs", "b")]);
    p.env.set("weather", "rain");
    let why = p.engine(CHAIN).why(&["a/x=1.0"]).unwrap();
    assert_eq!(texts(&why[0].reasons), ["external weather: (absent) -> rain"]);
    p.env.remove("weather");
    let why = p.engine(&CHAIN.replace("seed: 7", "seed: 8")).why(&["a/x=1.0"]).unwrap();
    assert!(texts(&why[0].reasons)[0].starts_with("seed: "), "{why:?}");
    assert!(p.engine(CHAIN).why(&["all"]).unwrap().iter().all(|w| w.fresh));
}

#[test]
fn a_failure_stops_only_what_needs_it() {
    let p = Project::new();
    let yaml = "
version: 1
stages:
  bad: {kind: toy, with: {mood: fail}}
  worse: {kind: toy, with: {mood: panic}}
  below: {kind: toy, needs: [bad]}
  beside: {kind: toy, matrix: {x: 1..3}}
";
    let engine = p.engine(yaml);
    let summary = engine.run(&RunOptions::default(), &mut |_| {}).unwrap();
    assert_eq!(summary.ran.len(), 3);
    assert_eq!(summary.blocked, [("below".to_string(), "bad".to_string())]);
    let mut errors: Vec<&str> = summary.failed.iter().map(|f| f.error.as_str()).collect();
    errors.sort();
    assert_eq!(errors, ["the stage panicked: told to panic", "told to fail"]);
    assert!(!summary.is_complete());
    let status = engine.status().unwrap();
    let bad = status.iter().find(|s| s.stage == "bad").unwrap();
    assert_eq!((bad.fresh, bad.stale, bad.failed), (0, 0, 1));
    assert_eq!(bad.reason.as_ref().unwrap().to_string(), "failed last time: told to fail");
    let log = &engine.logs(&["bad"]).unwrap()[0];
    assert_eq!((log.error.as_deref(), log.text.as_deref()), (Some("told to fail"), Some("error: told to fail\n")));
    // Failed units are tried again.
    assert_eq!(p.run(yaml).failed.len(), 2);
}

#[test]
fn retries_are_counted_and_end_well() {
    let p = Project::new();
    let yaml = "{version: 1, stages: {a: {kind: toy, with: {mood: fail-2}, retries: 2}}}";
    let mut retries = 0;
    let summary = p
        .engine(yaml)
        .run(&RunOptions::default(), &mut |e| retries += usize::from(matches!(e, Event::Retrying { .. })))
        .unwrap();
    assert_eq!((summary.ran.len(), retries, p.ran().len()), (1, 2, 3));
}

#[test]
fn published_copies_come_back() {
    let p = Project::new();
    assert_eq!(p.run(CHAIN).published.len(), 1);
    let copy = p.path("figures/out.txt");
    let text = std::fs::read_to_string(&copy).unwrap();
    std::fs::remove_file(&copy).unwrap();
    assert_eq!(p.run(CHAIN).published.len(), 1);
    std::fs::write(&copy, "scribble").unwrap();
    let summary = p.run(CHAIN);
    assert_eq!((summary.published.len(), summary.ran.len()), (1, 0));
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), text);
}

#[test]
fn chosen_artefacts_are_published_under_their_own_names_and_only_small_ones() {
    let p = Project::new();
    let yaml = |most: &str| {
        let publish =
            format!("{{folder: figures, files: {{out.txt: data/s.txt, none.txt: none.txt}}, at-most: {most}}}");
        format!("version: 1\nstages: {{s: {{kind: toy, publish: {publish}}}}}\n")
    };
    assert!(p.run(&yaml("1")).published.is_empty(), "it has more than one byte");
    assert_eq!(p.run(&yaml("1MB")).published, [std::path::Path::new("figures/data/s.txt")]);
    let engine = p.engine(&yaml("1MB"));
    let kept = std::fs::read(&engine.locate(&["s"], None).unwrap()[0].path).unwrap();
    assert_eq!(std::fs::read(p.path("figures/data/s.txt")).unwrap(), kept);
    assert!(!engine.plan().stages[0].is_shown(), "data behind a figure are not a figure");
}

#[test]
fn a_profile_keeps_its_copies_and_its_lock_file_apart() {
    let p = Project::new();
    let yaml = format!("{CHAIN}profiles: {{smoke: {{seed: 8}}}}\n");
    p.run(&yaml);
    let (lock, copy) = (p.lock(), std::fs::read_to_string(p.path("figures/out.txt")).unwrap());
    let smoke = p.engine_for(p.plan_as(&yaml, "smoke"));
    smoke.run(&RunOptions::default(), &mut |_| {}).unwrap();
    assert_eq!((p.lock(), std::fs::read_to_string(p.path("figures/out.txt")).unwrap()), (lock, copy.clone()));
    assert_eq!(smoke.lock_path(), p.path("pipeline.smoke.lock"));
    assert_ne!(std::fs::read_to_string(p.path("figures/smoke/out.txt")).unwrap(), copy);
}

#[test]
fn targets_bring_their_upstream_and_force_goes_down() {
    let p = Project::new();
    let engine = p.engine(CHAIN);
    let run = |targets: &[&str], force| {
        let targets = targets.iter().map(|t| t.to_string()).collect();
        engine.run(&RunOptions { targets, force, ..Default::default() }, &mut |_| {}).map(|s| s.ran)
    };
    assert_eq!(run(&["b/*x=1.0"], Force::No).unwrap(), ["a/x=1.0", "b/rank=1,x=1.0", "b/rank=2,x=1.0"]);
    assert_eq!(run(&["c"], Force::No).unwrap().len(), 4);
    assert_eq!(run(&["a/x=2.0"], Force::Downstream).unwrap(), ["a/x=2.0", "b/rank=1,x=2.0", "b/rank=2,x=2.0", "c"]);
    let error = run(&["d"], Force::No).unwrap_err().to_string();
    assert_eq!(error, "no stage or unit `d`; one of: a, b, c");
}

#[test]
fn jobs_do_not_change_the_lock() {
    let locks: Vec<String> = [1, 2, 5]
        .into_iter()
        .map(|jobs| {
            let p = Project::new();
            p.engine(CHAIN).run(&RunOptions { jobs, ..Default::default() }, &mut |_| {}).unwrap();
            p.lock()
        })
        .collect();
    assert!(locks[0].contains("\"rank=2,x=1.0\": \""), "{}", locks[0]);
    assert_eq!(locks[0], locks[1]);
    assert_eq!(locks[0], locks[2]);
}

#[test]
fn results_can_be_found_and_are_never_stale() {
    let p = Project::new();
    let engine = p.engine(CHAIN);
    assert!(matches!(engine.locate(&["c"], None), Err(Error::NoResult { .. })));
    engine.run(&RunOptions::default(), &mut |_| {}).unwrap();
    let found = engine.locate(&["c"], Some("out.txt")).unwrap();
    assert!(std::fs::read_to_string(&found[0].path).unwrap().starts_with("x=0 rank=0 seed="));
    let error = engine.locate(&["c"], Some("nope")).unwrap_err().to_string();
    assert_eq!(error, "`c` has no artefact `nope`; it has: out.txt");
}

#[test]
fn garbage_is_what_no_profile_needs() {
    let p = Project::new();
    let yaml = "{version: 1, profiles: {big: {stages: {a: {with: {x: 9}}}}}, stages: {a: {kind: toy, with: {x: 1}}}}";
    let (small, big) = (p.plan(yaml), p.plan_as(yaml, "big"));
    p.engine_for(big.clone()).run(&RunOptions::default(), &mut |_| {}).unwrap();
    let engine = p.engine_for(small);
    engine.run(&RunOptions::default(), &mut |_| {}).unwrap();
    std::fs::remove_file(p.path("pipeline.big.lock")).unwrap();
    let options = CollectOptions { older_than: std::time::Duration::ZERO, ..Default::default() };
    let with_big = CollectOptions { profiles: vec![big.clone()], ..options.clone() };
    let kept = engine.gc(&with_big).unwrap();
    assert_eq!((kept.records, kept.objects, kept.kept), (0, 0, 2));
    assert_eq!(engine.gc(&CollectOptions { dry_run: true, ..options.clone() }).unwrap().objects, 1);
    let gone = engine.gc(&options).unwrap();
    assert_eq!((gone.records, gone.objects, gone.kept), (1, 1, 1));
    assert!(engine.why(&["a"]).unwrap()[0].fresh);
    assert_eq!(p.run(yaml).ran.len(), 0);
    assert_eq!(p.engine_for(big).run(&RunOptions::default(), &mut |_| {}).unwrap().ran.len(), 1);
}

#[test]
fn cancelling_says_what_was_not_started() {
    let p = Project::new();
    let yaml = "{version: 1, stages: {a: {kind: toy, with: {sleep_ms: 20}, matrix: {x: 1..50}}}}";
    let options = RunOptions { jobs: 1, ..Default::default() };
    let cancel = options.cancel.clone();
    let mut finished = 0;
    let summary = p
        .engine(yaml)
        .run(&options, &mut |e| {
            finished += usize::from(matches!(e, Event::Finished { .. }));
            cancel.store(finished >= 2, std::sync::atomic::Ordering::Relaxed);
        })
        .unwrap();
    assert!(summary.interrupted && summary.not_started > 40, "{summary:?}");
    let rest = p.run(yaml);
    assert_eq!(rest.ran.len() + summary.ran.len(), 50);
}
