//! ro-crate-metadata.json: RO-Crate 1.1 with the profiles Workflow RO-Crate 1.0, Process Run Crate 0.5 and Workflow Run Crate 0.5.
//!
//! The workflow is pipeline.yaml. The whole run is one action, and each unit is an action of its own, whose instrument is the unit's
//! kind. A unit's action says when it ran, for how long, with which parameters and inputs, and on which machine.

use super::{METADATA, RESULTS, sha256, time};
use pipeline::{Engine, Record};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A file of the crate.
pub struct CrateFile {
    /// Its path in the crate.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its description.
    pub about: String,
}

/// The media type of a file, by its ending.
fn media(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "json" => "application/json",
        "csv" => "text/csv",
        "md" => "text/markdown",
        "html" => "text/html",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "yaml" | "lock" | "cff" => "application/yaml",
        "parquet" => "application/vnd.apache.parquet",
        "tex" => "application/x-tex",
        "npy" | "npz" => "application/octet-stream",
        _ => "text/plain",
    }
}

fn id(id: &str) -> Value {
    json!({ "@id": id })
}

fn ids<'a>(all: impl IntoIterator<Item = &'a str>) -> Value {
    Value::Array(all.into_iter().map(id).collect())
}

/// A name in a form that may be part of an identifier: other characters become `_`.
fn fragment(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect()
}

/// Everything that the metadata says.
pub struct Metadata<'a> {
    pub engine: &'a Engine,
    pub files: &'a [CrateFile],
    /// Current results.
    pub current: &'a [(usize, pipeline::Key, Arc<Record>)],
    /// The path of each artefact in the crate, by unit and name. An artefact that is not in the crate is named by its digest only.
    pub places: &'a BTreeMap<(usize, String), String>,
    /// The path of the workflow (pipeline.yaml) in the crate.
    pub workflow: &'a str,
    /// Data sets that were used.
    pub sources: &'a [datasets::fetch::Provenance],
    /// The path of the project's licence in the crate; none where it is not in the crate.
    pub licence: Option<&'a str>,
}

const PROFILES: [(&str, &str, &str); 3] = [
    ("https://w3id.org/ro/wfrun/process/0.5", "Process Run Crate", "0.5"),
    ("https://w3id.org/ro/wfrun/workflow/0.5", "Workflow Run Crate", "0.5"),
    ("https://w3id.org/workflowhub/workflow-ro-crate/1.0", "Workflow RO-Crate", "1.0"),
];
const PAPER: &str = "https://proceedings.mlr.press/v119/kadri20a.html";

