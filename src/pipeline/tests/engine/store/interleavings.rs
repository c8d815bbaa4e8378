//! Interleavings: the claim protocol in every order, and whole processes in many.
//!
//! What must hold: a key is recorded once, nothing finished is lost, nothing is read after gc removed it.

use crate::common::*;
use pipeline::store::claim::{Claim, Role, Verdict, decide};
use pipeline::store::index::Index;
use pipeline::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

/// Where a process of the model is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Asking,
    Computing,
    /// A driver has handed the unit to its tasks.
    Submitted,
    Ended,
    Killed,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    at: [At; 3],
    claim: Option<usize>,
    recorded: usize,
}

impl World {
    fn index(&self, roles: &[Role; 3]) -> Index {
        let mut index = Index::default();
        let key = Digest::of(b"key");
        if let Some(owner) = self.claim {
            index.claims.insert(key, Claim { owner: owner.to_string(), role: roles[owner].clone() });
        }
        index
    }

    fn alive(&self, process: usize) -> bool {
        !matches!(self.at[process], At::Ended | At::Killed)
    }

    /// Every world that one step of one process leads to.
    fn steps(&self, roles: &[Role; 3]) -> Vec<World> {
        let mut out = Vec::new();
        for process in 0..3 {
            let to = |at: At| {
                let mut world = self.clone();
                world.at[process] = at;
                world
            };
            if self.alive(process) {
                out.push(to(At::Killed));
            }
            match self.at[process] {
                // The model has no records: a key that has one is answered before claims are looked at.
                At::Asking | At::Submitted if self.recorded > 0 => out.push(to(At::Ended)),
                At::Asking => {
                    let alive = |id: &str| self.alive(id.parse().unwrap()).then(|| id.to_string());
                    let asker = (process.to_string(), &roles[process]);
                    let verdict = decide(&self.index(roles), &Digest::of(b"key"), (&asker.0, asker.1), false, alive);
                    let driver = matches!(roles[process], Role::Driver(_));
                    match verdict {
                        Verdict::Ours => {
                            let mut world = to(if driver { At::Submitted } else { At::Computing });
                            world.claim = Some(process);
                            out.push(world);
                        }
                        Verdict::Served => out.push(to(At::Submitted)),
                        Verdict::Theirs(_) => {}
                        Verdict::Recorded => unreachable!("the model has no records"),
                    }
                }
                At::Computing => {
                    let mut done = to(At::Ended);
                    (done.recorded, done.claim) = (self.recorded + 1, None);
                    out.push(done);
                    // It fails, gives its claim back and asks again.
                    let mut failed = to(At::Asking);
                    failed.claim = self.claim.filter(|&owner| owner != process);
                    out.push(failed);
                }
                At::Submitted | At::Ended | At::Killed => {}
            }
        }
        out
    }
}

/// Runs, drivers and tasks of two cluster runs, any three of them, in every order, with kills and failures anywhere.
#[test]
fn of_three_processes_one_computes_in_every_interleaving() {
    let (run, other) = ("r".to_string(), "s".to_string());
    let all = [Role::Run, Role::Driver(run.clone()), Role::Task(run), Role::Driver(other.clone()), Role::Task(other)];
    let mut worlds = 0;
    for a in &all {
        for b in &all {
            for c in &all {
                let roles = [a.clone(), b.clone(), c.clone()];
                // A run's folder has one driver at a time; a second one cannot start.
                let drivers: Vec<&Role> = roles.iter().filter(|r| matches!(r, Role::Driver(_))).collect();
                if drivers.len() == 2 && drivers[0] == drivers[1] || drivers.len() == 3 {
                    continue;
                }
                let start = World { at: [At::Asking; 3], claim: None, recorded: 0 };
                let mut seen = HashSet::from([start.clone()]);
                let mut open = vec![start];
                while let Some(world) = open.pop() {
                    let computing = world.at.iter().filter(|at| **at == At::Computing).count();
                    assert!(computing <= 1 && world.recorded <= 1, "{roles:?}: {world:?}");
                    // Somebody who asks gets on, unless a living process has the key, who then gets on.
                    let asks = world.at.contains(&At::Asking);
                    let holder = world.claim.is_some_and(|owner| world.alive(owner));
                    let next = world.steps(&roles);
                    let moves =
                        next.iter().any(|n| n.at.iter().zip(&world.at).any(|(n, w)| n != w && *n != At::Killed));
                    assert!(!asks || holder || moves, "{roles:?}: nobody can go on: {world:?}");
                    open.extend(next.into_iter().filter(|n| seen.insert(n.clone())));
                }
                worlds += seen.len();
            }
        }
    }
    println!("{worlds} worlds");
    assert!(worlds > 1000);
}

