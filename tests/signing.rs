//! Whose results a remote holds: signed indices, and keys that pipeline.yaml lists.

mod common;

use common::{Project, SMALL};
use std::path::Path;

/// The public key with which a project pushes.
fn key(said: &str) -> String {
    said.lines().find_map(|line| line.strip_prefix("signed by key ")).unwrap().to_string()
}

/// pipeline.yaml with the remote in `folder`, which only these keys may sign.
fn trusting(folder: &Path, keys: &[&str]) -> String {
    format!("{SMALL}remotes: {{lab: {{url: {}, keys: [{}]}}}}\n", folder.display(), keys.join(", "))
}

#[test]
fn only_listed_keys_are_let_in() {
    let (a, b, other) = (Project::new(SMALL), Project::new(SMALL), Project::new(SMALL));
    let folder = tempfile::tempdir().unwrap();
    let push = format!("push {}", folder.path().display());
    a.ok("run all");
    let first = a.repro(&push);
    assert!(first.err.contains("made a signing key"), "{}", first.err);
    let known = key(&first.out);
    b.write_yaml(&trusting(folder.path(), &[&known]));
    assert!(b.ok("pull").starts_with("pulled: 13 units"));

    // Somebody else writes there, with a key of their own.
    other.write_yaml(&SMALL.replace("text: raw", "text: other"));
    other.ok("run all");
    let foreign = key(&other.ok(&push));
    assert_ne!(foreign, known);
    b.write_yaml(&trusting(folder.path(), &[&known]).replace("text: raw", "text: other"));
    let said = b.repro("pull");
    assert_ne!(said.code, 0);
    assert!(said.err.contains(&format!("is signed by key {foreign}, which is not among its `keys`")), "{}", said.err);
    let refused = b.repro("push lab");
    assert!(refused.err.contains("nobody would take what you push"), "{}", refused.err);

    // Without a list it is only noticed that another one signed.
    let last = Project::new(&SMALL.replace("text: raw", "text: other"));
    let note = a.repro(&format!("pull {}", folder.path().display())).err;
    assert!(note.contains(&format!("is signed by key {foreign}, the one seen before by key {known}")), "{note}");
    assert!(last.ok(&format!("pull {}", folder.path().display())).starts_with("pulled: 13 units"));
}

#[test]
fn an_index_that_was_changed_is_refused() {
    let (a, b) = (Project::new(SMALL), Project::new(SMALL));
    let folder = tempfile::tempdir().unwrap();
    a.ok("run all");
    a.ok(&format!("push {}", folder.path().display()));
    let path = folder.path().join("index.json");
    let index = std::fs::read_to_string(&path).unwrap();
    let refused = |text: String, words: &str| {
        assert_ne!(text, index);
        std::fs::write(&path, text).unwrap();
        let said = b.repro(&format!("pull {}", folder.path().display()));
        assert_ne!(said.code, 0);
        assert!(said.err.contains(words), "{}", said.err);
        assert!(b.fresh().is_empty(), "nothing was taken in");
    };
    refused(index.replace("\"generation\": 1", "\"generation\": 7"), "somebody changed it");
    refused(index.replace("\"signature\": \"", "\"signature\": \"x"), "its signature cannot be read");
    // Without its signature it is taken where nobody asks for one.
    let mut bare: serde_json::Value = serde_json::from_str(&index).unwrap();
    bare.as_object_mut().unwrap().remove("signed");
    std::fs::write(&path, bare.to_string()).unwrap();
    b.write_yaml(&trusting(folder.path(), &["ab".repeat(32).as_str()]));
    assert!(b.repro("pull").err.contains("is not signed, and pipeline.yaml lists `keys`"));
    b.write_yaml(SMALL);
    assert!(b.ok(&format!("pull {}", folder.path().display())).starts_with("pulled: 13 units"));
}

#[test]
fn keys_that_are_none_are_named() {
    let p = Project::new(&trusting(Path::new("/x"), &["abc"]));
    let said = p.repro("status");
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("`abc` is no public key"), "{}", said.err);
    p.write_yaml(SMALL);
    p.ok("run all");
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("key"), "secret").unwrap();
    let mut push = p.command(&format!("push {}", place.path().join("remote").display()));
    let said: common::Finished = push.env("REPRO_SIGNING_KEY", place.path().join("key")).output().unwrap().into();
    assert_ne!(said.code, 0);
    assert!(said.err.contains("not a signing key"), "{}", said.err);
}
