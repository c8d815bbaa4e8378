//! The ordinary case: the same results as on one machine, nothing twice, at little cost.

use crate::cluster::Cluster;
use crate::program::Project;
use std::time::Instant;

/// Two thousand units, a second stage that reads each of some, one unit that reads them all.
pub const SWEEP: &str = "
version: 1
slurm: {chunk: 20, spread: 6, max_array: 90}
stages:
  sweep: {kind: toy, with: {sleep_ms: 10}, matrix: {x: 1..2000}}
  some: {kind: toy, needs: [sweep], matrix: {x: 1..40}}
  sum: {kind: toy, needs: [sweep, some]}
";

pub fn same_lock_as_local_and_nothing_twice(cluster: &Cluster) {
    let (here, there) = (Project::new(SWEEP), Project::new(SWEEP));
    assert_eq!(here.local(2).ran.len(), 2041);
    let said = there.drive(cluster);
    assert!(said.contains("RAN 2041 FRESH 0 FAILED 0"), "{said}");
    assert_eq!(here.lock(), there.lock());
    let starts = there.starts();
    assert!(starts.len() == 2041 && starts.values().all(|&n| n == 1), "some unit ran twice");
    let jobs = cluster.jobs();
    let again = there.drive(cluster);
    assert!(again.contains("RAN 0 FRESH 2041"), "{again}");
    assert_eq!(cluster.jobs(), jobs, "the second run submitted something");
    println!("  2041 units in {} job arrays", said.matches("submitted").count());
}

pub fn submission_costs_little(cluster: &Cluster) {
    let yaml = SWEEP
        .replace("  some: {kind: toy, needs: [sweep], matrix: {x: 1..40}}\n", "")
        .replace("[sweep, some]", "[sweep]");
    let (here, there) = (Project::new(&yaml), Project::new(&yaml));
    let start = Instant::now();
    // Six units at once here as there: three nodes of two processors.
    here.local(6);
    let local = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let said = there.drive(cluster);
    let slurm = start.elapsed().as_secs_f64();
    assert!(said.contains("RAN 2001"), "{said}");
    println!("  2000 units of 10 ms: local {local:.1} s, slurm {slurm:.1} s, ratio {:.2}", slurm / local);
}

/// Names that a shell would act upon reach no shell.
pub fn odd_names_are_quoted(cluster: &Cluster) {
    let yaml = r#"
version: 1
stages:
  "it's $(touch BAD) `touch BAD` \"; touch BAD; #":
    kind: toy
    matrix: {text: ["$(touch BAD)", "a b", "'; touch BAD; '"]}
"#;
    let project = Project::named("it's a $(touch BAD) 100%A project", yaml);
    let said = project.drive(cluster);
    assert!(said.contains("RAN 3 FRESH 0 FAILED 0"), "{said}");
    let here = std::env::current_dir().unwrap();
    for folder in [here.as_path(), project.folder.path(), &std::env::temp_dir()] {
        assert!(!folder.join("BAD").exists(), "a shell ran a name in {}", folder.display());
    }
    let runs = project.path(".pipeline/runs");
    let run = std::fs::read_dir(runs).unwrap().flatten().next().unwrap().path();
    let script = std::fs::read_to_string(run.join("arrays/0.sh")).unwrap();
    let inside = script.lines().find(|l| l.contains("exec-chunk")).unwrap();
    assert!(inside.contains("'\\''s a $(touch BAD)"), "the folder is quoted: {inside}");
    assert!(std::fs::read_dir(run.join("logs")).unwrap().count() >= 1, "logs lie where they should");
}
