//! A fake Slurm: three commands that leave files, and a controller that acts on them.
//!
//! ```text
//! submit/7          an array: the arguments of sbatch, one a line      cancel/7   a request of scancel
//! queue             what squeue prints                                 hang-NAME  the command of that name hangs
//! bin/              sbatch, squeue, scancel: links to this program
//! ```

use crate::controller::{Controller, Running};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What becomes of a task, as the policy of a test says when it could start.
#[derive(Clone, Debug)]
pub enum Fate {
    /// It runs to its end.
    Run,
    /// It stays in the queue; the policy is asked again later.
    Wait,
    /// It ends in this state without having started.
    Never(&'static str),
    /// It is killed so long after its start, and ends in this state.
    Kill(Duration, &'static str),
    /// It vanishes from the queue.
    Forget,
}

/// A task that could start.
#[derive(Clone, Debug)]
pub struct Task {
    pub name: String,
    pub number: usize,
    /// The arguments of sbatch.
    pub args: Vec<String>,
    /// Tasks started so far, of all jobs.
    pub started: usize,
}

impl Task {
    /// The value of `--NAME=VALUE`.
    pub fn argument(&self, name: &str) -> Option<&str> {
        self.args.iter().find_map(|a| a.strip_prefix(&format!("--{name}=")))
    }
}

pub type Policy = Box<dyn FnMut(&Task) -> Fate + Send>;

/// See the module.
pub struct Cluster {
    folder: tempfile::TempDir,
    policy: Arc<Mutex<Policy>>,
    slots: Arc<Mutex<usize>>,
    over: Arc<AtomicBool>,
    controller: Option<std::thread::JoinHandle<()>>,
}

#[derive(Serialize, Deserialize)]
pub struct Request {
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
}

/// Plays a command of Slurm when called under its name.
pub fn play(name: &str, args: &[String]) -> Option<ExitCode> {
    if !["sbatch", "squeue", "scancel"].contains(&name) {
        return None;
    }
    let folder = PathBuf::from(std::env::var_os("FAKE_SLURM")?);
    // A command that hangs once hangs until it is killed, or until the cluster is gone.
    if folder.join(format!("hang-{name}")).exists() {
        std::fs::write(folder.join(format!("hung-{name}")), "").unwrap();
        while folder.exists() {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    if folder.join(format!("refuse-{name}")).exists() {
        std::fs::write(folder.join(format!("hung-{name}")), "").unwrap();
        eprintln!("{name}: error: Unable to contact slurm controller (connect failure)");
        return Some(ExitCode::FAILURE);
    }
    if name == "squeue" {
        print!("{}", std::fs::read_to_string(folder.join("queue")).unwrap_or_default());
        return Some(ExitCode::SUCCESS);
    }
    let kind = if name == "sbatch" { "submit" } else { "cancel" };
    let request = Request { args: args.to_vec(), env: std::env::vars().collect() };
    let temporary = folder.join(format!("{kind}-{}", std::process::id()));
    std::fs::write(&temporary, serde_json::to_vec(&request).unwrap()).unwrap();
    let path = folder.join(kind).join(std::process::id().to_string());
    std::fs::rename(&temporary, &path).unwrap();
    // The controller answers by taking the request away.
    let start = Instant::now();
    while path.exists() && start.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(2));
    }
    println!("1");
    Some(ExitCode::SUCCESS)
}

impl Cluster {
    /// A cluster of four slots on which everything goes well.
    pub fn start() -> Self {
        let folder = tempfile::Builder::new().prefix("fake-slurm").tempdir().unwrap();
        for name in ["submit", "cancel", "bin"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        for name in ["sbatch", "squeue", "scancel"] {
            std::os::unix::fs::symlink(std::env::current_exe().unwrap(), folder.path().join("bin").join(name)).unwrap();
        }
        let policy: Arc<Mutex<Policy>> = Arc::new(Mutex::new(Box::new(|_: &Task| Fate::Run)));
        let (slots, over) = (Arc::new(Mutex::new(4)), Arc::new(AtomicBool::new(false)));
        let mut controller = Controller {
            folder: folder.path().to_path_buf(),
            policy: policy.clone(),
            slots: slots.clone(),
            tasks: Vec::new(),
            started: 0,
            jobs: 0,
        };
        let ended = over.clone();
        let controller = std::thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                controller.step();
                std::thread::sleep(Duration::from_millis(5));
            }
            controller.tasks.iter_mut().for_each(Running::kill);
        });
        Self { folder, policy, slots, over, controller: Some(controller) }
    }

    /// What becomes of tasks from now on.
    pub fn policy(&self, policy: impl FnMut(&Task) -> Fate + Send + 'static) {
        *self.policy.lock().unwrap() = Box::new(policy);
    }

    /// How many tasks run at once.
    pub fn slots(&self, slots: usize) {
        *self.slots.lock().unwrap() = slots;
    }

    /// Makes a command hang, or answer again.
    pub fn hang(&self, command: &str, yes: bool) {
        self.mark(&format!("hang-{command}"), yes);
    }

    /// Makes a command say that Slurm cannot be reached, or answer again.
    pub fn refuse(&self, command: &str, yes: bool) {
        self.mark(&format!("refuse-{command}"), yes);
    }

    /// Whether the command hung, or refused, at least once.
    pub fn was_hit(&self, command: &str) -> bool {
        self.folder.path().join(format!("hung-{command}")).exists()
    }

    fn mark(&self, name: &str, yes: bool) {
        let path = self.folder.path().join(name);
        if yes {
            std::fs::write(path, "").unwrap();
        } else {
            let _ = std::fs::remove_file(path);
        }
    }

    /// The states of all tasks, as squeue would print them.
    pub fn queue(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("queue")).unwrap_or_default()
    }

    /// A command that speaks to this cluster.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.folder.path().join("bin").display()));
        command.env("FAKE_SLURM", self.folder.path()).stdin(Stdio::null());
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(controller) = self.controller.take() {
            let _ = controller.join();
        }
    }
}
