//! `repro diff`: what differs between two sets of results (sides): settings first, then numbers, the largest relative change first.
//!
//! | file | what |
//! |---|---|
//! | `side` | one side: a lock file, a revision of git, a profile, or the current results |
//! | `settings` | parameters, code, inputs: why units differ |
//! | `numbers` | metrics, tables and claims |
//! | `show` | the comparison as text and as Markdown |
//! | `plots` | figures side by side |

mod numbers;
mod plots;
mod settings;
mod show;
mod side;

use crate::cli::options::View;
use crate::cli::project::Project;
use crate::cli::{json, output};
use numbers::Numbers;
use serde::Serialize;
use settings::Settings;
use side::Side;
use std::path::{Path, PathBuf};

/// Compare two sets of results: parameters, code, inputs, metrics, tables and claims
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro diff                       the last commit against now
  repro diff v0.1.0                a revision against now
  repro diff HEAD~5 HEAD           two revisions
  repro diff smoke default         two profiles, as last run
  repro diff a/repro.lock b/repro.lock
  repro diff HEAD --md             for a pull request
  repro diff HEAD --plots out      figures side by side, out/index.html

A side is a lock file, `now`, a profile, or a revision of git; `file:`, `profile:` and `git:` before it say which. Lock files hold digests; the
numbers behind them come from this store, from the store beside the lock file, or from files published in figures/, those of a revision from git. A number that moved by no more
than its tolerance is counted, not listed; --all lists it.")]
pub struct Args {
    /// The old side [default: HEAD]
    #[arg(value_name = "A")]
    a: Option<String>,
    /// The new side [default: now]
    #[arg(value_name = "B")]
    b: Option<String>,
    /// Numbers that moved by no more than this fraction count as equal [default: each metric's own tolerance, tables 1e-6]
    #[arg(long, value_name = "FRACTION")]
    tolerance: Option<f64>,
    /// List numbers within tolerance, too
    #[arg(long)]
    all: bool,
    /// Print Markdown
    #[arg(long, conflicts_with = "json")]
    md: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write figures that differ into this folder, with a page that shows them side by side
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
    /// Exit with code 1 if a number moved beyond its tolerance or a verdict changed
    #[arg(long)]
    exit_code: bool,
    #[command(flatten)]
    view: View,
}

/// What differs.
#[derive(Debug, Serialize)]
struct Diff {
    a: String,
    b: String,
    settings: Settings,
    numbers: Numbers,
}

/// Run the command.
pub fn run(args: &Args, dir: Option<&Path>) -> anyhow::Result<u8> {
    anyhow::ensure!(
        args.tolerance.is_none_or(|t| t.is_finite() && t >= 0.0),
        "--tolerance: expected a fraction that is not negative, for example 0.01"
    );
    let engine = Project::look(dir, &args.view)?.engine()?;
    let a = Side::open(&engine, args.a.as_deref().unwrap_or("HEAD"), &args.view.choose)?;
    let b = Side::open(&engine, args.b.as_deref().unwrap_or(side::NOW), &args.view.choose)?;
    let settings = Settings::compare(&a, &b);
    let numbers = Numbers::compare(&a, &b, args.tolerance)?;
    if let Some(folder) = &args.plots {
        plots::write_all(&a, &b, folder)?;
    }
    let diff = Diff { a: a.name.clone(), b: b.name.clone(), settings, numbers };
    if args.json {
        json(&diff)?;
    } else {
        output(&show::text(&diff, args.md, args.all));
    }
    Ok(u8::from(args.exit_code && diff.numbers.moved()))
}
