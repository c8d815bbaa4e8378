//! Locks as NFS has them: a shared lock needs a handle that can read, an exclusive lock one that can write.
//!
//! No NFS server is needed: a small library, compiled here and loaded before all others, lays that rule over `flock`.

use crate::child;
use crate::common::*;
use std::path::{Path, PathBuf};
use std::process::Command;

const SHIM: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

int flock(int fd, int operation) {
    int access = fcntl(fd, F_GETFL) & O_ACCMODE;
    if ((operation & LOCK_SH) && access == O_WRONLY) { errno = EBADF; return -1; }
    if ((operation & LOCK_EX) && access == O_RDONLY) { errno = EBADF; return -1; }
    return syscall(SYS_flock, fd, operation);
}
"#;

/// Compiles the library.
fn shim(folder: &Path) -> PathBuf {
    let (source, library) = (folder.join("nfs.c"), folder.join("nfs.so"));
    std::fs::write(&source, SHIM).unwrap();
    let made = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
    assert!(made.expect("a C compiler is needed to build this program").success());
    library
}

#[test]
fn the_engine_works_with_the_locks_of_nfs() {
    let p = Project::new();
    let yaml = CHAIN.replace("matrix: {x: [1, 2]}}", "matrix: {x: [1, 2]}, with: {sleep_ms: 150}}");
    std::fs::write(p.path("pipeline.yaml"), &yaml).unwrap();
    let (log, library) = (p.path("ran.log"), shim(p.folder.path()));
    let start = || child::command(p.folder.path(), &log, 1).env("LD_PRELOAD", &library).spawn().unwrap();
    let end = |child: std::process::Child| String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    // A run that is killed, two runs at once, gc, and a run that has nothing to do.
    let mut killed = start();
    std::thread::sleep(std::time::Duration::from_millis(120));
    killed.kill().unwrap();
    killed.wait().unwrap();
    let said: Vec<String> = [start(), start()].into_iter().map(end).collect();
    assert!(said.iter().all(|s| s.contains("RAN ")), "{said:?}");
    let ran = |s: &String| s.split("RAN ").nth(1).unwrap().split(' ').next().unwrap().parse::<usize>().unwrap();
    assert!(said.iter().map(ran).sum::<usize>() <= 7, "{said:?}");
    let gc = child::command(p.folder.path(), &log, 1).env("LD_PRELOAD", &library).env("CHILD_GC", "1").spawn().unwrap();
    assert!(end(gc).contains("RAN 0"));
    assert!(end(start()).contains("RAN 0 of 7"));
    let mut finished: Vec<String> = p.ran().into_iter().filter(|l| l.starts_with("finished ")).collect();
    let all = finished.len();
    finished.sort();
    finished.dedup();
    assert_eq!(finished.len(), all, "no unit finished twice: {finished:?}");
}

/// The library does what it says, or the test above would prove nothing.
#[test]
fn the_shim_refuses_what_nfs_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let library = shim(folder.path());
    let lock = |how: &str, redirect: &str| {
        let script = format!("flock {how} -n 9 9{redirect}x");
        let mut shell = Command::new("bash");
        shell.args(["-c", &script]).current_dir(folder.path()).env("LD_PRELOAD", &library);
        shell.output().unwrap().status.success()
    };
    std::fs::write(folder.path().join("x"), "").unwrap();
    assert!(lock("-s", "<") && lock("-x", ">>") && lock("-x", "<>") && lock("-s", "<>"));
    assert!(!lock("-s", ">>") && !lock("-x", "<"));
}
