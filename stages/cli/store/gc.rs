//! `repro gc`: remove from the store what nothing refers to.

use crate::cli::options::View;
use crate::cli::project::{self, Project};
use crate::cli::text::{Table, count, size};
use crate::cli::{USAGE, json, output};
use pipeline::{CollectOptions, Collected};
use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

/// Remove results that nothing refers to
///
/// Kept is what any profile of pipeline.yaml, any lock file beside it, any run of the last 30 days or any run that is not
/// over refers to, with everything it was computed from. gc first says what would go, then asks.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro gc                       say what would go, ask, remove it
  repro gc --dry-run             only say it
  repro gc --yes                 do not ask, for scripts
  repro gc --older-than 7d       count runs of the last 7 days only
  repro gc --only train          remove results of one stage only

Exit code 2 when there is something to remove and nobody to ask: add --yes.")]
pub struct Args {
    #[command(flatten)]
    view: View,
    /// Only say what would go
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, conflicts_with = "dry_run")]
    yes: bool,
    /// Keep what a run used or computed within this time: 30d, 12h, 45min, 10s; 0s keeps no run
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "30d")]
    older_than: Duration,
    /// Remove results of this stage only
    #[arg(long, value_name = "STAGE")]
    only: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// `30d`, `12h`, `45min`, `10s`.
fn time(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a time; write 30d, 12h, 45min or 10s");
    let digits = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let seconds: u64 = match &text[digits..] {
        "d" => 86_400,
        "h" => 3_600,
        "min" => 60,
        "s" => 1,
        _ => return Err(wrong()),
    };
    let number: u64 = text[..digits].parse().map_err(|_| wrong())?;
    Ok(Duration::from_secs(number.checked_mul(seconds).ok_or_else(wrong)?))
}

/// Run the command.
pub fn run(args: &Args, dir: Option<&Path>) -> anyhow::Result<u8> {
    let folder = project::find(dir)?;
    let engine = Project::open(dir, &args.view)?.engine()?;
    let config = pipeline::Config::load(folder.join(project::FILE))?;
    let kinds = crate::kinds::kinds();
    let mut options = CollectOptions {
        older_than: args.older_than,
        only: args.only.clone(),
        dry_run: true,
        ..CollectOptions::default()
    };
    // Without knowing what every profile refers to, nothing may go: a mistake in one of them is an error here.
    for profile in config.profiles() {
        options.profiles.push(config.plan(&profile, &[], &kinds)?);
    }
    if let Some(stage) = &args.only {
        let known = options.profiles.iter().any(|plan| plan.stage(stage).is_some());
        let stored = engine.stages_stored().contains(stage);
        anyhow::ensure!(known || stored, "--only {stage}: neither pipeline.yaml nor the store has such a stage");
    }
    let mut found = engine.gc(&options)?;
    let nothing = found.records == 0 && found.objects == 0;
    if !args.json {
        output(&listing(&found));
    }
    if !args.dry_run && !nothing {
        if !args.yes && !agreed()? {
            return Ok(USAGE);
        }
        options.dry_run = false;
        found = engine.gc(&options)?;
    }
    if args.json {
        json(&found)?;
    } else {
        output(&format!("{}\n", sentence(&found)));
    }
    Ok(0)
}

/// Asks on a terminal; elsewhere the answer is no, with the option that says yes.
fn agreed() -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        anyhow::bail!("nothing was removed: there is nobody to ask; add --yes to remove it");
    }
    let mut stderr = std::io::stderr().lock();
    let _ = write!(stderr, "remove this? [y/N] ").and_then(|()| stderr.flush());
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn listing(found: &Collected) -> String {
    if found.groups.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&["stage", "results", "size", "why"], &[1, 2]);
    for group in &found.groups {
        let stage = if group.stage.is_empty() { "-".to_string() } else { group.stage.clone() };
        table.row(vec![stage, group.records.to_string(), size(group.bytes), group.reason.to_string()]);
    }
    table.render()
}

fn sentence(done: &Collected) -> String {
    if done.records == 0 && done.objects == 0 {
        return format!("nothing to remove: {} ({}) in use", count(done.kept, "object"), size(done.kept_bytes));
    }
    let verb = if done.dry_run { "would remove" } else { "removed" };
    format!(
        "{verb} {} ({}) and {}; kept {} ({})",
        count(done.objects, "object"),
        size(done.bytes),
        count(done.records, "record"),
        count(done.kept, "object"),
        size(done.kept_bytes),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_numbers_with_a_unit() {
        let seconds = |text: &str| time(text).map(|t| t.as_secs());
        assert_eq!(seconds("30d"), Ok(2_592_000));
        assert_eq!([seconds("2h"), seconds("5min"), seconds("0s")], [Ok(7_200), Ok(300), Ok(0)]);
        for bad in ["", "30", "d", "-1d", "1y", "99999999999999999999d", "999999999999999999d"] {
            assert!(time(bad).is_err(), "{bad}");
        }
    }
}
