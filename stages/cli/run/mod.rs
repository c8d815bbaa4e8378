//! `repro run`: bring results up to date, here or on a cluster.
//!
//! | file | what |
//! |---|---|
//! | `cluster` | `run --on slurm`, `attach`, `cancel`, and the command that Slurm starts on its nodes |
//! | `ended` | what tells a user elsewhere that a run has ended |
//! | `fetch` | data over the network: before a run, and `repro fetch` |
//! | `progress` | the lines and bars that a run shows |
//! | `remaining` | the estimate of the time that remains |
//! | `speed` | how fast this machine is, for the estimate before a first run |

pub mod cluster;
mod ended;
pub mod fetch;
mod progress;
pub mod remaining;
pub mod speed;

use crate::cli::console::message;
use crate::cli::options::{View, key_value, quoted};
use crate::cli::project::Project;
use crate::cli::share::pull;
use crate::cli::text::{Paint, count, duration};
use crate::cli::{console, output, remembered, signals};
use pipeline::{Engine, Event, Force, RunOptions, Summary};
use progress::Display;
use std::path::Path;
use std::time::{Duration, Instant};

/// Run stale units, upstream first, until the targets are up to date
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro run all --profile smoke            everything, tiny
  repro run train                          one stage and whatever stale it needs
  repro run 'train/rank=5,*'               some of its units
  repro run all --dry-run                  what would run, and why
  repro run train --set train.epochs=50    with another parameter
  repro run train --force                  although it is fresh
  repro run all --pull                     take from the remote what it has, compute the rest
  repro run all --on slurm                 on a cluster

Stop with Ctrl-C at any time: finished units are kept, the same command resumes. The last line of stdout says what happened:
`nothing to do:`, `done:`, `not complete:` or `interrupted:`, then counts; --json prints it as one line of JSON.")]
pub struct Args {
    /// `all`, STAGE, STAGE/UNIT, or a pattern with * and ?
    #[arg(default_value = "all", value_name = "TARGET")]
    targets: Vec<String>,
    #[command(flatten)]
    view: View,
    /// Threads to share out among units [default: all cores]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    jobs: Option<u32>,
    /// Run the targets although they are fresh
    #[arg(long)]
    force: bool,
    /// Run the targets and all that reads them although they are fresh
    #[arg(long, conflicts_with = "force")]
    force_downstream: bool,
    /// Print what would run and why; run nothing
    #[arg(long)]
    dry_run: bool,
    /// After a failure go on with all units that do not depend on it (the default)
    #[arg(long)]
    keep_going: bool,
    /// After a failure start nothing new
    #[arg(long, conflicts_with = "keep_going")]
    fail_fast: bool,
    /// Pull what a remote of pipeline.yaml has before computing the rest [default remote: the only one, or `origin`]
    #[arg(long, value_name = "REMOTE", require_equals = true)]
    pull: Option<Option<String>>,
    /// Run this command in a shell at the end, with REPRO_CODE and REPRO_SUMMARY set [default: the bell after a minute]
    #[arg(long, value_name = "COMMAND")]
    notify: Option<String>,
    /// Print what happened as one line of JSON
    #[arg(long, conflicts_with = "dry_run")]
    json: bool,
    /// Where units run
    #[arg(long, value_enum, default_value_t = On::Local)]
    on: On,
    /// With --on slurm: submit, leave the driver in the background, return (`repro attach` follows it)
    #[arg(long)]
    detach: bool,
    /// With --on slurm: an option of the cluster, laid over `slurm:` in pipeline.yaml; may be repeated
    #[arg(long = "slurm", value_name = "KEY=VALUE", value_parser = key_value)]
    slurm: Vec<(String, String)>,
}

/// Names of executors.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq)]
enum On {
    /// Threads of this process
    Local,
    /// Job arrays of a Slurm cluster, on nodes that share this folder
    Slurm,
}

