//! What goes wrong on clusters, each case on a cluster of its own.

use crate::cluster::{Cluster, Fate};
use crate::program::{Project, wait};
use pipeline::RunFolder;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub type Case = fn(&Cluster);

pub const ALL: &[(&str, Case)] = &[
    ("the_same_lock_as_on_one_machine", the_same_lock_as_on_one_machine),
    ("out_of_memory_is_tried_with_twice_as_much", out_of_memory_is_tried_with_twice_as_much),
    ("out_of_time_is_tried_with_twice_as_much", out_of_time_is_tried_with_twice_as_much),
    ("a_forgotten_job_is_submitted_again", a_forgotten_job_is_submitted_again),
    ("completed_tasks_that_never_ran_are_submitted_again", completed_tasks_that_never_ran_are_submitted_again),
    ("tasks_that_never_work_stop_the_run_with_a_sentence", tasks_that_never_work_stop_the_run_with_a_sentence),
    ("a_preempted_unit_is_not_blamed", a_preempted_unit_is_not_blamed),
    ("a_result_that_differs_is_reported", a_result_that_differs_is_reported),
    ("a_hanging_squeue_does_not_block_the_driver", a_hanging_squeue_does_not_block_the_driver),
    ("a_hanging_sbatch_is_given_up", a_hanging_sbatch_is_given_up),
    ("a_hanging_scancel_does_not_keep_the_run_from_ending", a_hanging_scancel_does_not_keep_the_run_from_ending),
    ("a_controller_that_is_away_is_waited_for", a_controller_that_is_away_is_waited_for),
    ("fail_fast_takes_queued_jobs_out", fail_fast_takes_queued_jobs_out),
    ("cancel_after_fail_fast_ends_running_tasks", cancel_after_fail_fast_ends_running_tasks),
    ("equal_keys_after_a_killed_driver_do_not_hang", equal_keys_after_a_killed_driver_do_not_hang),
    ("a_failure_while_its_twin_is_queued_does_not_hang", a_failure_while_its_twin_is_queued_does_not_hang),
    ("a_retry_does_not_wait_for_the_task_that_failed_it", a_retry_does_not_wait_for_the_task_that_failed_it),
    ("a_task_does_not_compute_what_a_local_run_computes", a_task_does_not_compute_what_a_local_run_computes),
    ("a_driver_killed_again_and_again_loses_nothing", a_driver_killed_again_and_again_loses_nothing),
    ("the_last_run_is_the_last_one_started", the_last_run_is_the_last_one_started),
];

fn until(what: &str, mut ready: impl FnMut() -> bool) {
    let start = Instant::now();
    while !ready() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what} did not happen within a minute");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A driver that must end within a minute or two; all it said.
