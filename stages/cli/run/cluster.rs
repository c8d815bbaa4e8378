//! `repro run --on slurm`, `repro attach`, `repro cancel`, and the hidden `repro exec-chunk` that Slurm starts on nodes.

use crate::cli::console::message;
use crate::cli::options::{Choose, View};
use crate::cli::project::{self, Project};
use crate::cli::{output, remembered, run, signals};
use pipeline::run::slurm;
use pipeline::{Engine, RunFolder, RunInfo, RunOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Continue a run on a cluster whose driver ended, or follow one that goes on in the background
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro run all --on slurm --detach     submit and return
  repro attach                          follow the last run
  repro attach 6919a3f0                 another one")]
pub struct AttachArgs {
    /// The run's id [default: the last one]
    #[arg(value_name = "RUN")]
    run: Option<String>,
}

/// End a run on a cluster: its jobs, and its driver if there is one. Finished units are kept
#[derive(clap::Args, Debug)]
pub struct CancelArgs {
    /// The run's id [default: the last one]
    #[arg(value_name = "RUN")]
    run: Option<String>,
}

/// Work on one chunk of units (Slurm starts this on the nodes)
#[derive(clap::Args, Debug)]
pub struct ExecArgs {
    run: String,
    chunk: usize,
}

/// The program's version: driver and nodes must agree on it as on the pipeline.
fn program() -> String {
    format!("repro {} built by {}", env!("CARGO_PKG_VERSION"), env!("REPRO_RUSTC"))
}

fn store(dir: Option<&Path>) -> anyhow::Result<PathBuf> {
    Ok(project::find(dir)?.join(project::STORE))
}

/// The run named, or the last one.
fn chosen(dir: Option<&Path>, id: Option<&String>) -> anyhow::Result<RunFolder> {
    let store = store(dir)?;
    match id {
        Some(id) => Ok(RunFolder::open(&store, id)?),
        None => RunFolder::all(&store).pop().ok_or_else(|| {
            anyhow::anyhow!(
                "no run on a cluster was started in this project; start one with `repro run all --on slurm`"
            )
        }),
    }
}

/// The engine as the run's driver saw it.
fn reopen(dir: Option<&Path>, info: &RunInfo) -> anyhow::Result<Engine> {
    let choose = Choose { profile: Some(info.profile.clone()), sets: info.sets.clone() };
    let plan = project::plan(&project::find(dir)?, &choose)?;
    Ok(project::engine(plan, info.env.clone())?)
}

/// `repro run --on slurm`.
pub fn start(
    dir: Option<&Path>,
    view: &View,
    options: RunOptions,
    sets: &[(String, String)],
    detach: bool,
) -> anyhow::Result<u8> {
    let begun = Instant::now();
    let project = Project::open(dir, view)?;
    // Here and not on the nodes, which often have no network.
    run::fetch::ask(&project.plan, &options.targets, &project.env)?;
    let env = project.env.clone();
    let engine = project.engine()?;
    remembered::write(&engine.plan().folder, view);
    if engine.dry_run(&options)?.is_empty() {
        return run::execute(&engine, options, begun, &view.flags());
    }
    let info = RunInfo {
        program: program(),
        plan: engine.plan_digest(),
        profile: view.choose.profile().to_string(),
        sets: view.choose.sets.clone(),
        env,
        targets: options.targets.clone(),
        fail_fast: options.fail_fast,
        options: engine.plan().slurm.with(sets).map_err(|e| anyhow::anyhow!("--slurm {e}"))?,
    };
    let (folder, _) = RunFolder::resume_or_create(engine.store().folder(), &info)?;
    if detach {
        return background(dir, &folder);
    }
    message!("run {}: `repro attach` continues it should this process end", folder.id);
    drive(&engine, &folder, options, begun, &format!("{} --on slurm", view.flags()))
}

fn drive(engine: &Engine, folder: &RunFolder, options: RunOptions, begun: Instant, flags: &str) -> anyhow::Result<u8> {
    let (program, project) = (std::env::current_exe()?, &engine.plan().folder);
    let worker = [&program.to_string_lossy(), "-C", &project.to_string_lossy(), "exec-chunk"];
    let worker = worker.map(str::to_string).to_vec();
    run::execute_with(engine, options, begun, flags, None, |options, events| {
        slurm::drive(engine, folder, worker, options, events)
    })
}

/// Starts `repro attach` in the background; it writes its messages to a file.
fn background(dir: Option<&Path>, folder: &RunFolder) -> anyhow::Result<u8> {
    let log = std::fs::OpenOptions::new().create(true).append(true).open(folder.path().join("driver.log"))?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("-C").arg(project::find(dir)?).args(["attach", &folder.id]);
    // A process group of its own: Ctrl-C and the end of the terminal do not reach it.
    command.process_group(0).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    let mut child = command.spawn()?;
    // Wait until it drives the run, so that a `repro attach` right after this follows it.
    let start = Instant::now();
    let begun = |child: &mut std::process::Child| folder.driven() || !matches!(child.try_wait(), Ok(None));
    while !begun(&mut child) && start.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(100));
    }
    output(&format!("run {} goes on in process {}; follow it with `repro attach`\n", folder.id, child.id()));
    Ok(0)
}

