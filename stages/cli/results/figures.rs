//! `repro figures`: draw again from cached results, compute nothing.

use crate::cli::console::message;
use crate::cli::options::View;
use crate::cli::project::Project;
use crate::cli::run;
use pipeline::{Plan, RunOptions};
use std::path::Path;
use std::time::Instant;

/// Render figures and tables from cached results; compute nothing else
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro figures              all of them
  repro figures fig2 tab2    some

A figure is a stage with `publish` in pipeline.yaml. If what it draws is not up to date, this says so and stops;
`repro run FIGURE` computes it.")]
pub struct Args {
    /// Stages (or patterns with * and ?) to render [default: all that publish]
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    view: View,
}

/// Run the command.
pub fn run(args: &Args, dir: Option<&Path>) -> anyhow::Result<u8> {
    let start = Instant::now();
    let project = Project::look(dir, &args.view)?;
    let flags = project.flags.clone();
    let engine = project.engine()?;
    let targets = targets(engine.plan(), &args.ids)?;
    let options = RunOptions { targets, ..RunOptions::default() };
    let published = |unit: usize| engine.plan().stage_of(unit).is_shown();
    let upstream: Vec<_> = engine.dry_run(&options)?.into_iter().filter(|p| !published(p.unit)).collect();
    if let Some(first) = upstream.first() {
        message!("{} results that these figures draw are not up to date, the first is `{}`:", upstream.len(), first.id);
        for reason in &first.reasons {
            message!("  {reason}");
        }
        message!("compute them with `repro run {}{flags}`", options.targets.join(" "));
        return Ok(1);
    }
    run::execute(&engine, options, start, &flags)
}

fn targets(plan: &Plan, ids: &[String]) -> anyhow::Result<Vec<String>> {
    let all: Vec<&str> = plan.stages.iter().filter(|s| s.is_shown()).map(|s| s.name.as_str()).collect();
    if all.is_empty() {
        anyhow::bail!("no stage of pipeline.yaml has `publish`, so there are no figures");
    }
    let chosen = |name: &str| ids.is_empty() || ids.iter().any(|id| pipeline::plan::target::glob(id, name));
    for id in ids {
        if !all.iter().any(|name| pipeline::plan::target::glob(id, name)) {
            anyhow::bail!("no figure `{id}`; there are: {}", all.join(", "));
        }
    }
    Ok(all.into_iter().filter(|name| chosen(name)).map(str::to_string).collect())
}
