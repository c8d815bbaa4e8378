//! `repro pull`: takes from a remote what the targets need. `repro run --pull` does the same before the run.

use super::display::Display;
use crate::cli::console::message;
use crate::cli::options::View;
use crate::cli::project::Project;
use crate::cli::text::{Paint, count, duration, size};
use crate::cli::{json, output, signals};
use pipeline::Engine;
use remote::{Options, Pulled};
use std::path::Path;
use std::time::{Duration, Instant};

/// Take results from a remote instead of computing them
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro pull                              everything, from the only remote of pipeline.yaml, or from that named `origin`
  repro pull lab table2                   one result and what it was computed from
  repro pull https://example.org/results  from a web server that serves a pushed folder; no account
  repro run all --pull                    pull what is there, compute the rest

Only what has the right key is taken, and only bytes that have their digest. Then `repro run` finds nothing to do.
Exit code 1 if the remote does not have all that the targets need, or has some of it damaged.")]
pub struct Args {
    /// A name of `remotes:` in pipeline.yaml, a folder (with a slash), https://... or s3://BUCKET/PREFIX
    #[arg(value_name = "REMOTE")]
    remote: Option<String>,
    /// `all`, STAGE, STAGE/UNIT, or patterns with * and ? [default: all]
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// Transfers at once
    #[arg(short, long, value_name = "N", default_value_t = remote::JOBS as u32, value_parser = clap::value_parser!(u32).range(1..=256))]
    jobs: u32,
    #[command(flatten)]
    view: View,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Run the command.
pub fn run(args: &Args, dir: Option<&Path>) -> anyhow::Result<u8> {
    let start = Instant::now();
    let project = Project::look(dir, &args.view)?;
    let engine = project.engine()?;
    let (mut named, mut targets) = (args.remote.as_deref(), args.targets.clone());
    // In `repro pull table2` the first word is a target, because it is not a remote.
    if let Some(word) = named.filter(|word| !super::is_remote(engine.plan(), word)) {
        let one = [word.to_string()];
        if pipeline::plan::target::select(engine.plan(), &one).is_ok() {
            named = None;
            targets.insert(0, word.to_string());
        }
    }
    let Some(done) = pull(&engine, named, &targets, args.jobs as usize)? else { return interrupted() };
    if args.json {
        json(&done)?;
    } else {
        output(&text(&done, start.elapsed()));
    }
    Ok(u8::from(!done.is_complete() || !done.unpublished.is_empty()))
}

/// Prints that Ctrl-C ended the transfer, and returns the exit code for it.
pub(super) fn interrupted() -> anyhow::Result<u8> {
    message!("{}", remote::Error::Interrupted);
    Ok(signals::INTERRUPTED)
}

/// Pulls, shows the progress and prints what went wrong; none when the user interrupted it.
fn pull(engine: &Engine, named: Option<&str>, targets: &[String], jobs: usize) -> anyhow::Result<Option<Pulled>> {
    let there = super::open(engine.plan(), named)?;
    let display = Display::new("pulling");
    let options = Options {
        targets: targets.to_vec(),
        jobs,
        again: false,
        cancel: signals::stop_flag()?,
        progress: &|p| display.show(p),
    };
    let done = remote::pull(engine, &there, &options);
    display.end();
    let done = match done {
        Err(remote::Error::Interrupted) => return Ok(None),
        done => done.map_err(super::unwrap_engine_error)?,
    };
    super::print_notes(&done.notes);
    let red = |text| Paint::stderr().red(text);
    for id in &done.damaged {
        message!(
            "{} `{id}`: its files in {} are gone or have other bytes; nothing of it was taken in",
            red("damaged:"),
            there.name()
        );
    }
    for id in &done.refused {
        message!(
            "{} `{id}`: {} has other bytes for it than the lock file; nothing of it was taken in",
            red("refused:"),
            there.name()
        );
    }
    for (path, error) in &done.unpublished {
        message!("{} {}: {error}; its result is in the store", red("not written:"), path.display());
    }
    Ok(Some(done))
}

/// The pull of `repro run --pull`. The run computes what could not be pulled. Returns `false` when the user interrupted the pull.
pub fn before_run(engine: &Engine, named: Option<&str>, targets: &[String]) -> anyhow::Result<bool> {
    match pull(engine, named, targets, remote::JOBS) {
        Ok(None) => Ok(false),
        Ok(Some(done)) => {
            if done.units > 0 {
                message!(
                    "pulled {}, {} ({})",
                    count(done.units, "unit"),
                    count(done.objects, "object"),
                    size(done.bytes)
                );
            }
            Ok(true)
        }
        Err(error) => match error.downcast_ref::<remote::Error>() {
            Some(remote::Error::Remote { .. }) => {
                message!("nothing pulled: {error}; computing instead");
                Ok(true)
            }
            _ => Err(error),
        },
    }
}

fn text(done: &Pulled, wall: Duration) -> String {
    let mut parts = vec![
        format!("{} ({})", count(done.objects, "object"), size(done.bytes)),
        format!("{} fresh before", done.fresh),
    ];
    let lacking = done.absent.len() + done.unknown;
    for (n, what) in
        [(lacking, "not in the remote"), (done.damaged.len(), "damaged there"), (done.refused.len(), "refused")]
    {
        if n > 0 {
            parts.push(format!("{n} {what}"));
        }
    }
    let head = match (done.units, done.is_complete()) {
        (0, true) => "nothing to pull".to_string(),
        (n, true) => format!("pulled: {}", count(n, "unit")),
        (n, false) => format!("not complete: {} pulled", count(n, "unit")),
    };
    format!("{head}, {} ({}, {})\n", parts.join(", "), count(done.requests, "request"), duration(wall))
}