/// Run the command.
pub fn run(args: &Args, dir: Option<&Path>) -> anyhow::Result<u8> {
    let start = Instant::now();
    let project = Project::open(dir, &args.view)?;
    let flags = project.flags.clone();
    let force = match (args.force, args.force_downstream) {
        (_, true) => Force::Downstream,
        (true, _) => Force::Targets,
        _ => Force::No,
    };
    let options = RunOptions {
        targets: args.targets.clone(),
        jobs: args.jobs.unwrap_or(0) as usize,
        force,
        fail_fast: args.fail_fast,
        speed: Some(speed::measure),
        ..RunOptions::default()
    };
    anyhow::ensure!(!args.json || args.on == On::Local, "--json is for runs here: leave out --on slurm");
    anyhow::ensure!(
        args.on == On::Slurm || (!args.detach && args.slurm.is_empty()),
        "--detach and --slurm say how to use a cluster: add --on slurm"
    );
    if args.on == On::Slurm && !args.dry_run {
        anyhow::ensure!(force == Force::No, "--force runs here only: leave out --on slurm");
        anyhow::ensure!(args.pull.is_none(), "--pull runs here only: `repro pull` first, then run on the cluster");
        let code = cluster::start(dir, &args.view, options, &args.slurm, args.detach)?;
        if !args.detach {
            ended::announce(args.notify.as_deref(), code, "the run on the cluster has ended", start.elapsed());
        }
        return Ok(code);
    }
    if !args.dry_run {
        fetch::ask(&project.plan, &options.targets, &project.env)?;
    }
    let trains = project.plan.stages.iter().any(|stage| stage.kind.name() == "train");
    let engine = project.engine()?;
    if args.dry_run {
        return dry_run(&engine, &options, start);
    }
    remembered::write(&engine.plan().folder, &args.view);
    if let Some(remote) = &args.pull
        && !pull::before_run(&engine, remote.as_deref(), &options.targets)?
    {
        return Ok(signals::INTERRUPTED);
    }
    if let Some(why) = args.view.surroundings.fallback().filter(|_| trains) {
        message!("{why}");
    }
    let (summary, options) = {
        let threads = here(&options);
        summarise(&engine, options, Some(threads), |options, events| engine.run(options, events))?
    };
    report(&summary, &options, start.elapsed(), &flags, args.json);
    let code = exit_code(&summary);
    ended::announce(args.notify.as_deref(), code, &sentence(&summary), start.elapsed());
    Ok(code)
}

fn dry_run(engine: &Engine, options: &RunOptions, start: Instant) -> anyhow::Result<u8> {
    let pending = engine.dry_run(options)?;
    let mut out = String::new();
    for unit in &pending {
        let reasons: Vec<String> = unit.reasons.iter().map(ToString::to_string).collect();
        out += &format!("{}  {}\n", unit.id, reasons.join("; "));
    }
    let certain = pending.iter().filter(|p| p.reasons.iter().any(pipeline::Stale::is_certain)).count();
    out += &match (certain, pending.len() - certain) {
        (0, 0) => "nothing would run".to_string(),
        (n, 0) => format!("{} would run", count(n, "unit")),
        (n, m) => format!("{} would run, {m} more if the bytes they read change", count(n, "unit")),
    };
    output(&format!("{out} ({})\n", duration(start.elapsed())));
    Ok(0)
}

/// Runs with a progress display and Ctrl-C handling, prints the summary and returns the exit code. Times count from `start`;
/// `flags` are those that the same command needs to resume.
pub fn execute(engine: &Engine, options: RunOptions, start: Instant, flags: &str) -> anyhow::Result<u8> {
    let threads = here(&options);
    execute_with(engine, options, start, flags, Some(threads), |options, events| engine.run(options, events))
}

/// Threads that units of a run on this machine share: those asked for, or all processors that this process may use.
fn here(options: &RunOptions) -> usize {
    match options.jobs {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        jobs => jobs,
    }
}

/// The same, with `run` in place of the local executor. `threads` are those of this process that units share, if they run here.
pub fn execute_with(
    engine: &Engine,
    options: RunOptions,
    start: Instant,
    flags: &str,
    threads: Option<usize>,
    run: impl FnOnce(&RunOptions, &mut dyn FnMut(Event)) -> pipeline::Result<Summary>,
) -> anyhow::Result<u8> {
    let (summary, options) = summarise(engine, options, threads, run)?;
    report(&summary, &options, start.elapsed(), flags, false);
    Ok(exit_code(&summary))
}

