//! `repro diff`: what a person reads of two sets of results.

mod common;

use common::{Project, SMALL};
use std::process::Command;

fn git(p: &Project, line: &str) {
    let mut git = Command::new("git");
    git.current_dir(p.path()).args(["-c", "user.name=x", "-c", "user.email=x@y", "-c", "commit.gpgsign=false"]);
    let said = git.args(line.split_whitespace()).output().unwrap();
    assert!(said.status.success(), "git {line}: {}", String::from_utf8_lossy(&said.stderr));
}

/// A project whose results are committed, with a profile beside them.
fn committed() -> Project {
    let p = Project::new(&format!("{SMALL}profiles: {{tiny: {{stages: {{make: {{with: {{text: small}}}}}}}}}}\n"));
    p.ok("run all");
    p.ok("run all --profile tiny");
    for line in ["init -q", "add pipeline.yaml repro.lock repro.tiny.lock", "commit -q -m first"] {
        git(&p, line);
    }
    p
}

/// What a command prints, without the ids of commits.
fn tidy(said: &str) -> String {
    let head = said.find("HEAD (").map(|at| said[at + 6..].chars().take(10).collect::<String>());
    head.map_or(said.to_string(), |id| said.replace(&id, "0123456789"))
}

/// What a command prints, without what stands in brackets after a revision.
fn without_ids(said: &str) -> String {
    let (first, rest) = said.split_once('\n').unwrap();
    let words: Vec<&str> = first.split(' ').filter(|word| !word.starts_with('(')).collect();
    format!("{}\n{rest}", words.join(" "))
}

#[test]
fn a_revision_against_now() {
    let p = committed();
    let said = p.ok("diff --profile default");
    assert!(said.contains("units: 13 equal\n"), "{said}");
    let yaml = std::fs::read_to_string(p.path().join("pipeline.yaml")).unwrap();
    p.write_yaml(
        &yaml.replace("text: raw", "text: cooked").replace("value: [1, 2, 3, 0.001], text", "value: [1, 2, 3], text"),
    );
    p.ok("run all");
    insta::assert_snapshot!("revision", tidy(&p.ok("diff")));
    insta::assert_snapshot!("revision_md", tidy(&p.ok("diff HEAD now --md")));
    let json: serde_json::Value = serde_json::from_str(&p.ok("diff --json")).unwrap();
    assert_eq!(json["settings"]["parameters"][0]["what"], "text", "{json}");
    // Without the old records pipeline.yaml of that revision says the same.
    p.ok("gc --yes --older-than 0s");
    assert!(p.ok("diff git:HEAD").contains("text"), "{}", p.ok("diff git:HEAD"));
}

#[test]
fn two_profiles() {
    let p = committed();
    let said = p.ok("diff profile:tiny default");
    assert!(said.starts_with("profile tiny -> profile default\n"), "{said}");
    assert!(said.contains("text") && said.contains("\"small\"") || said.contains("small"), "{said}");
}

/// The lock file of a stage `s` of one unit with made-up digests.
fn lock_of(digit: char) -> String {
    let (key, result) = (digit.to_string().repeat(16), digit.to_string().repeat(32));
    format!("version: 2\nstages:\n  \"s\":\n    \"\": \"{key} {result}\"\n")
}

fn metric(pairs: &[(&str, f64)]) -> String {
    let all: Vec<String> = pairs
        .iter()
        .map(|(n, v)| format!("\"{n}\": {{\"value\": {v}, \"source\": {{\"kind\": \"generated\"}}}}"))
        .collect();
    format!("{{{}}}", all.join(", "))
}

/// Seeds of units follow from the run's seed: another one is one line, not one for each unit.
#[test]
fn another_seed_is_one_line() {
    let p = Project::new(SMALL);
    p.ok("run all");
    std::fs::copy(p.path().join("repro.lock"), p.path().join("then.lock")).unwrap();
    p.ok("run all --set seed=7");
    let said = p.ok("diff then.lock now");
    assert_eq!(said.matches("seed of units").count(), 1, "{said}");
}