/// `repro attach`.
pub fn attach(args: &AttachArgs, dir: Option<&Path>) -> anyhow::Result<u8> {
    let folder = chosen(dir, args.run.as_ref())?;
    if folder.driven() {
        return follow(&folder);
    }
    let info = folder.info()?;
    let engine = reopen(dir, &info)?;
    anyhow::ensure!(
        info.program == program() && info.plan == engine.plan_digest(),
        "run {} was started by another program or with another pipeline.yaml; end it with `repro cancel {0}` and start anew",
        folder.id
    );
    let options = RunOptions { targets: info.targets, fail_fast: info.fail_fast, ..RunOptions::default() };
    drive(&engine, &folder, options, Instant::now(), " --on slurm")
}

/// Shows what the driver in the background says until it ends. Ctrl-C ends only the showing.
fn follow(folder: &RunFolder) -> anyhow::Result<u8> {
    let path = folder.path().join("driver.log");
    message!("run {} is driven by another process; its messages (Ctrl-C leaves, the run goes on):", folder.id);
    let (mut offset, mut last) = (0, false);
    loop {
        let mut text = String::new();
        if let Ok(mut file) = std::fs::File::open(&path) {
            file.seek(SeekFrom::Start(offset))?;
            offset += file.read_to_string(&mut text)? as u64;
        }
        output(&text);
        if last {
            return Ok(folder.ended().unwrap_or(signals::INTERRUPTED));
        }
        // Read once more after its end: its last lines may have come since.
        last = !folder.driven();
        std::thread::sleep(Duration::from_millis(if last { 50 } else { 500 }));
    }
}

/// `repro cancel`.
pub fn cancel(args: &CancelArgs, dir: Option<&Path>) -> anyhow::Result<u8> {
    let folder = chosen(dir, args.run.as_ref())?;
    if let Some(code) = folder.ended() {
        output(&format!("run {} is over already (exit code {code})\n", folder.id));
        return Ok(0);
    }
    folder.request_cancel()?;
    let start = Instant::now();
    while folder.driven() && start.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(100));
    }
    // Also without a driver, or with one that hangs.
    let taken = slurm::cancel(&folder)?;
    folder.end(signals::INTERRUPTED);
    let rest = if taken { "" } else { "; scancel did not answer for all jobs, their tasks end before their next unit" };
    output(&format!("run {} is cancelled; finished units are kept, the same `repro run` resumes{rest}\n", folder.id));
    Ok(0)
}

/// `repro exec-chunk`.
pub fn exec(args: &ExecArgs, dir: Option<&Path>) -> anyhow::Result<u8> {
    let stop = signals::stop_flag()?;
    let folder = RunFolder::open(&store(dir)?, &args.run)?;
    let engine = reopen(dir, &folder.info()?)?;
    let worked = slurm::worker::exec_chunk(&engine, &program(), &folder, args.chunk, stop)?;
    Ok(u8::from(!worked))
}
