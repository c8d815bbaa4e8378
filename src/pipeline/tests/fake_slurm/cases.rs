//! What goes wrong on clusters, each case on a cluster of its own.

use crate::cluster::{Cluster, Fate};
use crate::program::{Project, wait};
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
    ("a_controller_that_is_away_is_waited_for", a_controller_that_is_away_is_waited_for),
];

pub fn until(what: &str, mut ready: impl FnMut() -> bool) {
    let start = Instant::now();
    while !ready() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what} did not happen within a minute");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A driver that must end within a minute or two; all it said.
pub fn drive(project: &Project, cluster: &Cluster) -> String {
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
    asked.lock().unwrap().clone()
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

fn a_controller_that_is_away_is_waited_for(cluster: &Cluster) {
    cluster.refuse("sbatch", true);
    let project = Project::new("{version: 1, slurm: {grace: 0.5}, stages: {a: {kind: toy}}}");
    let driver = project.start(cluster);
    until("a call of sbatch", || cluster.was_hit("sbatch"));
    cluster.refuse("sbatch", false);
    let said = wait(driver);
    assert!(said.contains("trying again") && said.contains("RAN 1 FRESH 0 FAILED 0"), "{said}");
}
