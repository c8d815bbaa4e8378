//! Every crate that the program is built from may be passed on: its licence is among those that `.ci/deny.toml` allows, and it
//! comes from the registry or from this repository. None needs a newer compiler than Cargo.toml promises.
//!
//! cargo-deny checks the same and more; what its build costs was not measured, so CI uses it only where it is
//! installed already, and this test everywhere.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The list `allow` of `.ci/deny.toml`.
fn allowed(root: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(root.join(".ci/deny.toml")).unwrap();
    let list = text.split("\nallow = [").nth(1).and_then(|rest| rest.split(']').next()).unwrap();
    list.split(',').map(|word| word.trim().trim_matches('"').to_string()).filter(|w| !w.is_empty()).collect()
}

/// Whether one of the alternatives of a licence expression consists of allowed licences only.
fn may_be_passed_on(expression: &str, allowed: &[String]) -> bool {
    let plain = expression.replace(['(', ')'], " ").replace('/', " OR ");
    let one = |name: &str| allowed.iter().any(|a| a == name.trim());
    // Without brackets `A AND B OR C` reads as (A AND B) OR C. With them, `(A OR B) AND C` must have every name allowed.
    if expression.contains('(') && expression.contains(" AND ") {
        return plain.replace(" OR ", " AND ").split(" AND ").all(one);
    }
    plain.split(" OR ").any(|way| way.split(" AND ").all(one))
}

/// This machine's target: crates of other systems need not be downloaded to run this test.
fn host() -> String {
    let output = Command::new(env!("CARGO")).arg("-vV").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_string()
}

/// All packages that the program is built from, as Cargo.lock says.
fn metadata(root: &Path) -> Value {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root).args([
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--offline",
        "--filter-platform",
        &host(),
    ]);
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn expressions_are_read_as_cargo_writes_them() {
    let allowed = ["MIT".to_string(), "Apache-2.0".to_string()];
    for yes in
        ["MIT", "MIT OR Apache-2.0", "MIT/Apache-2.0", "GPL-3.0 OR MIT", "MIT AND Apache-2.0", "(MIT OR Apache-2.0)"]
    {
        assert!(may_be_passed_on(yes, &allowed), "{yes}");
    }
    for no in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR GPL-3.0) AND Apache-2.0", ""] {
        assert!(!may_be_passed_on(no, &allowed), "{no}");
    }
}

#[test]
fn every_crate_has_an_allowed_licence_and_a_known_source() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let allowed = allowed(root);
    assert!(allowed.len() > 5, "{allowed:?}");
    let metadata = metadata(root);
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 100, "only {} packages", packages.len());
    let mut wrong = Vec::new();
    for p in packages {
        let (name, source) = (&p["name"], p["source"].as_str());
        if !may_be_passed_on(p["license"].as_str().unwrap_or_default(), &allowed) {
            wrong.push(format!("{name}: licence {}", p["license"]));
        }
        if source.is_some_and(|s| !s.starts_with("registry+") && !s.starts_with("sparse+")) {
            wrong.push(format!("{name}: source {}", p["source"]));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A version such as 1.95 or 1.95.0 as numbers.
fn version(text: &str) -> Vec<u32> {
    let mut numbers: Vec<u32> = text.split('.').map(|part| part.parse().unwrap()).collect();
    numbers.resize(3, 0);
    numbers
}

/// Cargo refuses a package that asks for a newer compiler, so Cargo.toml must not promise an older one than its dependencies need.
#[test]
fn no_crate_needs_a_newer_compiler_than_is_promised() {
    let metadata = metadata(Path::new(env!("CARGO_MANIFEST_DIR")));
    let promised = version(env!("CARGO_PKG_RUST_VERSION"));
    let packages = metadata["packages"].as_array().unwrap();
    let needs = packages.iter().filter_map(|p| Some((p["name"].as_str()?, p["rust_version"].as_str()?)));
    let newer: Vec<_> = needs.filter(|(_, needed)| version(needed) > promised).collect();
    assert!(newer.is_empty(), "{promised:?} is promised: {newer:?}");
}
