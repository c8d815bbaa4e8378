//! Getting data is a stage of its own: a stand-in is replaced as soon as real data can be had, results are keyed by content alone, and what is
//! damaged is refused. A small HTTP server on the loopback stands for the official addresses.

mod common;
#[path = "common/served.rs"]
mod served;
use common::{Finished, Project};
use datasets::bci::Session;
use datasets::fetch::sha256;
use datasets::simulate::{SimParams, session_gdf};
use served::{Server, digits, entry, zip_of};

const DIGITS: &str = "\
version: 1
stages:
  digits:
    kind: fetch-digits
    with: {per_class: 3}
  kernels:
    kind: kernels
    needs: [digits]
";

const RECORDINGS: &str = "\
version: 1
stages:
  recordings:
    kind: fetch-recordings
    matrix: {subject: [1], session: [T, E]}
  covariances:
    kind: covariances
    needs: [recordings]
    with: {simulation: {trials_per_class: 2}, signal: {order: 30}}
    matrix: {subject: [1], session: [T, E]}
";

/// A project, a download cache and a list of sources that points at the server.
struct World {
    project: Project,
    cache: tempfile::TempDir,
    server: Server,
}

impl World {
    fn new(yaml: &str, sums: &[(&str, String)]) -> World {
        let world = World { project: Project::new(yaml), cache: tempfile::tempdir().unwrap(), server: Server::start() };
        world.list(&world.server.address, sums);
        world
    }

    /// Writes the list of sources; what is not named has no published checksum.
    fn list(&self, address: &str, sums: &[(&str, String)]) {
        let sum = |id: &str| sums.iter().find(|s| s.0 == id).map_or("unknown", |s| s.1.as_str());
        let entry = |id: &str, file: &str| entry(id, address, file, sum(id));
        let mut text = "files:\n".to_string();
        text += &entry("mfeat", "mfeat.zip");
        text += &entry("bci-gdf", "gdf.zip");
        text += &entry("bci-labels", "labels.zip");
        text += &entry("bnci-A01T", "A01T.mat");
        text += &entry("bnci-A01E", "A01E.mat");
        std::fs::write(self.project.path().join("sources.yaml"), text).unwrap();
    }

    fn repro(&self, line: &str) -> Finished {
        let mut command = self.project.command(line);
        command.env("REPRO_CACHE", self.cache.path()).env("REPRO_SOURCES", self.project.path().join("sources.yaml"));
        for proxy in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
            command.env_remove(proxy);
        }
        command.output().unwrap().into()
    }

    #[track_caller]
    fn ok(&self, line: &str) -> Finished {
        let said = self.repro(line);
        assert_eq!(said.code, 0, "repro {line}\n{}{}", said.out, said.err);
        said
    }

    /// The kind of data that the results of a unit were made from.
    fn kind(&self, unit: &str) -> String {
        let path = self.ok(&format!("path {unit} source.json --offline")).out;
        let text = std::fs::read_to_string(self.project.path().join(path.trim())).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()["kind"].as_str().unwrap().to_string()
    }
}

#[test]
fn a_stand_in_is_replaced_as_soon_as_the_real_data_can_be_had() {
    let real = digits();
    let w = World::new(DIGITS, &[("mfeat", sha256(&real))]);
    w.ok("run kernels --offline");
    assert_eq!((w.kind("digits").as_str(), w.server.asked()), ("embedded", 0));
    // A failure that passes: said, and nothing is pinned.
    let said = w.ok("run kernels");
    assert!(said.out.starts_with("nothing to do") && said.err.contains("could not be fetched"), "{said:?}");
    assert!(said.err.contains("503") && said.err.contains("the embedded sample will be used"), "{said:?}");
    // Another file than the published one is refused, and the results stay.
    w.server.put("mfeat.zip", &zip_of(&[("mfeat-fou", b"1 2 3".to_vec())]));
    let said = w.ok("run kernels");
    assert!(said.out.starts_with("nothing to do") && said.err.contains("is not the recorded"), "{said:?}");
    assert_eq!(w.kind("digits"), "embedded");
    let said = w.repro("run kernels --require-real");
    assert!(said.code == 1 && said.err.contains("no real data found"), "{said:?}");
    // The real file: fetched and used.
    w.server.put("mfeat.zip", &real);
    let said = w.ok("run kernels");
    assert!(said.out.starts_with("done: 2 units run") && said.err.contains("fetched Multiple Features"), "{said:?}");
    assert_eq!(w.kind("digits"), "real");
    // And then it is here: no further question, nothing to do, with the network or without.
    let asked = w.server.asked();
    for line in ["run kernels", "run kernels --offline", "run kernels --require-real"] {
        assert!(w.ok(line).out.starts_with("nothing to do"), "{line}");
    }
    assert_eq!(w.server.asked(), asked);
    // A file that was only touched is read again and changes nothing.
    let file = w.cache.path().join("mfeat.zip");
    let earlier = std::time::SystemTime::now() - std::time::Duration::from_secs(1000);
    std::fs::File::options().write(true).open(&file).unwrap().set_modified(earlier).unwrap();
    assert!(w.ok("run kernels").out.starts_with("nothing to do"));
    // The same files in a folder of the user's are the same data.
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(&file, folder.path().join("copy.zip")).unwrap();
    let line = format!("run kernels --offline --data-dir {}", folder.path().display());
    assert!(w.ok(&line).out.starts_with("nothing to do"));
}

