//! A fake Slurm: three commands that leave files, and a controller that acts on them.
//!
//! ```text
//! submit/7          an array: the arguments of sbatch, one a line      cancel/7   a request of scancel
//! queue             what squeue prints                                 hang-NAME  the command of that name hangs
//! bin/              sbatch, squeue, scancel: links to this program
//! ```

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
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

type Policy = Box<dyn FnMut(&Task) -> Fate + Send>;

/// See the module.
pub struct Cluster {
    folder: tempfile::TempDir,
    policy: Arc<Mutex<Policy>>,
    slots: Arc<Mutex<usize>>,
    over: Arc<AtomicBool>,
    controller: Option<std::thread::JoinHandle<()>>,
}

#[derive(Serialize, Deserialize)]
struct Request {
    args: Vec<String>,
    env: BTreeMap<String, String>,
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

struct Controller {
    folder: PathBuf,
    policy: Arc<Mutex<Policy>>,
    slots: Arc<Mutex<usize>>,
    tasks: Vec<Running>,
    started: usize,
    jobs: usize,
}

/// A task of an array, from its submission on.
struct Running {
    task: Task,
    env: BTreeMap<String, String>,
    job: usize,
    state: String,
    child: Option<Child>,
    /// When to kill it, and its state then.
    kill: Option<(Instant, &'static str)>,
}

impl Running {
    fn kill(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = Command::new("kill").args(["-9", "--", &format!("-{}", child.id())]).stderr(Stdio::null()).status();
            let _ = child.kill();
            let _ = child.wait();
        }
        self.child = None;
    }
}

impl Controller {
    fn step(&mut self) {
        self.requests("submit", Self::submit);
        self.requests("cancel", Self::cancel);
        for task in &mut self.tasks {
            if let Some((when, state)) = task.kill
                && Instant::now() >= when
                && task.child.is_some()
            {
                task.kill();
                task.state = state.into();
            }
            if let Some(child) = &mut task.child
                && let Ok(Some(status)) = child.try_wait()
            {
                task.child = None;
                task.state = if status.success() { "COMPLETED".into() } else { "FAILED".into() };
            }
        }
        let busy = |tasks: &[Running]| tasks.iter().filter(|t| t.child.is_some()).count();
        for at in 0..self.tasks.len() {
            if self.tasks[at].state != "PENDING" || busy(&self.tasks) >= *self.slots.lock().unwrap() {
                continue;
            }
            self.tasks[at].task.started = self.started;
            let fate = (self.policy.lock().unwrap())(&self.tasks[at].task);
            let task = &mut self.tasks[at];
            match fate {
                Fate::Wait => {}
                Fate::Never(state) => task.state = state.into(),
                Fate::Forget => task.state = "FORGOTTEN".into(),
                Fate::Run | Fate::Kill(..) => {
                    if let Fate::Kill(after, state) = fate {
                        task.kill = Some((Instant::now() + after, state));
                    }
                    self.started += 1;
                    task.state = "RUNNING".into();
                    task.child = Some(spawn(task));
                }
            }
        }
        self.tasks.retain(|t| t.state != "FORGOTTEN");
        let lines = self.tasks.iter().map(|t| {
            let node = if t.state == "PENDING" { String::new() } else { node(t) };
            format!("{}|{}|{}|{node}|{}\n", t.task.name, t.task.number, t.state, t.job)
        });
        let temporary = self.folder.join("queue.new");
        std::fs::write(&temporary, lines.collect::<String>()).unwrap();
        std::fs::rename(&temporary, self.folder.join("queue")).unwrap();
    }

    fn requests(&mut self, kind: &str, act: fn(&mut Self, Request)) {
        for entry in std::fs::read_dir(self.folder.join(kind)).unwrap().flatten() {
            let request = serde_json::from_slice(&std::fs::read(entry.path()).unwrap()).unwrap();
            act(self, request);
            std::fs::remove_file(entry.path()).unwrap();
        }
    }

    fn submit(&mut self, request: Request) {
        self.jobs += 1;
        let task = |number| Task { name: String::new(), number, args: request.args.clone(), started: 0 };
        let first = task(0);
        let name = first.argument("job-name").unwrap().to_string();
        let last: usize = first.argument("array").unwrap().strip_prefix("0-").unwrap().parse().unwrap();
        self.tasks.extend((0..=last).map(|number| Running {
            task: Task { name: name.clone(), ..task(number) },
            env: request.env.clone(),
            job: self.jobs,
            state: "PENDING".into(),
            child: None,
            kill: None,
        }));
    }

    fn cancel(&mut self, request: Request) {
        let name = request.args.iter().find_map(|a| a.strip_prefix("--name=")).unwrap().to_string();
        let pending = request.args.iter().any(|a| a == "--state=PENDING");
        for task in self.tasks.iter_mut().filter(|t| t.task.name == name) {
            match task.state.as_str() {
                "PENDING" => task.state = "CANCELLED".into(),
                "RUNNING" if !pending => {
                    task.kill();
                    task.state = "CANCELLED".into();
                }
                _ => {}
            }
        }
    }
}

fn node(task: &Running) -> String {
    format!("n{}", task.job % 3 + 1)
}

fn spawn(task: &Running) -> Child {
    let script = task.task.args.last().unwrap();
    let log = task.task.argument("output").unwrap();
    let log = log.replace("%A", &task.job.to_string()).replace("%a", &task.task.number.to_string()).replace("%%", "%");
    let log = std::fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
    let mut command = Command::new("bash");
    command.arg(script).env_clear().envs(&task.env);
    command.env("SLURM_ARRAY_TASK_ID", task.task.number.to_string()).env("SLURMD_NODENAME", node(task));
    command.env("SLURM_CPUS_PER_TASK", "1").stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
    command.process_group(0).spawn().unwrap()
}
