//! `repro bench engine`: what the engine itself costs, measured on units that do next to nothing. `repro bench draw`: the
//! timings that `benches/` measured against other programs, as a figure. `repro bench costs`: the cost model beside the times in the store.

use crate::cli::own::output::write;
use crate::cli::{json, output};
use ::report::figures::{read_timings, speed};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Measure the program on this machine
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand, Debug)]
enum What {
    Engine(EngineArgs),
    Draw(DrawArgs),
    Costs(super::costs::Args),
}

/// Draw the timings that benches/peers.sh measured
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:
  repro bench draw benches/results.json -o figures/speed")]
struct DrawArgs {
    /// The file of timings
    #[arg(value_name = "FILE")]
    timings: PathBuf,
    /// Where to write, without ending: PATH.svg and PATH.png
    #[arg(short, long, value_name = "PATH", default_value = "speed")]
    output: PathBuf,
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
pub fn run(args: &Args, dir: Option<&Path>) -> anyhow::Result<u8> {
    match &args.what {
        What::Costs(args) => super::costs::run(args, dir),
        What::Engine(args) => engine(args),
        What::Draw(args) => draw(args),
    }
}

fn draw(args: &DrawArgs) -> anyhow::Result<u8> {
    let timings = read_timings(&fs_err::read_to_string(&args.timings)?)
        .map_err(|e| anyhow::anyhow!("{}: {e}", args.timings.display()))?;
    let figure = speed(&timings)?;
    for (ending, bytes) in [("svg", figure.svg()?.into_bytes()), ("png", figure.png()?)] {
        let path = args.output.with_extension(ending);
        write(&path, |out| Ok(out.write_all(&bytes)?))?;
        output(&format!("{}\n", path.display()));
    }
    Ok(0)
}

fn engine(args: &EngineArgs) -> anyhow::Result<u8> {
    let parent = args.at.clone().unwrap_or_else(std::env::temp_dir);
    let measured = pipeline::bench::bench_engine(args.units as usize, &parent)?;
    if args.json {
        json(&measured)?;
    } else {
        output(&format!("{measured}\n"));
    }
    Ok(0)
}
