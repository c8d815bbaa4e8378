//! `repro verify --against`: bytes where keys are equal, numbers within their tolerances where they are not, the verdicts of the claims.

mod common;
use common::{Finished, Project};
use pipeline::Digest;
use pipeline::store::Store;
use pipeline::store::index::Entry;
use pipeline::store::lockfile::{Locked, Lockfile};
use pipeline::store::record::Artefact;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The smoke run of the regression experiments, and a second folder with its lock file and the numbers behind it.
struct Pair {
    here: Project,
    there: tempfile::TempDir,
    /// The lock file of the run.
    lock: String,
    /// The metrics of the run.
    metrics: Value,
}

const TARGETS: &str = "regression-results --profile smoke";

impl Pair {
    fn new() -> Pair {
        let yaml = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("pipeline.yaml")).unwrap();
        let here = Project::new(&yaml);
        here.ok(&format!("run {TARGETS} --offline"));
        let lock = std::fs::read_to_string(here.path().join("repro.smoke.lock")).unwrap();
        let path = here.ok("path regression-results metrics.json --profile smoke");
        let metrics = serde_json::from_str(&std::fs::read_to_string(here.path().join(path.trim())).unwrap()).unwrap();
        Pair { here, there: tempfile::tempdir().unwrap(), lock, metrics }
    }

    /// Writes the other side: the same lock file with another key of the results, and a store with these numbers behind it.
    fn other(&self, metrics: &Value) -> PathBuf {
        let here = Store::open(self.here.path().join(".repro")).unwrap();
        let there = Store::open(self.there.path().join(".repro")).unwrap();
        let mut lock = Lockfile::read(&self.lock).unwrap();
        let line = lock.stages.get_mut("regression-results").unwrap().get_mut("").unwrap();
        let (_, record) = here.journal.with(|index| line.find(index, "regression-results", "")).unwrap();
        let mut record = (*record).clone();
        let text = metrics.to_string();
        let (key, digest) = (Digest::of(b"another key"), Digest::of(text.as_bytes()));
        record.artefacts.insert("metrics.json".to_string(), Artefact { digest, size: text.len() as u64 });
        *line = Locked::of(&key, &record);
        let object = there.objects.path(&digest);
        std::fs::create_dir_all(object.parent().unwrap()).unwrap();
        std::fs::write(object, text).unwrap();
        there.journal.update(|_| (vec![Entry::Record { key, record: Box::new(record) }], ())).unwrap();
        let path = self.there.path().join("repro.lock");
        std::fs::write(&path, lock.render("repro")).unwrap();
        path
    }

    fn verify(&self, lock: &Path, options: &str) -> Finished {
        self.here.repro(&format!("verify {TARGETS} --against {} {options}", lock.display()))
    }

    /// The metrics with one value times a factor.
    fn changed(&self, name: &str, factor: f64) -> (Value, f64, f64) {
        let mut all = self.metrics.clone();
        let value = all[name]["value"].as_f64().unwrap_or_else(|| panic!("no {name} in {}", self.metrics));
        all[name]["value"] = (value * factor).into();
        (all, value, value * factor)
    }
}

