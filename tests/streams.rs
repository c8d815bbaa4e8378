//! Output cannot kill a run: streams that are closed or on a full disk, terminals that know no colours, missing threads.

mod common;
use common::{Finished, Project, SMALL};
use std::fs::File;
use std::process::{Command, Stdio};

/// One unit fails, which is said on stderr; the others must run whatever becomes of stderr.
const ONE_FAILS: &str = "version: 1\nstages:\n  bad: {kind: probe, with: {fail: the sky fell}}\n  good: {kind: probe, with: {sleep_ms: 20}, matrix: {value: 1..20}}\n";

/// A file that cannot hold a byte.
fn full() -> Stdio {
    File::options().write(true).open("/dev/full").unwrap().into()
}

#[test]
fn a_closed_stderr_does_not_end_a_run() {
    let p = Project::new(ONE_FAILS);
    let mut run = p.start("run all --jobs 2");
    drop(run.stderr.take());
    let done: Finished = run.wait_with_output().unwrap().into();
    assert_eq!(done.code, 1, "{}", done.out);
    assert!(done.out.starts_with("not complete: 20 units run, 0 fresh, 1 failed"), "{}", done.out);
    assert!(done.out.contains("messages were lost, stderr: Broken pipe"), "{}", done.out);
    assert_eq!(p.fresh().len(), 20);
}

#[test]
fn a_log_on_a_full_disk_does_not_end_a_run() {
    let p = Project::new(ONE_FAILS);
    let done: Finished = p.command("run all --jobs 2").stderr(full()).output().unwrap().into();
    assert_eq!(done.code, 1, "{}", done.out);
    assert!(done.out.contains("messages were lost, stderr: No space left on device"), "{}", done.out);
    assert_eq!(p.fresh().len(), 20);
}

#[test]
fn a_refusal_without_stderr_keeps_its_exit_code() {
    let p = Project::new(SMALL);
    assert_eq!(Finished::from(p.command("run nothing").stderr(full()).output().unwrap()).code, 2);
}

#[test]
fn a_result_on_a_full_stdout_is_no_success() {
    let p = Project::new(SMALL);
    p.ok("run all");
    for line in ["status", "why all", "path sum --json", "run all", "dag", "--help", "completions bash"] {
        let done: Finished = p.command(line).stdout(full()).stderr(Stdio::piped()).output().unwrap().into();
        assert_eq!(done.code, 3, "repro {line}: {}", done.err);
    }
    let done: Finished = p.command("status").stdout(full()).stderr(Stdio::piped()).output().unwrap().into();
    assert!(done.err.contains("could not be written to stdout: No space left on device"), "{}", done.err);
}

#[test]
fn a_reader_that_went_away_is_no_error() {
    let p = Project::new(SMALL);
    let mut status = p.start("status");
    drop(status.stdout.take());
    assert_eq!(Finished::from(status.wait_with_output().unwrap()).code, 0);
}

#[test]
fn a_full_disk_is_not_a_usage_error() {
    let p = Project::new("version: 1\nstages:\n  a: {kind: probe, with: {bytes: 50000000}}\n");
    // A file may not grow past this size: the write fails as on a full disk, though with another code of the system.
    let full = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(full.path()).status();
    if !mounted.is_ok_and(|s| s.success()) {
        return println!("skipped: a small disk cannot be mounted here");
    }
    let small = Project::under(full.path(), &std::fs::read_to_string(p.path().join("pipeline.yaml")).unwrap());
    let done = small.repro("run all");
    drop(small);
    Command::new("umount").arg(full.path()).status().unwrap();
    assert_eq!(done.code, 3, "{}{}", done.out, done.err);
    assert!(done.err.contains("the disk is full"), "{}", done.err);
}

