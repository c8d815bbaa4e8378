//! `repro dag`: the graph of stages, for the terminal, a README, Graphviz or a browser.

use crate::cli::options::Choose;
use crate::cli::text::{Table, count};
use crate::cli::{output, project};
use pipeline::{Plan, PlannedStage};
use report::figures::{DagNode, dag};
use std::fmt::Write;
use std::path::Path;

/// Show the graph of stages
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro dag                            a table, each stage after those it needs
  repro dag --format mermaid           for a README on GitHub
  repro dag --format dot | dot -Tpdf   for Graphviz
  repro dag --format svg > dag.svg     for a browser")]
pub struct Args {
    /// How to draw it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    choose: Choose,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum Format {
    Text,
    Mermaid,
    Dot,
    Svg,
}

/// Run the command.
pub fn run(args: &Args, dir: Option<&Path>) -> anyhow::Result<u8> {
    let plan = project::plan(&project::find(dir)?, &args.choose)?;
    output(&match args.format {
        Format::Text => text(&plan),
        Format::Mermaid => mermaid(&plan),
        Format::Dot => dot(&plan),
        Format::Svg => svg(&plan)?,
    });
    Ok(0)
}

/// Second line of a box: `12 units of train`.
fn caption(stage: &PlannedStage) -> String {
    let units = count(stage.units.len(), "unit");
    if stage.kind.name() == stage.name { units } else { format!("{units} of {}", stage.kind.name()) }
}

fn text(plan: &Plan) -> String {
    let mut table = Table::new(&["stage", "kind", "units", "axes", "needs"], &[2]);
    for stage in &plan.stages {
        let axes = if stage.axes.is_empty() { "-".into() } else { stage.axes.join(" x ") };
        let needs = if stage.needs.is_empty() { "-".into() } else { stage.needs.join(", ") };
        table.row(vec![stage.name.clone(), stage.kind.name().into(), stage.units.len().to_string(), axes, needs]);
    }
    table.render()
}

fn svg(plan: &Plan) -> anyhow::Result<String> {
    let node =
        |s: &PlannedStage| DagNode { name: s.name.clone(), inputs: s.needs.clone(), detail: caption(s), seconds: 0.0 };
    let nodes: Vec<DagNode> = plan.stages.iter().map(node).collect();
    Ok(dag("Stages of the pipeline", &nodes).svg()?)
}

fn mermaid(plan: &Plan) -> String {
    let mut out = String::from("graph LR\n");
    // Mermaid's own words (`end`, `graph`) make bad names, so nodes are numbered.
    let id = |name: &str| plan.stages.iter().position(|s| s.name == name).map(|i| format!("s{i}")).unwrap_or_default();
    for stage in &plan.stages {
        let _ = writeln!(out, "  {}[\"{}<br/>{}\"]", id(&stage.name), stage.name, caption(stage));
        for need in &stage.needs {
            let _ = writeln!(out, "  {} --> {}", id(need), id(&stage.name));
        }
    }
    out
}

fn dot(plan: &Plan) -> String {
    let mut out = String::from("digraph pipeline {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n");
    for stage in &plan.stages {
        let _ = writeln!(out, "  {:?} [label=\"{}\\n{}\"];", stage.name, stage.name, caption(stage));
        for need in &stage.needs {
            let _ = writeln!(out, "  {need:?} -> {:?};", stage.name);
        }
    }
    out + "}\n"
}
