//! Each command does what its help says, with the exit code it promises.

mod common;
use common::{Finished, Project, SMALL};
use serde_json::Value;
use std::time::Duration;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

#[test]
fn status_counts_and_gives_the_first_reason() {
    let p = Project::new(SMALL);
    p.ok("run make");
    let table = p.ok("status");
    let make = table.lines().find(|l| l.starts_with("make")).unwrap();
    assert_eq!(make.split_whitespace().collect::<Vec<_>>()[1..4], ["4", "0", "0"], "{table}");
    assert!(table.contains("never ran") && table.contains("9 of 13 units stale"), "{table}");
    let all = json(&p.ok("status --json"));
    assert_eq!(all[0]["stage"], "make");
    assert_eq!(all[0]["fresh"], 4);
    assert_eq!(all[2]["stale"], 1);
}

#[test]
fn path_prints_files_that_exist() {
    let p = Project::new(SMALL);
    p.ok("run all");
    let out = p.ok("path mix/text=a,value=2.0 out.bin");
    let file = p.path().join(out.trim());
    assert_eq!(std::fs::read(file).unwrap().len(), 64);
    assert_eq!(p.ok("path mix").lines().count(), 8);
    let one = json(&p.ok("path sum --json"));
    assert_eq!((one[0]["unit"].as_str(), one[0]["size"].as_u64()), (Some("sum"), Some(64)));
    let said = p.repro("path sum nothing.npy");
    assert_eq!(said.code, 2);
    assert!(said.err.contains("`sum` has no artefact `nothing.npy`; it has: out.bin"), "{}", said.err);
}

#[test]
fn a_failure_stops_only_what_needs_it_and_is_explained() {
    let p = Project::new(
        "version: 1\nstages:\n  bad: {kind: probe, with: {fail: the sky fell, value: 7}}\n  after: {kind: probe, needs: [bad]}\n  good: {kind: probe, matrix: {value: 1..5}}\n",
    );
    let said = p.repro("run all");
    assert_eq!(said.code, 1);
    assert!(said.out.starts_with("not complete: 5 units run, 0 fresh, 1 failed, 1 blocked"), "{}", said.out);
    assert!(said.err.contains("failed: `bad`: the sky fell") && said.err.contains("\"value\":7"), "{}", said.err);
    assert!(p.ok("log bad").contains("error: the sky fell"));
    assert!(p.ok("status").contains("1 unit failed"));
    assert!(p.ok("why bad").contains("failed last time: the sky fell"));
}

/// The folder that stands in the way of a figure costs that figure: the failure beside it is still told, and the lock file is written.
#[test]
fn a_figure_that_cannot_be_copied_hides_no_failure() {
    let p = Project::new(
        "version: 1\nstages:\n  fig: {kind: probe, publish: figures}\n  bad: {kind: probe, with: {fail: the sky fell}}\n",
    );
    std::fs::create_dir_all(p.path().join("figures/out.bin/full")).unwrap();
    let done = p.repro("run all");
    assert_eq!(done.code, 1, "{}", done.err);
    for part in ["failed: `bad`: the sky fell", "not written: figures/out.bin", "its result is in the store"] {
        assert!(done.err.contains(part), "{part}: {}", done.err);
    }
    assert!(done.out.contains("1 unit run, 0 fresh, 1 failed"), "{}", done.out);
    assert!(p.lock().contains("\"fig\""), "{}", p.lock());
}

#[test]
fn retries_are_counted_and_used() {
    let yaml = "version: 1\nstages:\n  moody: {kind: probe, with: {fail_first: 2}, retries: 2}\n";
    let p = Project::new(yaml);
    p.ok("run all");
    assert_eq!(p.starts()["moody"], 3);
    let q = Project::new(&yaml.replace("retries: 2", "retries: 1"));
    let said = q.repro("run all");
    assert_eq!(said.code, 1);
    assert!(said.err.contains("`moody` after 2 attempts"), "{}", said.err);
}