/// `script` gives the program a terminal.
#[test]
fn a_dumb_terminal_gets_no_control_sequences() {
    let p = Project::new(ONE_FAILS);
    let program = env!("CARGO_BIN_EXE_repro");
    let mut script = p.same_env("script");
    script.args(["-q", "-e", "-c", &format!("{program} run all; {program} status"), "/dev/null"]);
    let output = match script.env_remove("NO_COLOR").env("TERM", "dumb").output() {
        Ok(output) if !output.stdout.is_empty() => output,
        _ => return println!("skipped: `script` is not installed"),
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("not complete"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

/// As a user who may start one process and no thread.
#[test]
fn a_thread_limit_ends_in_a_sentence_at_worst() {
    let p = Project::new("version: 1\nstages:\n  a: {kind: simulate, with: {map: 4x2, true_rank: 1}}\n");
    let open = |path: &std::path::Path| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
    };
    open(p.path());
    let program = env!("CARGO_BIN_EXE_repro");
    let mut limited = p.same_env("prlimit");
    limited.args(["--nproc=1", "setpriv", "--reuid=64999", "--regid=64999", "--clear-groups", program, "run", "all"]);
    let done: Finished = match limited.output() {
        Ok(output) => output.into(),
        Err(_) => return println!("skipped: prlimit is not installed"),
    };
    if done.err.contains("setpriv:") || done.err.contains("prlimit:") {
        return println!("skipped: another user cannot be had here: {}", done.err);
    }
    assert!(!done.err.contains("panicked"), "{}", done.err);
    let told = done.code == 3 && done.err.contains("a thread could not be started");
    assert!(done.code == 0 || told, "{}{}", done.out, done.err);
}

#[test]
fn without_home_downloads_do_not_go_to_the_current_folder() {
    let p = Project::new("version: 1\nstages:\n  digits: {kind: fetch-digits}\n");
    let mut run = p.command("run all --offline");
    run.env_remove("HOME").env_remove("XDG_CACHE_HOME").env_remove("REPRO_CACHE");
    let done: Finished = run.output().unwrap().into();
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(!p.path().join(".repro/downloads").exists());
}

#[test]
fn a_report_to_a_link_or_a_device_replaces_neither() {
    let p = Project::new(SMALL);
    p.ok("run all");
    let at = |name: &str| p.path().join(name);
    std::os::unix::fs::symlink("/dev/null", at("device.html")).unwrap();
    std::fs::write(at("real.html"), "old").unwrap();
    std::os::unix::fs::symlink("real.html", at("link.html")).unwrap();
    std::os::unix::fs::symlink("later.html", at("dangling.html")).unwrap();
    for name in ["device.html", "link.html", "dangling.html"] {
        p.ok(&format!("report -o {name}"));
        assert!(std::fs::symlink_metadata(at(name)).unwrap().is_symlink(), "{name} was replaced");
    }
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    assert!(std::fs::read_to_string(at("real.html")).unwrap().contains("<html"));
    assert!(std::fs::read_to_string(at("later.html")).unwrap().contains("<html"));
}

/// Runs to the end, or fails after a minute.
fn in_time(mut run: std::process::Child) -> Finished {
    let start = std::time::Instant::now();
    while run.try_wait().unwrap().is_none() {
        if start.elapsed().as_secs() > 60 {
            run.kill().unwrap();
            panic!("it hangs");
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    run.wait_with_output().unwrap().into()
}

fn fifo(path: &std::path::Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn a_fifo_in_the_data_folder_does_not_hang() {
    let p = Project::new("version: 1\nstages:\n  digits: {kind: fetch-digits}\n");
    let data = tempfile::tempdir().unwrap();
    for name in ["mfeat-fou", "mfeat.zip"] {
        fifo(&data.path().join(name));
    }
    let done = in_time(p.start(&format!("run all --offline --data-dir {}", data.path().display())));
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
}

#[test]
fn a_fifo_in_the_figures_folder_does_not_hang() {
    let p = Project::new("version: 1\nstages:\n  fig: {kind: probe, publish: figures}\n");
    std::fs::create_dir(p.path().join("figures")).unwrap();
    fifo(&p.path().join("figures/out.bin"));
    let done = in_time(p.start("run all"));
    assert!([0, 1].contains(&done.code), "{}{}", done.out, done.err);
    assert_eq!(p.fresh().len(), 1);
}
