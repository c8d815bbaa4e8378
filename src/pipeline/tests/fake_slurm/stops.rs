//! Runs on a cluster that stop, meet or are taken over.

use crate::cases::{Case, drive, until};
use crate::cluster::{Cluster, Fate};
use crate::program::{Project, wait};
use pipeline::RunFolder;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

pub const ALL: &[(&str, Case)] = &[
    ("a_hanging_scancel_does_not_keep_the_run_from_ending", a_hanging_scancel_does_not_keep_the_run_from_ending),
    ("fail_fast_takes_queued_jobs_out", fail_fast_takes_queued_jobs_out),
    ("cancel_after_fail_fast_ends_running_tasks", cancel_after_fail_fast_ends_running_tasks),
    ("equal_keys_after_a_killed_driver_do_not_hang", equal_keys_after_a_killed_driver_do_not_hang),
    ("a_failure_while_its_twin_is_queued_does_not_hang", a_failure_while_its_twin_is_queued_does_not_hang),
    ("a_retry_does_not_wait_for_the_task_that_failed_it", a_retry_does_not_wait_for_the_task_that_failed_it),
    ("a_task_does_not_compute_what_a_local_run_computes", a_task_does_not_compute_what_a_local_run_computes),
    ("a_driver_killed_again_and_again_loses_nothing", a_driver_killed_again_and_again_loses_nothing),
    ("the_last_run_is_the_last_one_started", the_last_run_is_the_last_one_started),
];

fn a_hanging_scancel_does_not_keep_the_run_from_ending(cluster: &Cluster) {
    cluster.hang("scancel", true);
    let yaml = "{version: 1, slurm: {grace: 0.5, timeout: 1}, stages: {a: {kind: toy, with: {sleep_ms: 60000}}}}";
    let project = Project::new(yaml);
    let driver = project.start(cluster);
    until("a start", || !project.starts().is_empty());
    let start = Instant::now();
    last_run(&project).request_cancel().unwrap();
    let said = wait(driver);
    assert!(said.contains("scancel did not end all jobs") && said.contains("INTERRUPTED true"), "{said}");
    assert!(start.elapsed() < Duration::from_secs(20));
}

/// Ten tasks, one slot; the first fails.
fn fail_fast_takes_queued_jobs_out(cluster: &Cluster) {
    cluster.slots(1);
    let yaml = "
version: 1
slurm: {chunk: 0.1, spread: 100, retries: 0, grace: 0.5}
stages:
  bad: {kind: toy, with: {fail: true, sleep_ms: 300}}
  slow: {kind: toy, with: {sleep_ms: 2000}, matrix: {x: 1..9}}
";
    let project = Project::new(yaml);
    // One unit a task: with these times known, no two fit into one.
    let mut command = project.command(cluster);
    command.env("TOY_FAIL_FAST", "1");
    let said = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(said.contains("FAILED 1"), "{said}");
    // Whatever was in the task that failed, or in the one that ran beside the news, has started; the rest has not.
    let starts = project.starts().len();
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(project.starts().len(), starts, "nothing starts after the run has ended");
    assert!(starts < 10, "{starts} of 10 started: {said}");
    assert!(!cluster.queue().contains("PENDING") && !cluster.queue().contains("RUNNING"), "{}", cluster.queue());
}

fn cancel_after_fail_fast_ends_running_tasks(cluster: &Cluster) {
    let yaml = "
version: 1
slurm: {retries: 0, grace: 0.5, chunk: 0.1}
stages:
  bad: {kind: toy, with: {fail: true, sleep_ms: 1000}}
  long: {kind: toy, with: {sleep_ms: 600000}}
";
    let project = Project::new(yaml);
    let driver =
        project.command(cluster).env("TOY_FAIL_FAST", "1").stdout(std::process::Stdio::piped()).spawn().unwrap();
    until("both started", || project.starts().len() == 2);
    std::thread::sleep(Duration::from_millis(2500));
    assert!(cluster.queue().contains("RUNNING"), "the long unit is let end: {}", cluster.queue());
    last_run(&project).request_cancel().unwrap();
    let said = wait(driver);
    assert!(said.contains("FAILED 1") && said.contains("INTERRUPTED true"), "{said}");
    until("the end of the long task", || !cluster.queue().contains("RUNNING"));
}

fn last_run(project: &Project) -> RunFolder {
    RunFolder::all(&project.path(".pipeline")).pop().unwrap()
}

const TWINS: &str = "
version: 1
slurm: {grace: 0.5}
stages:
  one: {kind: toy, with: {x: 7, sleep_ms: 200}}
  two: {kind: toy, with: {x: 7, sleep_ms: 200}}
  sum: {kind: toy, needs: [one, two]}
";

