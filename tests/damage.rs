//! Flipped bytes, lost files, read-only folders, full disks: a clear sentence, nothing lost, mended by a run.

mod common;
use common::{Finished, Project, SMALL};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Let `f` loose on a file that the store keeps read-only.
fn damage(file: &Path, f: impl Fn(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(file).unwrap();
    f(&mut bytes);
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o644)).unwrap();
    std::fs::write(file, bytes).unwrap();
}

/// Which unit wrote the object, and under which name.
fn owner(p: &Project, file: &Path) -> (String, String) {
    let all: Vec<serde_json::Value> = serde_json::from_str(&p.ok("path * --json")).unwrap();
    let here = std::fs::canonicalize(file).unwrap();
    let hit = all.iter().find(|a| {
        let path = p.path().join(a["path"].as_str().unwrap());
        std::fs::canonicalize(path).is_ok_and(|path| path == here)
    });
    let hit = hit.unwrap_or_else(|| panic!("{} belongs to no unit", file.display()));
    (hit["unit"].as_str().unwrap().into(), hit["artefact"].as_str().unwrap().into())
}

#[test]
fn a_flipped_byte_in_any_object_is_named_and_mended() {
    let p = Project::new(SMALL);
    p.ok("run all");
    let lock = p.lock();
    let objects = p.stored("objects");
    assert_eq!(objects.len(), 13);
    for (i, object) in objects.iter().enumerate() {
        let (unit, artefact) = owner(&p, object);
        damage(object, |bytes| {
            let at = (i * 7) % bytes.len();
            bytes[at] ^= 1 << (i % 8);
        });
        let said = p.repro("verify");
        assert_eq!(said.code, 1, "{}", said.out);
        assert!(said.out.contains(&format!("`{unit}`: artefact `{artefact}` is corrupt")), "{}", said.out);
        p.ok("run all");
        assert!(p.ok("verify").contains("verified"));
    }
    assert_eq!(p.lock(), lock);
}

#[test]
fn a_deleted_object_is_named_and_mended() {
    let p = Project::new(SMALL);
    p.ok("run all");
    let (before, lock) = (p.starts(), p.lock());
    let object = &p.stored("objects")[3];
    let (unit, artefact) = owner(&p, object);
    std::fs::remove_file(object).unwrap();
    let said = p.repro("verify");
    assert_eq!(said.code, 1);
    assert!(said.out.contains(&format!("`{unit}`: artefact `{artefact}` is missing")), "{}", said.out);
    assert!(p.ok(&format!("why {unit}")).contains("is missing from the store"));
    p.ok("run all");
    assert_eq!(p.started_since(&before), [unit]);
    assert_eq!(p.lock(), lock);
}

#[test]
fn a_truncated_record_costs_what_it_recorded_and_no_more() {
    let p = Project::new(SMALL);
    p.ok("run all");
    let lock = p.lock();
    let journal = p.store().join("journal");
    // The tail is cut off in the middle of a line, as after a power cut; a little more each time.
    for part in [0.97, 0.8, 0.5, 0.1] {
        let before = p.starts();
        damage(&journal, |bytes| bytes.truncate((bytes.len() as f64 * part) as usize));
        let lost: Vec<String> = stale(&p);
        p.ok("run all");
        assert_eq!(p.started_since(&before), lost, "cut to {part}");
        assert_eq!(p.lock(), lock);
        assert!(p.ok("verify").contains("verified"));
    }
}

#[test]
fn a_damaged_record_is_counted_and_costs_one_unit() {
    let p = Project::new(SMALL);
    p.ok("run all");
    let (before, lock) = (p.starts(), p.lock());
    let journal = p.store().join("journal");
    let text = std::fs::read_to_string(&journal).unwrap();
    let at = text.find("out.bin").unwrap();
    damage(&journal, |bytes| bytes[at] ^= 1);
    let said = p.repro("verify");
    assert_eq!(said.code, 1, "{}", said.out);
    assert!(said.out.contains("of the store's journal is damaged"), "{}", said.out);
    p.ok("run all");
    assert_eq!(p.started_since(&before).len(), 1);
    assert_eq!(p.lock(), lock);
}