fn drive(project: &Project, cluster: &Cluster) -> String {
    let mut child = project.start(cluster);
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(120) {
            child.kill().unwrap();
            panic!("the driver hangs: {}", wait(child));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    wait(child)
}

fn the_same_lock_as_on_one_machine(cluster: &Cluster) {
    let yaml = "
version: 1
slurm: {chunk: 1, spread: 4, grace: 2}
stages:
  sweep: {kind: toy, matrix: {x: 1..40}}
  sum: {kind: toy, needs: [sweep]}
";
    let (here, there) = (Project::new(yaml), Project::new(yaml));
    here.local(2);
    let said = drive(&there, cluster);
    assert!(said.contains("RAN 41 FRESH 0 FAILED 0"), "{said}");
    assert_eq!(here.lock(), there.lock());
    assert!(there.starts().values().all(|&n| n == 1));
    assert!(drive(&there, cluster).contains("RAN 0 FRESH 41"));
}

/// Tasks are killed until they ask for enough; what they asked for.
fn boosted(
    cluster: &Cluster,
    yaml: &str,
    argument: &'static str,
    enough: &'static str,
    state: &'static str,
) -> Vec<String> {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = asked.clone();
    cluster.policy(move |task| {
        let wants = task.argument(argument).unwrap_or("none").to_string();
        seen.lock().unwrap().push(wants.clone());
        if wants == enough { Fate::Run } else { Fate::Kill(Duration::from_millis(2000), state) }
    });
    let said = drive(&Project::new(yaml), cluster);
    assert!(said.contains("RAN 1 FRESH 0 FAILED 0"), "{said}");
    let asked = asked.lock().unwrap().clone();
    asked
}

fn out_of_memory_is_tried_with_twice_as_much(cluster: &Cluster) {
    let yaml = "
version: 1
slurm: {grace: 0.3, max_memory: 1GB}
stages:
  a: {kind: toy, with: {sleep_ms: 4000}, resources: {memory: 100MB}}
";
    assert_eq!(boosted(cluster, yaml, "mem", "400M", "OUT_OF_MEMORY"), ["100M", "200M", "400M"]);
}

fn out_of_time_is_tried_with_twice_as_much(cluster: &Cluster) {
    let yaml = "
version: 1
slurm: {grace: 0.3, minutes: 2, max_minutes: 60}
stages:
  a: {kind: toy, with: {sleep_ms: 4000}}
";
    assert_eq!(boosted(cluster, yaml, "time", "8", "TIMEOUT"), ["2", "4", "8"]);
}

fn a_forgotten_job_is_submitted_again(cluster: &Cluster) {
    cluster.policy(|task| if task.name.ends_with("-0") { Fate::Forget } else { Fate::Run });
    let said = drive(&Project::new("{version: 1, slurm: {grace: 0.3}, stages: {a: {kind: toy}}}"), cluster);
    assert!(said.contains("RAN 1 FRESH 0 FAILED 0") && said.contains("unknown to Slurm"), "{said}");
}

fn completed_tasks_that_never_ran_are_submitted_again(cluster: &Cluster) {
    cluster.policy(|task| if task.name.ends_with("-0") { Fate::Never("COMPLETED") } else { Fate::Run });
    let said = drive(&Project::new("{version: 1, slurm: {grace: 0.3}, stages: {a: {kind: toy}}}"), cluster);
    assert!(said.contains("RAN 1 FRESH 0 FAILED 0") && said.contains("avoiding that node"), "{said}");
}

fn tasks_that_never_work_stop_the_run_with_a_sentence(cluster: &Cluster) {
    cluster.policy(|_| Fate::Never("FAILED"));
    let said = drive(&Project::new("{version: 1, slurm: {grace: 0.3}, stages: {a: {kind: toy}}}"), cluster);
    assert!(said.contains("ERROR tasks end without having worked"), "{said}");
}

fn a_preempted_unit_is_not_blamed(cluster: &Cluster) {
    cluster.policy(|task| match task.started {
        0 => Fate::Kill(Duration::from_millis(2000), "PREEMPTED"),
        _ => Fate::Run,
    });
    // Without retries: a unit that was blamed would have failed.
    let yaml = "{version: 1, slurm: {grace: 0.3, retries: 0}, stages: {a: {kind: toy, with: {sleep_ms: 4000}}}}";
    let project = Project::new(yaml);
    let said = drive(&project, cluster);
    assert!(said.contains("RAN 1 FRESH 0 FAILED 0"), "{said}");
    assert_eq!(project.starts()["a"], 2);
}

fn a_result_that_differs_is_reported(cluster: &Cluster) {
    let yaml = "{version: 1, slurm: {grace: 0.3}, stages: {a: {kind: toy, with: {random: true}}}}";
    let project = Project::new(yaml);
    assert!(drive(&project, cluster).contains("RAN 1"));
    for shard in std::fs::read_dir(project.path(".pipeline/objects")).unwrap().flatten() {
        std::fs::remove_dir_all(shard.path()).unwrap();
    }
    let said = drive(&project, cluster);
    assert!(said.contains("RAN 1") && said.contains("`a` is not deterministic"), "{said}");
}

fn a_hanging_squeue_does_not_block_the_driver(cluster: &Cluster) {
    cluster.hang("squeue", true);
    let yaml = "
version: 1
slurm: {grace: 1, timeout: 300}
stages:
  a: {kind: toy, with: {sleep_ms: 2500}, matrix: {x: 1..4}}
  b: {kind: toy, needs: [a]}
";
    let start = Instant::now();
    let said = drive(&Project::new(yaml), cluster);
    assert!(said.contains("RAN 5 FRESH 0 FAILED 0"), "{said}");
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

fn a_hanging_sbatch_is_given_up(cluster: &Cluster) {
    cluster.hang("sbatch", true);
    let project = Project::new("{version: 1, slurm: {grace: 0.5, timeout: 1}, stages: {a: {kind: toy}}}");
    let driver = project.start(cluster);
    until("a call of sbatch", || cluster.was_hit("sbatch"));
    cluster.hang("sbatch", false);
    let said = wait(driver);
    assert!(said.contains("sbatch does not answer") && said.contains("RAN 1 FRESH 0 FAILED 0"), "{said}");
    assert_eq!(project.starts()["a"], 1);
}

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

fn a_controller_that_is_away_is_waited_for(cluster: &Cluster) {
    cluster.refuse("sbatch", true);
    let project = Project::new("{version: 1, slurm: {grace: 0.5}, stages: {a: {kind: toy}}}");
    let driver = project.start(cluster);
    until("a call of sbatch", || cluster.was_hit("sbatch"));
    cluster.refuse("sbatch", false);
    let said = wait(driver);
    assert!(said.contains("trying again") && said.contains("RAN 1 FRESH 0 FAILED 0"), "{said}");
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
        TWINS.replace("sleep_ms: 200}", "sleep_ms: 200, fail: true}").replace("grace: 0.5", "grace: 0.5, retries: 0");
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