fn equal_keys_after_a_killed_driver_do_not_hang(cluster: &Cluster) {
    cluster.policy(|_| Fate::Wait);
    let project = Project::new(TWINS);
    let mut driver = project.start(cluster);
    until("a queued task", || cluster.queue().contains("PENDING"));
    driver.kill().unwrap();
    driver.wait().unwrap();
    let second = project.start(cluster);
    std::thread::sleep(Duration::from_millis(500));
    cluster.policy(|_| Fate::Run);
    let start = Instant::now();
    let said = wait(second);
    assert!(said.contains("RAN 2 FRESH 0 FAILED 0") && said.contains("SPARED 1"), "{said}");
    assert!(start.elapsed() < Duration::from_secs(60));
    assert_eq!(project.starts().values().sum::<usize>(), 2, "{:?}", project.starts());
}

fn a_failure_while_its_twin_is_queued_does_not_hang(cluster: &Cluster) {
    cluster.slots(1);
    let yaml =
        TWINS.replace("sleep_ms: 200}", "sleep_ms: 200, fail: true}").replace("grace: 0.5", "grace: 4, retries: 0");
    let project = Project::new(&yaml);
    let said = drive(&project, cluster);
    assert!(said.contains("RAN 0 FRESH 0 FAILED 2 BLOCKED 1"), "{said}");
    assert_eq!(project.starts().values().sum::<usize>(), 1, "the failure of one is the failure of both");
}

/// One task has a unit that fails at first and then a long one.
fn a_retry_does_not_wait_for_the_task_that_failed_it(cluster: &Cluster) {
    let yaml = "
version: 1
slurm: {grace: 0.5, chunk: 60, spread: 1}
stages:
  a: {kind: toy, with: {fail_first: 1}, matrix: {sleep_ms: [10, 6000]}}
";
    let project = Project::new(yaml);
    let started = Instant::now();
    let driver = project.start(cluster);
    until("the second start of the short unit", || project.starts().get("a/sleep_ms=10").is_some_and(|&n| n > 1));
    let waited = started.elapsed();
    let said = wait(driver);
    assert!(said.contains("RAN 2 FRESH 0 FAILED 0"), "{said}");
    assert!(!said.contains("waiting:"), "{said}");
    assert!(waited < Duration::from_secs(6), "the retry came after {waited:?}");
}

/// The driver dies, a local run takes the unit, and then the queued task of the dead driver starts.
fn a_task_does_not_compute_what_a_local_run_computes(cluster: &Cluster) {
    cluster.policy(|_| Fate::Wait);
    let project = Project::new("{version: 1, slurm: {grace: 0.5}, stages: {a: {kind: toy, with: {sleep_ms: 2500}}}}");
    let mut driver = project.start(cluster);
    until("a queued task", || cluster.queue().contains("PENDING"));
    driver.kill().unwrap();
    driver.wait().unwrap();
    std::thread::scope(|scope| {
        let local = scope.spawn(|| project.local(1));
        until("the local run", || project.starts().len() == 1);
        cluster.policy(|_| Fate::Run);
        assert_eq!(local.join().unwrap().ran.len(), 1);
    });
    until("the end of the task", || cluster.queue().contains("COMPLETED"));
    assert_eq!(project.starts()["a"], 1);
}

fn a_driver_killed_again_and_again_loses_nothing(cluster: &Cluster) {
    let yaml = "
version: 1
slurm: {grace: 1, chunk: 1, spread: 6}
stages:
  sweep: {kind: toy, with: {sleep_ms: 20}, matrix: {x: 1..60}}
  twin: {kind: toy, with: {sleep_ms: 20}, matrix: {x: 1..60}}
  sum: {kind: toy, needs: [sweep, twin]}
";
    let here = Project::new(yaml);
    here.local(2);
    let there = Project::new(yaml);
    let kills = AtomicUsize::new(0);
    for round in 0..12u64 {
        let mut driver = there.start(cluster);
        std::thread::sleep(Duration::from_millis(100 + round * 97 % 700));
        kills.fetch_add(usize::from(driver.try_wait().unwrap().is_none()), Ordering::Relaxed);
        driver.kill().unwrap();
        driver.wait().unwrap();
    }
    let said = drive(&there, cluster);
    assert!(said.contains("FAILED 0 BLOCKED 0"), "{said}");
    assert_eq!(here.lock(), there.lock());
    assert!(there.starts().values().all(|&n| n == 1), "no unit was computed twice: {:?}", there.starts());
    assert!(kills.into_inner() > 0);
}

/// The clock goes back by a century between two runs.
fn the_last_run_is_the_last_one_started(cluster: &Cluster) {
    let project =
        Project::new("{version: 1, slurm: {grace: 0.5}, stages: {a: {kind: toy}, b: {kind: toy, with: {x: 1}}}}");
    drive(&project, cluster);
    let runs = project.path(".pipeline/runs");
    let first = std::fs::read_dir(&runs).unwrap().flatten().next().unwrap().path();
    std::fs::rename(&first, runs.join("fffffffff")).unwrap();
    std::fs::remove_dir_all(project.path(".pipeline/objects")).unwrap();
    drive(&project, cluster);
    let ids: Vec<String> = RunFolder::all(&project.path(".pipeline")).into_iter().map(|r| r.id).collect();
    assert_eq!(ids, ["fffffffff", "1000000000"]);
}
