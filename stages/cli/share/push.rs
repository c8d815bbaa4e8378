//! `repro push`: sends current results to a remote.

use super::display::Display;
use crate::cli::console::message;
use crate::cli::options::View;
use crate::cli::project::Project;
use crate::cli::text::{count, duration, size};
use crate::cli::{json, output, signals};
use remote::sign::Signer;
use remote::{Options, Pushed};
use std::path::Path;
use std::time::{Duration, Instant};

/// Send current results to a remote, from which others pull them
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro push                            to the only remote of pipeline.yaml, or to that named `origin`
  repro push lab                        to the remote of that name
  repro push /shared/results            to a folder
  repro push s3://bucket/results        to S3; AWS_ENDPOINT_URL names another server than Amazon's
  repro push --only 'table*'            some results and what they were computed from

Remotes stand in pipeline.yaml, credentials never; they come from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN:
  remotes:
    origin: https://example.org/results
    lab: {url: s3://bucket/results, endpoint: https://s3.example.org, region: eu, style: path}

What is there already is not sent again; a push that was stopped goes on. Results are named by digest, and your key signs the list of them:
the file that REPRO_SIGNING_KEY names, or repro/signing-key in your configuration folder, made by the first push. Public keys under `keys` of a
remote, `keys: [ab12..]`, let nobody else's results in. repro.lock, in git, says what they must be in any case.")]
pub struct Args {
    /// A name of `remotes:` in pipeline.yaml, a folder (with a slash), or s3://BUCKET/PREFIX
    #[arg(value_name = "REMOTE")]
    remote: Option<String>,
    /// Only this target and what it needs: STAGE, STAGE/UNIT or a pattern; may be repeated [default: all]
    #[arg(long, value_name = "TARGET")]
    only: Vec<String>,
    /// Send everything again, to mend a damaged remote
    #[arg(long)]
    again: bool,
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
    let engine = Project::look(dir, &args.view)?.engine()?;
    let there = super::open(engine.plan(), args.remote.as_deref())?;
    let display = Display::new("pushing");
    let options = Options {
        targets: args.only.clone(),
        jobs: args.jobs as usize,
        again: args.again,
        cancel: signals::stop_flag()?,
        progress: &|p| display.show(p),
    };
    let signer = Signer::of_user()?;
    match &signer {
        Some(Signer { created_file: Some(path), .. }) => message!("made a signing key: {}", path.display()),
        Some(_) => {}
        None => message!("not signed: there is no place for a key; let {} name a file", remote::sign::VARIABLE),
    }
    let done = remote::push(&engine, &there, signer.as_ref(), &options);
    display.end();
    let done = match done {
        Err(remote::Error::Interrupted) => return super::pull::interrupted(),
        done => done.map_err(super::unwrap_engine_error)?,
    };
    super::print_notes(&done.notes);
    if args.json {
        json(&done)?;
    } else {
        output(&text(&done, there.name(), start.elapsed()));
    }
    Ok(0)
}

fn text(done: &Pushed, remote: &str, wall: Duration) -> String {
    let requests = count(done.requests, "request");
    if done.current == 0 {
        return format!("nothing to push: no unit has a current result; `repro run` computes them ({requests})\n");
    }
    if done.records == 0 {
        return format!(
            "nothing to push: {remote} has {} ({requests}, {})\n",
            count(done.current, "result"),
            duration(wall)
        );
    }
    let resumed = if done.resumed > 0 { format!(", {} sent by an earlier push", done.resumed) } else { String::new() };
    let objects = format!("{} ({}){resumed}", count(done.objects, "object"), size(done.bytes));
    let key = done.key.as_ref().map_or(String::new(), |key| format!("signed by key {key}\n"));
    format!("pushed to {remote}: {}, {objects} ({requests}, {})\n{key}", count(done.records, "result"), duration(wall))
}
