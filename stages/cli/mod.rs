//! The command line. This file lists the commands; each room holds some of them.
//!
//! | where | commands |
//! |---|---|
//! | `run/` | `run`, `fetch`, `attach`, `cancel` |
//! | `show/` | `status`, `why`, `dag` |
//! | `results/` | `figures`, `compare`, `report` |
//! | `store/` | `path`, `get`, `log`, `gc`, `verify` |
//! | `share/` | results that travel: `push`, `pull` |
//! | `diff/` | `diff`: two sets of results compared |
//! | `archive/` | results as an RO-Crate: `export`, `import` |
//! | `own/` | the method on the user's own arrays: `fit`, `predict`, `complete`, `adapt` and more |
//! | `machine/` | `doctor`, `bench`, `completions` |
//! | `document/` | the program about itself: `kinds`, `schema`, `man`, `cite` |
//! | `console`, `options`, `project`, `remembered`, `signals`, `text` | what several commands share |
//!
//! Results go to stdout, progress and messages to stderr. Exit codes: 0 done, 1 a unit failed or a check found
//! something, 2 usage or configuration, 3 the disk, a stream, the store, a remote or the cluster, 130 interrupted.

mod archive;
mod console;
mod diff;
mod document;
mod machine;
mod options;
mod own;
mod project;
mod remembered;
mod results;
mod run;
mod share;
mod show;
mod signals;
mod store;
mod text;

use clap::{Parser, Subcommand};
use console::{json, message, output};
use std::path::PathBuf;
use std::process::ExitCode;
use {
    archive::{export, import},
    document::{cite, kinds, man, schema},
    machine::{bench, completions, doctor},
    results::{compare, figures, report},
    run::cluster,
    share::{pull, push},
    show::{dag, status, why},
    store::{gc, get, verify},
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

Environment:
  REPRO_DATA   folder with your copies of the data (as --data-dir)
  REPRO_SIMD   instruction set: auto (the widest there is), plain, avx2 or avx512; results have the same bits with each
  NO_COLOR     no colours

Exit codes:
  0    done
  1    a unit failed, or a check found something (verify, compare, pull, import, diff --exit-code)
  2    usage or configuration: nothing was run
  3    the machine: disk, stream, store, cluster or remote; the same command may succeed later
  130  interrupted; finished units are kept"
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
    Fetch(run::fetch::Args),
    Status(status::Args),
    Why(why::Args),
    Dag(dag::Args),
    Path(store::PathArgs),
    Get(get::Args),
    Log(store::LogArgs),
    Verify(verify::Args),
    Gc(gc::Args),
    Push(push::Args),
    Pull(pull::Args),
    Attach(cluster::AttachArgs),
    Cancel(cluster::CancelArgs),
    #[command(hide = true)]
    ExecChunk(cluster::ExecArgs),
    Figures(figures::Args),
    Compare(compare::Args),
    Diff(diff::Args),
    Report(report::Args),
    Export(export::Args),
    Import(import::Args),
    Doctor(doctor::Args),
    Bench(bench::Args),
    Completions(completions::Args),
    #[command(hide = true)]
    ListTargets(completions::TargetArgs),
    Kinds(kinds::Args),
    Schema(schema::Args),
    Man(man::Args),
    Cite(cite::Args),
    Fit(own::fit::Args),
    Predict(own::predict::Args),
    Inspect(own::inspect::Args),
    Complete(own::complete::Args),
    Adapt(own::adapt::Args),
    Mdm(own::mdm::Args),
    Covariances(own::covariances::Args),
    Kernel(own::kernel::Args),
    Example(own::example::Args),
}

/// Exit code for usage and configuration errors.
const USAGE: u8 = 2;

/// The exit code for an error.
fn exit_code(error: &anyhow::Error) -> u8 {
    if console::is_machine(error) { console::MACHINE } else { USAGE }
}

/// Parse the command line, do what it says.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(said) => return ExitCode::from(parsed(&said)),
    };
    let dir = cli.dir.as_deref();
    if let Err(why) = linalg::simd::requested_level() {
        message!("{} {why}", text::Paint::stderr().red("error:"));
        return ExitCode::from(USAGE);
    }
    let done = match &cli.command {
        Command::Run(a) => run::run(a, dir),
        Command::Fetch(a) => run::fetch::run(a),
        Command::Status(a) => status::run(a, dir),
        Command::Why(a) => why::run(a, dir),
        Command::Dag(a) => dag::run(a, dir),
        Command::Path(a) => store::path(a, dir),
        Command::Get(a) => get::run(a, dir),
        Command::Log(a) => store::log(a, dir),
        Command::Verify(a) => verify::run(a, dir),
        Command::Gc(a) => gc::run(a, dir),
        Command::Push(a) => push::run(a, dir),
        Command::Pull(a) => pull::run(a, dir),
        Command::Attach(a) => cluster::attach(a, dir),
        Command::Cancel(a) => cluster::cancel(a, dir),
        Command::ExecChunk(a) => cluster::exec(a, dir),
        Command::Figures(a) => figures::run(a, dir),
        Command::Compare(a) => compare::run(a, dir),
        Command::Diff(a) => diff::run(a, dir),
        Command::Report(a) => report::run(a, dir),
        Command::Export(a) => export::run(a, dir),
        Command::Import(a) => import::run(a),
        Command::Doctor(a) => doctor::run(a, dir),
        Command::Bench(a) => bench::run(a, dir),
        Command::Completions(a) => completions::run(a),
        Command::ListTargets(a) => completions::targets(a, dir),
        Command::Kinds(a) => kinds::run(a),
        Command::Schema(a) => schema::run(a),
        Command::Man(a) => man::run(a),
        Command::Cite(a) => cite::run(a),
        Command::Fit(a) => own::enter(dir).and_then(|()| own::fit::run(a)),
        Command::Predict(a) => own::enter(dir).and_then(|()| own::predict::run(a)),
        Command::Inspect(a) => own::enter(dir).and_then(|()| own::inspect::run(a)),
        Command::Complete(a) => own::enter(dir).and_then(|()| own::complete::run(a)),
        Command::Adapt(a) => own::enter(dir).and_then(|()| own::adapt::run(a)),
        Command::Mdm(a) => own::enter(dir).and_then(|()| own::mdm::run(a)),
        Command::Covariances(a) => own::enter(dir).and_then(|()| own::covariances::run(a)),
        Command::Kernel(a) => own::enter(dir).and_then(|()| own::kernel::run(a)),
        Command::Example(a) => own::enter(dir).and_then(|()| own::example::run(a)),
    };
    let code = done.unwrap_or_else(|error| {
        message!("{} {error:#}{}", text::Paint::stderr().red("error:"), project::hint(&error));
        exit_code(&error)
    });
    ExitCode::from(console::exit_code(code))
}

/// Where the threads that rayon wants cannot be started, it works on this one. Its own answer would be a panic.
pub fn enough_threads() {
    if rayon::ThreadPoolBuilder::new().build().is_err() {
        message!("no more threads can be started here: computing on one");
        crate::shared::pool::one_thread();
    }
}

/// Prints what the parser has to say: help and version, which are results, or why it refuses the command line.
fn parsed(said: &clap::Error) -> u8 {
    let refused = said.use_stderr();
    match said.print() {
        Err(e) if !refused && e.kind() != std::io::ErrorKind::BrokenPipe => console::MACHINE,
        _ if refused => USAGE,
        _ => 0,
    }
}
