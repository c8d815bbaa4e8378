//! Commands about the store: `repro path`, `repro log` and `repro gc` here, `repro verify` in `verify`.

mod against;
pub mod verify;

use crate::cli::options::View;
use crate::cli::project::Project;
use crate::cli::text::{count, duration, size};
use crate::cli::{json, output};
use std::path::Path;
use std::time::Duration;

/// Print where artefacts lie, one path a line
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro path figure                           all artefacts of a stage
  repro path train/rank=5,seed=1 model.npz    one file, for a script
  repro path 'train/*' --json                 with digests and sizes

The files are the store's own: read them, copy them, do not change them.")]
pub struct PathArgs {
    /// STAGE, STAGE/UNIT or a pattern with * and ?
    #[arg(value_name = "TARGET")]
    target: String,
    /// Only the artefact of this name
    #[arg(value_name = "ARTEFACT")]
    artefact: Option<String>,
    #[command(flatten)]
    view: View,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// `repro path`.
pub fn path(args: &PathArgs, dir: Option<&Path>) -> anyhow::Result<u8> {
    let engine = Project::open(dir, &args.view)?.engine()?;
    let found = engine.locate(std::slice::from_ref(&args.target), args.artefact.as_deref())?;
    if args.json {
        json(&found)?;
    } else {
        output(&found.iter().map(|f| format!("{}\n", f.path.display())).collect::<String>());
    }
    Ok(0)
}

/// Print the log and the error of a unit's last attempt
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:
  repro log train/rank=5,seed=1")]
pub struct LogArgs {
    /// STAGE, STAGE/UNIT or a pattern with * and ?
    #[arg(value_name = "TARGET")]
    target: String,
    #[command(flatten)]
    view: View,
}

/// `repro log`.
pub fn log(args: &LogArgs, dir: Option<&Path>) -> anyhow::Result<u8> {
    let engine = Project::open(dir, &args.view)?.engine()?;
    let mut out = String::new();
    for unit in engine.logs(std::slice::from_ref(&args.target))? {
        out += &format!("== {}\nparameters: {}\n", unit.id, unit.params);
        if let Some(p) = &unit.provenance {
            let seconds = |s: f64| duration(Duration::from_secs_f64(s.max(0.0)));
            out += &format!(
                "current result: wall {}, cpu {}, {}, peak memory of the process {}, {}\n",
                seconds(p.wall),
                seconds(p.cpu),
                count(p.threads, "thread"),
                size(p.peak_memory),
                count(p.attempts as usize, "attempt"),
            );
        }
        if let Some(error) = &unit.error {
            out += &format!("error: {error}\n");
        }
        match &unit.text {
            Some(text) => out += text,
            None => out += "(it logged nothing)\n",
        }
    }
    output(&out);
    Ok(0)
}

/// Remove from the store what no current result needs
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro gc --dry-run     what would go
  repro gc               remove it")]
pub struct GcArgs {
    #[command(flatten)]
    view: View,
    /// Only say what would go
    #[arg(long)]
    dry_run: bool,
}

/// `repro gc`.
pub fn gc(args: &GcArgs, dir: Option<&Path>) -> anyhow::Result<u8> {
    let done = Project::open(dir, &args.view)?.engine()?.gc(args.dry_run)?;
    let verb = if done.dry_run { "would remove" } else { "removed" };
    output(&format!(
        "{verb} {} ({}) and {}; kept {} ({})\n",
        count(done.objects, "object"),
        size(done.bytes),
        count(done.records, "record"),
        done.kept,
        size(done.kept_bytes),
    ));
    Ok(0)
}
