//! `repro bench engine`: what the engine itself costs, measured on units that do next to nothing.

use super::output;
use super::text::{count, duration, size};
use pipeline::{Config, Engine, Environment, RunOptions};
use std::path::Path;
use std::time::{Duration, Instant};

/// Measure the program on this machine
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand, Debug)]
enum What {
    Engine(EngineArgs),
}

/// Overhead of the engine per trivial unit, cold and when there is nothing to do
///
/// Runs N units of the self-test kind `probe`, each writing 64 bytes, and one that reads them all, in a temporary
/// folder; then runs again with nothing to do. Beside it, the same number of bare files is written, synced and renamed:
/// the floor that the disk sets.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:
  repro bench engine --units 10000")]
struct EngineArgs {
    /// Number of units
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    units: u32,
    /// Threads [default: all cores]
    #[arg(short, long, default_value_t = 0)]
    jobs: usize,
    /// Folder for the temporary project [default: the system's]
    #[arg(long, value_name = "DIR")]
    at: Option<std::path::PathBuf>,
}

/// Run the command.
pub fn run(args: &Args) -> anyhow::Result<u8> {
    let What::Engine(args) = &args.what;
    let parent = args.at.clone().unwrap_or_else(std::env::temp_dir);
    let folder = tempfile::Builder::new().prefix("repro-bench").tempdir_in(parent)?;
    let n = args.units as usize;
    let (floor, per_file) = bare_files(folder.path(), n.min(1000))?;
    let text = format!(
        "version: 1\nstages:\n  cell:\n    kind: probe\n    matrix: {{value: 1..{n}}}\n  all:\n    kind: probe\n    needs: [cell]\n"
    );
    fs_err::write(folder.path().join(super::project::FILE), &text)?;
    let cold = once(folder.path(), args.jobs, n + 1)?;
    let idle = once(folder.path(), args.jobs, 0)?;
    output(&format!(
        "{}, {} stored\n\
         cold run      {:>9}   {:.3} ms a unit\n\
         nothing to do {:>9}   {:.3} ms a unit\n\
         bare files    {:>9}   {:.3} ms a file (write, sync, rename; one thread, {} files)\n",
        count(n + 1, "unit"),
        size(64 * (n as u64 + 1)),
        duration(cold),
        per(cold, n),
        duration(idle),
        per(idle, n),
        duration(floor),
        per_file,
        n.min(1000),
    ));
    Ok(0)
}

fn per(wall: Duration, n: usize) -> f64 {
    wall.as_secs_f64() * 1e3 / n as f64
}

/// One whole run as a user waits for it: reading pipeline.yaml, planning, running.
fn once(folder: &Path, jobs: usize, expected: usize) -> anyhow::Result<Duration> {
    let start = Instant::now();
    let config = Config::load(folder.join(super::project::FILE))?;
    let plan = config.plan("default", &[], &crate::registry::kinds())?;
    let engine: Engine = super::project::engine(plan, Environment::default())?;
    let summary = engine.run(&RunOptions { jobs, ..RunOptions::default() }, &mut |_| ())?;
    let wall = start.elapsed();
    anyhow::ensure!(summary.is_complete(), "the benchmark's units failed: {:?}", summary.failed.first());
    anyhow::ensure!(summary.ran.len() == expected, "expected {expected} units to run, {} did", summary.ran.len());
    Ok(wall)
}

/// Total, and milliseconds a file, for writing, syncing and renaming `n` small files.
fn bare_files(folder: &Path, n: usize) -> anyhow::Result<(Duration, f64)> {
    let start = Instant::now();
    for i in 0..n {
        let scratch = folder.join("bare.tmp");
        let mut file = fs_err::File::create(&scratch)?;
        std::io::Write::write_all(&mut file, &[0; 64])?;
        file.sync_all()?;
        fs_err::rename(&scratch, folder.join(format!("bare.{i}")))?;
    }
    let wall = start.elapsed();
    Ok((wall, per(wall, n)))
}