#[test]
fn equal_bytes_numbers_within_and_beyond_their_tolerance_and_changed_verdicts() {
    let p = Pair::new();
    let number = |v: f64| format!("{v:.6e}");

    // The same keys: every unit equal to the bit, by name and by default (no git here, so the file as it is).
    let own = p.here.path().join("repro.smoke.lock");
    let said = p.verify(&own, "");
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert!(
        said.out.contains("agrees with") && said.out.contains(" 0 with other keys and bytes, 0 broken"),
        "{}",
        said.out
    );
    let default = p.here.repro(&format!("verify {TARGETS} --against"));
    assert_eq!(default.code, 0, "{}{}", default.out, default.err);
    assert!(default.out.contains("not committed, so as the last run left it"), "{}", default.out);

    // Other keys and bytes, a number of Adam's within its wide tolerance.
    let (metrics, here, there) = p.changed("table2-small.ptr.mse", 1.2);
    let lock = p.other(&metrics);
    let said = p.verify(&lock, "");
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    let line = format!("within tolerance: table2-small.ptr.mse: {} here, {} there", number(here), number(there));
    assert!(said.out.contains(&line) && said.out.contains("1 with other keys and bytes"), "{}", said.out);
    let found: Value = serde_json::from_str(&p.verify(&lock, "--json").out).unwrap();
    assert_eq!(found["within"][0], serde_json::json!({"metric": "table2-small.ptr.mse", "here": here, "there": there}));
    assert_eq!(
        (found["beyond"].as_array().unwrap().len(), found["other"][0].as_str()),
        (0, Some("regression-results"))
    );

    // An exact optimum that differs by one per cent is a real difference, and both numbers are shown.
    let (metrics, here, there) = p.changed("table2-small-noise.trace.mse", 1.01);
    let said = p.verify(&p.other(&metrics), "");
    assert_eq!(said.code, 1, "{}{}", said.out, said.err);
    let line = format!(
        "problem: table2-small-noise.trace.mse: {} here, {} there, beyond its tolerance",
        number(here),
        number(there)
    );
    assert!(said.out.contains(&line) && said.out.contains("differs with"), "{}", said.out);

    // A metric that only one side has is a difference as well.
    let mut fewer = p.metrics.clone();
    fewer.as_object_mut().unwrap().remove("table2-small.ptr.mse");
    let said = p.verify(&p.other(&fewer), "");
    assert_eq!(said.code, 1);
    assert!(said.out.contains("table2-small.ptr.mse") && said.out.contains("none there"), "{}", said.out);

    // A claim with another verdict: after three epochs PTR's error is above the tensor train's here, and below it over there; one
    // dataset has no standard error, so that alone decides nothing.
    let mut low = p.metrics.clone();
    low["table2-small.ptr.mse"]["value"] = 900.0.into();
    let said = p.verify(&p.other(&low), "");
    assert_eq!(said.code, 1);
    assert!(
        said.out.contains("problem: claim `small-sample`: not reproduced here, not decided on this data there"),
        "{}",
        said.out
    );
    let found: Value = serde_json::from_str(&p.verify(&p.other(&low), "--json").out).unwrap();
    assert!(found["verdicts"].as_array().unwrap().iter().any(|v| v["claim"] == "small-sample"), "{found}");

    // The numbers of the other side are not to be had.
    let lock = p.other(&p.metrics);
    std::fs::remove_dir_all(p.there.path().join(".repro")).unwrap();
    let said = p.verify(&lock, "");
    assert_eq!(said.code, 1);
    assert!(said.out.contains("copy that project's .repro folder beside it"), "{}", said.out);

    // The same key with other bytes is broken, whatever the numbers say.
    let line = p.lock.lines().skip_while(|l| !l.contains("\"regression-results\"")).nth(1).unwrap();
    let digest = line.rsplit('"').nth(1).unwrap()[17..].to_string();
    let broken = p.there.path().join("broken.lock");
    std::fs::write(&broken, p.lock.replace(&digest, &"c".repeat(32))).unwrap();
    let said = p.verify(&broken, "");
    assert_eq!(said.code, 1);
    assert!(said.out.contains("regression-results: the same key, other bytes"), "{}", said.out);

    let said = p.verify(Path::new("no-such.lock"), "");
    assert_eq!(said.code, 2);
    assert!(said.err.contains("no-such.lock"), "{}", said.err);
    let newer = p.there.path().join("newer.lock");
    std::fs::write(&newer, p.lock.replace("version: 2", "version: 7")).unwrap();
    let said = p.verify(&newer, "");
    assert_eq!(said.code, 2);
    assert!(said.err.contains("newer.lock") && said.err.contains("a lock file of version 7"), "{}", said.err);
}

/// Without a name it is the lock file of the last commit, not the one that the last run wrote.
#[test]
fn the_default_is_the_committed_lock_file() {
    const ONE: &str = "version: 1\nstages:\n  make: {kind: probe, with: {text: raw}}\n";
    let p = Project::new(ONE);
    p.ok("run all");
    let git = |args: &[&str]| {
        let who = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"];
        let done = std::process::Command::new("git").arg("-C").arg(p.path()).args(who).args(args).output().unwrap();
        assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    git(&["init", "-q"]);
    git(&["add", "repro.lock", "pipeline.yaml"]);
    git(&["commit", "-qm", "results"]);
    let said = p.ok("verify --against");
    assert!(said.contains("repro.lock as committed: units: 1 equal to the bit"), "{said}");
    p.write_yaml(&ONE.replace("raw", "cooked"));
    p.ok("run all");
    let found: Value = serde_json::from_str(&p.repro("verify --against --json").out).unwrap();
    assert_eq!((found["equal"].as_u64(), found["other"][0].as_str()), (Some(0), Some("make")), "{found}");
    git(&["commit", "-qam", "other results"]);
    assert!(p.ok("verify --against").contains("1 equal to the bit"));
}
