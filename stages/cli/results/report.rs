//! `repro report`: all figures, tables, verdicts and measurements on one page.

use super::outcome::{Outcome, read_outcome};
use super::{story, summary};
use crate::cli::console::message;
use crate::cli::options::View;
use crate::cli::own::output::write;
use crate::cli::project::Project;
use crate::cli::text::count;
use ::report::Source;
use ::report::figures::{DagNode, dag, seconds};
use ::report::frames::{stacked, to_csv};
use ::report::page::{DataUse, Download, PageFigure, PageTable, ReportPage};
use ::report::polars::prelude::{DataFrame, IntoLazy, all, lit};
use anyhow::Result;
use pipeline::Engine;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Write the report: one page with verdicts, figures, tables, data sources and provenance
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro report               write figures/report.html
  repro report --open        and open it in the browser
  repro report -o out.html   somewhere else

The page is one file without any network request. It shows what is fresh in the store; `repro run all` first makes everything so.")]
pub struct Args {
    /// Where to write [default: report.html in the figures folder of the profile]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Open it in the browser
    #[arg(long)]
    open: bool,
    #[command(flatten)]
    view: View,
}

/// Run the command.
pub fn run(args: &Args, dir: Option<&Path>) -> Result<u8> {
    let project = Project::look(dir, &args.view)?;
    let flags = project.flags.clone();
    let engine = project.engine()?;
    let outcome = read_outcome(&engine)?;
    let profile = &engine.plan().profile;
    let default = || {
        let figures = engine.plan().folder.join("figures");
        if profile == "default" { figures.join("report.html") } else { figures.join(profile).join("report.html") }
    };
    let path = args.output.clone().unwrap_or_else(default);
    let html = html(&engine, &outcome)?;
    if let Some(folder) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
        fs_err::create_dir_all(folder)?;
    }
    write(&path, |out| Ok(out.write_all(html.as_bytes())?))?;
    if !outcome.missing.is_empty() {
        message!(
            "left out, since not up to date: {}; `repro run all{flags}` computes them",
            outcome.missing.join(", ")
        );
    }
    crate::cli::output(&format!("{}\n", path.display()));
    if args.open {
        let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
        let opened = std::process::Command::new(opener).arg(&path).status();
        anyhow::ensure!(
            opened.is_ok_and(|s| s.success()),
            "`{opener}` could not open {}; open it yourself",
            path.display()
        );
    }
    Ok(0)
}

/// The page as text.
pub fn html(engine: &Engine, outcome: &Outcome) -> Result<String> {
    Ok(page(engine, outcome)?.html()?)
}

fn page(engine: &Engine, outcome: &Outcome) -> Result<ReportPage> {
    let profile = &engine.plan().profile;
    let again = |stage: &str| match profile.as_str() {
        "default" => format!("repro run {stage}"),
        other => format!("repro run {stage} --profile {other}"),
    };
    let (mut figures, mut tables) = (Vec::new(), Vec::new());
    for r in &outcome.rendered {
        let (card, command, differs) = (r.card.clone(), again(&r.stage), story::differs(&r.card.id).to_owned());
        if card.size.is_some() {
            let data = behind(engine, outcome, &r.stage);
            figures.push(PageFigure { svg: r.text("svg")?, card, data, differs, command });
        } else {
            tables.push(PageTable { html: r.text("html")?, csv: r.text("csv")?, card, differs, command });
        }
    }
    let status = engine.status()?;
    let nodes: Vec<DagNode> = engine
        .plan()
        .stages
        .iter()
        .zip(&status)
        .map(|(stage, s)| {
            let units = s.fresh + s.stale + s.failed;
            let what = if units > 0 && s.fresh == units { "cached".into() } else { seconds(s.duration) };
            let detail = format!("{}, {what}", count(units, "unit"));
            DagNode { name: stage.name.clone(), inputs: stage.needs.clone(), detail, seconds: s.duration }
        })
        .collect();
    let total = seconds(nodes.iter().map(|n| n.seconds).sum());
    Ok(ReportPage {
        title: "Partial trace regression, reproduced".into(),
        lead: format!(
            "Kadri, Ayache, Huusari, Rakotomamonjy and Ralaivola, Partial Trace Regression and Low-Rank Kraus Decomposition, ICML 2020; \
             profile `{profile}`."
        ),
        summary: summary::summary(&outcome.metrics),
        claims: outcome.judged()?,
        figures,
        tables,
        differences: story::differences(),
        data: data(outcome),
        dag: Some(dag(&format!("Stages, units and time ({total} in all)"), &nodes)),
        provenance: provenance(engine, &status)?,
        commands: vec![
            ("Everything".into(), again("all")),
            ("Figures and tables only, from cached results".into(), "repro figures".into()),
            ("Why a stage would run".into(), "repro why STAGE".into()),
            ("The verdicts in the terminal".into(), "repro compare".into()),
            ("Check every stored byte".into(), "repro verify".into()),
        ],
        raw: raw(outcome)?,
    })
}

