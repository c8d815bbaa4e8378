//! `fit` and `complete` against ridge regression, softImpute and the mean, on real covariances and kernels.
//!
//! The references are fifteen lines of numpy each (own_data/goals.py). Two subjects and two views by default; all of them with REPRO_GOALS=full, which takes
//! about a quarter of an hour. Without numpy or without the data in ../shared/data the tests are skipped and say so.

use std::path::{Path, PathBuf};
use std::process::Command;

fn run(what: &str) {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    if !data.join("mfeat.zip").is_file() || !data.join("bci").is_dir() {
        println!("skipped: ../shared/data is not there");
        return;
    }
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
    if !Command::new(&python).args(["-c", "import numpy"]).output().is_ok_and(|o| o.status.success()) {
        println!("skipped: {python} has no numpy; set PYTHON to an interpreter that has");
        return;
    }
    let how = std::env::var("REPRO_GOALS").unwrap_or_else(|_| "quick".into());
    let script: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/own_data/goals.py");
    let done = Command::new(&python)
        .arg(script)
        .arg(env!("CARGO_BIN_EXE_repro"))
        .arg(&data)
        .args([what, &how])
        .env("OMP_NUM_THREADS", "1")
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    println!("{out}");
    assert!(done.status.success(), "{what}, {how}:\n{out}{err}");
}

#[test]
fn fit_is_no_worse_than_ridge() {
    run("fit");
}

#[test]
fn complete_is_no_worse_than_soft_impute_and_the_mean() {
    run("complete");
}

#[test]
fn complete_fills_whole_rows_no_worse_than_the_mean() {
    run("rows");
}

#[test]
fn complete_fills_larger_kernels() {
    run("size");
}

/// On fewer digits the accuracies of ten splits differ by two points by chance; the full run asks for one point.
#[test]
fn default_widths_are_as_good_as_the_best_of_a_grid() {
    run("kernel");
}
