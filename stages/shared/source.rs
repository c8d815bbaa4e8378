//! Where a stage's data may come from: the program's options turned into those of `datasets`, and what of them enters the key.

use crate::shared::files::write_json;
use anyhow::{Result, anyhow};
use datasets::fetch::{Options, Progress, Provenance};
use pipeline::{Context, Environment};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Artefact that says which data were used (`datasets::fetch::Provenance`).
pub const SOURCE: &str = "source.json";

/// Downloads are shared by all projects of a user: $REPRO_CACHE, else the XDG cache folder, else a folder of the project.
pub fn cache_dir() -> PathBuf {
    let under =
        |var: &str, rest: &str| std::env::var_os(var).filter(|v| !v.is_empty()).map(|v| PathBuf::from(v).join(rest));
    under("REPRO_CACHE", "")
        .or_else(|| under("XDG_CACHE_HOME", "repro"))
        .or_else(|| under("HOME", ".cache/repro"))
        .unwrap_or_else(|| PathBuf::from(".repro/downloads"))
}

/// Names of the values of the environment that data stages read: a folder, and three flags.
pub const DATA_DIR: &str = "data-dir";
pub const OFFLINE: &str = "offline";
pub const REQUIRE_REAL: &str = "require-real";
pub const ACCEPT_CHANGED: &str = "accept-changed";

/// The options of the program as options of `datasets`.
pub fn options(env: &Environment) -> Options {
    let mut options = Options::new(cache_dir());
    options.data_dir = env.get(DATA_DIR).map(PathBuf::from);
    options.offline = env.flag(OFFLINE);
    options.require_real = env.flag(REQUIRE_REAL);
    options.accept_changed = env.flag(ACCEPT_CHANGED);
    options
}

/// [`options`] of a running unit; downloads show as its progress.
pub fn options_of(ctx: &Context) -> Options {
    let mut options = options(ctx.env());
    let report = ctx.reporter();
    options.progress = Some(std::sync::Arc::new(move |p: &Progress<'_>| {
        let fraction = p.total.map_or(0.0, |total| p.done as f64 / total.max(1) as f64);
        report(
            fraction,
            &format!("{} {} KiB{}", p.file, p.done / 1024, p.note.map(|n| format!(", {n}")).unwrap_or_default()),
        );
    }));
    options
}

/// Writes which data were used. How they were found (sources that failed before, a first or a later download) goes to the
/// log and not into the artefact: the same data must give the same bytes on every machine.
pub fn record(ctx: &Context, provenance: &Provenance) -> Result<()> {
    ctx.log(&format!("{}; {}", provenance.caption(), provenance.trust));
    for (source, why) in &provenance.tried {
        ctx.log(&format!("tried before: {source}: {why}"));
    }
    let path = ctx.output(SOURCE).map_err(|e| anyhow!("{e}"))?;
    write_json(&path, &Provenance { trust: String::new(), tried: Vec::new(), ..provenance.clone() })
}

/// What a data stage depends on outside the pipeline: the files in the user's folder and in the download cache (their names, sizes
/// and times), and whether stand-ins are allowed. No file is read, so this is cheap.
pub fn externals(env: &Environment, relevant: impl Fn(&str) -> bool) -> Result<BTreeMap<String, String>> {
    // Any archive in the user's folder may hold the files; downloads have known names.
    let given = |name: &str| relevant(name) || name.to_lowercase().ends_with(".zip");
    // Locks, pieces and records of the download cache are not data: a failed download must not change the key.
    let downloaded =
        |name: &str| relevant(name) && ![".lock", ".part", ".part-tag", ".blake3"].iter().any(|e| name.ends_with(e));
    let mut found = BTreeMap::new();
    found.insert("data folder".into(), env.get(DATA_DIR).map_or(Ok("none".into()), |d| listing(Path::new(d), &given))?);
    found.insert("download cache".into(), listing(&cache_dir(), &downloaded)?);
    found.insert("stand-ins".into(), if env.flag(REQUIRE_REAL) { "refused" } else { "allowed" }.into());
    Ok(found)
}

/// A digest of names, sizes and times of the files below a folder (or of one file) whose names are relevant.
fn listing(at: &Path, relevant: &dyn Fn(&str) -> bool) -> Result<String> {
    let mut lines = Vec::new();
    if at.is_dir() {
        below(at, Path::new(""), 0, relevant, &mut lines)?;
    } else if at.exists() {
        lines.push(line(at, Path::new(""))?);
    }
    if lines.is_empty() {
        return Ok("none".into());
    }
    lines.sort();
    Ok(blake3::hash(lines.join("\n").as_bytes()).to_hex()[..16].to_string())
}

/// How deep folders are searched: as deep as `datasets::archive::Files` looks for data.
const DEEPEST: usize = 4;

/// `name` is the path from the top folder. The place of the top folder does not enter the digest.
fn below(
    folder: &Path,
    name: &Path,
    depth: usize,
    relevant: &dyn Fn(&str) -> bool,
    lines: &mut Vec<String>,
) -> Result<()> {
    for entry in fs_err::read_dir(folder)? {
        let entry = entry?;
        let (path, base) = (entry.path(), entry.file_name());
        if path.is_dir() {
            if depth < DEEPEST {
                below(&path, &name.join(&base), depth + 1, relevant, lines)?;
            }
        } else if relevant(&base.to_string_lossy()) {
            lines.push(line(&path, &name.join(&base))?);
        }
    }
    Ok(())
}

fn line(path: &Path, name: &Path) -> Result<String> {
    let meta = fs_err::metadata(path)?;
    let modified = meta.modified()?.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Ok(format!("{} {} {}", name.display(), meta.len(), modified.as_nanos()))
}
