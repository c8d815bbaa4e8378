//! `repro doctor`: is this machine ready, and if not, what is missing and does it matter?

use crate::cli::options::Surroundings;
use crate::cli::text::{Paint, count, size};
use crate::cli::{json, output, project};
use datasets::fetch::Sources;
use serde::Serialize;
use std::collections::BTreeSet;
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::time::Duration;

/// Check this machine: toolchain, cores, memory, disk, GPU, data sources, fonts
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro doctor
  repro doctor --offline     ask nothing of the network
  repro doctor --json        for a bug report
  repro doctor --gpu-selftest   train on the GPU and compare with the processor; please send us what it prints

Exit code 1 if something that every run needs is broken; a missing GPU or network is only a note. With --gpu-selftest: 1 if
the GPU trains wrongly, 2 if there is none.")]
pub struct Args {
    #[command(flatten)]
    surroundings: Surroundings,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Train small models on the GPU and on the processor, compare them, and time steps; nothing else is checked
    #[arg(long, conflicts_with = "json")]
    gpu_selftest: bool,
}

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Health {
    /// As it should be.
    Ok,
    /// Something optional is not there.
    Note,
    /// Runs will fail.
    Broken,
}

#[derive(Debug, Serialize)]
struct Check {
    name: String,
    state: Health,
    detail: String,
}

fn check(name: impl Into<String>, state: Health, detail: impl Into<String>) -> Check {
    Check { name: name.into(), state, detail: detail.into() }
}

/// Run the command.
pub fn run(args: &Args, dir: Option<&Path>) -> anyhow::Result<u8> {
    if args.gpu_selftest {
        return gpu_selftest();
    }
    let mut checks = vec![program(), arithmetic(), cores(), memory()];
    let folder = project::find(dir).ok();
    checks.extend(place(folder.as_deref()));
    checks.push(cuda());
    checks.extend(data(&args.surroundings));
    checks.push(fonts());
    if args.json {
        json(&checks)?;
    } else {
        output(&text(&checks));
    }
    Ok(u8::from(checks.iter().any(|c| c.state == Health::Broken)))
}

