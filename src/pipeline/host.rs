//! Facts about the machine and the process, for provenance and for sharing the machine out. No names of hosts or people.

use crate::store::record::Host;
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

/// Bytes of memory of the machine.
pub fn memory() -> u64 {
    kilobytes("/proc/meminfo", "MemTotal:").unwrap_or(0)
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
