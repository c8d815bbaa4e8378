//! Files that are too much: each is a sentence, soon, and never an end of the memory or of the stack.

use crate::common::kinds;
use pipeline::*;
use std::path::Path;

fn refuse(yaml: &str) -> String {
    let plan = Config::parse("pipeline.yaml", yaml, Path::new(".")).and_then(|c| c.plan("default", &[], &kinds()));
    plan.map_or_else(|e| e.to_string(), |plan| panic!("accepted {} units", plan.units.len()))
}

#[test]
fn aliases_of_aliases_are_counted() {
    let mut yaml = "version: 1\nparams:\n  a0: &a0 [1, 2, 3, 4, 5, 6, 7, 8, 9]\n".to_string();
    for n in 1..20 {
        let before = format!("*a{}, ", n - 1).repeat(9);
        yaml += &format!("  a{n}: &a{n} [{before}]\n");
    }
    assert!(yaml.len() < 2000, "a kilobyte or two");
    let error = refuse(&(yaml + "stages: {s: {kind: toy}}\n"));
    assert!(error.contains("more than 200000 values"), "{error}");
}

#[test]
fn parameters_that_name_others_twice_are_counted() {
    for (open, close) in [("\"", "\""), ("[", "]")] {
        let mut yaml = "version: 1\nparams:\n  p0: abcdefgh\n".to_string();
        for n in 1..30 {
            let (before, comma) = (format!("${{p{}}}", n - 1), if open == "[" { "," } else { "" });
            let before = if open == "[" { format!("\"{before}\"") } else { before };
            yaml += &format!("  p{n}: {open}{before}{comma} {before}{close}\n");
        }
        let error = refuse(&(yaml + "stages: {s: {kind: toy}}\n"));
        assert!(error.contains("come out of `${...}`"), "{error}");
    }
}

#[test]
fn a_long_chain_of_parameters_is_refused() {
    let mut yaml = "version: 1\nparams:\n  p0: 1\n".to_string();
    for n in 1..5000 {
        yaml += &format!("  p{n}: ${{p{}}}\n", n - 1);
    }
    let error = refuse(&(yaml + "stages: {s: {kind: toy}}\n"));
    assert!(error.contains("refer to one another in a row"), "{error}");
}

#[test]
fn deep_nesting_is_refused() {
    for (open, close) in [("[", "]"), ("{a: ", "}")] {
        let yaml = format!("version: 1\nparams: {}1{}\n", open.repeat(100_000), close.repeat(100_000));
        let error = refuse(&yaml);
        // Whichever limit comes first: ours, or the parser's own.
        assert!(error.contains("levels of values inside values") || error.contains("recursion limit"), "{error}");
        assert!(error.len() < 1000, "a long line is shown in part");
    }
    // By aliases, each one level deeper than the last.
    let mut yaml = "version: 1\nparams:\n  a0: &a0 [1]\n".to_string();
    for n in 1..5000 {
        yaml += &format!("  a{n}: &a{n} [*a{}]\n", n - 1);
    }
    assert!(refuse(&yaml).contains("levels of values inside values"));
}

#[test]
fn a_deep_lock_file_is_unreadable_and_no_more() {
    let p = crate::common::Project::new();
    p.run(crate::common::CHAIN);
    std::fs::write(p.path("pipeline.lock"), format!("stages: {}{}", "[".repeat(200_000), "]".repeat(200_000))).unwrap();
    let problems = p.engine(crate::common::CHAIN).verify(&["all"]).unwrap().problems;
    assert!(matches!(problems[..], [Finding::LockUnreadable { .. }]), "{problems:?}");
    assert!(p.run(crate::common::CHAIN).is_complete());
    assert_eq!(p.engine(crate::common::CHAIN).verify(&["all"]).unwrap().problems, []);
}

