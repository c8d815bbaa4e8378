//! Facts about the machine and the process, for provenance and for sharing the machine among units. No names of hosts or
//! people.

use crate::store::record::Host;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Facts about this machine and program.
pub fn host(program: &str, rustc: &str) -> Host {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find(|l| l.starts_with("model name")).and_then(|l| l.split_once(':'));
    Host {
        program: program.to_string(),
        rustc: rustc.to_string(),
        system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        cpu: model.map_or("unknown", |(_, m)| m.trim()).to_string(),
        cores: cores(),
        memory: memory(),
    }
}

/// Logical processors this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Bytes of memory that this process may use: the machine's, or the limit of its control group (a container, a job of a
/// cluster) when that is less. 0 when it cannot be found out.
pub fn memory() -> u64 {
    let machine = kilobytes("/proc/meminfo", "MemTotal:").unwrap_or(0);
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    group_limit(&groups, Path::new("/sys/fs/cgroup")).map_or(machine, |limit| limit.min(machine))
}

/// The least memory limit of the control groups in `groups` (the text of /proc/self/cgroup) and of all groups above
/// them; `root` is where control groups are mounted.
fn group_limit(groups: &str, root: &Path) -> Option<u64> {
    let mut limits = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        // Version 2 of control groups has one line without controllers, version 1 a line per controller.
        let (mount, file) = match controllers {
            "" => (root.to_path_buf(), "memory.max"),
            c if c.split(',').any(|c| c == "memory") => (root.join("memory"), "memory.limit_in_bytes"),
            _ => continue,
        };
        // Inside a container the path may be one of the host that is not visible here; its parents then are.
        for group in Path::new(path.trim_start_matches('/')).ancestors() {
            let text = std::fs::read_to_string(mount.join(group).join(file)).unwrap_or_default();
            limits.extend(text.trim().parse::<u64>());
        }
    }
    limits.into_iter().min()
}

/// High-water mark of this process' memory in bytes. Read at most every ten milliseconds: it only grows, and a run of
/// trivial units should not spend its time in /proc.
pub fn peak_memory() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    static PEAK: AtomicU64 = AtomicU64::new(0);
    let now = millis();
    if now.saturating_sub(LAST.load(Ordering::Relaxed)) >= 10 {
        LAST.store(now, Ordering::Relaxed);
        PEAK.store(kilobytes("/proc/self/status", "VmHWM:").unwrap_or(0), Ordering::Relaxed);
    }
    PEAK.load(Ordering::Relaxed)
}

fn kilobytes(file: &str, field: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|l| l.starts_with(field))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}

/// CPU seconds of the calling thread.
pub fn thread_cpu() -> f64 {
    seconds(rustix::time::ClockId::ThreadCPUTime)
}

/// CPU seconds of the whole process.
pub fn process_cpu() -> f64 {
    seconds(rustix::time::ClockId::ProcessCPUTime)
}

fn seconds(clock: rustix::time::ClockId) -> f64 {
    let t = rustix::time::clock_gettime(clock);
    t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
}

/// Seconds since 1970.
pub fn now() -> u64 {
    millis() / 1000
}

fn millis() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_limit_of_all_groups_counts() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        assert_eq!(group_limit("0::/a/b\n", root.path()), None);
        write("a/b/memory.max", "max\n");
        assert_eq!(group_limit("0::/a/b\n", root.path()), None);
        write("a/memory.max", "4096\n");
        assert_eq!(group_limit("0::/a/b\n", root.path()), Some(4096));
        write("memory/c/memory.limit_in_bytes", "1024\n");
        assert_eq!(group_limit("3:cpu:/c\n2:memory,hugetlb:/c\n", root.path()), Some(1024));
    }
}
