//! Random kills over run, gc, verify, figures, report, status, fetch and the driver of a cluster, up to three processes at once:
//! nothing that had finished is lost or computed again, and the lock file comes out the same to the byte.
//!
//! `REPRO_KILLS` is their number (default 60), `REPRO_KILLS_SEED` repeats the choices of a run; both are printed.

#[path = "common/cluster.rs"]
mod cluster;
mod common;
#[path = "common/served.rs"]
mod served;

use cluster::Cluster;
use common::{Finished, Project};
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use served::Server;
use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::Duration;

/// 601 units that leave a trace and one that fetches; `GENERATION` is edited when all of them have finished.
const YAML: &str = "\
version: 1
slurm: {grace: 2, chunk: 0.5, spread: 4}
stages:
  digits:
    kind: fetch-digits
    with: {per_class: 3}
  make:
    kind: probe
    with: {sleep_ms: 3, bytes: 3000, text: GENERATION}
    matrix: {value: 1..150}
  twin:
    kind: probe
    with: {sleep_ms: 3, bytes: 3000, text: GENERATION}
    matrix: {value: 1..150}
  mix:
    kind: probe
    needs: [make, twin]
    with: {sleep_ms: 3}
    matrix: {value: 1..150, text: [a, b]}
  sum:
    kind: probe
    needs: [mix]
    publish: figures
";
const PROBES: usize = 601;

const COMMANDS: &[&str] = &[
    "run all --jobs 2",
    "run all --jobs 1",
    "run make --jobs 2",
    "run twin mix --jobs 2",
    "run all --on slurm",
    "run mix --on slurm",
    "attach",
    "gc --yes --older-than 0s",
    "gc --yes",
    "verify",
    "figures",
    "report -o page.html",
    "status",
    "fetch digits",
];

/// A project, a cluster and a server of data. Several projects share the last two.
struct World {
    project: Project,
    cluster: Cluster,
    server: Server,
    cache: tempfile::TempDir,
}

impl World {
    fn new() -> World {
        let data = served::digits();
        let world = World {
            project: Project::new(&generation(0)),
            cluster: Cluster::new(),
            server: Server::start(),
            cache: tempfile::tempdir().unwrap(),
        };
        world.server.put("mfeat.zip", &data);
        // Slow enough for kills to hit it.
        world.server.served.lock().unwrap().pace = Duration::from_millis(3);
        let sum = datasets::fetch::sha256(&data);
        let mut list = "files:\n".to_string();
        list += &served::entry("mfeat", &world.server.address, "mfeat.zip", &sum);
        std::fs::write(world.cache.path().join("sources.yaml"), list).unwrap();
        world
    }

    fn command(&self, project: &Project, line: &str) -> Command {
        let mut command = project.command(line);
        command.env("REPRO_CACHE", self.cache.path()).env("REPRO_SOURCES", self.cache.path().join("sources.yaml"));
        for proxy in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
            command.env_remove(proxy);
        }
        self.cluster.reach(&mut command);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    #[track_caller]
    fn ok(&self, project: &Project, line: &str) -> String {
        let said: Finished = self.command(project, line).output().unwrap().into();
        assert_eq!(said.code, 0, "repro {line}\n{}{}", said.out, said.err);
        said.out
    }

    /// The fresh units that leave a trace, each with how often it has started. Tasks of the cluster may be at work, so what is fresh
    /// is asked first.
    fn finished(&self) -> BTreeMap<String, usize> {
        let fresh = self.project.fresh();
        let starts = self.project.starts();
        let of = |id: &String| starts.get(id).copied().unwrap_or(0);
        fresh.into_iter().filter(|id| id != "digits").map(|id| (id.clone(), of(&id))).collect()
    }
}

fn generation(n: usize) -> String {
    YAML.replace("GENERATION", &format!("g{n}"))
}

fn number(variable: &str, default: u64) -> u64 {
    let given = std::env::var(variable).ok().map(|text| text.parse().expect("a number"));
    let number = given.unwrap_or(default);
    println!("{variable}={number}");
    number
}

#[test]
fn random_kills_lose_nothing_that_had_finished() {
    let (most, seed) = (number("REPRO_KILLS", 60), number("REPRO_KILLS_SEED", 18));
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    let w = World::new();
    let mut finished: BTreeMap<String, usize> = BTreeMap::new();
    let mut kills: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut round, mut edits, mut seen) = (0, 0, 0);
    while kills.values().sum::<u64>() < most {
        round += 1;
        let count = random.random_range(1..=3);
        let mut processes: Vec<_> = (0..count)
            .map(|_| {
                let line: &&str = COMMANDS.choose(&mut random).unwrap();
                (*line, w.command(&w.project, line).spawn().unwrap())
            })
            .collect();
        for (line, process) in &mut processes {
            // Mostly soon, now and then late: a driver has submitted its jobs only after a while.
            let late = random.random_range(0.0f64..1.0);
            std::thread::sleep(Duration::from_secs_f64(0.4 * late.powi(3)));
            *kills.entry(line).or_default() += u64::from(process.try_wait().unwrap().is_none());
            process.kill().unwrap();
        }
        for (_, mut process) in processes {
            process.wait().unwrap();
        }
        if round % 5 == 0 {
            let now = w.finished();
            for (id, starts) in &now {
                let then = *finished.entry(id.clone()).or_insert(*starts);
                assert_eq!(then, *starts, "round {round}: {id} had finished and ran again");
            }
            for id in finished.keys() {
                assert!(now.contains_key(id), "round {round}: {id} had finished and is lost");
            }
            if now.len() == PROBES {
                // All is done: the next generation. Tasks that are still at work belong to this one.
                w.cluster.wait();
                edits += 1;
                seen += finished.len();
                finished.clear();
                w.project.write_yaml(&generation(edits));
                let _ = std::fs::remove_file(w.cache.path().join("mfeat.zip"));
            }
        }
    }
    w.ok(&w.project, "fetch digits");
    w.ok(&w.project, "run all --jobs 2");
    w.cluster.wait();
    let starts = w.project.starts();
    for (id, n) in &finished {
        assert_eq!(starts.get(id).copied().unwrap_or(0), *n, "{id} had finished and ran again");
    }
    let whole = Project::new(&generation(edits));
    w.ok(&whole, "run all --jobs 2");
    assert_eq!(w.project.lock(), whole.lock());
    assert!(w.ok(&w.project, "verify").contains("verified"));
    w.ok(&w.project, "gc --yes --older-than 0s");
    assert!(w.ok(&w.project, "run all").starts_with("nothing to do"));
    let resumed = w.server.served.lock().unwrap().resumed;
    println!(
        "{} kills in {round} rounds, {edits} edits, {} units seen finished between them, {} tasks of the cluster, {resumed} downloads resumed",
        kills.values().sum::<u64>(),
        seen + finished.len(),
        w.cluster.completed()
    );
    println!("{kills:?}");
}
