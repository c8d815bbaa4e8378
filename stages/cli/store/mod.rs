//! Commands about the store: `repro path` and `repro log` here, `repro gc`, `repro get` and `repro verify` in files of their own.

mod against;
pub mod gc;
pub mod get;
pub mod verify;

use crate::cli::options::View;
use crate::cli::project::Project;
use crate::cli::text::{count, seconds, size};
use crate::cli::{json, output};
use pipeline::Located;
use std::path::Path;

/// Print where artefacts lie: unit, name and path, one artefact a line
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro path figure                           all artefacts of a stage
  repro path train/rank=5,seed=1 model.npz    the path alone, for a script
  repro path 'train/*' --json                 with digests and sizes

The files are the store's own: read them, copy them, do not change them.")]
pub struct PathArgs {
    /// STAGE, STAGE/UNIT or a pattern with * and ?
    #[arg(value_name = "TARGET")]
    target: String,
    /// Only the artefact of this name; prints paths alone
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
    let engine = Project::look(dir, &args.view)?.engine()?;
    let found = engine.locate(std::slice::from_ref(&args.target), args.artefact.as_deref())?;
    if args.json {
        json(&found)?;
    } else if args.artefact.is_some() {
        output(&found.iter().map(|f| format!("{}\n", f.path.display())).collect::<String>());
    } else {
        output(&named(&found));
    }
    Ok(0)
}

/// Unit, name and path of each artefact, aligned.
fn named(found: &[Located]) -> String {
    let width = |of: fn(&Located) -> &str| found.iter().map(|f| of(f).chars().count()).max().unwrap_or(0);
    let (unit, artefact) = (width(|f| &f.unit), width(|f| &f.artefact));
    found.iter().map(|f| format!("{:unit$}  {:artefact$}  {}\n", f.unit, f.artefact, f.path.display())).collect()
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
    let engine = Project::look(dir, &args.view)?.engine()?;
    let mut out = String::new();
    for unit in engine.logs(std::slice::from_ref(&args.target))? {
        out += &format!("== {}\nparameters: {}\n", unit.id, unit.params);
        if let Some(p) = &unit.provenance {
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
