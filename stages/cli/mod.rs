//! The command line. This file lists the commands; each room holds some of them.
//!
//! | where | commands |
//! |---|---|
//! | `run/` | `run`, `attach`, `cancel` |
//! | `show/` | `status`, `why`, `dag` |
//! | `results/` | `figures`, `compare`, `report` |
//! | `store/` | `path`, `log`, `gc`, `verify` |
//! | `own/` | the method on the user's own arrays: `fit`, `predict`, `complete`, `adapt` and more |
//! | `machine/` | `doctor`, `bench`, `completions` |
//! | `options`, `project`, `signals`, `text` | what several commands share |
//!
//! Results go to stdout, progress and messages to stderr. Exit codes: 0 done, 1 a unit failed or a check found
//! something, 2 usage or configuration, 130 interrupted.

mod machine;
mod options;
mod own;
mod project;
mod results;
mod run;
mod show;
mod signals;
mod store;
mod text;

use clap::{Parser, Subcommand};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use {
    machine::{bench, completions, doctor},
    results::{compare, figures, report},
    run::cluster,
    show::{dag, status, why},
    store::verify,
};

/// Partial trace regression: the paper reproduced, and the method on your own data
///
/// `repro` runs the experiments of pipeline.yaml: a graph of cached stages. A unit of work runs again exactly when its
/// parameters, inputs or code changed, and `repro why` says which. Nothing stale is ever shown.
#[derive(Parser, Debug)]
#[command(
    name = "repro",
    version,
    max_term_width = 100,
    after_help = "Examples:
  repro run all --profile smoke     everything, tiny, in well under a minute
  repro run all                     every figure and table of the paper
  repro run all                     again: nothing to do
  repro why train                   what changed, field by field
  repro status                      what is fresh, what is not
  repro fit --x X.npy --y Y.npy -o model.npz     the method on your own arrays

Exit codes: 0 done, 1 a unit failed, 2 usage or configuration, 130 interrupted."
)]
pub struct Cli {
    /// Work in this folder (or the nearest one above it with a pipeline.yaml)
    #[arg(short = 'C', global = true, value_name = "DIR")]
    dir: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Run(run::Args),
    Status(status::Args),
    Why(why::Args),
    Dag(dag::Args),
    Path(store::PathArgs),
    Log(store::LogArgs),
    Verify(verify::Args),
    Gc(store::GcArgs),
    Attach(cluster::AttachArgs),
    Cancel(cluster::CancelArgs),
    #[command(hide = true)]
    ExecChunk(cluster::ExecArgs),
    Figures(figures::Args),
    Compare(compare::Args),
    Report(report::Args),
    Doctor(doctor::Args),
    Bench(bench::Args),
    Completions(completions::Args),
    Fit(own::fit::Args),
    Predict(own::predict::Args),
    Inspect(own::inspect::Args),
    Complete(own::complete::Args),
    Adapt(own::adapt::Args),
    Mdm(own::mdm::Args),
    Covariances(own::covariances::Args),
    Kernel(own::kernel::Args),
}

/// Exit code for usage and configuration errors.
const USAGE: u8 = 2;

/// Parse the command line, do what it says.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let dir = cli.dir.as_deref();
    let done = match &cli.command {
        Command::Run(a) => run::run(a, dir),
        Command::Status(a) => status::run(a, dir),
        Command::Why(a) => why::run(a, dir),
        Command::Dag(a) => dag::run(a, dir),
        Command::Path(a) => store::path(a, dir),
        Command::Log(a) => store::log(a, dir),
        Command::Verify(a) => verify::run(a, dir),
        Command::Gc(a) => store::gc(a, dir),
        Command::Attach(a) => cluster::attach(a, dir),
        Command::Cancel(a) => cluster::cancel(a, dir),
        Command::ExecChunk(a) => cluster::exec(a, dir),
        Command::Figures(a) => figures::run(a, dir),
        Command::Compare(a) => compare::run(a, dir),
        Command::Report(a) => report::run(a, dir),
        Command::Doctor(a) => doctor::run(a, dir),
        Command::Bench(a) => bench::run(a),
        Command::Completions(a) => completions::run(a),
        Command::Fit(a) => own::enter(dir).and_then(|()| own::fit::run(a)),
        Command::Predict(a) => own::enter(dir).and_then(|()| own::predict::run(a)),
        Command::Inspect(a) => own::enter(dir).and_then(|()| own::inspect::run(a)),
        Command::Complete(a) => own::enter(dir).and_then(|()| own::complete::run(a)),
        Command::Adapt(a) => own::enter(dir).and_then(|()| own::adapt::run(a)),
        Command::Mdm(a) => own::enter(dir).and_then(|()| own::mdm::run(a)),
        Command::Covariances(a) => own::enter(dir).and_then(|()| own::covariances::run(a)),
        Command::Kernel(a) => own::enter(dir).and_then(|()| own::kernel::run(a)),
    };
    ExitCode::from(done.unwrap_or_else(|error| {
        eprintln!("{} {error:#}{}", text::Paint::stderr().red("error:"), project::hint(&error));
        USAGE
    }))
}

/// Print a result. A reader that went away (`repro status | head -1`) is no error.
fn output(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Print a result as JSON.
fn json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    output(&(serde_json::to_string_pretty(value)? + "\n"));
    Ok(())
}
