//! Broken pipelines: every message a newcomer may meet, as they will read it (snapshots beside this file).

use crate::common::kinds;
use pipeline::Config;
use std::path::Path;

fn message(yaml: &str, profile: &str, sets: &[(&str, &str)]) -> String {
    let sets: Vec<(String, String)> = sets.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let plan = Config::parse("pipeline.yaml", yaml, Path::new(".")).and_then(|c| c.plan(profile, &sets, &kinds()));
    plan.map_or_else(|e| e.to_string(), |plan| panic!("accepted: {plan:?}"))
}

const GOOD: &str = "\
version: 1
params: {size: 3}
profiles:
  smoke:
    stages: {train: {matrix: {rank: [1]}}}
stages:
  simulate:
    kind: toy
    matrix: {x: [1, 2]}
  train:
    kind: toy
    needs: [simulate]
    with: {x: 1}
    matrix: {rank: 1..3}
";

/// GOOD with one change.
fn but(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    message(&GOOD.replacen(from, to, 1), "default", &[])
}

#[test]
fn every_mistake_is_shown_where_it_stands() {
    let all = [
        ("not yaml", but("needs: [simulate]", "needs: [simulate")),
        ("tab", but("    kind: toy", "\tkind: toy")),
        ("no version", but("version: 1\n", "")),
        ("other version", but("version: 1", "version: 2")),
        ("unknown top key", but("params:", "parms:")),
        ("unknown stage key", but("needs:", "neeeds:")),
        ("unknown kind", but("kind: toy\n    needs", "kind: toi\n    needs")),
        ("duplicate key", but("    with: {x: 1}", "    with: {x: 1}\n    with: {x: 2}")),
        ("duplicate stage", but("  train:", "  simulate:")),
        ("missing need", but("[simulate]", "[simulat]")),
        ("cycle", but("    matrix: {x: [1, 2]}", "    needs: [train]")),
        ("needs itself", but("[simulate]", "[train]")),
        ("unknown parameter", but("with: {x: 1}", "with: {x: 1, ranck: 2}")),
        ("wrong type", but("with: {x: 1}", "with: {x: fast}")),
        ("wrong type in an axis", but("rank: 1..3", "rank: [1, two]")),
        ("refused value", but("with: {x: 1}", "with: {x: -1}")),
        ("not finite", but("with: {x: 1}", "with: {x: .nan}")),
        ("empty axis", but("rank: 1..3", "rank: []")),
        ("scalar axis", but("rank: 1..3", "rank: 3")),
        ("backward range", but("1..3", "3..1")),
        ("bad range", but("1..3", "1..many")),
        ("endless range", but("rank: 1..3", "rank: {from: 1, to: 9, step: 0}")),
        ("unknown range key", but("rank: 1..3", "rank: {from: 1, too: 9}")),
        ("repeated value", but("[1, 2]", "[1, 1.0]")),
        (
            "exclude everything",
            but("    matrix: {rank: 1..3}", "    matrix: {rank: 1..3}\n    exclude: [{rank: 1..3}]"),
        ),
        ("exclude unknown axis", but("    matrix: {rank: 1..3}", "    matrix: {rank: 1..3}\n    exclude: [{rnk: 1}]")),
        ("empty join", but("matrix: {rank: 1..3}", "matrix: {rank: 1..3, x: [2, 7]}")),
        ("unknown global", but("with: {x: 1}", "with: {x: '${sise}'}")),
        ("global in a circle", but("size: 3", "size: '${size}'")),
        ("bad threads", but("    kind: toy\n    needs", "    kind: toy\n    resources: {threads: 0}\n    needs")),
        ("bad memory", but("    kind: toy\n    needs", "    kind: toy\n    resources: {memory: lots}\n    needs")),
        ("publish outside", but("    kind: toy\n    needs", "    kind: toy\n    publish: ../up\n    needs")),
        ("stage named all", but("  train:", "  all:")),
        ("profile of unknown stage", but("{train: {matrix", "{trian: {matrix")),
        ("profile with unknown key", but("{train: {matrix", "{train: {matrx")),
        ("no stages", message("version: 1\n", "default", &[])),
        ("unknown profile", message(GOOD, "smok", &[])),
        ("set unknown global", message(GOOD, "default", &[("sized", "3")])),
        ("set without stage", message(GOOD, "default", &[("rank", "3")])),
        ("set unknown stage", message(GOOD, "default", &[("tran.x", "3")])),
        ("set wrong type", message(GOOD, "default", &[("train.x", "fast")])),
        ("set unknown parameter", message(GOOD, "default", &[("train.y", "3")])),
        ("set bad yaml", message(GOOD, "default", &[("train.x", "[3")])),
    ];
    let page: Vec<String> = all.iter().map(|(name, text)| format!("# {name}\n{text}\n")).collect();
    insta::assert_snapshot!(page.join("\n"));
}

#[test]
fn what_is_right_is_accepted() {
    let config = Config::parse("pipeline.yaml", GOOD, Path::new(".")).unwrap();
    let labels = |profile: &str, sets: &[(String, String)]| -> Vec<String> {
        config.plan(profile, sets, &kinds()).unwrap().units.iter().map(|u| u.id.clone()).collect()
    };
    let set = |k: &str, v: &str| (k.to_string(), v.to_string());
    assert_eq!(labels("default", &[]).len(), 5);
    assert_eq!(labels("smoke", &[]), ["simulate/x=1.0", "simulate/x=2.0", "train/rank=1"]);
    let sets = [set("train.rank", "{from: 2, to: 10, step: 4}"), set("simulate.x", "[0.5]")];
    assert_eq!(labels("smoke", &sets), ["simulate/x=0.5", "train/rank=2", "train/rank=6", "train/rank=10"]);
    let plan = config.plan("default", &[set("seed", "3")], &kinds()).unwrap();
    assert_eq!(plan.seed, 3);
    assert_eq!(config.profiles(), ["default", "smoke"]);
    assert_eq!(plan.units[4].inputs, [0, 1]);
}

#[test]
fn a_missing_file_says_where_to_look() {
    let error = Config::load("/nowhere/pipeline.yaml").unwrap_err().to_string();
    assert_eq!(error, "/nowhere/pipeline.yaml: no such file");
}
