//! A cluster of two slots on this machine: `sbatch`, `squeue` and `scancel` as short shell scripts, for the whole program.
//! (src/pipeline/tests/fake_slurm has one that misbehaves as told, for the engine alone.)

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Makes a file `task.NAME.NUMBER` for each task of an array and starts them.
const SBATCH: &str = r#"#!/bin/bash
for a in "$@"; do
    case $a in
        --job-name=*) name=${a#*=} ;;
        --array=0-*) last=${a#--array=0-} ;;
        --output=*) log=${a#*=} ;;
    esac
done
script=${!#}
cd "$MINI_SLURM"
for ((i = 0; i <= last; i++)); do
    echo "$name|$i|PENDING||$$" > "new.$$" && mv "new.$$" "task.$name.$i"
done
for ((i = 0; i <= last; i++)); do
    setsid bin/task "$name" $i $$ "$log" "$script" < /dev/null > /dev/null 2>&1 &
done
echo $$
"#;

/// Waits for a slot and runs the job's script.
const TASK: &str = r#"#!/bin/bash
name=$1 i=$2 job=$3 log=${4//%A/$3}
state() { echo "$name|$i|$1|n1|$job" > "new.$$" && mv "new.$$" "task.$name.$i"; }
exec 9> "slot$((i % 2))"
flock 9
if [ -e "cancel.$name" ]; then state CANCELLED; exit; fi
echo $$ > "pid.$name.$i"
state RUNNING
export SLURM_ARRAY_TASK_ID=$i SLURMD_NODENAME=n1 SLURM_CPUS_PER_TASK=1
if bash "$5" >> "${log//%a/$i}" 2>&1 9>&-; then state COMPLETED; else state FAILED; fi
"#;

const SQUEUE: &str = r#"#!/bin/bash
cd "$MINI_SLURM"
for a in "$@"; do case $a in --name=*) IFS=, read -ra names <<< "${a#*=}" ;; esac; done
for name in "${names[@]}"; do cat "task.$name."* 2> /dev/null; done
exit 0
"#;

const SCANCEL: &str = r#"#!/bin/bash
cd "$MINI_SLURM"
for a in "$@"; do case $a in --name=*) name=${a#*=} ;; --state=PENDING) queued=1 ;; esac; done
touch "cancel.$name"
[ "$queued" ] && exit
for file in "pid.$name."*; do
    i=${file##*.}
    grep -q RUNNING "task.$name.$i" 2> /dev/null || continue
    kill -- "-$(cat "$file")"
    echo "$name|$i|CANCELLED|n1|1" > "new.$$" && mv "new.$$" "task.$name.$i"
done
exit 0
"#;

/// See the module.
pub struct Cluster(TempDir);

impl Cluster {
    pub fn new() -> Cluster {
        let folder = tempfile::Builder::new().prefix("mini-slurm").tempdir().unwrap();
        std::fs::create_dir(folder.path().join("bin")).unwrap();
        for (name, text) in [("sbatch", SBATCH), ("task", TASK), ("squeue", SQUEUE), ("scancel", SCANCEL)] {
            let path = folder.path().join("bin").join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        Cluster(folder)
    }

    /// Lets a command speak to this cluster.
    pub fn reach(&self, command: &mut Command) {
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.0.path().join("bin").display()));
        command.env("MINI_SLURM", self.0.path());
    }

    /// Tasks in the queue and at work.
    pub fn busy(&self) -> usize {
        let files = std::fs::read_dir(self.0.path()).unwrap().flatten();
        let tasks = files.filter(|f| f.file_name().to_string_lossy().starts_with("task."));
        let text = tasks.map(|f| std::fs::read_to_string(f.path()).unwrap_or_default());
        text.filter(|t| t.contains("|PENDING|") || t.contains("|RUNNING|")).count()
    }

    /// Tasks that have run to their end.
    pub fn completed(&self) -> usize {
        let files = std::fs::read_dir(self.0.path()).unwrap().flatten();
        files.filter(|f| std::fs::read_to_string(f.path()).is_ok_and(|t| t.contains("|COMPLETED|"))).count()
    }

    /// Waits until no task is left.
    pub fn wait(&self) {
        let start = Instant::now();
        while self.busy() > 0 {
            assert!(start.elapsed() < Duration::from_secs(120), "{} tasks do not end", self.busy());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
