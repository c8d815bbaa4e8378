//! A run in a process of its own, to be killed, raced or starved: this test binary, started again.

use crate::common::kinds;
use pipeline::*;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// What starts the child: `before` is a shell command to run first (a mount, say).
pub fn command(folder: &Path, log: &Path, jobs: usize) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["child::child", "--exact", "--nocapture", "--quiet"]);
    command.env("CHILD_FOLDER", folder).env("CHILD_LOG", log).env("CHILD_JOBS", jobs.to_string());
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// Not a test by itself: does nothing unless it was started by [`command`].
#[test]
fn child() {
    let (Ok(folder), Ok(log)) = (std::env::var("CHILD_FOLDER"), std::env::var("CHILD_LOG")) else { return };
    let jobs = std::env::var("CHILD_JOBS").unwrap().parse().unwrap();
    let plan = Config::load(Path::new(&folder).join("pipeline.yaml")).unwrap().plan("default", &[], &kinds()).unwrap();
    let asks = std::env::var_os("CHILD_STATUS").is_some();
    let ids: Vec<String> = plan.units.iter().filter(|_| !asks).map(|u| u.id.clone()).collect();
    let mut env = Environment::default();
    env.set("ran", log.clone());
    let engine = Engine::open(plan, EngineOptions { env, ..Default::default() });
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&log).unwrap();
    let summary = engine.and_then(|engine| {
        if std::env::var_os("CHILD_STATUS").is_some() {
            let status = engine.status()?;
            println!("STALE {} PEAK {}", status[0].stale, pipeline::host::peak_memory());
            return Ok(Summary::default());
        }
        if std::env::var_os("CHILD_GC").is_some() {
            let options = CollectOptions { older_than: std::time::Duration::ZERO, ..Default::default() };
            return engine.gc(&options).map(|_| Summary::default());
        }
        let targets = std::env::var("CHILD_TARGET").into_iter().collect();
        engine.run(&RunOptions { jobs, targets, ..Default::default() }, &mut |event| match event {
            Event::Finished { unit, .. } => file.write_all(format!("finished {}\n", ids[unit]).as_bytes()).unwrap(),
            Event::Waiting { holder, .. } => println!("WAITING for {holder}"),
            _ => {}
        })
    });
    match summary {
        Ok(summary) => println!("RAN {} of {}", summary.ran.len(), ids.len()),
        Err(error) => println!("ERROR {error}"),
    }
}
