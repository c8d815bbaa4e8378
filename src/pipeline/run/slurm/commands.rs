//! The three commands of Slurm that are used: `sbatch`, `squeue`, `scancel`. `sacct` is not used: many sites have none.
//!
//! Text that comes from names or parameters is either an argument of its own, which no shell reads, or quoted.

use super::files::ArrayFile;
use super::folder::RunFolder;
use crate::error::{Error, Result};
use crate::plan::Resources;
use crate::plan::SlurmOptions;
use std::collections::HashMap;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Text as one word of a POSIX shell.
pub fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// How a task stands in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TaskState {
    /// Slurm's word: `PENDING`, `RUNNING`, `COMPLETED`, ...
    pub state: String,
    pub node: String,
    /// `12_3`.
    pub job: String,
}

impl TaskState {
    /// Whether the task may still do something.
    pub fn active(&self) -> bool {
        const OVER: &[&str] = &[
            "COMPLETED",
            "FAILED",
            "CANCELLED",
            "TIMEOUT",
            "NODE_FAIL",
            "PREEMPTED",
            "BOOT_FAIL",
            "DEADLINE",
            "OUT_OF_MEMORY",
            "REVOKED",
        ];
        !OVER.contains(&self.state.as_str())
    }
}

/// Tasks in the queue, by the name of their array and their number in it.
pub(super) type Tasks = HashMap<(String, usize), TaskState>;

/// What became of a submission.
pub(super) enum Submitted {
    Yes,
    /// `sbatch` did not answer in time, so the job may be in the queue or not. Its name is known: `squeue` will tell.
    Unknown,
    /// The array is larger than the site allows.
    TooLarge,
    /// Slurm cannot take it just now.
    Later(String),
}

/// The job script of an array. One task works on one chunk.
pub(super) fn script(worker: &[String], run: &RunFolder, array: &ArrayFile, setup: &[String]) -> String {
    let mut out = String::from("#!/bin/bash\n# Each task of this array works on one chunk of units.\n");
    out += "export RAYON_NUM_THREADS=\"${SLURM_CPUS_PER_TASK:-${SLURM_CPUS_ON_NODE:-1}}\"\n";
    for line in setup {
        out += line;
        out.push('\n');
    }
    out += &format!("chunk=$(({} + SLURM_ARRAY_TASK_ID))\n", array.first);
    let words: Vec<String> = worker.iter().map(|word| quote(word)).collect();
    out += &format!("{} {} \"$chunk\"\ncode=$?\n", words.join(" "), quote(&run.id));
    let chunks = quote(&run.path().join("chunks").to_string_lossy());
    out += &format!("if [ $code -ne 0 ]; then echo $code >{chunks}/\"$chunk\".exit; fi\nexit $code\n");
    out
}

/// The arguments of `sbatch` for an array.
pub(super) fn arguments(
    run: &RunFolder,
    array: &ArrayFile,
    options: &SlurmOptions,
    wants: &Resources,
    boost: (u32, u32),
    avoid: &[String],
) -> Vec<String> {
    // In file name patterns of Slurm `%` is special, a doubled one is not; a backslash switches the patterns off.
    let logs = run.path().join("logs").to_string_lossy().replace('%', "%%");
    let mut out = vec![
        "--parsable".to_string(),
        "--requeue".to_string(),
        "--open-mode=append".to_string(),
        format!("--job-name={}", array.name),
        format!("--array=0-{}", array.count - 1),
        format!("--output={logs}/%A_%a.log"),
        "--ntasks=1".to_string(),
    ];
    match wants.threads {
        Some(threads) => out.push(format!("--cpus-per-task={threads}")),
        None => out.push("--exclusive".to_string()),
    }
    if let Some(mebibytes) = options.mebibytes(wants.memory, boost.0) {
        out.push(format!("--mem={mebibytes}M"));
    }
    if let Some(minutes) = options.minutes(boost.1) {
        out.push(format!("--time={minutes}"));
    }
    if wants.gpu > 0 {
        out.push(format!("--gres={}:{}", options.gpu, wants.gpu));
    }
    for (flag, value) in [("partition", &options.partition), ("account", &options.account)] {
        if !value.is_empty() {
            out.push(format!("--{flag}={value}"));
        }
    }
    if !avoid.is_empty() {
        out.push(format!("--exclude={}", avoid.join(",")));
    }
    out.extend(options.options.iter().cloned());
    out
}

/// How a command ended.
enum Ended {
    Done {
        ok: bool,
        out: String,
        err: String,
    },
    /// It took too long and was killed.
    TimedOut,
}

