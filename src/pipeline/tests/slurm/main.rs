//! The cluster executor on a real cluster: Slurm's own daemons on this machine, three nodes.
//!
//! This program plays three roles: the tests, the driver (`drive DIR`), which tests kill, and the worker
//! (`-C DIR exec-chunk RUN CHUNK`), which Slurm starts. Where Slurm is not installed, or cannot be started, the tests are
//! skipped with a line that says so.

mod cluster;
mod faults;
mod program;
mod sweep;

use cluster::Cluster;

fn main() -> std::process::ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words[..] {
        ["-C", folder, "exec-chunk", run, chunk] => return program::worker(folder, run, chunk),
        ["drive", folder] => return program::driver(folder),
        _ => {}
    }
    // cargo test hands over the harness' own flags; what is no flag picks tests by a part of their name.
    if words.contains(&"--list") {
        return std::process::ExitCode::SUCCESS;
    }
    let picked = |name: &str| {
        let mut parts = words.iter().filter(|w| !w.starts_with('-')).peekable();
        parts.peek().is_none() || parts.any(|part| name.contains(part))
    };
    let all: &[(&str, fn(&Cluster))] = &[
        ("odd_names_are_quoted", sweep::odd_names_are_quoted),
        ("same_lock_as_local_and_nothing_twice", sweep::same_lock_as_local_and_nothing_twice),
        ("submission_costs_little", sweep::submission_costs_little),
        ("killed_node_killed_driver_and_failing_units", faults::killed_node_killed_driver_and_failing_units),
        ("cancelled_from_outside", faults::cancelled_from_outside),
        ("another_program_is_refused", faults::another_program_is_refused),
        ("a_store_that_cannot_be_written", faults::a_store_that_cannot_be_written),
        ("a_full_disk", faults::a_full_disk),
        ("clocks_that_disagree", faults::clocks_that_disagree),
    ];
    if !all.iter().any(|(name, _)| picked(name)) {
        return std::process::ExitCode::SUCCESS;
    }
    let cluster = match Cluster::start(3) {
        Ok(cluster) => cluster,
        Err(why) => {
            println!("skipped: the tests on a cluster, because {why}");
            return std::process::ExitCode::SUCCESS;
        }
    };
    for (name, test) in all.iter().filter(|(name, _)| picked(name)) {
        let start = std::time::Instant::now();
        println!("cluster test {name} ...");
        test(&cluster);
        println!("cluster test {name} ok after {:.1} s", start.elapsed().as_secs_f64());
    }
    std::process::ExitCode::SUCCESS
}
