//! Table 3 from end to end: simulated recordings through every stage, the refusal of `--require-real`, and the checked
//! accuracies on real covariances where they are at hand.

mod common;
use common::{Finished, Project};
use std::path::{Path, PathBuf};

/// The project's own pipeline in a temporary folder, with a download cache of its own.
struct Bci {
    project: Project,
    cache: tempfile::TempDir,
}

impl Bci {
    fn new(yaml: &str) -> Bci {
        Bci { project: Project::new(yaml), cache: tempfile::tempdir().unwrap() }
    }

    fn repro(&self, line: &str) -> Finished {
        self.project.command(line).env("REPRO_CACHE", self.cache.path()).output().unwrap().into()
    }

    #[track_caller]
    fn ok(&self, line: &str) -> String {
        let said = self.repro(line);
        assert_eq!(said.code, 0, "repro {line}\n{}{}", said.out, said.err);
        said.out
    }

    fn figure(&self, name: &str) -> String {
        std::fs::read_to_string(self.project.path().join("figures").join(name)).unwrap()
    }

    /// One artefact of one unit, as JSON.
    fn json(&self, unit: &str, artefact: &str, options: &str) -> serde_json::Value {
        let path = self.ok(&format!("path {unit} {artefact} {options}"));
        serde_json::from_str(&std::fs::read_to_string(self.project.path().join(path.trim())).unwrap()).unwrap()
    }
}

fn own_pipeline() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("pipeline.yaml")).unwrap()
}

#[test]
fn simulated_recordings_run_through_and_say_so() {
    let p = Bci::new(&own_pipeline());
    let line = "run table3 embedding plan --profile smoke --offline";
    assert!(p.ok(line).starts_with("done: "));
    let table = p.figure("smoke/table3.md");
    assert!(table.contains("SIMULATED") && !table.contains("Paper"), "{table}");
    for name in ["embedding", "plan"] {
        assert!(p.figure(&format!("smoke/{name}.svg")).contains("SIMULATED"), "{name}");
        assert!(p.figure(&format!("smoke/{name}.json")).contains("SIMULATED"), "{name}");
    }
    let metrics = p.json("bci-results", "metrics.json", "--profile smoke");
    for column in ["noadapt", "fulladapt", "oosadapt"] {
        let metric = &metrics[format!("table3.s7.{column}")];
        assert_eq!(metric["source"]["kind"], "simulated", "{metrics}");
        assert!((0.0..=100.0).contains(&metric["value"].as_f64().unwrap()), "{metrics}");
    }
    // How the data were found is not part of the result: a run that may use the network finds the same key.
    assert!(p.ok(line).starts_with("nothing to do"));
    assert!(p.ok("run table3 embedding plan --profile smoke").starts_with("nothing to do"));
}

#[test]
fn require_real_refuses_with_what_was_tried() {
    let p = Bci::new(&own_pipeline());
    let empty = tempfile::tempdir().unwrap();
    let said =
        p.repro(&format!("run table3 --profile smoke --require-real --offline --data-dir {}", empty.path().display()));
    assert_eq!(said.code, 1, "{}{}", said.out, said.err);
    let all = format!("{}{}", said.out, said.err);
    for part in ["A01T.gdf", "download cache", "bnci-horizon-2020.eu", "bbci.de", "not tried", "--data-dir"] {
        assert!(all.contains(part), "{part}: {all}");
    }
}

#[test]
fn a_real_session_is_not_mapped_to_a_simulated_one() {
    let Some(real) = real_covariances() else { return };
    let one = tempfile::tempdir().unwrap();
    std::fs::copy(real.join("A01T.npz"), one.path().join("A01T.npz")).unwrap();
    let p = Bci::new(&own_pipeline());
    let said = p.repro(&format!(
        "run transport --profile smoke --offline --set subjects=[1] --set pictured=[1] --data-dir {}",
        one.path().display()
    ));
    assert_eq!(said.code, 1, "{}{}", said.out, said.err);
    assert!(said.err.contains("has session T of subject 1 and not session E"), "{}", said.err);
}

/// From pyRiemann 0.12 (MDM, metric riemann) and an independent plain Sinkhorn: subject, NoAdapt, FullAdapt, median squared
/// distance.
const GOLDEN: [(usize, f64, f64, f64); 5] = [
    (1, 86.11, 86.11, 8.1336),
    (3, 88.19, 95.14, 12.3594),
    (7, 53.47, 63.89, 10.1788),
    (8, 97.22, 96.53, 11.114),
    (9, 90.28, 88.89, 15.678),
];

#[test]
fn real_covariances_give_the_checked_accuracies() {
    let Some(real) = real_covariances() else { return };
    // Neither column depends on how long the learned map is trained.
    let yaml = own_pipeline().replace("epochs: 500", "epochs: 1").replace("draws: 0..2", "draws: [0]");
    let p = Bci::new(&yaml);
    let options = format!("--offline --require-real --data-dir {}", real.display());
    p.ok(&format!("run table3 {options}"));
    let metrics = p.json("bci-results", "metrics.json", &options);
    for (subject, no, full, _) in GOLDEN {
        for (column, golden) in [("noadapt", no), ("fulladapt", full)] {
            let metric = &metrics[format!("table3-2-classes.s{subject}.{column}")];
            let value = metric["value"].as_f64().unwrap();
            assert!((value - golden).abs() < 0.01, "subject {subject}, {column}: {value}, golden {golden}");
            assert_eq!(metric["source"]["kind"], "real");
        }
    }
    // Two classes are not the paper's four: its numbers must not stand beside them, and no claim may read them.
    let table = p.figure("table3.md");
    assert!(!table.contains("Paper") && !table.contains("SIMULATED"), "{table}");
    assert!(!metrics.as_object().unwrap().keys().any(|k| k.starts_with("table3.")), "{metrics}");
    for (subject, _, _, median) in GOLDEN {
        let unit = format!("transport/subject={subject},variant=unsupervised");
        let found = p.json(&unit, "transport.json", &options)["median_cost"].as_f64().unwrap();
        assert!((found - median).abs() < 1e-3, "subject {subject}: median squared distance {found}, golden {median}");
    }
}

/// The folder of real covariances beside the project; they may not be part of it.
fn real_covariances() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/bci");
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: {} is not there", folder.display());
    None
}
