//! Results that travel: push and pull through a folder, a web server and S3, and what faults on the way do.

#[path = "common/bucket.rs"]
mod bucket;
mod common;

use bucket::Server;
use common::{Finished, Project, SMALL};
use std::time::Duration;

/// The remote in the bucket of the test's server.
const S3: &str = "s3://bucket/results";

fn on(project: &Project, server: &Server, line: &str) -> Finished {
    let mut command = project.command(line);
    server.reach(&mut command);
    command.output().unwrap().into()
}

#[track_caller]
fn ok(project: &Project, server: &Server, line: &str) -> String {
    let said = on(project, server, line);
    assert_eq!(said.code, 0, "repro {line}\n{}{}", said.out, said.err);
    said.out
}

/// A project with results, and one of the same pipeline without.
fn two(yaml: &str) -> (Project, Project) {
    let (a, b) = (Project::new(yaml), Project::new(yaml));
    a.ok("run all");
    (a, b)
}

/// Everything is fresh in `b`, nothing ran there, and it has what `a` has.
#[track_caller]
fn same(a: &Project, b: &Project) {
    assert!(b.ok("run all").starts_with("nothing to do"));
    assert!(b.starts().is_empty(), "{:?}", b.starts());
    assert!(b.ok("verify").contains("verified"));
    assert_eq!(a.lock(), b.lock());
}

#[test]
fn a_folder_takes_results_and_gives_them_back() {
    let (a, b) = two(SMALL);
    let folder = tempfile::tempdir().unwrap();
    let yaml = format!("{SMALL}remotes: {{lab: {}}}\n", folder.path().display());
    a.write_yaml(&yaml);
    b.write_yaml(&yaml);
    assert!(a.ok("push").starts_with("pushed to "));
    let again: serde_json::Value = serde_json::from_str(&a.ok("push lab --json")).unwrap();
    assert_eq!((again["requests"].as_u64(), again["records"].as_u64()), (Some(1), Some(0)), "{again}");
    assert!(b.ok("pull").starts_with("pulled: 13 units"));
    same(&a, &b);
    assert!(b.ok("pull").starts_with("nothing to pull"));
    assert!(b.ok("push").starts_with("nothing to push"), "what was pulled is known to be there");
}

#[test]
fn pull_takes_only_what_the_targets_need() {
    let (a, b) = two(SMALL);
    let server = Server::start();
    ok(&a, &server, &format!("push {S3}"));
    server.asked();
    let said = ok(&b, &server, &format!("pull {S3} mix/text=a,value=1.0 --json"));
    let done: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(done["units"], 2, "the unit and what it reads: {done}");
    assert_eq!(server.asked().1 as u64, done["objects"].as_u64().unwrap());
    assert_eq!(b.fresh(), ["make/value=1.0", "mix/text=a,value=1.0"]);
    // A first word that is no remote is a target; the rest comes with the run.
    b.write_yaml(&format!("{SMALL}remotes: {{s3: {S3}}}\n"));
    assert!(ok(&b, &server, "pull make").starts_with("pulled: 3 units"));
    assert!(ok(&b, &server, "run all --pull").starts_with("nothing to do"));
    same(&a, &b);
}

#[test]
fn s3_with_a_500_every_tenth_request_and_slow_answers() {
    let (a, b) = two(SMALL);
    let server = Server::start();
    server.set(|s| (s.fail_every, s.pace) = (10, Duration::from_millis(20)));
    ok(&a, &server, &format!("push {S3}"));
    ok(&b, &server, &format!("pull {S3}"));
    same(&a, &b);
    assert!(server.bucket.lock().unwrap().signed, "requests are signed");
    server.set(|s| s.fail_every = 1);
    let said = on(&Project::new(SMALL), &server, &format!("pull {S3}"));
    assert_eq!(said.code, 3, "{}", said.err);
    assert!(said.err.contains("the server answered 500"), "{}", said.err);
}

