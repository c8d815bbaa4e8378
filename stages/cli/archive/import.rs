//! `repro import`: checks a crate that `repro export` wrote, unpacks it and prints its verdicts. No result is computed again.

use super::{METADATA, REPORT, RESULTS, sha256};
use crate::cli::own::output::write;
use crate::cli::text::{count, size};
use crate::cli::{json, output};
use anyhow::{Context as _, Result, bail, ensure};
use pipeline::Digest;
use pipeline::store::lockfile::{Locked, Lockfile};
use report::claims::{Metrics, PAPER, judge_all, print, read};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::path::{Component, Path, PathBuf};

/// Check an exported crate, unpack it and show its report, without computing anything
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro import results.zip               into the folder `results`
  repro import results.zip -o theirs     somewhere else
  repro import results.zip --check       check only, write nothing

Every file must have the SHA-256 that the metadata name, and every result the digest of its line in the lock file. Exit code 1 if one has not.")]
pub struct Args {
    /// The crate
    #[arg(value_name = "FILE.zip")]
    file: PathBuf,
    /// Folder to unpack into; it must not be there, or be empty [default: the file's name without its ending]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Check only
    #[arg(long)]
    check: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// An archive that unpacks to more bytes than this is refused.
const MOST: u64 = 64 << 30;

/// What was found.
#[derive(Debug, Default, Serialize)]
struct Checked {
    files: usize,
    bytes: u64,
    /// Results that the lock file confirms.
    results: usize,
    units: usize,
    problems: Vec<String>,
    report: Option<PathBuf>,
    verdicts: Vec<(String, String)>,
}

/// Run the command.
pub fn run(args: &Args) -> Result<u8> {
    let files = unpack(&args.file)?;
    let (mut found, metrics) = check(&files)?;
    if found.problems.is_empty() && !args.check {
        let folder = args.output.clone().unwrap_or_else(|| args.file.with_extension(""));
        let free = std::fs::read_dir(&folder).map_or(true, |mut entries| entries.next().is_none());
        ensure!(free && !folder.is_file(), "{} is there already; name another folder with -o", folder.display());
        for (path, bytes) in &files {
            let to = folder.join(path);
            fs_err::create_dir_all(to.parent().unwrap_or(&folder))?;
            write(&to, |out| Ok(out.write_all(bytes)?))?;
        }
        found.report = files.contains_key(REPORT).then(|| folder.join(REPORT));
    }
    let judged = judge_all(&read(PAPER)?, &metrics);
    found.verdicts = judged.iter().map(|j| (j.claim.id.clone(), j.verdict.to_string())).collect();
    if args.json {
        json(&found)?;
    } else {
        let mut out: String = found.problems.iter().map(|p| format!("problem: {p}\n")).collect();
        if !metrics.is_empty() && found.problems.is_empty() {
            out += &print(&judged);
        }
        let head =
            if found.problems.is_empty() { "verified".to_string() } else { count(found.problems.len(), "problem") };
        out += &format!(
            "{head}: {} ({}), {} of {} confirmed by the lock file\n",
            count(found.files, "file"),
            size(found.bytes),
            count(found.results, "result"),
            count(found.units, "unit")
        );
        if let Some(report) = &found.report {
            out += &format!("{}\n", report.display());
        }
        output(&out);
    }
    Ok(u8::from(!found.problems.is_empty()))
}

/// The files of the archive by path. A path that leads out of it is refused.
fn unpack(file: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let name = file.display();
    let open = std::fs::File::open(file).with_context(|| format!("{name} cannot be read"))?;
    let mut zip =
        zip::ZipArchive::new(std::io::BufReader::new(open)).with_context(|| format!("{name} is not a zip file"))?;
    let (mut files, mut total) = (BTreeMap::new(), 0);
    for n in 0..zip.len() {
        let mut entry = zip.by_index(n).with_context(|| format!("{name}: entry {n} cannot be read"))?;
        let path = entry.name().with_context(|| format!("{name}: the name of entry {n} cannot be read"))?.into_owned();
        if entry.is_dir() {
            continue;
        }
        let inside = Path::new(&path).components().all(|c| matches!(c, Component::Normal(_))) && !path.contains('\\');
        ensure!(inside, "{name}: the path `{path}` leads out of the archive; it was not written by `repro export`");
        let mut bytes = Vec::new();
        let most = MOST - total;
        let read = entry.by_ref().take(most + 1).read_to_end(&mut bytes);
        read.with_context(|| format!("{name}: `{path}` is damaged"))?;
        ensure!(bytes.len() as u64 <= most, "{name} unpacks to more than {}", size(MOST));
        total += bytes.len() as u64;
        files.insert(path, bytes);
    }
    if !files.contains_key(METADATA) {
        bail!("{name} has no {METADATA}: it is not an RO-Crate");
    }
    Ok(files)
}

/// Compares each file with the metadata, and each result with the lock file.
fn check(files: &BTreeMap<String, Vec<u8>>) -> Result<(Checked, Metrics)> {
    let metadata: serde_json::Value =
        serde_json::from_slice(&files[METADATA]).with_context(|| format!("{METADATA} is not JSON"))?;
    let mut out =
        Checked { files: files.len(), bytes: files.values().map(|b| b.len() as u64).sum(), ..Checked::default() };
    let mut listed = BTreeSet::from([METADATA.to_string()]);
    for entity in metadata["@graph"].as_array().into_iter().flatten() {
        let (Some(path), Some(sum)) = (entity["@id"].as_str(), entity["sha256"].as_str()) else { continue };
        listed.insert(path.to_string());
        match files.get(path) {
            None => out.problems.push(format!("{path} is missing")),
            Some(bytes) if sha256(bytes) != sum => {
                out.problems.push(format!("{path} has other bytes than the metadata say"))
            }
            Some(_) => {}
        }
    }
    out.problems.extend(
        files.keys().filter(|path| !listed.contains(*path)).map(|path| format!("{path} is not in the metadata")),
    );
    let mut metrics = Metrics::new();
    let lock = files.keys().find(|path| path.ends_with(".lock") && !path.contains('/'));
    let Some(lock) = lock else {
        out.problems.push("there is no lock file, so no result can be confirmed".to_string());
        return Ok((out, metrics));
    };
    let lock = match Lockfile::read(&String::from_utf8_lossy(&files[lock])) {
        Ok(lock) => lock,
        Err(why) => {
            out.problems.push(format!("{lock}: {why}"));
            return Ok((out, metrics));
        }
    };
    let described = units_in_metadata(&metadata);
    for (stage, units) in &lock.stages {
        for (label, locked) in units {
            let middle = if label.is_empty() { String::new() } else { format!("{}/", label.replace('/', "_")) };
            let id = if label.is_empty() { stage.clone() } else { format!("{stage}/{label}") };
            let confirmed = described.get(&id).filter(|(key, wrote)| {
                *locked == Locked::new(key, wrote.iter().map(|(name, digest)| (name.as_str(), *digest)))
            });
            let Some((_, wrote)) = confirmed else {
                out.problems.push(format!("`{id}`: the metadata and the lock file name different results"));
                continue;
            };
            let mut any = false;
            for (name, digest) in wrote {
                let path = format!("results/{stage}/{middle}{name}");
                let Some(bytes) = files.get(&path) else { continue };
                any = true;
                if Digest::of(bytes) != *digest {
                    out.problems.push(format!("{path} is not the result that metadata and lock file name"));
                    continue;
                }
                out.results += 1;
                if name == "metrics.json" {
                    metrics.extend(serde_json::from_slice::<Metrics>(bytes).unwrap_or_default());
                }
            }
            out.units += usize::from(any);
        }
    }
    Ok((out, metrics))
}

/// Key and digests of each unit, from the metadata. The lock file has one digest for all results of a unit, so it cannot name them.
fn units_in_metadata(metadata: &serde_json::Value) -> BTreeMap<String, (Digest, BTreeMap<String, Digest>)> {
    let unit = |entity: &serde_json::Value| {
        let (_, digests) = entity["description"].as_str()?.split_once(RESULTS)?;
        let wrote: BTreeMap<String, String> = serde_json::from_str(digests).ok()?;
        let wrote =
            wrote.into_iter().map(|(name, digest)| Some((name, digest.parse().ok()?))).collect::<Option<_>>()?;
        Some((entity["name"].as_str()?.to_owned(), (entity["identifier"].as_str()?.parse().ok()?, wrote)))
    };
    metadata["@graph"].as_array().into_iter().flatten().filter_map(unit).collect()
}
