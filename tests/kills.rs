//! 500 random kills over run, gc, verify, figures, report and status, up to three processes at once: nothing that had
//! finished is lost or computed again. (The driver of a cluster is killed in `src/pipeline/tests/fake_slurm`.)
//!
//! `REPRO_KILLS_SEED` repeats a round of chances; the seed is printed.

mod common;
use common::Project;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::time::Duration;

const KILLS: usize = 500;

const YAML: &str = "\
version: 1
stages:
  make:
    kind: probe
    with: {sleep_ms: 3, bytes: 3000}
    matrix: {value: 1..150}
  twin:
    kind: probe
    with: {sleep_ms: 3, bytes: 3000}
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

const COMMANDS: &[&str] = &[
    "run all --jobs 2",
    "run all --jobs 1",
    "run make --jobs 2",
    "run twin mix --jobs 2",
    "gc --yes --older-than 0s",
    "gc --yes",
    "verify",
    "figures",
    "report -o page.html",
    "status",
];

#[test]
fn five_hundred_kills_lose_nothing_that_had_finished() {
    let seed = std::env::var("REPRO_KILLS_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(18);
    println!("REPRO_KILLS_SEED={seed}");
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    let whole = Project::new(YAML);
    whole.ok("run all --jobs 2");
    let p = Project::new(YAML);
    let mut finished: BTreeMap<String, usize> = BTreeMap::new();
    let (mut kills, mut round) = (0, 0);
    while kills < KILLS {
        round += 1;
        let count = random.random_range(1..=3);
        // The first is a run more often than not, or little would be left to lose.
        let mut processes: Vec<_> = (0..count)
            .map(|n| {
                p.start(if n == 0 && random.random_bool(0.6) {
                    COMMANDS[0]
                } else {
                    COMMANDS.choose(&mut random).unwrap()
                })
            })
            .collect();
        for process in &mut processes {
            std::thread::sleep(Duration::from_micros(random.random_range(0..25_000)));
            kills += usize::from(process.try_wait().unwrap().is_none());
            process.kill().unwrap();
        }
        for mut process in processes {
            process.wait().unwrap();
        }
        if round % 10 == 0 {
            let starts = p.starts();
            for id in p.fresh() {
                let now = starts.get(&id).copied().unwrap_or(0);
                assert_eq!(*finished.entry(id.clone()).or_insert(now), now, "{id} had finished and ran again");
            }
        }
        if round % 50 == 0 && p.fresh().len() == 601 {
            // All done before the kills were: begin again with half of it.
            let journal = p.store().join("journal");
            let bytes = std::fs::read(&journal).unwrap();
            std::fs::write(&journal, &bytes[..bytes.len() / 2]).unwrap();
            finished.clear();
        }
    }
    p.ok("run all --jobs 2");
    let starts = p.starts();
    for (id, n) in &finished {
        assert_eq!(starts.get(id).copied().unwrap_or(0), *n, "{id} had finished and ran again");
    }
    assert_eq!(p.lock(), whole.lock());
    assert!(p.ok("verify").contains("verified"));
    assert!(p.ok("run all").starts_with("nothing to do"));
    println!("{kills} kills in {round} rounds, {} units seen finished between them", finished.len());
}