fn text(checks: &[Check]) -> String {
    let paint = Paint::stdout();
    let width = checks.iter().map(|c| c.name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for c in checks {
        let state = match c.state {
            Health::Ok => paint.green("ok    "),
            Health::Note => paint.yellow("note  "),
            Health::Broken => paint.red("broken"),
        };
        out += &format!("{state}  {:width$}  {}\n", c.name, c.detail);
    }
    out
}

fn program() -> Check {
    let built = format!("repro {}, built by {}", env!("CARGO_PKG_VERSION"), env!("REPRO_RUSTC"));
    let system = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    check("program", Health::Ok, format!("{built} for {system}"))
}

fn arithmetic() -> Check {
    let state = if linalg::simd::has_fma() { Health::Ok } else { Health::Note };
    check("arithmetic", state, crate::shared::device::arithmetic())
}

fn cores() -> Check {
    match std::thread::available_parallelism() {
        Ok(n) => check("cores", Health::Ok, count(n.get(), "thread")),
        Err(e) => check("cores", Health::Note, format!("unknown ({e}); set --jobs")),
    }
}

/// The default profile runs in two gigabytes.
const ENOUGH: u64 = 2 << 30;

fn memory() -> Check {
    let total = pipeline::host::memory();
    let state = if total < ENOUGH { Health::Note } else { Health::Ok };
    check("memory", state, size(total))
}

/// The project and its store.
fn place(folder: Option<&Path>) -> Vec<Check> {
    let Some(folder) = folder else {
        let detail = "no pipeline.yaml here or above; `repro run` needs one (-C DIR names its folder)";
        return vec![check("project", Health::Note, detail)];
    };
    let choose = crate::cli::options::Choose::default();
    let mut out = vec![match project::plan(folder, &choose) {
        Ok(plan) => {
            let size = format!("{}, {}", count(plan.stages.len(), "stage"), count(plan.units.len(), "unit"));
            check("project", Health::Ok, format!("{} ({size})", folder.display()))
        }
        Err(e) => check("project", Health::Broken, format!("{e:#}")),
    }];
    let store = folder.join(project::STORE);
    let at = if store.is_dir() { store } else { folder.to_path_buf() };
    out.push(match tempfile::tempfile_in(&at) {
        Ok(_) => check("store", Health::Ok, format!("{} can be written", at.display())),
        Err(e) => check("store", Health::Broken, format!("{} cannot be written: {e}", at.display())),
    });
    if let Ok(disk) = rustix::fs::statvfs(&at) {
        let free = disk.f_bavail * disk.f_frsize;
        let state = if free < ENOUGH { Health::Note } else { Health::Ok };
        out.push(check("disk", state, format!("{} free", size(free))));
    }
    out
}

/// Asks the probe that training asks, so that both say the same of the GPU.
fn cuda() -> Check {
    match kraus::backend::probe() {
        Ok(gpu) => {
            let (major, minor) = gpu.capability;
            check("cuda", Health::Ok, format!("{}, sm_{major}{minor}, {}", gpu.name, size(gpu.memory)))
        }
        Err(why) => check("cuda", Health::Note, format!("{why}; training uses the processor")),
    }
}

/// Runs on the real driver the cases that the tests run on a stand-in for it.
fn gpu_selftest() -> anyhow::Result<u8> {
    output(&format!("{}\n", program().detail));
    match kraus::backend::selftest(&mut |line| output(&format!("{line}\n"))) {
        Ok(well) => Ok(u8::from(!well)),
        Err(why) => anyhow::bail!("--gpu-selftest: {why}"),
    }
}

/// Where data would come from.
fn data(surroundings: &Surroundings) -> Vec<Check> {
    let env = surroundings.environment();
    let mut out = vec![match env.get(crate::shared::source::DATA_DIR).map(Path::new) {
        Some(dir) if dir.is_dir() => check("data folder", Health::Ok, dir.display().to_string()),
        Some(dir) => {
            check("data folder", Health::Broken, format!("{} is no folder; see --data-dir, REPRO_DATA", dir.display()))
        }
        None => check("data folder", Health::Note, "none given (--data-dir or REPRO_DATA)"),
    }];
    let hosts: BTreeSet<String> = Sources::embedded().iter().filter_map(|f| host(f.address())).collect();
    let ask = |host: &String| {
        let name = format!("source {host}");
        match (surroundings.offline, if surroundings.offline { Ok(()) } else { reach(host) }) {
            (true, _) => check(name, Health::Note, "not asked (--offline)"),
            (_, Ok(())) => check(name, Health::Ok, "answers"),
            (_, Err(e)) => {
                let instead = "cached, embedded or simulated data will be used";
                check(name, Health::Note, format!("not reachable ({e}); {instead}"))
            }
        }
    };
    // All hosts are looked up at once, because a name server that does not answer takes seconds to give up.
    std::thread::scope(|scope| {
        let start = |host| std::thread::Builder::new().spawn_scoped(scope, move || ask(host));
        let asked: Vec<_> = hosts.iter().map(|host| (host, start(host))).collect();
        // Where no more threads can be started, the host is asked in this one.
        out.extend(
            asked.into_iter().filter_map(|(host, asked)| asked.map_or_else(|_| Some(ask(host)), |a| a.join().ok())),
        );
    });
    out
}

/// `a.org` of `https://a.org/x`.
fn host(address: &str) -> Option<String> {
    address.split("://").nth(1)?.split('/').next().map(str::to_string)
}

/// Measures a word with the font that is built into the program, as figures do.
fn fonts() -> Check {
    let width = report::font::width("repro", 10.0, report::font::Weight::Regular);
    let state = if width > 0.0 { Health::Ok } else { Health::Broken };
    check("fonts", state, format!("`{}` embedded in the program; system fonts are not used", report::font::FAMILY))
}

fn reach(host: &str) -> std::io::Result<()> {
    let address = (host, 443).to_socket_addrs()?.next();
    let address = address.ok_or_else(|| std::io::Error::other("no such host"))?;
    TcpStream::connect_timeout(&address, Duration::from_secs(2)).map(drop)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_host_of_an_address() {
        assert_eq!(super::host("https://a.org/x/{name}.mat").as_deref(), Some("a.org"));
        assert_eq!(super::host("nonsense"), None);
    }
}
