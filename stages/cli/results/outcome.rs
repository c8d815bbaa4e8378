//! What a run has produced, as `report` and `compare` read it: rendered files, metrics, results. Only what is fresh counts.

use crate::shared::results::RESULTS;
use ::report::Card;
use ::report::claims::{Judged, Metrics, PAPER, judge_all, read};
use ::report::frames::from_parquet;
use ::report::polars::prelude::DataFrame;
use anyhow::{Context as _, Result};
use pipeline::Engine;
use std::path::PathBuf;

/// A rendered figure or table.
pub struct Rendered {
    /// The stage that rendered it.
    pub stage: String,
    /// Its title, caption and data source.
    pub card: Card,
    /// Its files by ending.
    files: Vec<(String, PathBuf)>,
}

impl Rendered {
    /// The text of the file with that ending.
    pub fn text(&self, ending: &str) -> Result<String> {
        let file = self.files.iter().find(|(e, _)| e == ending);
        let (_, path) = file.with_context(|| format!("`{}` has no {}.{ending}", self.stage, self.card.id))?;
        Ok(fs_err::read_to_string(path)?)
    }
}

/// The artefacts of fresh stages, and the names of the others.
pub struct Outcome {
    /// Figures and tables, in the order of pipeline.yaml.
    pub rendered: Vec<Rendered>,
    /// Measured numbers by name.
    pub metrics: Metrics,
    /// Results of each experiment: stage and rows.
    pub results: Vec<(String, DataFrame)>,
    /// Artefacts `source.json`: which data were used.
    pub sources: Vec<datasets::fetch::Provenance>,
    /// Stages whose results are missing or stale.
    pub missing: Vec<String>,
}

/// Reads the artefacts of all stages that are fresh.
pub fn read_outcome(engine: &Engine) -> Result<Outcome> {
    let mut outcome =
        Outcome { rendered: vec![], metrics: Metrics::new(), results: vec![], sources: vec![], missing: vec![] };
    for stage in &engine.plan().stages {
        let Ok(found) = engine.locate(&[stage.name.as_str()], None) else {
            outcome.missing.push(stage.name.clone());
            continue;
        };
        let text = |path: &PathBuf| fs_err::read_to_string(path);
        let ending = |name: &str, id: &str| name.strip_prefix(id)?.strip_prefix('.').map(str::to_owned);
        for file in &found {
            match file.artefact.as_str() {
                "metrics.json" => outcome.metrics.extend(serde_json::from_str::<Metrics>(&text(&file.path)?)?),
                RESULTS => outcome.results.push((stage.name.clone(), from_parquet(&fs_err::read(&file.path)?)?)),
                "source.json" => outcome.sources.push(serde_json::from_str(&text(&file.path)?)?),
                name if stage.is_shown() && name.ends_with(".json") => {
                    let card: Card = serde_json::from_str(&text(&file.path)?)?;
                    let files = found.iter().filter_map(|f| Some((ending(&f.artefact, &card.id)?, f.path.clone())));
                    outcome.rendered.push(Rendered { stage: stage.name.clone(), files: files.collect(), card });
                }
                _ => {}
            }
        }
    }
    Ok(outcome)
}

impl Outcome {
    /// The paper's claims, judged by the metrics.
    pub fn judged(&self) -> Result<Vec<Judged>> {
        Ok(judge_all(&read(PAPER)?, &self.metrics))
    }
}
