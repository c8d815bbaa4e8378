//! `repro compare`: the paper's claims, each with its verdict and the numbers behind it.

use super::outcome::read_outcome;
use crate::cli::console::message;
use crate::cli::options::View;
use crate::cli::project::Project;
use ::report::claims::{Metrics, PAPER, broken, judge_all, print, read};
use std::path::{Path, PathBuf};

/// Judge the paper's claims by the results of the last run
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro compare                        verdicts from the cached results
  repro compare --metrics edited.json  verdicts from a file of metrics instead

A verdict is computed from named metrics by the rule that stands with the claim: reproduced, not reproduced, or not decided on this
data. Exit code 1 when a claim marked as required is not reproduced.")]
pub struct Args {
    /// Judge by the metrics in this file (as `repro path regression-results metrics.json` shows them)
    #[arg(long, value_name = "FILE")]
    metrics: Option<PathBuf>,
    /// Machine-readable
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    view: View,
}

/// Run the command.
pub fn run(args: &Args, dir: Option<&Path>) -> anyhow::Result<u8> {
    let judged = match &args.metrics {
        Some(file) => {
            let text = fs_err::read_to_string(file)?;
            let metrics: Metrics = serde_json::from_str(&text)
                .map_err(|e| anyhow::anyhow!("{}: not a file of metrics ({e})", file.display()))?;
            judge_all(&read(PAPER)?, &metrics)
        }
        None => {
            let project = Project::look(dir, &args.view)?;
            let flags = project.flags.clone();
            let outcome = read_outcome(&project.engine()?)?;
            if !outcome.missing.is_empty() {
                message!(
                    "not up to date, so not judged: {}; `repro run all{flags}` computes them",
                    outcome.missing.join(", ")
                );
            }
            outcome.judged()?
        }
    };
    if args.json {
        crate::cli::json(&judged)?;
    } else {
        crate::cli::output(&print(&judged));
    }
    Ok(u8::from(broken(&judged)))
}