#[test]
fn a_damaged_download_is_refused_and_the_results_stay() {
    let real = digits();
    let w = World::new(DIGITS, &[("mfeat", sha256(&real))]);
    w.server.put("mfeat.zip", &real);
    w.ok("run kernels");
    let (lock, file) = (w.project.lock(), w.cache.path().join("mfeat.zip"));
    let mut damaged = real.clone();
    damaged[100] ^= 1;
    std::fs::write(&file, &damaged).unwrap();
    let said = w.repro("run kernels --offline");
    assert!(said.code == 1 && said.err.contains("mfeat.zip") && said.err.contains("damaged"), "{said:?}");
    assert_eq!(w.project.lock(), lock);
    // With the network it is fetched again, and the old results are current at once.
    let said = w.ok("run kernels");
    assert!(said.out.starts_with("nothing to do"), "{said:?}");
    assert_eq!(std::fs::read(&file).unwrap(), real);
}

/// The recordings come as the competition's archive, since the first address has none of the files.
#[test]
fn recordings_are_fetched_for_both_sessions_or_simulated_for_both() {
    let sim = SimParams { trial_seconds: 6.5, rate: 100, ..SimParams::default() }.check().unwrap();
    let [t, e] = [Session::T, Session::E].map(|s| session_gdf(&sim, 1, s).unwrap());
    let archive = zip_of(&[("A01T.gdf", t.clone()), ("A01E.gdf", e)]);
    let labels = zip_of(&[("README", b"the cues of these files are known".to_vec())]);
    let w = World::new(RECORDINGS, &[("bci-gdf", sha256(&archive)), ("bci-labels", sha256(&labels))]);
    w.ok("run covariances --offline");
    assert_eq!(w.kind("covariances/session=T,subject=1"), "simulated");
    w.server.put("labels.zip", &labels);
    w.server.put("gdf.zip", &archive);
    let said = w.ok("run covariances");
    assert!(said.out.starts_with("done: 4 units run"), "{said:?}");
    for session in ["T", "E"] {
        assert_eq!(w.kind(&format!("covariances/session={session},subject=1")), "real");
    }
    let asked = w.server.asked();
    assert!(w.ok("run covariances").out.starts_with("nothing to do"));
    assert_eq!(w.server.asked(), asked);
    // One session alone in the user's folder is an error that says so.
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("A01T.gdf"), t).unwrap();
    let empty = tempfile::tempdir().unwrap();
    let line = format!("run covariances --offline --data-dir {}", folder.path().display());
    let mut command = w.project.command(&line);
    let said = Finished::from(command.env("REPRO_CACHE", empty.path()).output().unwrap());
    assert!(said.code == 1 && said.err.contains("has session T of subject 1 and not session E"), "{said:?}");
}

#[test]
fn a_mistyped_data_folder_is_an_error_that_says_so() {
    let w = World::new(DIGITS, &[]);
    w.ok("run kernels --offline");
    for line in ["run kernels --offline --data-dir nowhere", "status --data-dir nowhere", "why all --data-dir nowhere"]
    {
        let said = w.repro(line);
        assert!(said.code == 2 && said.err.contains("nowhere: no such folder or zip file"), "{line}: {said:?}");
    }
}

#[test]
fn fetch_brings_what_it_is_told_through_a_proxy_too() {
    let real = digits();
    let w = World::new(DIGITS, &[("mfeat", sha256(&real))]);
    let said = w.repro("fetch digits");
    assert!(said.code == 1 && said.out.contains("Multiple Features  not fetched"), "{said:?}");
    w.server.put("mfeat.zip", &real);
    assert!(w.ok("fetch digits").out.contains("Multiple Features  fetched"));
    assert!(w.ok("fetch digits").out.contains("Multiple Features  here already"));
    // A host that only the proxy knows.
    std::fs::remove_file(w.cache.path().join("mfeat.zip")).unwrap();
    w.list("http://files.invalid", &[("mfeat", sha256(&real))]);
    let mut command = w.project.command("fetch digits");
    command.env("REPRO_CACHE", w.cache.path()).env("REPRO_SOURCES", w.project.path().join("sources.yaml"));
    let said = Finished::from(command.env("http_proxy", &w.server.address).env_remove("NO_PROXY").output().unwrap());
    assert!(said.code == 0 && said.out.contains("fetched"), "{said:?}");
    let asked = w.server.served.lock().unwrap().asked.last().cloned().unwrap();
    assert!(asked.starts_with("GET http://files.invalid/mfeat.zip"), "{asked}");
}