#[test]
fn a_large_text_is_refused() {
    let error = refuse(&format!("version: 1\n# {}\n", "x".repeat(2 << 20)));
    assert!(error.contains("bytes; at most 1048576 are read"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pipeline.yaml");
    let made = std::process::Command::new("mkfifo").arg(&file).status().unwrap();
    assert!(made.success());
    assert!(Config::load(&file).unwrap_err().to_string().contains("not a plain file"), "a pipe is not read");
}

#[test]
fn a_range_does_not_wrap() {
    let stage = |axis: &str| format!("version: 1\nstages: {{s: {{kind: toy, matrix: {{rank: {axis}}}}}}}\n");
    let error = refuse(&stage("{from: 9223372036854775000, to: 9.3e18, step: 1000000000000000}"));
    assert!(error.contains("goes past 9223372036854775807"), "{error}");
}

#[test]
fn too_many_units_and_inputs_are_refused() {
    let yaml =
        "version: 1\nstages:\n  a: {kind: toy, matrix: {x: 1..700000}}\n  b: {kind: toy, matrix: {x: 1..700000}}\n";
    let error = refuse(yaml);
    assert!(error.contains("the plan has more than 1000000 units"), "{error}");
    let yaml = "version: 1\nstages:\n  a: {kind: toy, matrix: {x: 1..20000}}\n  b: {kind: toy, needs: [a], matrix: {rank: 1..20000}}\n";
    let error = refuse(yaml);
    assert!(error.contains("read more than 10000000 units"), "{error}");
}

#[test]
fn a_profile_that_cannot_name_a_file_is_refused_before_anything_runs() {
    for name in ["a/b", "..", ".hidden", "\"\"", "\"a b\""] {
        let yaml = format!("version: 1\nprofiles: {{{name}: {{}}}}\nstages: {{s: {{kind: toy}}}}\n");
        assert!(refuse(&yaml).contains("cannot name a profile"), "{name}");
    }
}

#[test]
fn every_profile_is_checked() {
    let yaml = "version: 1\nprofiles: {a: {}, z: {stages: {nope: {}}}}\nstages: {s: {kind: toy}}\n";
    assert!(refuse(yaml).contains("profile `z`: there is no stage `nope`"));
}

#[test]
fn a_profile_may_start_from_one_above_it() {
    let p = crate::common::Project::new();
    let yaml = "version: 1\nparams: {n: 1..2}\nstages: {s: {kind: toy, with: {rank: 1}, matrix: {x: \"${n}\"}}}\nprofiles:\n  \
                all: {params: {n: 1..3}, stages: {s: {with: {rank: 5}}}}\n  more: {like: all, stages: {s: {with: {sleep_ms: 1}}}}\n";
    let ranks = |profile: &str| -> Vec<i64> {
        let plan = p.plan_as(yaml, profile);
        plan.units.iter().map(|u| u.params.get("rank").and_then(pipeline::Value::as_i64).unwrap()).collect()
    };
    assert_eq!((ranks("default"), ranks("all"), ranks("more")), (vec![1; 2], vec![5; 3], vec![5; 3]));
    for other in ["like: most", "like: more"] {
        let error = refuse(&yaml.replace("like: all", other));
        assert!(error.contains("profile `more`: `like` names no profile above it"), "{error}");
    }
}

#[test]
fn what_is_published_is_checked() {
    let with = |publish: &str| refuse(&format!("version: 1\nstages: {{s: {{kind: toy, publish: {publish}}}}}\n"));
    assert!(with("[a]").contains("`publish`: expected a folder"));
    assert!(with("../out").contains("leaves the project's folder"));
    assert!(with("{folder: figures}").contains("`publish`: `files` is missing"));
    assert!(with("{files: {out.txt: o.txt}}").contains("`publish`: `folder` is missing"));
    assert!(with("{folder: figures, files: {out.txt: ../o.txt}}").contains("leaves the project's folder"));
    assert!(with("{folder: figures, files: {out.txt: o.txt}, at-most: lots}").contains("`at-most` is a size"));
    assert!(with("{folder: figures, files: {out.txt: o.txt}, most: 1}").contains("most"));
}
