//! Several processes, several threads: the same bytes, each unit once.

mod common;
use common::{Finished, Project, slow};

#[test]
fn two_runs_together_both_succeed_and_no_unit_runs_twice() {
    let p = Project::new(&slow(7, 15));
    let runs = [p.start("run all --jobs 2"), p.start("run all --jobs 2")];
    let said: Vec<Finished> = runs.into_iter().map(|r| r.wait_with_output().unwrap().into()).collect();
    for s in &said {
        assert_eq!(s.code, 0, "{}{}", s.out, s.err);
    }
    let starts = p.starts();
    assert_eq!(starts.len(), 22);
    assert!(starts.values().all(|&n| n == 1), "{starts:?}");
    assert!(p.ok("run all").starts_with("nothing to do: 22 units fresh"));
}

#[test]
fn thread_counts_do_not_change_a_byte() {
    let lock = |jobs: &str, rayon: &str| {
        let p = Project::new(&slow(7, 15));
        let said: Finished =
            p.command(&format!("run all --jobs {jobs}")).env("RAYON_NUM_THREADS", rayon).output().unwrap().into();
        assert_eq!(said.code, 0, "{}", said.err);
        p.lock()
    };
    let one = lock("1", "1");
    assert_eq!(one, lock("2", "1"));
    assert_eq!(one, lock("2", "2"));
    assert_eq!(one, lock("1", "2"));
}
