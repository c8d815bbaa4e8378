//! The program on a real cluster (Slurm's daemons on this machine): the smoke profile, `--detach`, `attach`, `cancel`.
//! What the executor does under fire is tested in `src/pipeline/tests/slurm`.

#[path = "../src/pipeline/tests/slurm/cluster.rs"]
mod cluster;
mod common;
use cluster::Cluster;
use common::{Finished, Project};
use std::path::Path;

fn on(cluster: &Cluster, p: &Project, line: &str) -> Finished {
    let mut command = p.command(line);
    command.env("SLURM_CONF", cluster.root().join("slurm.conf"));
    command.output().unwrap().into()
}

/// The smoke profile of the project itself: the same lock as on this machine, then nothing to do. Then a run in the
/// background, followed, and one that is cancelled and resumed.
#[test]
fn the_program_on_a_cluster() {
    let cluster = match Cluster::start(3) {
        Ok(cluster) => cluster,
        Err(why) => return println!("skipped: the tests on a cluster, because {why}"),
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let yaml = std::fs::read_to_string(root.join("pipeline.yaml")).unwrap();
    let lock = |p: &Project| std::fs::read_to_string(p.path().join("repro.smoke.lock")).unwrap();
    let (here, there) = (Project::new(&yaml), Project::new(&yaml));
    here.ok("run all --profile smoke --offline");
    let said = on(&cluster, &there, "run all --profile smoke --offline --on slurm");
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert_eq!(lock(&here), lock(&there));
    let jobs = cluster.jobs();
    let said = on(&cluster, &there, "run all --profile smoke --offline --on slurm");
    assert!(said.out.starts_with("nothing to do"), "{}{}", said.out, said.err);
    assert_eq!(cluster.jobs(), jobs, "the second run submitted something");

    let p = Project::new("version: 1\nstages:\n  a: {kind: probe, with: {sleep_ms: 100}, matrix: {value: 1..100}}\n");
    let said = on(&cluster, &p, "run all --on slurm --detach --slurm grace=2 --slurm spread=6");
    assert!(said.code == 0 && said.out.contains("repro attach"), "{}{}", said.out, said.err);
    let start = std::time::Instant::now();
    while p.starts().len() < 5 && start.elapsed().as_secs() < 60 {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let said = on(&cluster, &p, "cancel");
    assert!(said.code == 0 && said.out.contains("is cancelled"), "{}{}", said.out, said.err);
    let (kept, before) = (p.fresh(), p.starts());
    assert!(kept.len() < 100, "it was over before it was cancelled");
    let said = on(&cluster, &p, "run all --on slurm --detach");
    assert_eq!(said.code, 0, "{}", said.err);
    let said = on(&cluster, &p, "attach");
    assert!(said.code == 0, "{}{}", said.out, said.err);
    assert_eq!(p.fresh().len(), 100);
    assert!(kept.iter().all(|id| before[id] == p.starts()[id]), "a recorded unit ran again");
}
