//! Where a stage's data may come from: the program's options turned into those of `datasets`, and what of them enters the key.

use anyhow::Result;
use datasets::fetch::{Options, Progress};
use pipeline::{Context, Environment};
use std::collections::BTreeMap;
use std::path::PathBuf;

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

/// The options of the program as options of `datasets`.
pub fn options(env: &Environment) -> Options {
    let mut options = Options::new(cache_dir());
    options.data_dir = env.data_dir.clone();
    options.offline = env.offline;
    options.require_real = env.require_real;
    options.accept_changed = env.accept_changed;
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

/// What of the world outside a data stage depends on: the folder given by the user (names, sizes and times of its files) and
/// the downloads in the cache, and whether stand-ins are allowed. Cheap: nothing is read.
pub fn externals(env: &Environment, relevant: impl Fn(&str) -> bool) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    found.insert("data folder".into(), env.data_dir.as_ref().map_or(Ok("none".into()), |d| listing(d, &relevant))?);
    found.insert("download cache".into(), listing(&cache_dir(), &relevant)?);
    found.insert("stand-ins".into(), if env.require_real { "refused" } else { "allowed" }.into());
    Ok(found)
}

/// A digest of names, sizes and times of the files in a folder (or of one file) whose names are relevant.
fn listing(at: &std::path::Path, relevant: &impl Fn(&str) -> bool) -> Result<String> {
    let mut lines = Vec::new();
    let mut add = |path: PathBuf| -> Result<()> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let meta = fs_err::metadata(&path)?;
        if meta.is_file() && (relevant(&name) || path == at) {
            let modified = meta.modified()?.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            lines.push(format!("{name} {} {}", meta.len(), modified.as_nanos()));
        }
        Ok(())
    };
    if at.is_dir() {
        for entry in fs_err::read_dir(at)? {
            add(entry?.path())?;
        }
    } else if at.exists() {
        add(at.to_path_buf())?;
    }
    if lines.is_empty() {
        return Ok("none".into());
    }
    lines.sort();
    Ok(blake3::hash(lines.join("\n").as_bytes()).to_hex()[..16].to_string())
}
