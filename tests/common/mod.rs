//! A project in a temporary folder and the program to run in it.
//!
//! Projects here consist of `probe` stages (the engine's self-test kind), which leave a line in a trace file outside the
//! store each time they run: the only witness that a cache cannot fool.
#![allow(dead_code)] // each test file uses its own part

pub mod folder;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

/// A temporary project.
pub struct Project {
    folder: TempDir,
    outside: TempDir,
}

/// A finished command: its exit code and what it wrote to stdout and stderr.
#[derive(Debug)]
pub struct Finished {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Project {
    /// A project with this pipeline.yaml.
    pub fn new(yaml: &str) -> Project {
        Project::under(&std::env::temp_dir(), yaml)
    }

    /// The same in a chosen folder.
    pub fn under(parent: &Path, yaml: &str) -> Project {
        let folder = tempfile::Builder::new().prefix("project").tempdir_in(parent).unwrap();
        let project = Project { folder, outside: tempfile::tempdir().unwrap() };
        project.write_yaml(yaml);
        project
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn store(&self) -> PathBuf {
        self.path().join(".repro")
    }

    pub fn write_yaml(&self, yaml: &str) {
        std::fs::write(self.path().join("pipeline.yaml"), yaml).unwrap();
    }

    /// The program, ready for more arguments.
    pub fn command(&self, line: &str) -> Command {
        let mut command = self.same_env(env!("CARGO_BIN_EXE_repro"));
        command.args(line.split_whitespace());
        command
    }

    /// Another program in the same place with the same environment.
    pub fn same_env(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.path()).stdin(Stdio::null());
        command.env_remove("REPRO_DATA").env_remove("RAYON_NUM_THREADS").env("NO_COLOR", "1");
        command.env("REPRO_PROBE_TRACE", self.outside.path().join("trace"));
        command.env("REPRO_SIGNING_KEY", self.outside.path().join("signing-key"));
        command
    }

    /// Run a command line to its end.
    pub fn repro(&self, line: &str) -> Finished {
        self.command(line).output().unwrap().into()
    }

    /// Run a command line that must succeed; its stdout.
    #[track_caller]
    pub fn ok(&self, line: &str) -> String {
        let said = self.repro(line);
        assert_eq!(said.code, 0, "repro {line}\n{}{}", said.out, said.err);
        said.out
    }

    /// Start a command line and do not wait.
    pub fn start(&self, line: &str) -> Child {
        self.command(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// How often each unit started, by id.
    pub fn starts(&self) -> BTreeMap<String, usize> {
        let trace = std::fs::read_to_string(self.outside.path().join("trace")).unwrap_or_default();
        let mut out = BTreeMap::new();
        for id in trace.lines().filter_map(|l| l.strip_prefix("start ")) {
            *out.entry(id.to_string()).or_default() += 1;
        }
        out
    }

    /// The units that started since `before`, sorted.
    pub fn started_since(&self, before: &BTreeMap<String, usize>) -> Vec<String> {
        let now = self.starts();
        now.into_iter().filter(|(id, n)| before.get(id).copied().unwrap_or(0) < *n).map(|(id, _)| id).collect()
    }

    /// The text of repro.lock.
    pub fn lock(&self) -> String {
        std::fs::read_to_string(self.path().join("repro.lock")).unwrap()
    }

    /// The store's files under a folder of it, sorted.
    pub fn stored(&self, folder: &str) -> Vec<PathBuf> {
        let mut files = Vec::new();
        collect(&self.store().join(folder), &mut files);
        files.sort();
        files
    }

    /// Everything `repro why all` knows, as JSON.
    pub fn why_all(&self) -> Vec<serde_json::Value> {
        serde_json::from_str(&self.ok("why all --json")).unwrap()
    }

    /// The ids of fresh units.
    pub fn fresh(&self) -> Vec<String> {
        let fresh =
            |u: &serde_json::Value| u["fresh"].as_bool().unwrap().then(|| u["id"].as_str().unwrap().to_string());
        self.why_all().iter().filter_map(fresh).collect()
    }
}

impl From<Output> for Finished {
    fn from(output: Output) -> Finished {
        Finished {
            // A signal has no code; 128 + n is what a shell would show.
            code: output.status.code().unwrap_or_else(|| {
                use std::os::unix::process::ExitStatusExt;
                128 + output.status.signal().unwrap_or(0)
            }),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { collect(&path, files) } else { files.push(path) }
    }
}

/// Three stages: `make` (4 units), `mix` (4 x 2 units), `sum` (1 unit that reads all of `mix`).
pub const SMALL: &str = "\
version: 1
stages:
  make:
    kind: probe
    with: {text: raw}
    matrix: {value: [1, 2, 3, 0.001]}
  mix:
    kind: probe
    needs: [make]
    matrix: {value: [1, 2, 3, 0.001], text: [a, b]}
  sum:
    kind: probe
    needs: [mix]
";

/// The same three stages with `values` units of `make`, twice as many of `mix`, and units that take `sleep_ms`.
pub fn slow(values: usize, sleep_ms: usize) -> String {
    format!(
        "version: 1\nstages:\n\
         \x20 make: {{kind: probe, with: {{sleep_ms: {sleep_ms}, bytes: 5000}}, matrix: {{value: 1..{values}}}}}\n\
         \x20 mix: {{kind: probe, needs: [make], with: {{sleep_ms: {sleep_ms}}}, matrix: {{value: 1..{values}, text: [a, b]}}}}\n\
         \x20 sum: {{kind: probe, needs: [mix]}}\n"
    )
}