/// The results a figure was drawn from: those of the stage it needs.
fn behind(engine: &Engine, outcome: &Outcome, stage: &str) -> Option<Download> {
    let needs = &engine.plan().stages.iter().find(|s| s.name == stage)?.needs;
    let (name, rows) = outcome.results.iter().find(|(name, _)| needs.contains(name))?;
    Some(Download { name: format!("{name}.csv"), text: to_csv(rows).ok()? })
}

/// The data sets that were really used, each once.
fn data(outcome: &Outcome) -> Vec<DataUse> {
    let mut used: Vec<DataUse> = Vec::new();
    for p in &outcome.sources {
        // Sessions of one data set differ after a comma; the page names the set.
        let name = p.dataset.split(',').next().unwrap_or_default().to_owned();
        let kind = match p.kind {
            datasets::fetch::Kind::Real => Source::Real(name.clone()),
            datasets::fetch::Kind::Embedded => Source::Embedded(name.clone()),
            datasets::fetch::Kind::Simulated => Source::Simulated,
        };
        if !used.iter().any(|d| d.name == name && d.used == kind) {
            used.push(DataUse { name, used: kind, address: p.source.clone(), licence: p.licence.clone() });
        }
    }
    used
}

/// Versions, machine and times.
fn provenance(engine: &Engine, status: &[pipeline::StageStatus]) -> Result<Vec<(String, String)>> {
    let mut lines = vec![
        ("Program".into(), format!("repro {}, {}", env!("CARGO_PKG_VERSION"), env!("REPRO_RUSTC"))),
        ("Profile and seed".into(), format!("{}, {}", engine.plan().profile, engine.plan().seed)),
        ("Time of all units".into(), format!("{:.0} s", status.iter().map(|s| s.duration).sum::<f64>())),
    ];
    let units = engine.why(&["all"])?;
    if let Some(host) = units.iter().find_map(|u| u.host.as_ref()) {
        lines.push(("Machine".into(), format!("{}, {} x {}", host.system, host.cores, host.cpu)));
    }
    let records = || units.iter().filter_map(|u| u.provenance.as_ref());
    if let Some(peak) = records().map(|p| p.peak_memory).max() {
        lines.push(("Peak memory of the process".into(), format!("{} MiB", peak >> 20)));
    }
    for (name, setting) in
        [("Backend asked for", crate::shared::device::BACKEND), ("Arithmetic", crate::shared::device::ARITHMETIC)]
    {
        let mut found: Vec<&str> = records().filter_map(|p| Some(p.settings.get(setting)?.as_str())).collect();
        found.sort_unstable();
        found.dedup();
        lines.push((name.into(), found.join("; ")));
    }
    Ok(lines)
}

/// All results below one another, each with the experiment it belongs to.
fn raw(outcome: &Outcome) -> Result<Option<DataFrame>> {
    let mut frames = Vec::new();
    for (stage, rows) in &outcome.results {
        let columns = [lit(stage.as_str()).alias("experiment"), all().as_expr()];
        frames.push(rows.clone().lazy().select(columns).collect()?);
    }
    Ok(if frames.is_empty() { None } else { Some(stacked(&frames)?) })
}
