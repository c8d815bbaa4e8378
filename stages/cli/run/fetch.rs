//! Getting data over the network: before a run judges what is fresh, and on its own as `repro fetch`.
//!
//! A unit never uses the network: what it computes follows from what is on this machine. So a run asks first for whatever its units need and this
//! machine does not have. What cannot be had is told in one line, and the run goes on with what there is (or fails, with `--require-real`).

use crate::cli::output;
use crate::cli::text::{count, size};
use crate::kinds::wanted;
use crate::shared::source::{ACCEPT_CHANGED, Wanted, options};
use datasets::bci::Session;
use datasets::fetch::{Options, Progress};
use indicatif::{ProgressBar, ProgressStyle};
use pipeline::{Environment, Plan};
use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex};

/// Download the data sets, once for all projects; a download that was cut off goes on where it stopped
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro fetch                               the digits, and the recordings of the paper's five subjects
  repro fetch digits
  repro fetch recordings --subjects 1..9

Files go to $REPRO_CACHE (default: ~/.cache/repro) after their SHA-256 was compared with data/sources.yaml. HTTP_PROXY, HTTPS_PROXY and NO_PROXY are
honoured; REPRO_SOURCES names another list of addresses.")]
pub struct Args {
    /// What to fetch
    #[arg(value_enum, default_value_t = What::All, value_name = "DATASET")]
    what: What,
    /// Subjects whose recordings to fetch: 1..9 or 1,3,7
    #[arg(long, value_name = "LIST", default_value = "1,3,7,8,9", value_parser = subjects)]
    subjects: Subjects,
    /// Take a file although its checksum is not the published one or the one seen first
    #[arg(long)]
    accept_changed: bool,
}

/// Names of data sets.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq)]
enum What {
    /// Both data sets
    All,
    /// Multiple Features
    Digits,
    /// BCI Competition IV 2a
    Recordings,
}

#[derive(Clone, Debug, PartialEq)]
struct Subjects(Vec<u8>);

fn subjects(text: &str) -> Result<Subjects, String> {
    let list = crate::cli::own::ranks(text).map_err(|_| "expected subjects such as 1..9 or 1,3,7".to_string())?;
    match list.iter().all(|s| *s <= 9) {
        true => Ok(Subjects(list.into_iter().map(|s| s as u8).collect())),
        false => Err("the data set has subjects 1 to 9".into()),
    }
}

/// Run the command.
pub fn run(args: &Args) -> anyhow::Result<u8> {
    let mut env = Environment::default();
    env.set_flag(ACCEPT_CHANGED, args.accept_changed);
    let mut options = options(&env)?;
    options.ask_again = true;
    anyhow::ensure!(options.cache_dir.is_some(), "there is no folder to keep downloads in; set REPRO_CACHE or HOME");
    let mut all = Vec::new();
    if args.what != What::Recordings {
        all.push(Wanted::Digits);
    }
    if args.what != What::Digits {
        all.extend(args.subjects.0.iter().flat_map(|s| [Session::T, Session::E].map(|e| Wanted::Recording(*s, e))));
    }
    let mut failed = 0;
    for one in all {
        let line = match fetch(one, &mut options) {
            Ok(true) => "fetched".to_string(),
            Ok(false) => "here already".to_string(),
            Err(e) => {
                failed += 1;
                format!("not fetched: {e}")
            }
        };
        output(&format!("{}  {line}\n", one.name()));
    }
    Ok(u8::from(failed > 0))
}

/// Asks the network for what the units of the targets need and this machine does not have.
pub fn ask(plan: &Plan, targets: &[String], env: &Environment) -> anyhow::Result<()> {
    let mut options = options(env)?;
    if options.offline {
        return Ok(());
    }
    let mut failed: Vec<(Wanted, String)> = Vec::new();
    for one in needed(plan, targets)? {
        match fetch(one, &mut options) {
            Ok(true) => note(&format!("fetched {}", one.name())),
            Ok(false) => {}
            Err(e) => failed.push((one, e.to_string())),
        }
    }
    // Sessions fail together, for one reason: one line is enough. The logs of the units have the rest.
    for digits in [true, false] {
        let mut of = failed.iter().filter(|(w, _)| (*w == Wanted::Digits) == digits);
        let Some((first, why)) = of.next() else { continue };
        let more = match of.count() {
            0 => String::new(),
            n => format!(" and {} more", count(n, "file")),
        };
        let instead = if digits { "the embedded sample" } else { "simulated recordings" };
        // The first reason; `repro fetch` gives all of them.
        let why = why.split("; ").next().unwrap_or(why);
        let then = if options.require_real { String::new() } else { format!("; {instead} will be used") };
        note(&format!("{}{more} could not be fetched: {why}{then}", first.name()));
    }
    Ok(())
}

/// What the targets and all they need want, each once.
fn needed(plan: &Plan, targets: &[String]) -> anyhow::Result<BTreeSet<Wanted>> {
    let mut scope = vec![false; plan.units.len()];
    let mut open = pipeline::plan::target::select(plan, targets)?;
    while let Some(unit) = open.pop() {
        if !std::mem::replace(&mut scope[unit], true) {
            open.extend(&plan.units[unit].inputs);
        }
    }
    let of = |unit: usize| wanted(plan.stage_of(unit).kind.name(), &plan.units[unit].params);
    Ok((0..plan.units.len()).filter(|u| scope[*u]).filter_map(of).collect())
}

/// Fetches with a bar on a terminal, or a line where a download begins.
fn fetch(one: Wanted, options: &mut Options) -> datasets::Result<bool> {
    let bar: Arc<Mutex<Option<(String, ProgressBar)>>> = Arc::default();
    let (shown, terminal) = (bar.clone(), std::io::stderr().is_terminal());
    options.progress = Some(Arc::new(move |p: &Progress<'_>| {
        let mut shown = shown.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if shown.as_ref().is_none_or(|(file, _)| file != p.file) {
            let total = p.total.map_or(String::new(), |t| format!(" ({})", size(t)));
            if !terminal {
                note(&format!("fetching {}{total}{}", p.file, p.note.map(|n| format!(": {n}")).unwrap_or_default()));
            }
            let bar = if terminal { ProgressBar::new(p.total.unwrap_or(0)) } else { ProgressBar::hidden() };
            if let Ok(style) = ProgressStyle::with_template("{msg} {bar:30} {bytes} of {total_bytes}, {eta} left") {
                bar.set_style(style);
            }
            bar.set_message(p.file.to_string());
            *shown = Some((p.file.to_string(), bar));
        }
        if let Some((_, bar)) = shown.as_ref() {
            bar.set_position(p.done);
        }
    }));
    let done = one.fetch(options);
    if let Some((_, bar)) = bar.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take() {
        bar.finish_and_clear();
    }
    options.progress = None;
    done
}

/// A line on stderr. A lost terminal must not end the run.
fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_subjects() {
        assert_eq!(subjects("1..3"), Ok(Subjects(vec![1, 2, 3])));
        assert_eq!(subjects("7,1"), Ok(Subjects(vec![1, 7])));
        assert!(subjects("10").is_err() && subjects("x").is_err() && subjects("0").is_err());
    }
}