/// Runs a command for at most `limit`. A command that hangs is killed with everything it started.
fn command(name: &str, args: &[String], limit: Duration) -> Result<Ended> {
    let cannot = |e: std::io::Error| {
        let help = "is Slurm installed here, and on the PATH? sbatch, squeue and scancel are needed";
        Error::Executor(format!("`{name}` cannot be started ({e}); {help}"))
    };
    let mut child = Command::new(name)
        .args(args)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(cannot)?;
    // Two threads read, so that a command that prints much cannot block on a full pipe.
    let (out, err) = (read_all(child.stdout.take()), read_all(child.stderr.take()));
    let (start, mut pause) = (Instant::now(), Duration::from_millis(1));
    loop {
        match child.try_wait().map_err(cannot)? {
            Some(status) => {
                // What it left running may hold the pipes; its own output is there by now.
                let text = |from: Receiver<String>| from.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
                return Ok(Ended::Done { ok: status.success(), out: text(out), err: text(err) });
            }
            None if start.elapsed() >= limit => {
                if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
                    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
                }
                let _ = child.kill();
                let _ = child.wait();
                return Ok(Ended::TimedOut);
            }
            None => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(20));
            }
        }
    }
}

/// Reads a pipe to its end in a thread of its own.
fn read_all(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, receiver) = channel();
    let read = move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        let _ = sender.send(String::from_utf8_lossy(&bytes).trim().to_string());
    };
    // Without a thread there is no output, and the command counts as one that says nothing.
    let _ = std::thread::Builder::new().name("reader".to_string()).spawn(read);
    receiver
}

/// Submits a script.
pub(super) fn sbatch(mut args: Vec<String>, script: &Path, tasks: usize, limit: Duration) -> Result<Submitted> {
    args.push(script.to_string_lossy().into_owned());
    let error = match command("sbatch", &args, limit)? {
        Ended::Done { ok: true, .. } => return Ok(Submitted::Yes),
        Ended::Done { err, .. } => err,
        Ended::TimedOut => return Ok(Submitted::Unknown),
    };
    let said = error.to_ascii_lowercase();
    if said.contains("invalid job array") && tasks > 1 {
        return Ok(Submitted::TooLarge);
    }
    let passing =
        ["unable to contact", "timed out", "temporar", "submitlimit", "submit limit", "maxsubmit", "try again"];
    if passing.iter().any(|p| said.contains(p)) {
        return Ok(Submitted::Later(error));
    }
    Err(Error::Executor(format!(
        "sbatch refused a job: {error}; correct `slurm:` in pipeline.yaml or --slurm and run again: nothing that had finished is lost"
    )))
}

/// The tasks of jobs of these names, by (name, task); `None` when Slurm does not answer.
pub(super) fn squeue(names: &[String], limit: Duration) -> Result<Option<Tasks>> {
    let args = ["--noheader", "--states=all", "--array", "--format=%j|%K|%T|%N|%F"].map(str::to_string);
    let args: Vec<String> = args.into_iter().chain([format!("--name={}", names.join(","))]).collect();
    Ok(match command("squeue", &args, limit)? {
        Ended::Done { ok: true, out, .. } => Some(parse(&out)),
        _ => None,
    })
}

fn parse(text: &str) -> Tasks {
    let mut out: HashMap<(String, usize), TaskState> = HashMap::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.trim().split('|').collect();
        let [name, task, state, node, job] = fields[..] else { continue };
        let Ok(index) = task.parse::<usize>() else { continue };
        let found = TaskState { state: state.into(), node: node.into(), job: format!("{job}_{task}") };
        let entry = out.entry((name.to_string(), index)).or_insert_with(|| found.clone());
        if found.active() {
            *entry = found;
        }
    }
    out
}

/// Ends the jobs of these names; only those that have not started when `pending`. Whether Slurm took every request.
pub fn scancel(names: &[String], pending: bool, limit: Duration) -> Result<bool> {
    let mut all = true;
    for name in names {
        let mut args = vec!["--quiet".to_string(), format!("--name={name}")];
        args.extend(pending.then(|| "--state=PENDING".to_string()));
        all &= matches!(command("scancel", &args, limit)?, Ended::Done { ok: true, .. });
    }
    Ok(all)
}

/// The job names of a run that may still be in the queue.
pub fn job_names(run: &RunFolder) -> Vec<String> {
    run.arrays().into_iter().map(|a| a.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_back_what_was_quoted() {
        for nasty in ["a b", "it's", "$(touch /tmp/x)", "`id`", "\"", "\\", "a\nb", "*", "", "'\\''", "-n"] {
            let out = Command::new("sh").arg("-c").arg(format!("printf %s {}", quote(nasty))).output().unwrap();
            // `printf %s -n` prints -n: the word is an operand by then.
            assert_eq!(String::from_utf8_lossy(&out.stdout), nasty);
        }
    }

    #[test]
    fn queue_lines_are_read_and_the_living_win() {
        let text = "repro-a-0|0|RUNNING|n1|12\nrepro-a-0|1|PENDING||12\nrepro-a-0|1|FAILED|n2|12\nnonsense\n";
        let all = parse(text);
        assert_eq!(all.len(), 2);
        assert_eq!(all[&("repro-a-0".to_string(), 1)].state, "PENDING");
        assert_eq!(all[&("repro-a-0".to_string(), 0)].job, "12_0");
    }
}
