//! A private Slurm cluster on loopback, without systemd: munged, slurmctld and a slurmd per node, all below one temporary
//! folder. Dropping it ends exactly what was started.

#![allow(dead_code)] // two test programs use it, each its part

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// See the module.
pub struct Cluster {
    folder: tempfile::TempDir,
}

/// Everything is off that needs a privilege or a service; nodes that go away are noticed within seconds.
const CONFIG: &str = "
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={root}/run/munge.sock,cred_expire=5
CredType=cred/munge
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/run/spool.%n
SlurmctldPidFile={root}/run/slurmctld.pid
SlurmdPidFile={root}/run/slurmd.%n.pid
SlurmctldLogFile={root}/log/slurmctld.log
SlurmdLogFile={root}/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
AccountingStorageType=accounting_storage/none
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=2,sched_min_interval=0,bf_interval=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MaxArraySize=101
MinJobAge=300
JobRequeue=1
ReturnToService=2
SlurmdTimeout=5
SlurmctldTimeout=30
InactiveLimit=0
KillWait=2
Waittime=0
MessageTimeout=10
SlurmdParameters=config_overrides
";

impl Cluster {
    /// Starts a cluster; the error says why it is impossible, or not wanted.
    pub fn start(nodes: usize) -> Result<Self, String> {
        if std::env::var_os("REPRO_CLUSTER_TESTS").is_none() {
            return Err("they take minutes; set REPRO_CLUSTER_TESTS=1 to run them".into());
        }
        for program in ["munged", "slurmctld", "slurmd", "sbatch", "squeue"] {
            let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
            if !found.is_ok_and(|f| f.status.success()) {
                return Err(format!("`{program}` is not installed (Debian: slurmctld slurmd slurm-client munge)"));
            }
        }
        let folder = tempfile::Builder::new().prefix("slurm").tempdir().map_err(|e| e.to_string())?;
        let cluster = Self { folder };
        cluster.up(nodes).map(|()| cluster)
    }

    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    fn config(&self) -> PathBuf {
        self.root().join("slurm.conf")
    }

    fn up(&self, nodes: usize) -> Result<(), String> {
        let root = self.root();
        let wrong = |e: std::io::Error| e.to_string();
        for name in ["state", "log", "run", "munge"] {
            std::fs::create_dir_all(root.join(name)).map_err(wrong)?;
        }
        let chmod = |path: &Path, mode: u32| {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).map_err(|e| e.to_string())
        };
        chmod(root, 0o755)?;
        chmod(&root.join("munge"), 0o700)?;
        let key = root.join("munge/key");
        // Any bytes will do: the socket is ours alone.
        let mut file = std::fs::File::create(&key).map_err(wrong)?;
        file.write_all(&[root.as_os_str().len() as u8 ^ 0x5a; 128]).map_err(wrong)?;
        chmod(&key, 0o400)?;
        let at = |name: &str| root.join(name).display().to_string();
        run(Command::new("munged").args([
            format!("--key-file={}", at("munge/key")),
            format!("--socket={}", at("run/munge.sock")),
            format!("--pid-file={}", at("run/munged.pid")),
            format!("--log-file={}", at("munge/munged.log")),
            format!("--seed-file={}", at("munge/seed")),
        ]))?;
        let say = |program: &str, args: &[&str]| -> Result<String, String> {
            let out = Command::new(program).args(args).output().map_err(|e| format!("`{program}`: {e}"))?;
            Ok(String::from_utf8_lossy(&out.stdout).trim().to_string())
        };
        let (host, user) = (say("hostname", &["-s"])?, say("id", &["-un"])?);
        // Ports from this process' id, so that two test runs on one machine do not meet.
        let port = 20_000 + std::process::id() % 2_000 * 10;
        let mut text = CONFIG.replace("{root}", &root.display().to_string());
        text = text.replace("{host}", &host).replace("{user}", &user).replace("{port}", &port.to_string());
        for n in 1..=nodes {
            std::fs::create_dir_all(root.join(format!("run/spool.n{n}"))).map_err(wrong)?;
            text += &format!(
                "NodeName=n{n} NodeHostname={host} NodeAddr=127.0.0.1 Port={} CPUs=2 RealMemory=4000 State=UNKNOWN\n",
                port + n as u32
            );
        }
        text +=
            &format!("PartitionName=main Nodes=n[1-{nodes}] Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO\n");
        std::fs::write(self.config(), text).map_err(wrong)?;
        run(Command::new("slurmctld").arg("-f").arg(self.config()))?;
        for n in 1..=nodes {
            self.start_node(n)?;
        }
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(60) {
            if self.slurm("sinfo", &["-h", "-N", "-o", "%T"]).lines().filter(|l| *l == "idle").count() == nodes {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        Err("the nodes did not come up within a minute".to_string())
    }

    pub fn start_node(&self, n: usize) -> Result<(), String> {
        run(Command::new("slurmd").arg("-f").arg(self.config()).args(["-N", &format!("n{n}")]))
    }

    /// Kills a node: its daemon, and every process of its jobs, by their ids.
    pub fn kill_node(&self, n: usize) {
        let daemon = std::fs::read_to_string(self.root().join(format!("run/slurmd.n{n}.pid"))).unwrap_or_default();
        let wanted = format!("SLURMD_NODENAME=n{n}");
        let ours = format!("SLURM_CONF={}", self.config().display());
        let mut pids: Vec<String> = vec![daemon.trim().to_string()];
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let environ = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            let has = |text: &str| environ.split(|&b| b == 0).any(|v| v == text.as_bytes());
            if has(&wanted) && has(&ours) {
                pids.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        for pid in pids.iter().filter(|p| p.parse::<u32>().is_ok_and(|p| p > 1 && p != std::process::id())) {
            let _ = Command::new("kill").args(["-9", pid]).stderr(Stdio::null()).status();
        }
    }

    /// One of Slurm's commands.
    pub fn slurm(&self, program: &str, args: &[&str]) -> String {
        let out = Command::new(program).args(args).env("SLURM_CONF", self.config()).output().unwrap();
        String::from_utf8_lossy(&out.stdout).trim().to_string()
    }

    /// Jobs submitted so far, as tasks or arrays never started twice under one name.
    pub fn jobs(&self) -> usize {
        let all = self.slurm("squeue", &["-h", "--states=all", "--format=%F"]);
        all.lines().collect::<std::collections::BTreeSet<_>>().len()
    }

    /// A command that speaks to this cluster.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.config()).stdin(Stdio::null());
        command
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let out = command.stdin(Stdio::null()).output().map_err(|e| format!("`{name}` cannot be started: {e}"))?;
    let said = String::from_utf8_lossy(&out.stderr).trim().to_string();
    if out.status.success() { Ok(()) } else { Err(format!("`{name}` ended with {}: {said}", out.status)) }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let mut names: Vec<PathBuf> = Vec::new();
        for entry in std::fs::read_dir(self.root().join("run")).into_iter().flatten().flatten() {
            names.extend(entry.path().extension().is_some_and(|e| e == "pid").then(|| entry.path()));
        }
        // Nodes first, munged last: it signs the others' farewells.
        names.sort_by_key(|p| (p.ends_with("munged.pid"), p.ends_with("slurmctld.pid")));
        for name in names {
            let pid = std::fs::read_to_string(name).unwrap_or_default();
            if pid.trim().parse::<u32>().is_ok_and(|p| p > 1) {
                let _ = Command::new("kill").arg(pid.trim()).stderr(Stdio::null()).status();
            }
        }
        std::thread::sleep(Duration::from_millis(500));
    }
}