#[test]
fn cut_off_and_wrong_bytes_never_get_in() {
    let (a, b) = two(&common::slow(4, 0));
    let server = Server::start();
    ok(&a, &server, &format!("push {S3}"));
    // Faults that pass: the same call mends them.
    server.set(|s| (s.cut, s.flip) = (3, 3));
    ok(&b, &server, &format!("pull {S3}"));
    same(&a, &b);
    // Faults that stay: the unit is left out and named, all others arrive.
    let spoil = |change: fn(&mut Vec<u8>)| {
        server.set(|s| {
            let largest =
                s.files.iter_mut().filter(|(path, _)| path.contains("/objects/")).max_by_key(|(_, v)| v.len());
            change(largest.unwrap().1);
        });
        let c = Project::new(&common::slow(4, 0));
        let said = on(&c, &server, &format!("pull {S3}"));
        assert_eq!(said.code, 1, "{}{}", said.out, said.err);
        assert!(said.err.contains("damaged: `make/value="), "{}", said.err);
        assert!(c.fresh().len() >= 3, "{:?}", c.fresh());
        assert!(c.ok("verify").contains("verified"));
        c
    };
    spoil(|bytes| bytes[7] ^= 1);
    let c = spoil(|bytes| bytes.truncate(100));
    // A good store mends the remote, and the next pull completes.
    ok(&a, &server, &format!("push {S3} --again"));
    ok(&c, &server, &format!("pull {S3}"));
    same(&a, &c);
}

#[test]
fn kills_at_any_moment_cost_nothing() {
    let kills: u32 = std::env::var("REPRO_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(20).min(200);
    let yaml = common::slow(20, 0);
    let (a, b) = two(&yaml);
    let server = Server::start();
    server.set(|s| s.pace = Duration::from_millis(5));
    let mut killed = [0, 0];
    for (which, project, line) in [(0, &a, "push"), (1, &b, "pull")] {
        for n in 0..kills {
            let mut command = project.command(&format!("{line} {S3} --jobs 2"));
            server.reach(&mut command);
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
            let mut child = command.spawn().unwrap();
            // Moments from the first to the last, not in order.
            std::thread::sleep(Duration::from_millis(u64::from(20 + (n * 37) % 400)));
            killed[which] += u32::from(child.try_wait().unwrap().is_none());
            child.kill().unwrap();
            child.wait().unwrap();
            if which == 1 {
                let said = project.repro("verify");
                assert_eq!(said.code, 0, "{}{}", said.out, said.err);
            }
        }
        ok(project, &server, &format!("{line} {S3}"));
    }
    same(&a, &b);
    assert!(killed.iter().all(|n| *n > 0), "no kill came in time: {killed:?}");
    println!("{killed:?} pushes and pulls were under way when they were killed");
}

#[test]
fn a_static_web_server_is_enough_to_pull_from() {
    let (a, b) = two(SMALL);
    let folder = tempfile::tempdir().unwrap();
    a.ok(&format!("push {}", folder.path().display()));
    let server = Server::start();
    server.set(|s| s.read_only = true);
    let mut open = vec![folder.path().to_path_buf()];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(path).unwrap().map(|e| e.unwrap().path()));
        } else {
            let name = format!("/data/{}", path.strip_prefix(folder.path()).unwrap().display());
            server.set(|s| drop(s.files.insert(name, std::fs::read(&path).unwrap())));
        }
    }
    let address = format!("{}/data", server.address());
    ok(&b, &server, &format!("pull {address}"));
    let asked = std::mem::take(&mut server.bucket.lock().unwrap().asked);
    assert!(asked.iter().all(|line| line.starts_with("GET /data/") && !line.ends_with('/')), "{asked:?}");
    same(&a, &b);
    let said = on(&a, &server, &format!("push {address} --again"));
    assert_eq!(said.code, 3, "{}", said.err);
    assert!(said.err.contains("can only be pulled over https"), "{}", said.err);
}

#[test]
fn ten_thousand_units_take_few_requests() {
    let (a, _) = two("version: 1\nstages: {many: {kind: probe, matrix: {value: 1..10000}}}\n");
    let server = Server::start();
    let done: serde_json::Value = serde_json::from_str(&ok(&a, &server, &format!("push {S3} --json"))).unwrap();
    assert_eq!(done["records"], 10_000);
    let (asked, objects) = server.asked();
    assert_eq!(objects as u64, done["objects"].as_u64().unwrap());
    assert!(asked <= objects + 20, "{asked} requests for {objects} objects");
    println!("{asked} requests, {objects} of them objects");
    assert!(ok(&a, &server, &format!("push {S3}")).starts_with("nothing to push"));
    assert_eq!(server.asked(), (1, 0), "a second push makes one request");
}

