//! `repro bench costs`: what the cost model expects beside what units took, and how well a run would have been foretold.

use crate::cli::json;
use crate::cli::options::View;
use crate::cli::output;
use crate::cli::project::Project;
use crate::cli::run::remaining::Remaining;
use crate::cli::text::seconds;
use pipeline::{Engine, RemainingUnit, critical_path, replay};
use serde::Serialize;
use std::path::Path;

/// The cost model beside the times in the store, stage by stage
///
/// Then the run is replayed on paper with the times in the store, in the order that the model gives, and at each tenth the estimate of the time left is
/// compared with the truth. Units that never ran take what the model says.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:
  repro bench costs --profile paper")]
pub struct Args {
    #[command(flatten)]
    view: View,
    /// Threads of the replayed run
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=4096))]
    threads: u32,
    /// Seconds on this machine for each second of cost [default: measured]
    #[arg(long, value_name = "NUMBER")]
    speed: Option<f64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A stage: units with a time, seconds expected and taken by them, seconds expected of the others.
#[derive(Debug, Serialize)]
struct StageCost {
    stage: String,
    units: usize,
    known: usize,
    model: f64,
    took: f64,
    /// The unit at the largest factor from the model, of those that take long.
    worst: Option<(String, f64)>,
    others: f64,
}

/// An estimate during the replayed run.
#[derive(Debug, Serialize)]
struct Moment {
    at: f64,
    left: f64,
    estimate: f64,
}

#[derive(Debug, Serialize)]
struct Found {
    /// Seconds on this machine for each second of cost.
    speed: f64,
    stages: Vec<StageCost>,
    /// What the run says before it starts, and what it takes.
    foretold: f64,
    takes: f64,
    moments: Vec<Moment>,
}

/// Run the command.
pub fn run(args: &Args, dir: Option<&Path>) -> anyhow::Result<u8> {
    let engine = Project::look(dir, &args.view)?.engine()?;
    let threads = args.threads as usize;
    let speed = args.speed.unwrap_or_else(|| crate::cli::run::speed::measure(threads));
    let found = measure(&engine, threads, speed);
    if args.json {
        json(&found)?;
    } else {
        output(&text(&found));
    }
    Ok(0)
}

fn measure(engine: &Engine, threads: usize, speed: f64) -> Found {
    let plan = engine.plan();
    let mut stages = Vec::new();
    let (mut model, mut truth) = (Vec::new(), Vec::new());
    for stage in &plan.stages {
        let mut row = StageCost {
            stage: stage.name.clone(),
            units: stage.units.len(),
            known: 0,
            model: 0.0,
            took: 0.0,
            worst: None,
            others: 0.0,
        };
        for unit in stage.units.clone() {
            let u = &plan.units[unit];
            let cost = engine.cost(unit).unwrap_or(0.0) * speed;
            let took = engine.former(unit);
            match took {
                Some(took) => {
                    row.known += 1;
                    row.model += cost;
                    row.took += took;
                    let factor = (took / cost.max(1e-9)).max(cost / took.max(1e-9));
                    if took.max(cost) > 0.5 && row.worst.as_ref().is_none_or(|(_, worst)| factor > *worst) {
                        row.worst = Some((u.label.clone(), factor));
                    }
                }
                None => row.others += cost,
            }
            model.push((unit, Some(cost)));
            truth.push(RemainingUnit { unit, seconds: took.unwrap_or(cost), running: false });
        }
        stages.push(row);
    }
    let expected: Vec<Option<f64>> = model.iter().map(|(_, cost)| *cost).collect();
    let path = critical_path(plan, &expected);
    let takes = replay(plan, &truth, &path, threads, |_, _, _| {});
    let mut remaining = Remaining::new(&model, Some(threads));
    let (foretold, _) = remaining.seconds(plan, 0.0);
    let mut moments: Vec<Moment> = Vec::new();
    replay(plan, &truth, &path, threads, |unit, ended, now| {
        if !ended {
            return remaining.start(unit, now);
        }
        remaining.end(unit, plan.units[unit].stage, Some(truth[unit].seconds));
        if now >= takes * (moments.len() + 1) as f64 / 10.0 && takes - now > 1e-3 * takes {
            let estimate = remaining.seconds(plan, now).0;
            moments.push(Moment { at: now, left: takes - now, estimate });
        }
    });
    Found { speed, stages, foretold, takes, moments }
}

fn text(found: &Found) -> String {
    let mut out = format!(
        "{:<22}{:>7}{:>12}{:>12}{:>8}{:>12}  farthest unit\n",
        "stage", "units", "model", "took", "ratio", "not run"
    );
    let part = |known: usize, s: f64| if known > 0 { seconds(s) } else { "-".to_string() };
    for s in &found.stages {
        let ratio = if s.known > 0 { format!("{:.2}", s.took / s.model.max(1e-9)) } else { "-".to_string() };
        let worst = s.worst.as_ref().map_or(String::new(), |(label, factor)| format!("{label} {factor:.1}x"));
        out += &format!(
            "{:<22}{:>7}{:>12}{:>12}{ratio:>8}{:>12}  {worst}\n",
            s.stage,
            s.units,
            part(s.known, s.model),
            part(s.known, s.took),
            part(s.units - s.known, s.others),
        );
    }
    out += &format!("{:.2} s on this machine for each second of cost\n", found.speed);
    out += &format!("foretold {}, replayed {}\n", seconds(found.foretold), seconds(found.takes));
    for m in &found.moments {
        let off = 100.0 * (m.estimate / m.left.max(1e-9) - 1.0);
        out += &format!(
            "after {}: {} left, estimate {} ({off:+.0} %)\n",
            seconds(m.at),
            seconds(m.left),
            seconds(m.estimate)
        );
    }
    out
}
