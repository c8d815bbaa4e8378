//! The program on a stand-in for the driver of a GPU: what `--backend` does, what it says, and what enters the keys.
//!
//! The stand-in is found by LD_LIBRARY_PATH; see src/kraus/CUDA.md. Without a C++ compiler the tests skip with a line.
#![cfg(all(feature = "cuda", target_os = "linux"))]

#[path = "../src/kraus/tests/standin/build.rs"]
mod build;
mod common;

use common::{Finished, Project};
use std::path::{Path, PathBuf};

/// One small task and one unit that trains two ranks together.
const TRAIN: &str = "\
version: 1
seed: 3
stages:
  task:
    kind: simulate
    matrix: { map: [4x3], true_rank: [2], noise: [0.1], dataset: [0] }
  fit:
    kind: train
    needs: [task]
    with: { epochs: 3, batch: 5, validation: 7, test: 7 }
    matrix: { map: [4x3], true_rank: [2], noise: [0.1], dataset: [0], l: [12], solver: [adam], rank: [[2, 3]] }
";

/// Runs the program with the libraries of a folder.
fn repro(p: &Project, libraries: &Path, line: &str, habits: &[(&str, String)]) -> Finished {
    let mut command = p.command(line);
    command.env("LD_LIBRARY_PATH", libraries).env("STANDIN_REPORT", "1");
    let said: Finished = command.envs(habits.iter().map(|(k, v)| (k, v))).output().unwrap().into();
    assert!(!said.err.contains("panicked"), "{line}: {}", said.err);
    said
}

/// The library was loaded and nothing of it is left.
fn nothing_left(said: &Finished) -> bool {
    said.err.contains("[standin] alive at the end: 0")
}

/// Folders of libraries, each with one fault.
fn faulty(whole: &Path, at: &Path) -> [(&'static str, PathBuf, &'static str); 3] {
    let folder = |name: &str, files: &[(&str, PathBuf)]| {
        let to = at.join(name);
        std::fs::create_dir_all(&to).unwrap();
        for (name, from) in files {
            std::fs::copy(from, to.join(name)).unwrap();
        }
        to
    };
    let (driver, blas) = (("libcuda.so", whole.join("libcuda.so")), ("libcublas.so", whole.join("libcublas.so")));
    let old = |name: &'static str| (name, whole.join("broken").join(name));
    [
        ("no cuBLAS", folder("a", std::slice::from_ref(&driver)), "libcublas was not found"),
        ("an old driver", folder("b", &[old("libcuda.so"), blas]), "`cuLaunchKernel` is missing"),
        ("an old cuBLAS", folder("c", &[driver, old("libcublas.so")]), "`cublasDgemmStridedBatched` is missing"),
    ]
}

/// `cuda` ends with 2 and the reason and runs nothing; `auto` says the reason in one line and trains on the processor.
fn falls_back(name: &str, libraries: &Path, habits: &[(&str, String)], reason: &str) {
    let p = Project::new(TRAIN);
    let refused = repro(&p, libraries, "run all --backend cuda", habits);
    assert_eq!((refused.code, refused.out.as_str()), (2, ""), "{name}: {}", refused.err);
    assert!(refused.err.contains("--backend cuda: ") && refused.err.contains(reason), "{name}: {}", refused.err);
    assert!(!p.path().join("repro.lock").exists(), "{name}: something ran");
    let auto = repro(&p, libraries, "run all", habits);
    assert_eq!(auto.code, 0, "{name}: {}", auto.err);
    let said = auto.err.lines().filter(|l| l.contains("training on the processor: ")).collect::<Vec<_>>();
    assert!(said.len() == 1 && said[0].contains(reason), "{name}: {}", auto.err);
    assert!(!p.lock().contains("cuda"), "{name}");
    // What `auto` computed is what `cpu` would: nothing is left to do.
    assert_eq!(p.ok("why all --backend cpu --json").matches("\"fresh\": true").count(), 2, "{name}");
    let doctor = repro(&p, libraries, "doctor --offline", habits);
    assert!(doctor.out.contains(reason) && doctor.out.contains("training uses the processor"), "{}", doctor.out);
    let selftest = repro(&p, libraries, "doctor --gpu-selftest", habits);
    assert!(selftest.code == 2 && selftest.err.contains(reason), "{name}: {}", selftest.err);
}

