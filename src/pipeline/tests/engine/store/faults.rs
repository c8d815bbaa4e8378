//! What must not happen, tried: kills, races, torn and damaged journals, corrupt objects, full and read-only disks.

use crate::child;
use crate::common::*;
use pipeline::*;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const WIDE: &str = "
version: 1
stages:
  a: {kind: toy, matrix: {x: 1..12}, with: {sleep_ms: 3}}
  b: {kind: toy, needs: [a], matrix: {x: 1..12, rank: 1..2}, with: {sleep_ms: 2}}
  c: {kind: toy, needs: [b], matrix: {rank: 1..2}}
  d: {kind: toy, needs: [c]}
";
const UNITS: usize = 12 + 24 + 2 + 1;

fn project(yaml: &str) -> Project {
    let p = Project::new();
    std::fs::write(p.path("pipeline.yaml"), yaml).unwrap();
    p
}

/// No unit starts after it finished.
fn assert_nothing_ran_twice(log: &Path) {
    let text = std::fs::read_to_string(log).unwrap();
    let mut finished = std::collections::HashSet::new();
    for line in text.lines() {
        match line.strip_prefix("finished ") {
            Some(id) => assert!(finished.insert(id.to_string()), "{id} finished twice"),
            None => assert!(!finished.contains(line), "{line} ran after it had finished"),
        }
    }
}

fn all_objects(folder: &Path) -> Vec<PathBuf> {
    let shards = std::fs::read_dir(folder.join(".pipeline/objects")).unwrap().map(|e| e.unwrap().path());
    let mut files: Vec<PathBuf> =
        shards.flat_map(|s| std::fs::read_dir(s).unwrap().map(|e| e.unwrap().path())).collect();
    files.sort();
    files
}

#[test]
fn fifty_kills_lose_nothing_that_had_finished() {
    let whole = project(WIDE);
    assert_eq!(whole.run(WIDE).ran.len(), UNITS);
    let p = project(WIDE);
    let log = p.path("ran.log");
    let mut kills = 0;
    for round in 0u64..400 {
        let mut child = child::command(p.folder.path(), &log, 2).stdout(Stdio::null()).spawn().unwrap();
        // Spread over the first tens of milliseconds, a little later each round so that the run ends at last.
        std::thread::sleep(Duration::from_millis(2 + (round * 7919) % 23 + round / 25));
        let over = child.try_wait().unwrap().is_some();
        kills += u32::from(!over);
        child.kill().unwrap();
        child.wait().unwrap();
        if kills >= 50 && over {
            break;
        }
        if over {
            // It got through before fifty kills: throw away half of what it had and go on.
            let journal = p.path(".pipeline/journal");
            if kills < 50 && journal.exists() {
                let bytes = std::fs::read(&journal).unwrap();
                std::fs::write(&journal, &bytes[..bytes.len() / 2]).unwrap();
                std::fs::write(&log, "").unwrap();
            }
        }
    }
    assert!(kills >= 50, "only {kills} kills hit a living process");
    assert!(p.run(WIDE).is_complete());
    assert_eq!(p.lock(), whole.lock());
    assert_nothing_ran_twice(&log);
    assert_eq!(p.run(WIDE).ran.len(), 0);
}

#[test]
fn two_processes_share_the_work() {
    let p = project(&WIDE.replace("sleep_ms: 3", "sleep_ms: 40"));
    let log = p.path("ran.log");
    let children: Vec<_> = (0..2).map(|_| child::command(p.folder.path(), &log, 2).spawn().unwrap()).collect();
    let said: Vec<String> =
        children.into_iter().map(|c| String::from_utf8(c.wait_with_output().unwrap().stdout).unwrap()).collect();
    assert_nothing_ran_twice(&log);
    let ran: usize = said.iter().filter_map(|s| s.split("RAN ").nth(1)?.split(' ').next()?.parse::<usize>().ok()).sum();
    assert_eq!(ran, UNITS, "{said:?}");
    assert_eq!(p.ran().iter().filter(|l| !l.starts_with("finished")).count(), UNITS);
    assert!(said.iter().any(|s| s.contains("WAITING for process ")), "{said:?}");
}

