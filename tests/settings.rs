//! The flags of a run are remembered, and its results can be taken out by name.

mod common;
use common::{Finished, Project, SMALL};
use std::time::Duration;

const PROFILES: &str = "profiles:\n  tiny:\n    stages: {make: {with: {bytes: 8}}}\n";

fn project() -> Project {
    Project::new(&format!("{SMALL}{PROFILES}"))
}

#[test]
fn commands_that_look_take_the_settings_of_the_last_run_and_say_so() {
    let p = project();
    p.ok("run all --profile tiny --set mix.bytes=9");
    for line in ["status", "why all", "path sum", "verify", "log sum"] {
        let done = p.repro(line);
        assert_eq!(done.code, 0, "repro {line}: {}", done.err);
        let said = "with the settings of the last run: --profile tiny --set mix.bytes=9";
        assert!(done.err.starts_with(said), "repro {line}: {}", done.err);
    }
    assert!(p.ok("status").contains("all 13 units fresh"));
    // A flag says otherwise.
    let told = p.repro("status --profile default");
    assert!(told.out.contains("13 of 13 units stale") && told.err.is_empty(), "{}{}", told.out, told.err);
    // A run takes its own flags and no others.
    assert!(p.ok("run make").starts_with("done: 4 units run"));
    assert!(p.repro("status").err.is_empty());
}

#[test]
fn a_profile_that_is_gone_is_not_remembered_for_ever() {
    let p = project();
    p.ok("run make --profile tiny");
    p.write_yaml(SMALL);
    let done = p.repro("status");
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.err.contains("not with the settings of the last run (--profile tiny)"), "{}", done.err);
}

#[test]
fn a_data_folder_of_the_environment_is_remembered() {
    let p = project();
    let data = tempfile::tempdir().unwrap();
    let done: Finished = p.command("run make").env("REPRO_DATA", data.path()).output().unwrap().into();
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(p.repro("status").err.contains("--data-dir"), "{}", p.repro("status").err);
}

#[test]
fn the_resume_hint_repeats_the_flags() {
    let p = Project::new(
        "version: 1\nstages:\n  slow: {kind: probe, with: {sleep_ms: 300}, matrix: {value: 1..20}}\nprofiles:\n  tiny: {}\n",
    );
    let run = p.start("run slow --profile tiny --set slow.bytes=9 --offline --jobs 2");
    while p.starts().is_empty() {
        std::thread::sleep(Duration::from_millis(10));
    }
    rustix::process::kill_process(rustix::process::Pid::from_child(&run), rustix::process::Signal::INT).unwrap();
    let done: Finished = run.wait_with_output().unwrap().into();
    assert_eq!(done.code, 130);
    assert!(
        done.err.contains("resume with `repro run slow --profile tiny --set slow.bytes=9 --offline`"),
        "{}",
        done.err
    );
}

#[test]
fn path_names_artefacts() {
    let p = project();
    p.ok("run all");
    let line = p.ok("path sum");
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!((words.len(), words[0], words[1]), (3, "sum", "out.bin"), "{line}");
    assert!(p.path().join(words[2]).is_file());
    assert_eq!(p.ok("path sum out.bin").split_whitespace().count(), 1);
}

#[test]
fn get_copies_whole_stages_and_single_files_under_readable_names() {
    let p = project();
    p.ok("run all");
    p.ok("get mix -o out");
    let file = p.path().join("out/mix/text=a,value=2.0/out.bin");
    assert_eq!(std::fs::read(&file).unwrap().len(), 64);
    assert_eq!(std::fs::read_dir(p.path().join("out/mix")).unwrap().count(), 8);
    assert_eq!(p.ok("get sum out.bin").trim(), "./sum/out.bin");
    assert!(p.path().join("sum/out.bin").is_file());
    // Again: nothing to do. Other bytes: refused, unless --force.
    p.ok("get mix -o out");
    std::fs::write(&file, "mine").unwrap();
    let done = p.repro("get mix -o out");
    assert_eq!(done.code, 2);
    assert!(done.err.contains("is there already and is not this result"), "{}", done.err);
    assert_eq!(std::fs::read(&file).unwrap(), b"mine");
    p.ok("get mix -o out --force");
    assert_eq!(std::fs::read(&file).unwrap().len(), 64);
    let done = p.repro("get sum nothing.npy");
    assert!(done.code == 2 && done.err.contains("has no artefact `nothing.npy`"), "{}", done.err);
}

#[test]
fn get_refuses_a_corrupt_artefact() {
    use std::os::unix::fs::PermissionsExt;
    let p = project();
    p.ok("run all");
    let object = p.path().join(p.ok("path sum out.bin").trim());
    std::fs::set_permissions(&object, std::fs::Permissions::from_mode(0o644)).unwrap();
    let mut bytes = std::fs::read(&object).unwrap();
    bytes[5] ^= 1;
    // The same length and time, as a failing disk leaves it.
    let time = std::fs::metadata(&object).unwrap().modified().unwrap();
    std::fs::write(&object, bytes).unwrap();
    std::fs::File::options().write(true).open(&object).unwrap().set_modified(time).unwrap();
    let done = p.repro("get sum");
    assert_ne!(done.code, 0, "{}", done.out);
    assert!(!p.path().join("sum/out.bin").exists());
}

#[test]
fn a_damaged_time_does_not_panic_status() {
    use std::os::unix::fs::PermissionsExt;
    let p = project();
    p.ok("run all");
    let journal = p.store().join("journal");
    let text = String::from_utf8_lossy(&std::fs::read(&journal).unwrap()).into_owned();
    if !text.contains("\"wall\":") {
        panic!("the journal has no `wall` to damage; look for its new name");
    }
    std::fs::set_permissions(&journal, std::fs::Permissions::from_mode(0o644)).unwrap();
    let parts: Vec<&str> = text.split("\"wall\":").collect();
    let damaged: Vec<String> = parts
        .iter()
        .enumerate()
        .map(
            |(i, part)| {
                if i == 0 { part.to_string() } else { format!("1e300{}", &part[part.find([',', '}']).unwrap()..]) }
            },
        )
        .collect();
    std::fs::write(&journal, damaged.join("\"wall\":")).unwrap();
    for line in ["status", "log all", "why sum", "run all"] {
        let done = p.repro(line);
        assert!(!done.err.contains("panicked") && done.code != 101, "repro {line}: {}", done.err);
    }
}
