//! What goes wrong on clusters, done on purpose.

use crate::cluster::Cluster;
use crate::program::{Project, wait};
use std::time::{Duration, Instant};

fn until(what: &str, seconds: u64, mut ready: impl FnMut() -> bool) {
    let start = Instant::now();
    while !ready() {
        assert!(start.elapsed() < Duration::from_secs(seconds), "{what} did not happen within {seconds} s");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// During a sweep of 2,000 units: a node dies with all its processes, the driver is killed and started again, one unit
/// fails twice, one always.
pub fn killed_node_killed_driver_and_failing_units(cluster: &Cluster) {
    let project = Project::new(
        "
version: 1
slurm: {chunk: 20, spread: 12, grace: 2, retries: 2}
stages:
  sweep: {kind: toy, with: {sleep_ms: 20}, matrix: {x: 1..2000}}
  twice: {kind: toy, with: {fail_first: 2}}
  always: {kind: toy, with: {fail: true}}
  below: {kind: toy, needs: [always]}
",
    );
    let mut driver = project.start(cluster);
    until("work", 120, || project.starts().len() > 200);
    cluster.kill_node(1);
    until("more work", 120, || project.starts().len() > 500);
    driver.kill().unwrap();
    driver.wait().unwrap();
    // Whatever had a record when the driver died must not start again.
    // (In this order: tasks go on meanwhile, and what has a record by now has started by then.)
    let recorded = project.fresh();
    let before = project.starts();
    let second = project.start(cluster);
    std::thread::sleep(Duration::from_secs(2));
    cluster.start_node(1).unwrap();
    let said = wait(second);
    assert!(said.contains("taking over run"), "{said}");
    assert!(said.contains("RAN ") && said.contains("FAILED 1 BLOCKED 1"), "{said}");
    assert!(said.contains("failed always after 3: told to fail"), "the failing unit is named: {said}");
    let after = project.starts();
    for id in &recorded {
        assert_eq!(before.get(id), after.get(id), "{id} had a record and ran again");
    }
    assert_eq!(project.fresh().len(), 2001, "all but the failing unit and the one below it are done");
    let twice: Vec<_> = after.iter().filter(|(id, n)| id.starts_with("sweep") && **n > 1).collect();
    assert!(twice.len() <= 20, "more units ran twice than can have been in flight: {twice:?}");
    println!(
        "  {} units recorded before the second driver, {} units in flight were run again",
        recorded.len(),
        twice.len()
    );
    until("the node's return", 60, || cluster.slurm("sinfo", &["-h", "-N", "-o", "%T"]).lines().all(|l| l == "idle"));
}

pub fn cancelled_from_outside(cluster: &Cluster) {
    let project = Project::new(
        "
version: 1
slurm: {chunk: 30, spread: 6, grace: 1}
stages:
  slow: {kind: toy, with: {sleep_ms: 50}, matrix: {x: 1..400}}
",
    );
    let driver = project.start(cluster);
    until("work", 60, || project.starts().len() > 20);
    let user = String::from_utf8(std::process::Command::new("id").arg("-un").output().unwrap().stdout).unwrap();
    cluster.slurm("scancel", &["-u", user.trim()]);
    let said = wait(driver);
    assert!(said.contains("ERROR") && said.contains("cancelled from outside") && said.contains("resumes"), "{said}");
    let recorded = project.fresh();
    let before = project.starts();
    let said = project.drive(cluster);
    assert!(said.contains("FAILED 0 BLOCKED 0"), "{said}");
    assert_eq!(project.fresh().len(), 400);
    assert!(recorded.iter().all(|id| before.get(id) == project.starts().get(id)), "a recorded unit ran again");
    println!("  {} units were recorded when everything was cancelled", recorded.len());
}

pub fn another_program_is_refused(cluster: &Cluster) {
    let yaml = "
version: 1
slurm: {setup: ['export TOY_VERSION=\"toy 2\"']}
stages:
  a: {kind: toy}
";
    let said = Project::new(yaml).drive(cluster);
    assert!(said.contains("this is toy 2, the run was started by toy 1"), "{said}");
}

/// On one node nothing can be written, as on a mount gone read-only: work goes on elsewhere. With that everywhere: a
/// sentence, and the state is resumable.
pub fn a_store_that_cannot_be_written(cluster: &Cluster) {
    // A mount namespace of its own in which the project is read-only.
    let probe = std::process::Command::new("unshare").args(["-m", "true"]).status();
    if !probe.is_ok_and(|s| s.success()) {
        println!("  skipped: mounts need a privilege that this machine does not give");
        return;
    }
    let yaml = |condition: &str| {
        format!(
            "
version: 1
slurm:
  grace: 1
  setup:
    - 'if {condition} && [ -z \"$INSIDE\" ]; then export INSIDE=1; exec unshare -m sh -c ''mount --bind \"$1\" \"$1\" && mount -o remount,ro,bind \"$1\" && exec bash \"$2\"'' - \"$PROJECT\" \"$0\"; fi'
stages:
  a: {{kind: toy, with: {{sleep_ms: 300}}, matrix: {{x: 1..60}}}}
"
        )
    };
    let run = |project: &Project| {
        let out = project.command(cluster).env("PROJECT", project.folder.path()).output().unwrap();
        String::from_utf8_lossy(&out.stdout).into_owned()
    };
    let project = Project::new(&yaml("[ \"$SLURMD_NODENAME\" = n2 ]"));
    let said = run(&project);
    assert!(said.contains("RAN 60 FRESH 0 FAILED 0"), "{said}");
    assert!(said.contains("avoiding that node"), "{said}");
    let project = Project::new(&yaml("true"));
    let said = run(&project);
    assert!(said.contains("ERROR") && said.contains("write the store") && said.contains("read-only"), "{said}");
    std::fs::write(project.path("pipeline.yaml"), yaml("false")).unwrap();
    assert!(run(&project).contains("RAN 60 FRESH 0 FAILED 0"));
}

/// The disk fills up while tasks work: a sentence; with space again, the same command finishes.
pub fn a_full_disk(cluster: &Cluster) {
    let yaml = "
version: 1
slurm: {grace: 1, spread: 6}
stages:
  a: {kind: toy, with: {sleep_ms: 50}, matrix: {x: 1..300}}
";
    let project = Project::new(yaml);
    let folder = project.folder.path().to_path_buf();
    let mount =
        std::process::Command::new("mount").args(["-t", "tmpfs", "-o", "size=8m", "tmpfs"]).arg(&folder).output();
    if !mount.is_ok_and(|m| m.status.success()) {
        println!("  skipped: mounts need a privilege that this machine does not give");
        return;
    }
    struct Unmount(std::path::PathBuf);
    impl Drop for Unmount {
        fn drop(&mut self) {
            let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
        }
    }
    let _unmount = Unmount(folder);
    std::fs::write(project.path("pipeline.yaml"), yaml).unwrap();
    let driver = project.start(cluster);
    until("work", 60, || project.starts().len() > 20);
    let filler = project.path("filler");
    // Ends with an error when nothing fits any more.
    let _ = std::fs::write(&filler, vec![0u8; 16 << 20]);
    let said = wait(driver);
    assert!(said.contains("ERROR") && said.contains("the disk is full"), "{said}");
    std::fs::remove_file(&filler).unwrap();
    let (recorded, before) = (project.fresh(), project.starts());
    let said = project.drive(cluster);
    assert!(said.contains("FAILED 0 BLOCKED 0"), "{said}");
    assert_eq!(project.fresh().len(), 300);
    assert!(recorded.iter().all(|id| before.get(id) == project.starts().get(id)), "a recorded unit ran again");
    println!("  {} units were recorded when the disk was full", recorded.len());
}

/// Nodes an hour apart (libfaketime where it is installed).
pub fn clocks_that_disagree(cluster: &Cluster) {
    let library =
        ["/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1", "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1"];
    let Some(library) = library.iter().find(|l| std::path::Path::new(l).exists()) else {
        println!("  skipped: libfaketime is not installed");
        return;
    };
    let yaml = format!(
        "
version: 1
slurm:
  setup:
    - export LD_PRELOAD={library}
    - 'case $SLURMD_NODENAME in n1) export FAKETIME=-1h;; n2) export FAKETIME=+1h;; *) unset LD_PRELOAD;; esac'
stages:
  a: {{kind: toy, with: {{sleep_ms: 50}}, matrix: {{x: 1..60}}}}
  b: {{kind: toy, needs: [a]}}
"
    );
    let (here, there) = (Project::new(&yaml), Project::new(&yaml));
    here.local(2);
    let said = there.drive(cluster);
    assert!(said.contains("RAN 61 FRESH 0 FAILED 0"), "{said}");
    assert_eq!(here.lock(), there.lock());
    assert!(there.drive(cluster).contains("RAN 0 FRESH 61"));
}
