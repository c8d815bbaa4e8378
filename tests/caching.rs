//! A unit runs again exactly when it must, and `why` says what changed.

mod common;
use common::{Project, SMALL};

#[test]
fn the_second_run_does_nothing() {
    let p = Project::new(SMALL);
    assert!(p.ok("run all").starts_with("done: 13 units run, 0 fresh"), "{}", p.ok("run all"));
    let again = p.ok("run all");
    assert!(again.starts_with("nothing to do: 13 units fresh ("), "{again}");
    assert!(p.starts().values().all(|&n| n == 1));
}

#[test]
fn reformatting_the_yaml_reruns_nothing() {
    let p = Project::new(SMALL);
    p.ok("run all");
    let before = p.starts();
    p.write_yaml(
        "# a comment\nstages:\n  sum: {needs: [mix], kind: probe}\n  mix:\n    matrix:\n      text: [\"a\", 'b']\n\
         \x20     value: [1.0, 2, 3e0, 1e-3]   # the same numbers\n    needs: [make]\n    kind: probe\n  make:\n    matrix: {value: [0.001, 3, 2, 1]}\n\
         \x20   with:\n      text: raw\n    kind: probe\nversion: 1\n",
    );
    let said = p.ok("run all");
    assert!(said.starts_with("nothing to do: 13 units fresh"), "{said}");
    assert_eq!(p.starts(), before);
}

#[test]
fn one_changed_value_reruns_its_units_and_what_follows() {
    let p = Project::new(SMALL);
    p.ok("run all");
    let before = p.starts();
    p.write_yaml(&SMALL.replace("[1, 2, 3, 0.001]", "[1, 2, 4, 0.001]"));
    let why = p.ok("why make/value=4.0");
    assert!(why.contains("parameter value: 3.0 -> 4.0"), "{why}");
    let plan = p.ok("run all --dry-run");
    assert!(plan.contains("make/value=4.0  parameter value: 3.0 -> 4.0\n"), "{plan}");
    assert!(plan.contains("\n3 units would run, 1 more if the bytes they read change ("), "{plan}");
    assert!(p.started_since(&before).is_empty(), "a dry run ran something");
    p.ok("run all");
    assert_eq!(p.started_since(&before), ["make/value=4.0", "mix/text=a,value=4.0", "mix/text=b,value=4.0", "sum"]);
    // Going back costs nothing: the old results are still there.
    let before = p.starts();
    p.write_yaml(SMALL);
    assert!(p.ok("run all").starts_with("nothing to do"));
    assert_eq!(p.starts(), before);
}

#[test]
fn equal_bytes_stop_the_wave() {
    let yaml = SMALL.replace("text: raw", "text: raw, constant: true");
    let p = Project::new(&yaml);
    p.ok("run all");
    let before = p.starts();
    p.write_yaml(&yaml.replace("text: raw", "text: cooked"));
    p.ok("run all");
    let ran = p.started_since(&before);
    assert_eq!(ran, ["make/value=0.001", "make/value=1.0", "make/value=2.0", "make/value=3.0"]);
}

#[test]
fn targets_pull_in_only_what_they_need() {
    let p = Project::new(SMALL);
    p.ok("run mix/text=a,value=2.0");
    assert_eq!(p.started_since(&Default::default()), ["make/value=2.0", "mix/text=a,value=2.0"]);
    let before = p.starts();
    p.ok("run m*/*text=b*");
    assert_eq!(p.started_since(&before).len(), 3 + 4);
}

#[test]
fn force_runs_the_targets_or_all_that_follows() {
    let p = Project::new(SMALL);
    p.ok("run all");
    let before = p.starts();
    p.ok("run make/value=1.0 --force");
    assert_eq!(p.started_since(&before), ["make/value=1.0"]);
    let before = p.starts();
    p.ok("run make/value=1.0 --force-downstream");
    assert_eq!(p.started_since(&before), ["make/value=1.0", "mix/text=a,value=1.0", "mix/text=b,value=1.0", "sum"]);
}

#[test]
fn set_and_profile_are_other_parameters_not_other_results() {
    let yaml = format!("{SMALL}profiles:\n  tiny:\n    stages: {{make: {{with: {{bytes: 8}}}}}}\n");
    let p = Project::new(&yaml);
    p.ok("run all");
    let before = p.starts();
    p.ok("run make --profile tiny");
    assert_eq!(p.started_since(&before).len(), 4);
    let before = p.starts();
    assert!(p.ok("run make --set make.bytes=8").starts_with("nothing to do: 4 units fresh"));
    assert!(p.ok("run all").starts_with("nothing to do"));
    assert_eq!(p.starts(), before);
}
