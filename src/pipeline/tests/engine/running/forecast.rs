//! Costs: the order of a first run, the time it is said to take, and when the machine is measured.

use crate::common::{Project, Toy};
use pipeline::{Event, Registry, RemainingUnit, RunOptions, Value, critical_path, rehearse, replay};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A unit costs as much as its x.
fn cost(params: &Value, _: usize) -> Option<f64> {
    params.get("x").and_then(Value::as_f64)
}

fn project() -> Project {
    let mut kinds = Registry::new();
    kinds.costed(Toy, &[("toy.rs", "a")], cost);
    Project { kinds, ..Project::new() }
}

/// `head` is short, and long work waits for it; nobody waits for `alone`.
const YAML: &str = "
version: 1
stages:
  alone: {kind: toy, matrix: {x: [3, 5]}}
  head: {kind: toy, with: {x: 1}}
  tail: {kind: toy, needs: [head], with: {x: 9}}
  end: {kind: toy, needs: [tail, alone], with: {x: 2}}
";

fn one_thread() -> RunOptions {
    RunOptions { jobs: 1, ..RunOptions::default() }
}

#[test]
fn a_first_run_starts_the_longest_chain_first() {
    let p = project();
    let mut expected = Vec::new();
    let mut tell = |event| {
        if let Event::Planned { stale, .. } = event {
            expected = stale;
        }
    };
    p.engine(YAML).run(&one_thread(), &mut tell).unwrap();
    // By its own time alone `head` would come last. While its result is written something else may start.
    let (ran, at) = (p.ran(), |id: &str| p.ran().iter().position(|r| r == id));
    assert_eq!((ran[0].as_str(), ran[4].as_str()), ("head", "end"), "{ran:?}");
    assert!(at("alone/x=5.0") < at("alone/x=3.0"), "{ran:?}");
    let total: f64 = expected.iter().filter_map(|(_, seconds)| *seconds).sum();
    assert_eq!(total, 20.0);
}

#[test]
fn a_second_run_expects_what_the_first_one_took() {
    let p = project();
    p.engine(YAML).run(&one_thread(), &mut |_| {}).unwrap();
    // One more unit of `alone`, which costs 4: the others took next to nothing for 8 seconds of cost, and the model counts for 5 more.
    let yaml = YAML.replace("[3, 5]", "[3, 5, 4]");
    let mut expected = Vec::new();
    let mut tell = |event| {
        if let Event::Planned { stale, .. } = event {
            expected = stale;
        }
    };
    p.engine(&yaml).run(&one_thread(), &mut tell).unwrap();
    let seconds: Vec<f64> = expected.iter().map(|(_, s)| s.unwrap()).collect();
    assert_eq!(seconds.len(), 2, "the new unit and the one that reads it");
    assert!(seconds.iter().all(|s| *s < 4.0 * 5.0 / 13.0 + 0.5), "{seconds:?}");
}

#[test]
fn a_rehearsal_waits_for_inputs_and_fills_the_threads() {
    let p = project();
    let plan = p.plan(YAML);
    let costs: Vec<Option<f64>> = plan.units.iter().map(|u| cost(&u.params, 0)).collect();
    let left: Vec<RemainingUnit> =
        costs.iter().enumerate().map(|(unit, c)| RemainingUnit { unit, seconds: c.unwrap(), running: false }).collect();
    // One thread: all of it. Two: the chain of 1, 9 and 2 seconds, with the others beside it. More do not help.
    assert_eq!((rehearse(&plan, &left, 1), rehearse(&plan, &left, 2), rehearse(&plan, &left, 9)), (20.0, 12.0, 12.0));
    let at = |id: &str| plan.units.iter().position(|u| u.id == id).unwrap();
    let path = critical_path(&plan, &costs);
    assert_eq!((path[at("head")], path[at("alone/x=5.0")], path[at("end")]), (Some(12.0), Some(7.0), Some(2.0)));
    // What is done is not listed, what runs has its rest: 4 seconds of the tail beside 5 and 3 of the others, then the end.
    let rest = |id: &str, seconds: f64, running: bool| RemainingUnit { unit: at(id), seconds, running };
    let late = [
        rest("tail", 4.0, true),
        rest("alone/x=5.0", 5.0, false),
        rest("alone/x=3.0", 3.0, false),
        rest("end", 2.0, false),
    ];
    assert_eq!(rehearse(&plan, &late, 2), 9.0);
    // In the wrong order, with the chain last, it takes longer.
    let backwards: Vec<Option<f64>> = path.iter().map(|s| s.map(|s| 100.0 - s)).collect();
    let mut told = 0;
    assert!(replay(&plan, &left, &backwards, 2, |_, _, _| told += 1) > 12.0);
    assert_eq!(told, 10, "each unit starts and ends");
}

static ASKED: AtomicUsize = AtomicUsize::new(0);

fn slow(_: usize) -> f64 {
    ASKED.fetch_add(1, Ordering::Relaxed);
    3.0
}

#[test]
fn the_machine_is_measured_once_and_only_for_much_unknown_work() {
    let p = project();
    let options = RunOptions { speed: Some(slow), ..one_thread() };
    let run = |yaml: &str| {
        let mut expected = 0.0;
        let mut tell = |event| {
            if let Event::Planned { stale, .. } = event {
                expected = stale.iter().filter_map(|(_, s)| *s).sum();
            }
        };
        p.engine(yaml).run(&options, &mut tell).unwrap();
        expected
    };
    assert_eq!((run(YAML), ASKED.load(Ordering::Relaxed)), (20.0, 0), "too little work to be worth it");
    let large = "version: 1\nstages: {big: {kind: toy, with: {x: 50}}, other: {kind: toy, with: {x: 60}}}\n";
    assert_eq!((run(large), ASKED.load(Ordering::Relaxed)), (330.0, 1));
    run(large);
    assert_eq!(ASKED.load(Ordering::Relaxed), 1, "nothing to do");
}