#[test]
fn verify_without_results_does_not_say_verified() {
    let said = Project::new(SMALL).ok("verify");
    assert!(said.starts_with("nothing to verify: no unit has a current result"), "{said}");
}

#[test]
fn verify_runs_units_again_and_compares() {
    let p = Project::new(SMALL);
    p.ok("run all");
    let before = p.starts();
    let said = p.ok("verify --rerun 3");
    assert!(said.contains("verified: 13 units, 13 artefacts") && said.contains("3 units executed again"), "{said}");
    assert_eq!(p.started_since(&before).len(), 3);
    let found = json(&p.ok("verify --json"));
    assert_eq!((found["units"].as_u64(), found["problems"].as_array().map(Vec::len)), (Some(13), Some(0)));
}

#[test]
fn gc_keeps_what_is_current() {
    let p = Project::new(SMALL);
    p.ok("run all");
    p.write_yaml(&SMALL.replace("text: raw", "text: other"));
    p.ok("run all");
    // A run of today refers to them.
    assert!(p.ok("gc --yes").starts_with("nothing to remove: 26 objects"));
    let would = p.ok("gc --dry-run --older-than 0s");
    assert!(would.contains("would remove 13 objects"), "{would}");
    for line in ["make         4", "mix          8", "sum          1"] {
        assert!(would.contains(line) && would.contains("other parameters, inputs or code now"), "{would}");
    }
    let nobody = p.repro("gc --older-than 0s");
    assert!(nobody.code == 2 && nobody.err.contains("add --yes"), "{}", nobody.err);
    assert_eq!(p.stored("objects").len(), 26);
    assert!(p.ok("gc --yes --older-than 0s").contains("removed 13 objects"));
    assert_eq!(p.stored("objects").len(), 13);
    assert!(p.ok("run all").starts_with("nothing to do: 13 units fresh"));
}

#[test]
fn figures_render_from_cached_results_only() {
    let p = Project::new(
        "version: 1\nstages:\n  work: {kind: probe, matrix: {value: 1..3}}\n  fig1: {kind: probe, needs: [work], publish: figures}\n",
    );
    let said = p.repro("figures");
    assert_eq!(said.code, 1);
    assert!(said.err.contains("not up to date") && said.err.contains("repro run fig1"), "{}", said.err);
    p.ok("run work");
    p.ok("figures fig1");
    assert_eq!(p.starts().len(), 4);
    assert_eq!(std::fs::read_dir(p.path().join("figures")).unwrap().count(), 1);
    assert!(p.repro("figures fig9").err.contains("no figure `fig9`; there are: fig1"));
}

#[test]
fn dag_speaks_four_languages() {
    let p = Project::new(SMALL);
    assert!(p.ok("dag").contains("mix    probe      8  text x value  make"), "{}", p.ok("dag"));
    assert!(p.ok("dag --format mermaid").contains("s0 --> s1"));
    assert!(p.ok("dag --format dot").contains("\"mix\" -> \"sum\";"));
    let svg = p.ok("dag --format svg");
    assert!(svg.starts_with("<svg") && svg.contains("mix (8 units of probe)") && svg.ends_with("</svg>\n"));
}

#[test]
fn doctor_reports_and_exits_zero_on_a_sound_machine() {
    let p = Project::new(SMALL);
    let checks = json(&p.ok("doctor --offline --json"));
    let names: Vec<&str> = checks.as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    for name in ["program", "cores", "memory", "project", "store", "disk", "cuda", "data folder", "fonts"] {
        assert!(names.contains(&name), "{names:?}");
    }
    p.write_yaml("version: 1\nstages: {a: {kind: nonsense}}\n");
    assert_eq!(p.repro("doctor --offline").code, 1);
}

