//! Files that commands leave: whole or not at all.
//!
//! Everything is written to a temporary file in the folder of the target, synced and renamed. Whether the target can be
//! written is asked before the work begins, so that an hour of fitting does not end in a refusal.

use anyhow::{Context, Result, bail, ensure};
use ndarray::{Array, ArrayD, ArrayView2, Dimension};
use npy::{Dtype, Header, NpzWriter};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Refuses a target that could not be written.
pub fn check(path: &Path) -> Result<()> {
    ensure!(!path.is_dir(), "{} is a folder; name a file to write", path.display());
    temporary(path).map(drop)
}

/// Refuses a target whose name does not end in one of these.
pub fn check_ends(path: &Path, ends: &[&str]) -> Result<()> {
    let end = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    if !ends.contains(&end.as_str()) {
        let list = ends.iter().map(|e| format!(".{e}")).collect::<Vec<_>>().join(" or ");
        bail!("{} does not end in {list}; give the output such a name", path.display());
    }
    check(path)
}

fn temporary(path: &Path) -> Result<NamedTempFile> {
    let folder = match path.parent() {
        Some(p) if p != Path::new("") => p.to_path_buf(),
        _ => PathBuf::from("."),
    };
    ensure!(
        folder.is_dir(),
        "{} cannot be written: there is no folder {}; make it first",
        path.display(),
        folder.display()
    );
    let mut builder = tempfile::Builder::new();
    builder.prefix(".repro-").suffix(".tmp");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666)); // less what umask takes, as any file
    builder.tempfile_in(&folder).map_err(|e| {
        let reason = e.kind();
        anyhow::anyhow!("{} cannot be written: {reason} in {}; choose another folder", path.display(), folder.display())
    })
}

/// Writes a file through `fill`.
pub fn write(path: &Path, fill: impl FnOnce(&mut BufWriter<&mut std::fs::File>) -> Result<()>) -> Result<()> {
    let mut file = temporary(path)?;
    let failed = || format!("{} cannot be written", path.display());
    {
        let mut out = BufWriter::new(file.as_file_mut());
        // Only what the file system says is about this file; a bad sample met on the way speaks for itself.
        fill(&mut out).map_err(|e| if e.is::<std::io::Error>() { e.context(failed()) } else { e })?;
        out.flush().with_context(failed)?;
    }
    file.as_file().sync_all().with_context(failed)?;
    file.persist(path).map(drop).map_err(|e| e.error).with_context(failed)
}

/// Writes one array as .npy.
pub fn npy<D: Dimension>(path: &Path, array: &Array<f64, D>, single: bool) -> Result<()> {
    write(path, |out| {
        out.write_all(&Header::new(Dtype::float(single), array.shape()).to_bytes())?;
        Ok(npy::write_floats(out, single, array)?)
    })
}

/// Writes labels as 64-bit integers.
pub fn labels(path: &Path, labels: &[i64]) -> Result<()> {
    write(path, |out| Ok(npy::write(out, &ndarray::aview1(labels))?))
}

/// Writes a matrix as .csv or .npy, by its name.
pub fn matrix(path: &Path, m: ArrayView2<'_, f64>, single: bool) -> Result<()> {
    if path.extension().is_none_or(|e| !e.eq_ignore_ascii_case("csv")) {
        return npy(path, &m.to_owned(), single);
    }
    write(path, |out| {
        for row in m.rows() {
            let fields: Vec<String> = row.iter().map(f64::to_string).collect(); // shortest text that reads back the same
            writeln!(out, "{}", fields.join(","))?;
        }
        Ok(())
    })
}

/// An array of a bundle.
pub enum Member {
    /// 8-byte floats.
    Floats(ArrayD<f64>),
    /// 8-byte integers.
    Labels(Vec<i64>),
}

/// Writes an .npz with fixed bytes: the same arrays give the same file.
pub fn npz(path: &Path, members: &[(&str, Member)]) -> Result<()> {
    write(path, |out| {
        let mut npz = NpzWriter::new(out);
        for (name, member) in members {
            let member = match member {
                Member::Floats(array) => npy::Member::Floats { array: array.view(), single: false },
                Member::Labels(labels) => npy::Member::Integers(labels),
            };
            npz.add(name, &member)?;
        }
        npz.finish()?;
        Ok(())
    })
}
