//! `repro status`: what is fresh, what is not, and the first reason.

use crate::cli::options::View;
use crate::cli::project::Project;
use crate::cli::text::{Paint, Table, count, seconds, size};
use crate::cli::{json, output};
use pipeline::StageStatus;
use std::path::Path;

/// Show, stage by stage, what is fresh, stale or failed
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro status                      the table
  repro status --profile smoke      of another profile
  repro status --json               for scripts

`time` is what computing the current results took, summed over units.")]
pub struct Args {
    #[command(flatten)]
    view: View,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Run the command.
pub fn run(args: &Args, dir: Option<&Path>) -> anyhow::Result<u8> {
    let stages = Project::look(dir, &args.view)?.engine()?.status()?;
    if args.json {
        json(&stages)?;
    } else {
        output(&table(&stages));
        output(&(last_line(&stages, Paint::stdout()) + "\n"));
    }
    Ok(0)
}

fn table(stages: &[StageStatus]) -> String {
    let mut table =
        Table::new(&["stage", "fresh", "stale", "failed", "size", "time", "first reason"], &[1, 2, 3, 4, 5]);
    for s in stages {
        let reason = match (&s.first_stale, &s.reason) {
            (Some(unit), Some(reason)) if *unit != s.stage => format!("{unit}: {reason}"),
            (_, Some(reason)) => reason.to_string(),
            _ => String::new(),
        };
        let time = if s.fresh == 0 { "-".into() } else { seconds(s.duration) };
        let bytes = if s.fresh == 0 { "-".into() } else { size(s.size) };
        let numbers = [s.fresh, s.stale, s.failed].map(|n| n.to_string());
        table.row([std::slice::from_ref(&s.stage), &numbers[..], &[bytes, time, reason]].concat());
    }
    table.render()
}

fn last_line(stages: &[StageStatus], paint: Paint) -> String {
    let sum = |f: fn(&StageStatus) -> usize| stages.iter().map(f).sum::<usize>();
    let (fresh, stale, failed) = (sum(|s| s.fresh), sum(|s| s.stale), sum(|s| s.failed));
    match (stale, failed) {
        (0, 0) => paint.green(&format!("all {} fresh", count(fresh, "unit"))),
        (_, 0) => {
            paint.yellow(&format!("{stale} of {} stale: `repro why STAGE` says why", count(fresh + stale, "unit")))
        }
        _ => paint.red(&format!("{} failed: `repro log STAGE/UNIT` says how", count(failed, "unit"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipeline::Stale;

    #[test]
    fn a_row_shows_numbers_and_the_first_reason() {
        let stage = StageStatus {
            stage: "train".into(),
            kind: "train".into(),
            fresh: 1,
            stale: 2,
            failed: 0,
            size: 2048,
            duration: 1.5,
            first_stale: Some("train/rank=2".into()),
            reason: Some(Stale::NeverRan),
        };
        let text = table(&[stage]);
        assert!(text.ends_with("train      1      2       0  2.0 KiB  1.5 s  train/rank=2: never ran\n"), "{text}");
    }
}
