//! `repro verify`: hashes stored artefacts again and compares them with the record.

use super::against;
use crate::cli::options::View;
use crate::cli::project::Project;
use crate::cli::text::{Paint, count, duration, size};
use crate::cli::{json, output};
use pipeline::{Engine, Verified};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// Hash every stored artefact again and compare with the store and repro.lock
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro verify                          every byte of every current result
  repro verify 'train*'                 of some stages
  repro verify --rerun 5                also compute 5 random units again and compare bytes
  repro verify --rerun 5 --random 7     the same 5 each time
  repro verify --against                are these results those of the committed repro.lock?
  repro verify --against ../theirs/repro.lock     are they those of another project?

Exit code 1 if anything is wrong; `repro run` mends what is corrupt or missing.")]
pub struct Args {
    /// STAGE, STAGE/UNIT or patterns with * and ? [default: all]
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// Compare with a lock file (default: the project's own as committed in git): bytes, or numbers where keys differ
    #[arg(long, value_name = "LOCK", conflicts_with = "rerun")]
    against: Option<Option<PathBuf>>,
    /// Execute N random finished units again and compare bytes
    #[arg(long, value_name = "N")]
    rerun: Option<usize>,
    /// Seed of the choice for --rerun [default: from the clock]
    #[arg(long, value_name = "SEED", requires = "rerun")]
    random: Option<u64>,
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
    if let Some(lock) = &args.against {
        let theirs = match lock {
            Some(path) => against::Theirs::file(path)?,
            None => against::Theirs::committed(&engine.lock_path())?,
        };
        let found = against::compare(&engine, &args.targets, &theirs)?;
        if args.json {
            json(&found)?
        } else {
            output(&found.text(&theirs))
        }
        return Ok(u8::from(!found.agrees()));
    }
    let found = verify(&engine, args)?;
    if args.json {
        json(&found)?;
    } else {
        output(&text(&found, start.elapsed()));
    }
    Ok(u8::from(!found.problems.is_empty()))
}

fn verify(engine: &Engine, args: &Args) -> anyhow::Result<Verified> {
    let mut found = engine.verify(&args.targets)?;
    if let Some(count) = args.rerun {
        // The choice of units is not a result, so the clock may make it.
        let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64);
        let again = engine.verify_rerun(&args.targets, count, args.random.unwrap_or_else(now))?;
        found.rerun = again.rerun;
        found.problems.extend(again.problems);
    }
    Ok(found)
}

fn text(found: &Verified, wall: Duration) -> String {
    let paint = Paint::stdout();
    if found.units == 0 && found.problems.is_empty() {
        return "nothing to verify: no unit has a current result; `repro run` computes them\n".to_string();
    }
    let mut out: String = found.problems.iter().map(|p| format!("{} {p}\n", paint.red("problem:"))).collect();
    if found.stale > 0 {
        out += &format!("{} without a current result skipped\n", count(found.stale, "unit"));
    }
    let rerun =
        if found.rerun > 0 { format!(", {} executed again", count(found.rerun, "unit")) } else { String::new() };
    let head = match found.problems.len() {
        0 => paint.green("verified"),
        n => paint.red(&count(n, "problem")),
    };
    let what = [count(found.units, "unit"), count(found.artefacts, "artefact"), size(found.bytes)].join(", ");
    out + &format!("{head}: {what}{rerun} ({})\n", duration(wall))
}
