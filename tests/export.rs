//! `repro export` and `repro import`: crates that others can check.

mod common;

use common::{Project, SMALL};
use std::io::{Read, Write};
use std::process::Command;

fn exported() -> Project {
    let p = Project::new(SMALL);
    p.ok("run all");
    let said = p.ok("export out.zip --all");
    assert!(said.starts_with("out.zip: ") && said.contains("13 units with provenance"), "{said}");
    p
}

/// The crate with one file changed.
fn changed(p: &Project, name: &str, change: impl Fn(&str, Vec<u8>) -> Vec<u8>) {
    let mut zip = zip::ZipArchive::new(std::fs::File::open(p.path().join("out.zip")).unwrap()).unwrap();
    let mut out = zip::ZipWriter::new(std::fs::File::create(p.path().join(name)).unwrap());
    for n in 0..zip.len() {
        let mut entry = zip.by_index(n).unwrap();
        let (path, mut bytes) = (entry.name().unwrap().into_owned(), Vec::new());
        entry.read_to_end(&mut bytes).unwrap();
        out.start_file(path.as_str(), zip::write::SimpleFileOptions::default()).unwrap();
        out.write_all(&change(&path, bytes)).unwrap();
    }
    out.finish().unwrap();
}

#[test]
fn a_crate_holds_everything_and_is_read_back() {
    let p = exported();
    let said = p.ok("import out.zip -o theirs");
    assert!(said.contains("verified: ") && said.contains("13 results of 13 units confirmed"), "{said}");
    let text = std::fs::read_to_string(p.path().join("theirs/ro-crate-metadata.json")).unwrap();
    let metadata: serde_json::Value = serde_json::from_str(&text).unwrap();
    let graph = metadata["@graph"].as_array().unwrap();
    let actions = graph.iter().filter(|e| e["@type"] == "CreateAction").count();
    assert_eq!(actions, 1 + 13, "the run and each unit");
    for file in ["pipeline.yaml", "repro.lock", "report.html", "results/make/value=1.0/out.bin"] {
        assert!(p.path().join("theirs").join(file).is_file(), "{file}");
        assert!(graph.iter().any(|e| e["@id"] == file && e["sha256"].is_string()), "{file}");
    }
    // Nothing in it names this machine's folders, and it is the same whenever it is written.
    assert!(!text.contains(&p.path().display().to_string()));
    p.ok("export again.zip --all");
    let bytes = |name: &str| std::fs::read(p.path().join(name)).unwrap();
    assert!(bytes("out.zip") == bytes("again.zip"));
    let again = p.repro("import out.zip -o theirs");
    assert_eq!(again.code, 2, "{}", again.err);
    assert!(again.err.contains("is there already"), "{}", again.err);
}

#[test]
fn what_was_changed_is_found_and_not_unpacked() {
    let p = exported();
    changed(&p, "wrong.zip", |path, mut bytes| {
        if path.ends_with("sum/out.bin") {
            bytes[0] ^= 1;
        }
        bytes
    });
    let said = p.repro("import wrong.zip -o wrong");
    assert_eq!(said.code, 1, "{}{}", said.out, said.err);
    assert!(said.out.contains("problem: results/sum/out.bin has other bytes than the metadata say"), "{}", said.out);
    assert!(said.out.contains("is not the result that metadata and lock file name"), "{}", said.out);
    assert!(!p.path().join("wrong").exists());
    std::fs::write(p.path().join("no.zip"), "no").unwrap();
    let said = p.repro("import no.zip");
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("is not a zip file"), "{}", said.err);
}

#[test]
fn paths_that_lead_out_are_refused() {
    let p = Project::new(SMALL);
    let mut out = zip::ZipWriter::new(std::fs::File::create(p.path().join("evil.zip")).unwrap());
    out.start_file("../evil", zip::write::SimpleFileOptions::default()).unwrap();
    out.write_all(b"x").unwrap();
    out.finish().unwrap();
    let said = p.repro("import evil.zip");
    assert_eq!(said.code, 2, "{}{}", said.out, said.err);
    assert!(said.err.contains("leads out of the archive"), "{}", said.err);
    assert!(!p.path().parent().unwrap().join("evil").exists());
}

/// A validator that knows nothing of us takes the crate.
#[test]
fn a_validator_takes_the_crate() {
    let Ok(program) = std::env::var("ROCRATE_VALIDATOR") else {
        println!("skipped: ROCRATE_VALIDATOR does not name the program rocrate-validator (pip install roc-validator)");
        return;
    };
    let p = exported();
    let crate_file = p.path().join("out.zip");
    for profile in ["ro-crate-1.1", "process-run-crate-0.5", "workflow-ro-crate-1.0", "workflow-run-crate-0.5"] {
        let mut check = Command::new(&program);
        check.args(["--no-interactive", "--disable-color", "validate", "--requirement-severity", "REQUIRED"]);
        check.args(["--profile-identifier", profile, "--no-paging", "--verbose"]).arg(&crate_file);
        let said = check.output().unwrap();
        let text = String::from_utf8_lossy(&said.stdout);
        if !said.status.success() && (text.contains("URLError") || text.contains("Unable to retrieve")) {
            println!("skipped: the validator of RO-Crates found no network to read the JSON-LD context from");
            return;
        }
        assert!(said.status.success(), "{profile}: {text}{}", String::from_utf8_lossy(&said.stderr));
        println!("{profile}: taken");
    }
}