/// Two profiles whose records are in no store, as in a fresh clone: the numbers that were published with them.
#[test]
fn profiles_are_compared_by_what_was_published() {
    let p = Project::new(
        "version: 1\nstages:\n  s: {kind: probe, publish: {folder: figures, files: {metrics.json: m.json}}}\nprofiles: {tiny: {}}\n",
    );
    std::fs::create_dir_all(p.path().join("figures/tiny")).unwrap();
    for (name, text) in [
        ("repro.lock", lock_of('a')),
        ("repro.tiny.lock", lock_of('b')),
        ("figures/m.json", metric(&[("table2.ptr.mse", 0.5)])),
        ("figures/tiny/m.json", metric(&[("table2.ptr.mse", 1.5)])),
    ] {
        std::fs::write(p.path().join(name), text).unwrap();
    }
    let said = p.ok("diff profile:default profile:tiny");
    assert!(said.contains("+200.00 %"), "{said}");
}

/// Figures of two revisions side by side; what is equal is left out.
#[test]
fn plots_are_put_side_by_side() {
    let p = Project::new(
        "version: 1\nstages:\n  s: {kind: probe, publish: {folder: figures, files: {s.svg: s.svg, same.svg: same.svg}}}\n",
    );
    git(&p, "init -q");
    std::fs::create_dir_all(p.path().join("figures")).unwrap();
    for digit in ['a', 'b'] {
        let svg = format!("<svg xmlns=\"http://www.w3.org/2000/svg\"><title>{digit}</title></svg>");
        for (name, text) in
            [("repro.lock", &lock_of(digit)), ("figures/s.svg", &svg), ("figures/same.svg", &String::new())]
        {
            std::fs::write(p.path().join(name), text).unwrap();
        }
        git(&p, "add -f pipeline.yaml repro.lock figures");
        git(&p, "commit -q -m results");
        git(&p, &format!("tag then-{digit}"));
    }
    p.ok("diff then-a then-b --plots out");
    let read = |name: &str| std::fs::read_to_string(p.path().join("out").join(name)).unwrap();
    assert!(read("a/s.svg").contains("<title>a</title>") && read("b/s.svg").contains("<title>b</title>"));
    let page = read("index.html");
    assert!(
        page.contains("src=\"a/s.svg\"") && page.contains("src=\"b/s.svg\"") && !page.contains("same.svg"),
        "{page}"
    );
}

/// Two revisions whose records are in no store: the numbers that were committed with them.
#[test]
fn numbers_are_sorted_by_what_moved_most() {
    let p = Project::new(
        "version: 1\nstages:\n  s: {kind: probe, publish: {folder: figures, files: {metrics.json: m.json, t.csv: t.csv}}}\n",
    );
    git(&p, "init -q");
    let commit = |digit: char, metrics: &str, table: &str| {
        let lock = lock_of(digit);
        std::fs::create_dir_all(p.path().join("figures")).unwrap();
        for (name, text) in [("repro.lock", lock.as_str()), ("figures/m.json", metrics), ("figures/t.csv", table)] {
            std::fs::write(p.path().join(name), text).unwrap();
        }
        git(&p, "add -f pipeline.yaml repro.lock figures");
        git(&p, "commit -q -m results");
        git(&p, &format!("tag then-{digit}"));
    };
    commit(
        'a',
        &metric(&[("table2.ptr.mse", 0.001), ("figure7.full.accuracy", 96.0), ("bound.term", 1.0), ("gone.mse", 1.0)]),
        "method,error\nours,0.5\ntheirs,2.0\n",
    );
    commit(
        'b',
        &metric(&[("table2.ptr.mse", 0.1), ("figure7.full.accuracy", 97.0), ("bound.term", 1.0)]),
        "method,error\nours,0.6\ntheirs,8.0\n",
    );
    insta::assert_snapshot!("numbers", without_ids(&p.ok("diff then-a then-b --all")));
    assert_eq!(p.repro("diff then-a then-b --exit-code").code, 1);
    assert_eq!(p.repro("diff then-a then-a --exit-code").code, 0);
    let refused = p.repro("diff nonsense");
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("neither a lock file nor a profile"), "{}", refused.err);
}
