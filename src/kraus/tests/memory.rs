//! What a process needs in all: the high-water mark of its resident memory beside its data and parameters (Linux).
//!
//! The test starts itself again as a child that makes the data in place and trains; nothing is subtracted from what the
//! kernel says about it, so that code, stacks and buffers all count.

use kraus::{AdamParams, Problem, Solver, Start, Stopping};
use ndarray::Array3;
use std::process::Command;

const P: usize = 100;
const Q: usize = 40;
const RANK: usize = 20;

/// Bytes of inputs, targets and parameters.
fn needed(l: usize) -> f64 {
    (4 * (l * (P * P + Q * Q) + RANK * Q * P)) as f64
}

/// Peak resident bytes of a child that fits l samples.
fn peak(l: usize) -> f64 {
    let exe = std::env::current_exe().unwrap();
    let child = Command::new(exe)
        .args(["--exact", "child", "--ignored", "--nocapture"])
        .env("REPRO_MEMORY_SAMPLES", l.to_string())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&child.stdout);
    let line = text.lines().find(|l| l.starts_with("VmHWM:")).unwrap_or_else(|| panic!("no high-water mark in {text}"));
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() * 1024.0
}

/// The child: does nothing unless a parent asked.
#[test]
#[ignore = "run by the other tests of this file"]
fn child() {
    let Some(l) = std::env::var("REPRO_MEMORY_SAMPLES").ok().and_then(|l| l.parse().ok()) else { return };
    let symmetric = |n: usize| {
        let mut a = Array3::<f32>::zeros((l, n, n));
        for (s, mut m) in a.outer_iter_mut().enumerate() {
            m.indexed_iter_mut().for_each(|((i, j), v)| *v = ((s * 31 + (i + 1) * (j + 1) * 7) % 13) as f32 / 130.0);
        }
        a
    };
    let (x, y) = (symmetric(P), symmetric(Q));
    let problem = Problem::matrices(x.view(), y.view()).unwrap();
    let adam = AdamParams { stopping: Stopping::after(2), rate: 1e-4, ..Default::default() }.check().unwrap();
    adam.fit(&problem, Start::single(P, Q, RANK, 1)).unwrap();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    println!("{}", status.lines().find(|l| l.starts_with("VmHWM:")).unwrap());
}

fn check(l: usize) {
    if !cfg!(target_os = "linux") {
        return println!("skipped: resident memory is read from /proc");
    }
    let (peak, needed) = (peak(l), needed(l));
    println!("l = {l}: peak {:.1} MB, data and parameters {:.1} MB, {:.3} x", peak / 1e6, needed / 1e6, peak / needed);
    assert!(peak <= 1.3 * needed, "peak {peak} bytes, data and parameters {needed}");
}

#[test]
fn a_process_needs_little_beside_its_data() {
    check(1000);
}

#[test]
#[ignore = "ten thousand samples: half a gigabyte and half a minute"]
fn a_process_needs_little_beside_its_data_at_full_size() {
    check(10000);
}
