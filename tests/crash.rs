//! `kill -9` at any moment loses at most the units in flight.

mod common;
use common::{Project, slow};
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::time::Duration;

#[test]
fn fifty_kills_lose_nothing_that_had_finished() {
    let long = slow(200, 5);
    let whole = Project::new(&long);
    whole.ok("run all --jobs 2");
    let p = Project::new(&long);
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(7);
    // For each unit seen finished after some kill: how often it had started by then.
    let mut finished: BTreeMap<String, usize> = BTreeMap::new();
    let mut in_flight = 0;
    for _ in 0..50 {
        // A few units on (0 to 12 starts), then a moment more: as random on a busy machine as on an idle one.
        let enough = p.starts().values().sum::<usize>() + random.random_range(0..=12);
        let mut run = p.start("run all --jobs 2");
        while p.starts().values().sum::<usize>() < enough && run.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(random.random_range(0..15_000)));
        in_flight += usize::from(run.try_wait().unwrap().is_none());
        run.kill().unwrap();
        run.wait().unwrap();
        let starts = p.starts();
        for id in p.fresh() {
            let now = starts.get(&id).copied().unwrap_or(0);
            assert_eq!(*finished.entry(id.clone()).or_insert(now), now, "{id} had finished and ran again");
        }
    }
    assert!(in_flight >= 40, "only {in_flight} kills hit a running pipeline; make it longer");
    p.ok("run all --jobs 2");
    let starts = p.starts();
    for (id, n) in &finished {
        assert_eq!(starts[id], *n, "{id} had finished and ran again");
    }
    assert!(finished.len() > 20, "only {} units finished under fire; the test shows little", finished.len());
    assert_eq!(p.lock(), whole.lock());
    assert!(p.ok("verify").contains("verified"));
    println!("{in_flight} kills in flight, {} units finished between them", finished.len());
}
