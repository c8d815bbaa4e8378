//! The cluster executor against a fake Slurm: what goes wrong on clusters, in seconds.
//!
//! This program plays every role: the tests, the driver (`drive DIR`), the worker (`-C DIR exec-chunk RUN CHUNK`), and,
//! under the names `sbatch`, `squeue` and `scancel`, the commands of Slurm. Jobs are started, killed and forgotten by a
//! thread of the tests (`cluster`), as the policy of a test says.

mod cases;
mod cluster;
mod controller;
#[path = "../slurm/program.rs"]
mod program;
mod stops;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args();
    let name = args.next().unwrap_or_default();
    let name = std::path::Path::new(&name).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let args: Vec<String> = args.collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    if let Some(code) = cluster::play(&name, &args) {
        return code;
    }
    match words[..] {
        ["-C", folder, "exec-chunk", run, chunk] => return program::worker(folder, run, chunk),
        ["drive", folder] => return program::driver(folder),
        _ => {}
    }
    // cargo test hands over the harness' own flags; what is no flag picks tests by a part of their name.
    let parts: Vec<&&str> = words.iter().filter(|w| !w.starts_with('-')).collect();
    let picked: Vec<_> = cases::ALL
        .iter()
        .chain(stops::ALL)
        .filter(|(name, _)| parts.is_empty() || parts.iter().any(|part| name.contains(**part)))
        .collect();
    if words.contains(&"--list") {
        picked.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    println!("\nrunning {} tests", picked.len());
    // Each case has a cluster and a project of its own, and mostly waits: all run at once.
    let failed: Vec<&str> = std::thread::scope(|scope| {
        let cases: Vec<_> = picked
            .iter()
            .map(|(name, case)| {
                let thread = std::thread::Builder::new().name((*name).to_string());
                (*name, thread.spawn_scoped(scope, || case(&cluster::Cluster::start())).unwrap())
            })
            .collect();
        cases
            .into_iter()
            .filter_map(|(name, case)| {
                let ok = case.join().is_ok();
                println!("test {name} ... {}", if ok { "ok" } else { "FAILED" });
                (!ok).then_some(name)
            })
            .collect()
    });
    println!("\ntest result: {} passed; {} failed\n", picked.len() - failed.len(), failed.len());
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