/// Ids of units that are not fresh, sorted.
fn stale(p: &Project) -> Vec<String> {
    let mut ids: Vec<String> = p
        .why_all()
        .iter()
        .filter(|u| !u["fresh"].as_bool().unwrap() && u["reasons"][0]["reason"] != "upstream_stale")
        .map(|u| u["id"].as_str().unwrap().to_string())
        .collect();
    ids.sort();
    ids
}

#[test]
fn a_read_only_store_is_said_plainly() {
    if rustix::process::geteuid().is_root() {
        return as_root();
    }
    let p = Project::new(SMALL);
    p.ok("run make");
    set_mode(&p.store(), 0o555);
    let said = p.repro("run all");
    set_mode(&p.store(), 0o755);
    check_read_only(&p, &said);
}

/// Root may write anywhere, except on a read-only mount; where mounting is not allowed the test says so and rests.
fn as_root() {
    let p = Project::new(SMALL);
    p.ok("run make");
    let script = "mount --bind \"$STORE\" \"$STORE\" && mount -o remount,ro,bind \"$STORE\" && echo mounted && exec \"$PROGRAM\" run all";
    let mut command = p.same_env("unshare");
    command.args(["-m", "sh", "-c", script]).env("STORE", p.store()).env("PROGRAM", env!("CARGO_BIN_EXE_repro"));
    let said: Option<Finished> = command.output().ok().map(Finished::from);
    match said {
        Some(said) if said.out.starts_with("mounted") => check_read_only(&p, &said),
        _ => println!("skipped: this is root and mounting is not permitted"),
    }
}

fn check_read_only(p: &Project, said: &Finished) {
    assert_eq!(said.code, 3, "{}{}", said.out, said.err);
    assert!(said.err.contains("the store cannot be written") && said.err.contains("read-only"), "{}", said.err);
    assert_eq!(p.starts().values().sum::<usize>(), 4, "a unit ran although its result could not be kept");
    p.ok("run all");
    assert!(p.starts().values().all(|&n| n == 1));
}

fn set_mode(folder: &Path, mode: u32) {
    for entry in std::fs::read_dir(folder).unwrap().flatten().filter(|e| e.path().is_dir()) {
        set_mode(&entry.path(), mode);
    }
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_full_disk_is_said_plainly_and_nothing_is_lost() {
    let yaml = SMALL.replace("text: raw", "text: raw, bytes: 300000");
    let p = Project::new(&yaml);
    let script = "mount -t tmpfs -o size=1m none \"$DIR\" && cp \"$SAVED\" \"$DIR/pipeline.yaml\" && cd \"$DIR\" && \
        { \"$PROGRAM\" run all --jobs 1; echo \"code $?\"; \"$PROGRAM\" verify; echo \"verify $?\"; \
        mount -o remount,size=16m \"$DIR\"; \"$PROGRAM\" run all; echo \"code $?\"; }";
    let saved = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(saved.path(), yaml).unwrap();
    let mut command = std::process::Command::new("unshare");
    command.args(["-m", "sh", "-c", script]).env("DIR", p.path()).env("SAVED", saved.path());
    let output = command.env("PROGRAM", env!("CARGO_BIN_EXE_repro")).output();
    let Ok(output) = output else { return println!("skipped: no unshare") };
    let said: Finished = output.into();
    if !said.out.contains("code ") {
        return println!("skipped: mounting a small tmpfs is not permitted: {}", said.err);
    }
    let codes: Vec<&str> = said.out.lines().filter(|l| l.starts_with("code ")).collect();
    assert_ne!(codes[0], "code 0", "{}{}", said.out, said.err);
    assert!(said.err.contains("the disk is full"), "{}{}", said.out, said.err);
    assert!(said.out.contains("verify 0"), "what had finished was damaged: {}{}", said.out, said.err);
    assert_eq!(codes[1], "code 0", "{}{}", said.out, said.err);
}