#[test]
fn a_journal_cut_anywhere_is_a_shorter_journal() {
    let p = project(WIDE);
    p.run(WIDE);
    let (journal, lock) = (p.path(".pipeline/journal"), p.lock());
    let bytes = std::fs::read(&journal).unwrap();
    for cut in [1, 10, bytes.len() / 3, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&journal, &bytes[..cut]).unwrap();
        let summary = p.run(WIDE);
        assert!(summary.is_complete() && !summary.ran.is_empty());
        assert_eq!(p.lock(), lock);
        assert_eq!(p.run(WIDE).ran.len(), 0);
    }
}

#[test]
fn a_damaged_line_costs_its_unit_and_is_reported() {
    let p = project(WIDE);
    p.run(WIDE);
    let journal = p.path(".pipeline/journal");
    let mut bytes = std::fs::read(&journal).unwrap();
    let text = String::from_utf8(bytes.clone()).unwrap();
    let at = text.find("\"stage\":\"d\"").unwrap();
    bytes[at + 9] = b'x';
    std::fs::write(&journal, bytes).unwrap();
    let problems = p.engine(WIDE).verify(&["all"]).unwrap().problems;
    assert!(matches!(problems[..], [Finding::DamagedRecord { .. }]), "{problems:?}");
    assert_eq!(p.run(WIDE).ran, ["d"]);
    let engine = p.engine(WIDE);
    engine.gc(&CollectOptions::default()).unwrap();
    assert_eq!(p.engine(WIDE).verify(&["all"]).unwrap().problems, []);
}

#[test]
fn a_flipped_byte_is_found_named_and_mended() {
    let p = project(CHAIN);
    p.run(CHAIN);
    let lock = p.lock();
    for (n, object) in all_objects(p.folder.path()).into_iter().enumerate() {
        let before = std::fs::metadata(&object).unwrap();
        let mut bytes = std::fs::read(&object).unwrap();
        let at = (n * 7) % bytes.len();
        bytes[at] ^= 1;
        let mut perms = before.permissions();
        #[allow(clippy::permissions_set_readonly_false)]
        perms.set_readonly(false);
        std::fs::set_permissions(&object, perms).unwrap();
        let file = std::fs::OpenOptions::new().write(true).open(&object).unwrap();
        (&file).write_all(&bytes).unwrap();
        // Like decay of the disk: no trace in the file's time.
        file.set_modified(before.modified().unwrap()).unwrap();
        drop(file);
        let engine = p.engine(CHAIN);
        let digest = format!(
            "{}{}",
            object.parent().unwrap().file_name().unwrap().display(),
            object.file_name().unwrap().display()
        );
        let found = engine.verify(&["all"]).unwrap();
        let [Finding::Corrupt { unit, artefact }] = &found.problems[..] else { panic!("{found:?}") };
        let label = unit.split_once('/').map_or("", |(_, label)| label);
        engine.store().journal.with(|index| {
            let wrote = |r: &&std::sync::Arc<pipeline::store::record::Record>| {
                r.label == label && r.artefacts.get(artefact).is_some_and(|a| a.digest.to_string() == digest)
            };
            assert_eq!(index.records.values().filter(wrote).count(), 1, "{unit} {artefact} {digest}");
        });
        assert_eq!(&p.run(CHAIN).ran[..], std::slice::from_ref(unit));
        assert_eq!(p.engine(CHAIN).verify(&["all"]).unwrap().problems, []);
        assert_eq!(p.lock(), lock);
    }
}

#[test]
fn a_deleted_object_is_made_again() {
    let p = project(CHAIN);
    p.run(CHAIN);
    let object = &p.engine(CHAIN).locate(&["a/x=1.0"], None).unwrap()[0].path;
    std::fs::remove_file(object).unwrap();
    let why = p.engine(CHAIN).why(&["a/x=1.0"]).unwrap();
    assert_eq!(why[0].reasons, [Stale::Missing { artefact: "out.txt".into() }]);
    let summary = p.run(CHAIN);
    assert_eq!((summary.ran, summary.spared), (vec!["a/x=1.0".to_string()], 3));
}

