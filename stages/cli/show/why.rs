//! `repro why`: why units must run, field by field.

use crate::cli::options::View;
use crate::cli::project::Project;
use crate::cli::text::{count, seconds};
use crate::cli::{json, output};
use pipeline::Why;
use std::path::Path;

/// Say why units must run: parameter, input, code, missing or corrupt artefact
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro why train                   every unit of a stage; units with equal reasons share a paragraph
  repro why train/rank=5,seed=1     one unit, with what is known about its current result
  repro why all --json              for scripts")]
pub struct Args {
    /// STAGE, STAGE/UNIT, a pattern with * and ?, or `all`
    #[arg(required = true, value_name = "TARGET")]
    targets: Vec<String>,
    #[command(flatten)]
    view: View,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Run the command.
pub fn run(args: &Args, dir: Option<&Path>) -> anyhow::Result<u8> {
    let units = Project::look(dir, &args.view)?.engine()?.why(&args.targets)?;
    if args.json {
        json(&units)?;
    } else {
        output(&text(&units));
    }
    Ok(0)
}

fn text(units: &[Why]) -> String {
    if let [one] = units {
        return single(one);
    }
    let fresh = units.iter().filter(|u| u.fresh).count();
    let mut out = String::new();
    // Units with the same reasons share a paragraph; paragraphs keep the order of their first units.
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for unit in units.iter().filter(|u| !u.fresh) {
        let reasons = reasons(unit);
        match groups.iter_mut().find(|(r, _)| *r == reasons) {
            Some((_, ids)) => ids.push(&unit.id),
            None => groups.push((reasons, vec![&unit.id])),
        }
    }
    for (reasons, ids) in &groups {
        let more = if ids.len() > 1 { format!(" and {} more like it", ids.len() - 1) } else { String::new() };
        out += &format!("{}{more}\n{reasons}", ids[0]);
    }
    if fresh > 0 {
        out += &format!("{} fresh\n", count(fresh, "unit"));
    }
    out
}

fn reasons(unit: &Why) -> String {
    let mut out = String::new();
    if let Some(other) = &unit.compared_with {
        out += &format!("  compared with {other}:\n");
    }
    for reason in &unit.reasons {
        out += &format!("  {reason}\n");
    }
    out
}

/// The backend that a result was asked for with.
fn backend(p: &pipeline::Provenance) -> &str {
    p.settings.get(crate::shared::device::BACKEND).map_or("unknown", String::as_str)
}

fn single(unit: &Why) -> String {
    if !unit.fresh {
        return format!("{} must run:\n{}", unit.id, reasons(unit));
    }
    let mut out = format!("{} is fresh\n", unit.id);
    if let Some(p) = &unit.provenance {
        let wall = seconds(p.wall);
        out += &format!("  computed in {wall} on {}, backend {}\n", count(p.threads, "thread"), backend(p));
        if let Some(how) = p.settings.get(crate::shared::device::ARITHMETIC) {
            out += &format!("  arithmetic: {how}\n");
        }
    }
    if let Some(h) = &unit.host {
        out += &format!("  by repro {} ({}) on {}, {}\n", h.program, h.rustc, h.system, h.cpu);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipeline::Stale;

    #[test]
    fn equal_reasons_are_told_once() {
        let unit = |id: &str, fresh: bool| Why {
            id: id.into(),
            fresh,
            key: None,
            compared_with: None,
            reasons: if fresh { vec![] } else { vec![Stale::CodeChanged { source: "stages/train.rs".into() }] },
            provenance: None,
            host: None,
        };
        let text = text(&[unit("t/a=1", false), unit("t/a=2", false), unit("t/a=3", true)]);
        assert_eq!(text, "t/a=1 and 1 more like it\n  code stages/train.rs changed\n1 unit fresh\n");
    }
}