#[test]
fn completions_name_every_command() {
    let p = Project::new(SMALL);
    for shell in ["bash", "zsh", "fish"] {
        let script = p.ok(&format!("completions {shell}"));
        assert!(script.contains("verify") && script.contains("force-downstream"), "{shell}");
    }
}

#[test]
fn targets_are_listed_for_the_shell() {
    let p = Project::new(SMALL);
    assert_eq!(p.ok("list-targets m"), "make\nmix\n");
    assert_eq!(p.ok("list-targets mix/text=a,value=1"), "mix/text=a,value=1.0\n");
    let elsewhere = tempfile::tempdir().unwrap();
    let said: Finished = p.command("list-targets").current_dir(elsewhere.path()).output().unwrap().into();
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (0, "", ""), "silent without a project");
}

#[test]
fn the_end_of_a_run_is_told() {
    let p = Project::new(SMALL);
    let mut run = p.command("run all --json --notify");
    run.arg("echo \"$REPRO_CODE $REPRO_SUMMARY\" > told");
    let said: Finished = run.output().unwrap().into();
    let summary: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((said.code, said.out.lines().count(), summary["ran"].as_array().unwrap().len()), (0, 1, 13));
    let told = std::fs::read_to_string(p.path().join("told")).unwrap();
    assert_eq!(told, "0 done: 13 units run, 0 fresh\n");
}

#[test]
fn the_project_is_found_from_below_and_by_name() {
    let p = Project::new(SMALL);
    let below = p.path().join("a/b");
    std::fs::create_dir_all(&below).unwrap();
    assert!(p.command("dag").current_dir(&below).output().unwrap().status.success());
    let elsewhere = tempfile::tempdir().unwrap();
    let said: Finished = p.command("dag").current_dir(elsewhere.path()).output().unwrap().into();
    assert_eq!(said.code, 2);
    assert!(said.err.contains("no pipeline.yaml in"), "{}", said.err);
    assert!(p.command("dag -C").arg(p.path()).current_dir(elsewhere.path()).output().unwrap().status.success());
}

#[test]
fn the_engine_measures_itself() {
    let p = Project::new(SMALL);
    let said = p.ok("bench engine --units 200");
    assert!(said.contains("200 trivial units") && said.contains("cold ") && said.contains("no-op "), "{said}");
}

const SLOW: &str = "version: 1\nstages:\n  slow: {kind: probe, with: {sleep_ms: 300}, matrix: {value: 1..20}}\n";

#[test]
fn ctrl_c_stops_cleanly_and_says_how_to_resume() {
    let p = Project::new(SLOW);
    let run = p.start("run all --jobs 2");
    while p.fresh().len() < 2 {
        std::thread::sleep(Duration::from_millis(20));
    }
    signal(&run, rustix::process::Signal::INT);
    let said: Finished = run.wait_with_output().unwrap().into();
    assert_eq!(said.code, 130, "{}{}", said.out, said.err);
    assert!(said.out.starts_with("interrupted:"), "{}", said.out);
    assert!(said.err.contains("finished units are kept; resume with `repro run all`"), "{}", said.err);
    let finished = p.fresh();
    let before = p.starts();
    p.ok("run slow/value=1.0 --jobs 2");
    assert!(p.started_since(&before).iter().all(|id| !finished.contains(id)));
}

#[test]
fn a_second_ctrl_c_leaves_at_once() {
    // A unit that allocates does not look at the stop flag meanwhile; sleeping ones do, so both signals come together.
    let p = Project::new(SLOW);
    let run = p.start("run all --jobs 2");
    while p.starts().is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    signal(&run, rustix::process::Signal::INT);
    signal(&run, rustix::process::Signal::INT);
    let said: Finished = run.wait_with_output().unwrap().into();
    assert_eq!(said.code, 130);
}

fn signal(child: &std::process::Child, signal: rustix::process::Signal) {
    rustix::process::kill_process(rustix::process::Pid::from_child(child), signal).unwrap();
}