/// What one process does next.
#[derive(Clone, Debug)]
enum Action {
    Run(&'static str),
    Gc,
    Verify,
    Pause(u64),
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let target = prop::sample::select(vec!["all", "a", "b/*x=1.0", "b/rank=2*", "c", "a/x=2.0", "twin"]);
    let action = prop_oneof![
        4 => target.prop_map(Action::Run),
        2 => Just(Action::Gc),
        1 => Just(Action::Verify),
        1 => (0..5u64).prop_map(Action::Pause),
    ];
    prop::collection::vec(action, 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 48, ..ProptestConfig::default() })]

    /// Three processes (each with handles of its own, which is what locks tell apart) run, collect and verify at once.
    #[test]
    fn three_processes_record_once_lose_nothing_and_read_nothing_removed(scripts in prop::array::uniform3(actions())) {
        let yaml = format!("{}  twin: {{kind: toy, matrix: {{x: [1, 2]}}}}\n", CHAIN.trim_start());
        let p = Project::new();
        let covered: HashSet<String> = std::thread::scope(|scope| {
            let threads: Vec<_> = scripts.iter().map(|script| {
                let (p, yaml) = (&p, &yaml);
                scope.spawn(move || act(p, yaml, script))
            }).collect();
            threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
        });
        let ran = p.ran();
        // `a` and `twin` have the same keys: one of the two is computed.
        let mut count: BTreeMap<String, usize> = BTreeMap::new();
        ran.iter().for_each(|id| *count.entry(id.replace("twin/", "a/")).or_default() += 1);
        prop_assert!(count.values().all(|&n| n == 1), "computed twice: {count:?}");
        let engine = p.engine(&yaml);
        let stale: HashSet<String> = engine.dry_run(&RunOptions::default()).unwrap().into_iter().map(|u| u.id).collect();
        prop_assert!(covered.is_disjoint(&stale), "lost: {:?}", covered.intersection(&stale).collect::<Vec<_>>());
        prop_assert_eq!(&engine.verify(&["all"]).unwrap().problems, &[]);
        let lock = p.lock();
        for id in &covered {
            let label = id.split_once('/').map_or("", |(_, label)| label);
            prop_assert!(lock.contains(&format!("    \"{label}\": \"")), "`{id}` is not in the lock file:\n{lock}");
        }
    }
}

/// The ids of the units that runs of this script reported as fresh.
fn act(p: &Project, yaml: &str, script: &[Action]) -> Vec<String> {
    let mut covered = Vec::new();
    for action in script {
        let engine = p.engine(yaml);
        match action {
            Action::Run(target) => {
                let options = RunOptions { targets: vec![(*target).to_string()], jobs: 2, ..Default::default() };
                let summary = engine.run(&options, &mut |_| {}).unwrap();
                assert!(summary.is_complete(), "{summary:?}");
                covered.extend(engine.locate(&[target], None).unwrap().into_iter().map(|l| {
                    std::fs::read(&l.path).expect("a result that was just shown can be read");
                    l.unit
                }));
            }
            Action::Gc => {
                let options = CollectOptions { older_than: Duration::ZERO, ..Default::default() };
                match engine.gc(&options) {
                    Ok(_) | Err(Error::Busy { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            Action::Verify => assert_eq!(engine.verify(&["all"]).unwrap().problems, []),
            Action::Pause(ms) => std::thread::sleep(Duration::from_millis(*ms)),
        }
    }
    covered
}
