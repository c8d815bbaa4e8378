//! The same bytes at every instruction set, through the whole program, and what it says about its arithmetic.

mod common;
use common::{Finished, Project, SMALL};
use std::path::Path;

/// The instruction sets of this machine, as the program names them.
fn levels(p: &Project) -> Vec<&'static str> {
    let has = |level: &str| p.command("completions bash").env("REPRO_SIMD", level).output().unwrap().status.success();
    ["plain", "avx2", "avx512"].into_iter().filter(|l| has(l)).collect()
}

#[test]
fn an_instruction_set_that_is_not_there_is_refused_with_those_that_are() {
    let p = Project::new(SMALL);
    let said: Finished = p.command("status").env("REPRO_SIMD", "avx1024").output().unwrap().into();
    assert_eq!(said.code, 2, "{}{}", said.out, said.err);
    assert!(said.err.contains("REPRO_SIMD=avx1024") && said.err.contains("this machine has plain"), "{}", said.err);
}

#[test]
fn doctor_says_class_instruction_set_and_multiply_add() {
    let p = Project::new(SMALL);
    let said: Finished = p.command("doctor --offline").env("REPRO_SIMD", "plain").output().unwrap().into();
    let line = said.out.lines().find(|l| l.contains("arithmetic")).unwrap_or_default().to_string();
    assert!(line.contains("portable, instructions plain, fused multiply-add in"), "{}", said.out);
}

/// One project per instruction set; the lock files hold the digests of everything that was computed, byte for byte.
#[test]
fn experiments_have_the_same_digests_at_every_instruction_set() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let yaml = std::fs::read_to_string(here.join("pipeline.yaml")).unwrap();
    let targets = "run train baselines adapt matrix-completion --profile smoke --offline";
    let mut locks = Vec::new();
    for level in levels(&Project::new(SMALL)) {
        let p = Project::new(&yaml);
        copy(&here.join("data"), &p.path().join("data"));
        let said: Finished = p.command(targets).env("REPRO_SIMD", level).output().unwrap().into();
        assert_eq!(said.code, 0, "{level}\n{}{}", said.out, said.err);
        locks.push((level, std::fs::read_to_string(p.path().join("repro.smoke.lock")).unwrap()));
    }
    for (level, lock) in &locks[1..] {
        assert!(*lock == locks[0].1, "{level} differs from {}", locks[0].0);
    }
    assert!(locks[0].1.lines().count() > 20, "{}", locks[0].1);
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