impl Metadata<'_> {
    /// The metadata as a JSON document.
    pub fn render(&self) -> Value {
        let mut graph = vec![json!({
            "@id": METADATA, "@type": "CreativeWork", "about": id("./"),
            "conformsTo": ids(["https://w3id.org/ro/crate/1.1", "https://w3id.org/workflowhub/workflow-ro-crate/1.0"]),
        })];
        let profile = &self.engine.plan().profile;
        let ended = self.current.iter().map(|(_, _, r)| r.provenance.ended).max().unwrap_or(0);
        let actions: Vec<String> = self.current.iter().map(|(unit, ..)| self.action(*unit)).collect();
        let data: Vec<String> = (0..self.sources.len()).map(|n| format!("#data-{n}")).collect();
        let parts = self.files.iter().map(|f| f.path.as_str());
        graph.push(json!({
            "@id": "./", "@type": "Dataset", "name": "Partial trace regression, reproduced",
            "description": format!("Results of pipeline.yaml, profile {profile}, with the provenance of each unit of work."),
            "datePublished": time(ended), "license": id(self.licence.unwrap_or("#licence")),
            "conformsTo": ids(PROFILES.iter().map(|p| p.0)), "hasPart": ids(parts), "mainEntity": id(self.workflow),
            "citation": id(PAPER), "author": id("#maintainers"), "publisher": id("#maintainers"),
            "mentions": ids(std::iter::once("#run").chain(actions.iter().map(String::as_str)).chain(data.iter().map(String::as_str))),
        }));
        for (uri, name, version) in PROFILES {
            graph.push(json!({ "@id": uri, "@type": "CreativeWork", "name": name, "version": version }));
        }
        graph.push(json!({ "@id": "#maintainers", "@type": "Organization", "name": "The repro maintainers" }));
        graph.push(json!({
            "@id": PAPER, "@type": "ScholarlyArticle",
            "name": "Partial Trace Regression and Low-Rank Kraus Decomposition",
            "author": "Hachem Kadri, Stéphane Ayache, Riikka Huusari, Alain Rakotomamonjy, Liva Ralaivola",
            "datePublished": "2020",
        }));
        if self.licence.is_none() {
            graph.push(json!({ "@id": "#licence", "@type": "CreativeWork", "name": "MIT OR Apache-2.0", "description": "The software's licence; data carry their own." }));
        }
        self.software(&mut graph);
        self.workflow(&mut graph);
        for file in self.files.iter().filter(|f| f.path != self.workflow) {
            graph.push(self.file(file));
        }
        self.data(&mut graph);
        self.run(&mut graph);
        self.units(&mut graph);
        json!({
            "@context": ["https://w3id.org/ro/crate/1.1/context", {
                "sha256": "https://w3id.org/ro/terms/workflow-run#sha256",
                "environment": "https://w3id.org/ro/terms/workflow-run#environment",
            }],
            "@graph": graph,
        })
    }

    fn action(&self, unit: usize) -> String {
        format!("#unit-{unit}-{}", fragment(&self.engine.plan().units[unit].id))
    }

    fn file(&self, file: &CrateFile) -> Value {
        json!({
            "@id": file.path, "@type": "File", "name": file.path.rsplit('/').next(), "description": file.about,
            "encodingFormat": media(&file.path), "contentSize": file.bytes.len().to_string(), "sha256": sha256(&file.bytes),
        })
    }

    fn software(&self, graph: &mut Vec<Value>) {
        let version = env!("CARGO_PKG_VERSION");
        graph.push(json!({ "@id": "#repro", "@type": "SoftwareApplication", "name": "repro", "version": version, "softwareVersion": version, "description": "Runs pipeline.yaml: a graph of cached stages.", "license": "MIT OR Apache-2.0", "author": id("#maintainers"), "url": "https://proceedings.mlr.press/v119/kadri20a.html" }));
        graph.push(json!({ "@id": "#pipeline-yaml", "@type": "ComputerLanguage", "name": "pipeline.yaml of repro", "version": "1", "url": "https://json-schema.org/draft/2020-12/schema" }));
        let kinds: BTreeMap<&str, &str> =
            self.engine.plan().stages.iter().map(|s| (s.kind.name(), s.kind.about())).collect();
        for (name, about) in kinds {
            graph.push(json!({ "@id": format!("#kind-{}", fragment(name)), "@type": "SoftwareApplication", "name": name, "description": about, "softwareVersion": version, "version": version, "isPartOf": id("#repro") }));
        }
    }

    fn workflow(&self, graph: &mut Vec<Value>) {
        let Some(file) = self.files.iter().find(|f| f.path == self.workflow) else { return };
        let mut entity = self.file(file);
        if let Value::Object(map) = &mut entity {
            map.insert("@type".into(), json!(["File", "SoftwareSourceCode", "ComputationalWorkflow"]));
            map.insert("programmingLanguage".into(), id("#pipeline-yaml"));
            map.insert("input".into(), ids(["#param-seed", "#param-profile"]));
            map.insert("creator".into(), id("#maintainers"));
            map.insert("license".into(), json!("MIT OR Apache-2.0"));
        }
        graph.push(entity);
        let plan = self.engine.plan();
        for (name, value) in [("seed", plan.seed.to_string()), ("profile", plan.profile.clone())] {
            graph.push(json!({
                "@id": format!("#param-{name}"), "@type": "FormalParameter", "name": name, "additionalType": "Text",
                "conformsTo": id("https://bioschemas.org/profiles/FormalParameter/1.0-RELEASE"), "workExample": id(&format!("#value-{name}")),
            }));
            graph.push(json!({ "@id": format!("#value-{name}"), "@type": "PropertyValue", "name": name, "value": value, "exampleOfWork": id(&format!("#param-{name}")) }));
        }
    }

    fn data(&self, graph: &mut Vec<Value>) {
        for (n, source) in self.sources.iter().enumerate() {
            let mut entity = Map::new();
            entity.insert("@id".into(), json!(format!("#data-{n}")));
            entity.insert("@type".into(), json!("CreativeWork"));
            entity.insert("name".into(), json!(source.dataset));
            entity.insert("description".into(), json!(format!("{:?}: {}", source.kind, source.source)));
            entity.insert("license".into(), json!(source.licence));
            if let Ok(all) = serde_json::to_string(source) {
                entity.insert("text".into(), json!(all));
            }
            graph.push(Value::Object(entity));
        }
    }

    /// Adds the action of the whole run.
    fn run(&self, graph: &mut Vec<Value>) {
        let records = || self.current.iter().map(|(_, _, record)| &record.provenance);
        let began = records().map(|p| p.ended.saturating_sub(p.wall.max(0.0) as u64)).min().unwrap_or(0);
        let ended = records().map(|p| p.ended).max().unwrap_or(0);
        let results: BTreeSet<&str> = self.places.values().map(String::as_str).collect();
        graph.push(json!({
            "@id": "#run", "@type": "CreateAction", "name": format!("repro run all --profile {}", self.engine.plan().profile),
            "description": format!("{} units; cached results of earlier runs count as theirs.", self.current.len()),
            "instrument": id(self.workflow), "agent": id("#maintainers"), "startTime": time(began), "endTime": time(ended),
            "object": ids(["#value-seed", "#value-profile"]), "result": ids(results.iter().copied()),
            "actionStatus": id("http://schema.org/CompletedActionStatus"),
        }));
        graph.push(json!({ "@id": "http://schema.org/CompletedActionStatus", "@type": "ActionStatusType", "name": "completed" }));
    }

    /// Adds an action for each unit, with its parameters, inputs, results and machine.
    fn units(&self, graph: &mut Vec<Value>) {
        let mut hosts = BTreeSet::new();
        let records: BTreeMap<usize, &Arc<Record>> = self.current.iter().map(|(unit, _, r)| (*unit, r)).collect();
        for (unit, key, record) in self.current {
            let (planned, p) = (&self.engine.plan().units[*unit], &record.provenance);
            let place = |unit: usize, name: &String| self.places.get(&(unit, name.clone())).map(String::as_str);
            let inputs: Vec<&str> = planned
                .inputs
                .iter()
                .filter_map(|i| Some((*i, records.get(i)?)))
                .flat_map(|(i, record)| record.artefacts.keys().filter_map(move |name| place(i, name)))
                .collect();
            let results: Vec<&str> = record.artefacts.keys().filter_map(|name| place(*unit, name)).collect();
            let digests: BTreeMap<&String, String> =
                record.artefacts.iter().map(|(n, a)| (n, a.digest.to_string())).collect();
            let (me, params, host) =
                (self.action(*unit), format!("#params-{unit}"), format!("#machine-{}", p.host.short()));
            let kind = fragment(self.engine.plan().stages[planned.stage].kind.name());
            let objects: Vec<&str> = std::iter::once(params.as_str()).chain(inputs).collect();
            graph.push(json!({
                "@id": me, "@type": "CreateAction", "name": planned.id, "identifier": key.to_string(),
                "description": format!("{:.3} s on {} threads, {:.3} s of CPU; {RESULTS}{}", p.wall, p.threads, p.cpu, json!(digests)),
                "instrument": id(&format!("#kind-{kind}")), "agent": id("#maintainers"), "object": ids(objects), "result": ids(results),
                "startTime": time(p.ended.saturating_sub(p.wall.max(0.0) as u64)), "endTime": time(p.ended),
                "environment": id(&host), "actionStatus": id("http://schema.org/CompletedActionStatus"),
            }));
            graph.push(json!({ "@id": params, "@type": "PropertyValue", "name": "parameters and seed", "value": format!("{}, seed {}", planned.params, planned.seed) }));
            if hosts.insert(p.host) {
                let facts = self.engine.store().journal.with(|i| i.hosts.get(&p.host).cloned());
                let value = facts.map_or("not recorded".to_string(), |h| {
                    format!(
                        "{}, {} x {}, {} MiB; repro {}, {}",
                        h.system,
                        h.cores,
                        h.cpu,
                        h.memory >> 20,
                        h.program,
                        h.rustc
                    )
                });
                graph.push(json!({ "@id": host, "@type": "PropertyValue", "name": "machine", "value": value }));
            }
        }
    }
}