#[test]
fn executed_again_units_write_the_same() {
    let p = project(WIDE);
    p.run(WIDE);
    let found = p.engine(WIDE).verify_rerun(&["all"], 5, 1).unwrap();
    assert_eq!((found.rerun, found.problems.len()), (5, 0), "{found:?}");
    // A kind that counts its executions is not deterministic.
    let yaml = "{version: 1, stages: {n: {kind: count}}}";
    let mut p = project(yaml);
    p.kinds.kind(Counting(Default::default()));
    p.run(yaml);
    let found = p.engine(yaml).verify_rerun(&["n"], 1, 1).unwrap();
    assert_eq!(found.problems, [Finding::RerunDiffers { unit: "n".into(), artefact: "n".into() }]);
}

struct Counting(std::sync::atomic::AtomicUsize);

impl Kind for Counting {
    fn name(&self) -> &str {
        "count"
    }
    fn about(&self) -> &str {
        "writes how often it ran"
    }
    fn schema(&self) -> u32 {
        1
    }
    fn sources(&self) -> &[(String, String)] {
        &[]
    }
    fn check(&self, params: &Value) -> Result<Value, ParamError> {
        Ok(params.clone())
    }
    fn run(&self, ctx: &Context) -> StageResult {
        let n = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(std::fs::write(ctx.output("n")?, n.to_string())?)
    }
}

/// Runs `script` in a mount namespace of its own, where `$D` is the project and `$CHILD` starts a run.
fn in_namespace(p: &Project, script: &str) -> Option<String> {
    let child = child::command(p.folder.path(), &p.path("../child.log"), 1);
    let exe = child.get_program().to_owned();
    let mut shell = Command::new("unshare");
    shell.args([
        "-rm",
        "sh",
        "-c",
        &format!("run() {{ \"$EXE\" child::child --exact --nocapture --quiet; }}\n{script}"),
    ]);
    shell.env("EXE", exe).env("D", p.folder.path()).envs(child.get_envs().filter_map(|(k, v)| Some((k, v?))));
    let log = tempfile::NamedTempFile::new().unwrap();
    let output = shell.env("CHILD_LOG", log.path()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !text.contains("MOUNTED") {
        println!("skipped: no mount namespaces here: {}", String::from_utf8_lossy(&output.stderr).trim());
        return None;
    }
    Some(text)
}

#[test]
fn a_full_disk_is_a_sentence_and_a_pause() {
    let p = project(WIDE);
    let script = "cp $D/pipeline.yaml /tmp/keep.$$ && mount -t tmpfs -o size=120k tmpfs $D && mv /tmp/keep.$$ $D/pipeline.yaml \
                  && echo MOUNTED && run; mount -o remount,size=20m $D; run; run";
    let Some(said) = in_namespace(&p, script) else { return };
    let lines: Vec<&str> = said.lines().filter(|l| l.contains("ERROR") || l.contains("RAN")).collect();
    assert!(lines[0].contains("the disk is full while writing"), "{said}");
    let ran = |line: &str| line.split("RAN ").nth(1).unwrap().split(' ').next().unwrap().parse::<usize>().unwrap();
    assert!(ran(lines[1]) < UNITS && ran(lines[1]) > 0, "what had finished was kept: {said}");
    assert_eq!(ran(lines[2]), 0, "{said}");
}

#[test]
fn a_read_only_store_answers_questions_and_refuses_work() {
    let p = project(CHAIN);
    p.run(CHAIN);
    let script = "mount --bind $D $D && mount -o remount,ro,bind $D && echo MOUNTED && run";
    let Some(said) = in_namespace(&p, script) else { return };
    assert!(said.contains("RAN 0 of 7"), "{said}");
    std::fs::write(p.path("pipeline.yaml"), CHAIN.replace("rank: 1..2", "rank: 1..3")).unwrap();
    let said = in_namespace(&p, script).unwrap();
    assert!(said.contains("ERROR the store cannot be written: `"), "{said}");
}
