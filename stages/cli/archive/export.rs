//! `repro export`: the last results as a Workflow Run RO-Crate in a zip file.

use super::metadata::{CrateFile, Metadata};
use super::{METADATA, REPORT};
use crate::cli::console::message;
use crate::cli::options::View;
use crate::cli::own::output::write;
use crate::cli::project::{FILE, Project};
use crate::cli::results::{outcome, report};
use crate::cli::text::{count, size};
use anyhow::{Context as _, Result, ensure};
use pipeline::{Digest, Engine};
use std::collections::BTreeMap;
use std::io::{Cursor, Write as _};
use std::path::{Path, PathBuf};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// Write results, report and provenance as a Workflow Run RO-Crate: one zip file for an archive or a reviewer
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro export results.zip             figures, tables, raw results, report, provenance of every unit
  repro export everything.zip --all    arrays and models as well
  repro import results.zip             check one and show its report

Whoever has no `repro` unpacks it, opens report.html, and checks files by the SHA-256 in ro-crate-metadata.json. Only current results go in.")]
pub struct Args {
    /// The file to write
    #[arg(value_name = "FILE.zip")]
    output: PathBuf,
    /// Also arrays and models (.npy, .npz), which may be large
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    view: View,
}

/// Whether a file holds an array or a model; those are left out without `--all`.
fn is_array(name: &str) -> bool {
    [".npy", ".npz", ".bin"].iter().any(|ending| name.ends_with(ending))
}

/// Run the command.
pub fn run(args: &Args, dir: Option<&Path>) -> Result<u8> {
    let engine = Project::look(dir, &args.view)?.engine()?;
    let current = engine.current(&[])?;
    ensure!(!current.is_empty(), "there is nothing to export: no unit has a current result; `repro run` computes them");
    let (mut files, places) = results(&engine, &current, args.all)?;
    let folder = &engine.plan().folder;
    let lock = engine.lock_path();
    for (path, about) in [
        (folder.join(FILE), "The workflow: stages, parameters, profiles."),
        (lock.clone(), "Keys and BLAKE3 digests of every unit's results."),
        (folder.join("CITATION.cff"), "How to cite the software and the paper."),
        (folder.join("LICENSE"), "The licence of the software."),
        (folder.join("data/sources.yaml"), "Data sources: addresses, checksums, licences."),
    ] {
        let name = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
        match std::fs::read(&path) {
            Ok(bytes) => files.push(CrateFile { path: name, bytes, about: about.to_string() }),
            Err(e) if path == lock || name == FILE => return Err(e).with_context(|| format!("{name} cannot be read")),
            Err(_) => {}
        }
    }
    let outcome = outcome::read_outcome(&engine)?;
    match report::html(&engine, &outcome) {
        Ok(html) => files.push(CrateFile {
            path: REPORT.into(),
            bytes: html.into_bytes(),
            about: "Figures, tables and verdicts on one page.".into(),
        }),
        Err(why) => message!("without a report page: {why:#}"),
    }
    let missing = engine.plan().units.len() - current.len();
    if missing > 0 {
        message!("{} without a current result left out; `repro run all` computes them", count(missing, "unit"));
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let licence = files.iter().any(|f| f.path == "LICENSE").then_some("LICENSE");
    let mut sources = outcome.sources.clone();
    sources.dedup();
    let metadata = Metadata {
        engine: &engine,
        files: &files,
        current: &current,
        places: &places,
        workflow: FILE,
        sources: &sources,
        licence,
    };
    let text = serde_json::to_vec_pretty(&metadata.render())?;
    let bytes = zipped(&text, &files)?;
    write(&args.output, |out| Ok(out.write_all(&bytes)?))?;
    let summary = format!(
        "{}: {}, {} units with provenance, {}\n",
        args.output.display(),
        count(files.len() + 1, "file"),
        current.len(),
        size(bytes.len() as u64)
    );
    crate::cli::output(&summary);
    Ok(0)
}

type Places = BTreeMap<(usize, String), String>;

/// The artefacts that go into the crate, checked by digest, and the path of each.
fn results(
    engine: &Engine,
    current: &[(usize, pipeline::Key, std::sync::Arc<pipeline::Record>)],
    all: bool,
) -> Result<(Vec<CrateFile>, Places)> {
    let (mut files, mut places) = (Vec::new(), Places::new());
    for (unit, _, record) in current {
        let planned = &engine.plan().units[*unit];
        let stage = &engine.plan().stages[planned.stage];
        for (name, artefact) in record.artefacts.iter().filter(|(name, _)| all || !is_array(name)) {
            let middle =
                if planned.label.is_empty() { String::new() } else { format!("{}/", planned.label.replace('/', "_")) };
            let path = format!("results/{}/{middle}{name}", stage.name);
            let bytes = fs_err::read(engine.store().objects.path(&artefact.digest))?;
            ensure!(
                Digest::of(&bytes) == artefact.digest,
                "`{}`: artefact `{name}` is corrupt in the store; `repro run '{0}'` mends it",
                planned.id
            );
            places.insert((*unit, name.clone()), path.clone());
            files.push(CrateFile {
                path,
                bytes,
                about: format!("{name} of {}; BLAKE3 {}", planned.id, artefact.digest),
            });
        }
    }
    Ok((files, places))
}

/// The zip archive. Its bytes depend on the files only: there are no times in it.
fn zipped(metadata: &[u8], files: &[CrateFile]) -> Result<Vec<u8>> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644);
    for (path, bytes) in
        std::iter::once((METADATA, metadata)).chain(files.iter().map(|f| (f.path.as_str(), f.bytes.as_slice())))
    {
        zip.start_file(path, options.large_file(bytes.len() as u64 >= u64::from(u32::MAX)))?;
        zip.write_all(bytes)?;
    }
    Ok(zip.finish()?.into_inner())
}