#[test]
fn many_pushes_are_packed_into_one_and_two_at_once_lose_nothing() {
    let yaml = |n: usize| format!("version: 1\nstages: {{many: {{kind: probe, matrix: {{value: 1..{n}}}}}}}\n");
    let a = Project::new(&yaml(1));
    let server = Server::start();
    for n in 1..12 {
        a.write_yaml(&yaml(n));
        a.ok("run all");
        ok(&a, &server, &format!("push {S3}"));
        let (asked, objects) = server.asked();
        assert!(asked <= objects + 20, "{asked} requests for {objects} objects");
    }
    let index: serde_json::Value =
        serde_json::from_slice(&server.bucket.lock().unwrap().files["/bucket/results/index.json"]).unwrap();
    assert!(index["packs"].as_array().unwrap().len() <= 8, "{index}");
    let others: Vec<Project> = (12..16).map(|n| Project::new(&yaml(n))).collect();
    others.iter().for_each(|p| drop(p.ok("run all")));
    server.set(|s| s.pace = Duration::from_millis(30));
    std::thread::scope(|scope| {
        for p in &others {
            scope.spawn(|| ok(p, &server, &format!("push {S3}")));
        }
    });
    server.set(|s| s.pace = Duration::ZERO);
    let b = Project::new(&yaml(15));
    ok(&b, &server, &format!("pull {S3}"));
    same(&others[3], &b);
}

#[test]
fn what_the_lock_file_contradicts_is_refused() {
    let (a, b) = two(SMALL);
    let folder = tempfile::tempdir().unwrap();
    a.ok(&format!("push {}", folder.path().display()));
    let lock = a.lock();
    // The digest of the first unit's results becomes another one: the second word of its line.
    let line = lock.lines().find(|line| line.starts_with("    \"value=")).unwrap();
    let result = line.rsplit(' ').next().unwrap().trim_end_matches('"');
    std::fs::write(b.path().join("repro.lock"), lock.replace(result, &"ab".repeat(16))).unwrap();
    let said = b.repro(&format!("pull {}", folder.path().display()));
    assert_eq!(said.code, 1, "{}{}", said.out, said.err);
    assert!(said.err.contains("refused: `make/value="), "{}", said.err);
    // A lock file that cannot be read confirms nothing, and that is said.
    std::fs::write(b.path().join("repro.lock"), "<<<<<<< ours\n").unwrap();
    let said = b.repro(&format!("pull {}", folder.path().display()));
    assert!(said.err.contains("repro.lock cannot be read"), "{}", said.err);
}

#[test]
fn mistakes_are_named() {
    let p = Project::new(SMALL);
    let refused = |line: &str, words: &str| {
        let said = p.repro(line);
        assert_eq!((said.code, said.out.as_str()), (2, ""), "repro {line}: {}", said.err);
        assert!(said.err.contains(words), "repro {line}: {}", said.err);
    };
    refused("push", "pipeline.yaml names no remote");
    refused("push lab", "there is no remote `lab`");
    refused("pull ftp://host/x", "`ftp` is not known");
    refused("push s3://key:secret@bucket/x", "the address holds credentials");
    p.write_yaml(&format!("{SMALL}remotes: {{lab: 's3://key:secret@bucket/x'}}\n"));
    refused("status", "it holds credentials, and this file is shared");
    p.write_yaml(&format!("{SMALL}remotes: {{a: /x, b: /y}}\n"));
    refused("push", "which remote? pipeline.yaml has: a, b");
    refused("pull c", "there is no remote `c`; pipeline.yaml has: a, b");
    let empty = tempfile::tempdir().unwrap();
    let said = p.repro(&format!("pull {}", empty.path().display()));
    assert_eq!(said.code, 3, "{}", said.err);
    assert!(said.err.contains("there are no results"), "{}", said.err);
}