/// Runs with a progress display and Ctrl-C handling.
fn summarise(
    engine: &Engine,
    mut options: RunOptions,
    threads: Option<usize>,
    run: impl FnOnce(&RunOptions, &mut dyn FnMut(Event)) -> pipeline::Result<Summary>,
) -> anyhow::Result<(Summary, RunOptions)> {
    options.cancel = signals::stop_flag()?;
    let display = Display::new(engine, &options, threads);
    let summary = std::thread::scope(|scope| {
        let watcher = std::thread::Builder::new().name("display".into());
        if let Err(e) = watcher.spawn_scoped(scope, || display.watch()) {
            message!("no thread for the display of progress: {e}; the run goes on without it");
        }
        let _end = display.end_on_drop();
        run(&options, &mut |event| display.event(&event))
    })?;
    Ok((summary, options))
}

fn exit_code(summary: &Summary) -> u8 {
    if !summary.failed.is_empty() || !summary.unpublished.is_empty() {
        1
    } else if summary.interrupted {
        signals::INTERRUPTED
    } else {
        0
    }
}

/// Failures with their parameters to stderr, one line of result to stdout.
fn report(summary: &Summary, options: &RunOptions, wall: Duration, flags: &str, json: bool) {
    let paint = Paint::stderr();
    for failed in &summary.failed {
        let tries = if failed.attempts > 1 { format!(" after {} attempts", failed.attempts) } else { String::new() };
        message!("{} `{}`{tries}: {}", paint.red("failed:"), failed.id, failed.error);
        message!("  parameters: {}", failed.params);
        message!("  more: repro log '{}'", failed.id);
    }
    if let Some((_, by)) = summary.blocked.first() {
        let others = summary.blocked.iter().any(|(_, b)| b != by);
        let by = if others { "failed units".to_string() } else { format!("`{by}`") };
        let need = if summary.blocked.len() == 1 { "it needs" } else { "they need" };
        message!("{} not run because {need} {by}", count(summary.blocked.len(), "unit"));
    }
    for path in &summary.published {
        message!("wrote {}", path.display());
    }
    for (path, error) in &summary.unpublished {
        message!("{} {}: {error}; its result is in the store", paint.red("not written:"), path.display());
    }
    if summary.interrupted {
        let targets: Vec<String> = options.targets.iter().map(|t| quoted(t)).collect();
        message!("interrupted: finished units are kept; resume with `repro run {}{flags}`", targets.join(" "));
    }
    if json {
        // A summary is maps of text and finite numbers: it always has a JSON form.
        output(&(serde_json::to_string(summary).unwrap_or_default() + "\n"));
        return;
    }
    output(&format!("{} ({}){}\n", sentence(summary), duration(wall), console::lost()));
}

fn sentence(s: &Summary) -> String {
    let kept = s.fresh + s.spared;
    if s.ran.is_empty() && s.is_complete() {
        return format!("nothing to do: {} fresh", count(kept, "unit"));
    }
    let mut parts = vec![format!("{} run", count(s.ran.len(), "unit")), format!("{kept} fresh")];
    let more = [(s.failed.len(), "failed"), (s.blocked.len(), "blocked"), (s.not_started, "not started")];
    parts.extend(more.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")));
    let head = if s.interrupted {
        "interrupted"
    } else if s.is_complete() {
        "done"
    } else {
        "not complete"
    };
    format!("{head}: {}", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_says_what_happened() {
        let ran = |n: usize| (0..n).map(|i| i.to_string()).collect::<Vec<_>>();
        let base = Summary { fresh: 58, ..Summary::default() };
        assert_eq!(sentence(&base), "nothing to do: 58 units fresh");
        assert_eq!(sentence(&Summary { ran: ran(1), ..base.clone() }), "done: 1 unit run, 58 fresh");
        let stopped = Summary { interrupted: true, not_started: 3, ran: ran(2), ..base };
        assert_eq!(sentence(&stopped), "interrupted: 2 units run, 58 fresh, 3 not started");
        assert_eq!(exit_code(&stopped), 130);
    }
}
