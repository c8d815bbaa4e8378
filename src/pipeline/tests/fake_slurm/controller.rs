//! The controller of the fake Slurm: takes requests, starts, kills and forgets tasks.

use super::cluster::{Fate, Policy, Request, Task};
use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Instant;

pub(super) struct Controller {
    pub(super) folder: PathBuf,
    pub(super) policy: Arc<Mutex<Policy>>,
    pub(super) slots: Arc<Mutex<usize>>,
    pub(super) tasks: Vec<Running>,
    pub(super) started: usize,
    pub(super) jobs: usize,
}

/// A task of an array, from its submission on.
pub(super) struct Running {
    task: Task,
    env: BTreeMap<String, String>,
    job: usize,
    state: String,
    child: Option<Child>,
    /// When to kill it, and its state then.
    kill: Option<(Instant, &'static str)>,
}

impl Running {
    pub(super) fn kill(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = Command::new("kill").args(["-9", "--", &format!("-{}", child.id())]).stderr(Stdio::null()).status();
            let _ = child.kill();
            let _ = child.wait();
        }
        self.child = None;
    }
}

impl Controller {
    pub(super) fn step(&mut self) {
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
