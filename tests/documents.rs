//! What the program says of itself: the schema of pipeline.yaml, the kinds, manual pages and the citation.

mod common;

use common::Project;
use std::path::Path;
use std::process::Command;

fn project() -> Project {
    Project::new("version: 1\nstages: {one: {kind: probe}}\n")
}

/// Editors read the committed copy, so it must be what the program says.
#[test]
fn the_committed_schema_is_that_of_the_kinds() {
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("stages/pipeline.schema.json");
    let said = project().ok("schema");
    let here = std::fs::read_to_string(committed).unwrap();
    assert!(said == here, "stages/pipeline.schema.json is old: repro schema > stages/pipeline.schema.json");
}

/// A validator that knows nothing of us takes our pipeline.yaml and refuses mistakes that a schema can see.
#[test]
fn a_validator_takes_ours_and_refuses_broken_ones() {
    let Ok(program) = std::env::var("CHECK_JSONSCHEMA") else {
        println!("skipped: CHECK_JSONSCHEMA does not name the program check-jsonschema (pip install check-jsonschema)");
        return;
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    let takes = |file: &Path| {
        let mut check = Command::new(&program);
        check.arg("--schemafile").arg(root.join("stages/pipeline.schema.json")).arg(file);
        check.output().unwrap()
    };
    let ours = takes(&root.join("pipeline.yaml"));
    assert!(ours.status.success(), "{}", String::from_utf8_lossy(&ours.stdout));
    let broken = [
        "version: 2\nstages: {}\n",
        "stages: {}\n",
        "version: 1\n",
        "version: 1\nstages: {}\nstagse: {}\n",
        "version: 1\nstages: {all: {kind: probe}}\n",
        "version: 1\nstages: {a: {kind: prob}}\n",
        "version: 1\nstages: {a: {kind: probe, wiht: {}}}\n",
        "version: 1\nstages: {a: {kind: mask, with: {levle: 3}}}\n",
        "version: 1\nstages: {a: {kind: mask, with: {level: high}}}\n",
        "version: 1\nstages: {a: {kind: mask, matrix: {level: 10}}}\n",
        "version: 1\nstages: {a: {kind: train, with: {solver: sgd}}}\n",
        "version: 1\nstages: {a: {kind: probe, needs: {b: 1}}}\n",
        "version: 1\nstages: {a: {kind: probe, resources: {cores: 2}}}\n",
        "version: 1\nstages: {a: {kind: probe, retries: -1}}\n",
    ];
    for (k, text) in broken.iter().enumerate() {
        let file = folder.path().join(format!("{k}.yaml"));
        std::fs::write(&file, text).unwrap();
        assert!(!takes(&file).status.success(), "{text}");
    }
}

#[test]
fn kinds_are_listed_and_described() {
    let p = project();
    assert!(p.ok("kinds").contains("\ntrain "));
    let said = p.ok("kinds train");
    for part in [
        "epochs (integer, default 100)",
        "solver (adam | exact, required)",
        "Kraus rank of the model",
        "adam: Adam on minibatches",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    let refused = p.repro("kinds trian");
    assert_eq!(refused.code, 2, "{refused:?}");
}

#[test]
fn manual_pages_and_citation_are_written() {
    let p = project();
    p.ok("man pages");
    for page in ["repro.1", "repro-run.1", "repro-fit.1"] {
        let text = std::fs::read_to_string(p.path().join("pages").join(page)).unwrap();
        assert!(text.contains(".TH"), "{page}");
    }
    let cited = p.ok("cite");
    assert!(cited.contains("@inproceedings{kadri2020partial,") && cited.contains(env!("CARGO_PKG_VERSION")), "{cited}");
}