#[test]
fn every_fault_has_its_reason() {
    let Some(whole) = build::prepare() else { return };
    let scratch = tempfile::tempdir().unwrap();
    for (name, libraries, reason) in faulty(&whole, scratch.path()) {
        falls_back(name, &libraries, &[], reason);
    }
    falls_back("no library", scratch.path(), &[], "libcuda (the driver) was not found");
    falls_back("no device", &whole, &[("STANDIN_NO_DEVICE", "1".into())], "finds no device");
}

/// A GPU trains a unit of two ranks in one sweep; its results have keys of their own, and so have those in TF32.
#[test]
fn results_of_a_gpu_have_keys_of_their_own() {
    let Some(whole) = build::prepare() else { return };
    let p = Project::new(TRAIN);
    let fresh = |line: &str| {
        let said = repro(&p, &whole, &format!("why fit --json {line}"), &[]);
        said.out.contains("\"fresh\": true")
    };
    assert_eq!(repro(&p, &whole, "run all --backend cpu", &[]).code, 0);
    assert!(fresh("--backend cpu") && !fresh("--backend auto") && !fresh("--backend cuda"));
    // A machine without a GPU reuses what a processor computed.
    assert!(p.ok("why fit --json").contains("\"fresh\": true"));
    let rows =
        |p: &Project| p.stored("").into_iter().filter_map(|f| std::fs::read_to_string(f).ok()).collect::<String>();
    let trained = repro(&p, &whole, "run all --backend cuda", &[]);
    assert!(trained.code == 0 && nothing_left(&trained), "{}", trained.err);
    assert!(fresh("--backend cuda") && fresh("--backend auto") && !fresh("--backend cuda --tf32"));
    let rounded = repro(&p, &whole, "run all --backend auto --tf32", &[]);
    assert!(rounded.code == 0 && nothing_left(&rounded), "{}", rounded.err);
    assert!(fresh("--backend cuda --tf32") && rows(&p).contains("cuda, tf32"));
    let wrong = repro(&p, &whole, "run all --backend cpu --tf32", &[]);
    assert!(wrong.code == 2 && wrong.err.contains("--tf32 is for GPUs"), "{}", wrong.err);
}

/// Each allocation of a run fails once. In the probe that is a reason not to use the GPU; in training `cuda` fails the unit
/// and `auto` trains on the processor. Never a panic, never a leak.
#[test]
fn memory_fails_at_each_allocation_in_turn() {
    let Some(whole) = build::prepare() else { return };
    let yaml = TRAIN.replace("[[2, 3]]", "[2]");
    let well = repro(&Project::new(&yaml), &whole, "run all --backend cuda", &[]);
    let allocations = |said: &Finished| -> usize {
        let asked = said.err.split("allocations: ").nth(1).and_then(|n| n.split_whitespace().next());
        asked.and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{}", said.err))
    };
    let all = allocations(&well);
    let (mut refused, mut failed, mut repeated) = (0, 0, 0);
    for k in 0..all {
        let habits = [("STANDIN_OOM_AT", k.to_string())];
        let p = Project::new(&yaml);
        let cuda = repro(&p, &whole, "run all --backend cuda", &habits);
        match cuda.code {
            2 => refused += 1,
            1 => failed += 1,
            // The probe's two models do not fit together, but one by one.
            0 if allocations(&cuda) > all => repeated += 1,
            other => panic!("{k}: {other}: {}", cuda.err),
        }
        let why = cuda.err.contains("OUT_OF_MEMORY") || cuda.err.contains("bytes of the device's memory");
        assert!((why || cuda.code == 0) && nothing_left(&cuda), "{k}: {}", cuda.err);
        let auto = repro(&p, &whole, "run all --backend auto", &habits);
        assert!(auto.code == 0 && nothing_left(&auto), "{k}: {}", auto.err);
    }
    println!("{refused} refused, {failed} failed, {repeated} repeated in halves");
    assert!(failed > 0 && repeated > 0);
}
