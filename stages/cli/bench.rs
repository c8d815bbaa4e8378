//! `repro bench engine`: what the engine itself costs, measured on units that do next to nothing.

use super::{json, output};
use std::path::PathBuf;

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
/// Runs N units that write a few bytes each in a temporary folder, then runs again with nothing to do. Beside it, as many
/// bare files are written: the floor that the file system sets.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:
  repro bench engine --units 10000")]
struct EngineArgs {
    /// Number of units
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    units: u32,
    /// Folder for the temporary project [default: the system's]
    #[arg(long, value_name = "DIR")]
    at: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Run the command.
pub fn run(args: &Args) -> anyhow::Result<u8> {
    let What::Engine(args) = &args.what;
    let parent = args.at.clone().unwrap_or_else(std::env::temp_dir);
    let measured = pipeline::bench::bench_engine(args.units as usize, &parent)?;
    if args.json {
        json(&measured)?;
    } else {
        output(&format!("{measured}\n"));
    }
    Ok(0)
}
