//! Files that commands leave: whole or not at all.
//!
//! Everything is written to a temporary file in the folder of the target, synced and renamed. A device or a pipe is written to as it
//! is, and the target of a symbolic link is replaced, not the link. Whether the target can be
//! written is asked before the work begins, so that an hour of fitting does not end in a refusal.

use super::arrays::class_names;
use anyhow::{Context, Result, bail, ensure};
use ndarray::{Array, ArrayD, ArrayView2, Dimension};
use npy::{Dtype, Header, NpzWriter};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tempfile::NamedTempFile;

/// The files that this process, which runs one command, is going to write.
static TARGETS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Refuses a target that could not be written, or that the command writes twice. From now on it is refused as an input.
pub fn check(path: &Path) -> Result<()> {
    ensure!(!path.is_dir(), "{} is a folder; name a file to write", path.display());
    temporary(path).map(drop)?;
    let mut targets = TARGETS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let twice = targets.iter().any(|t| same_file(t, path));
    ensure!(!twice, "{} would be written twice by this command; give its outputs different names", path.display());
    targets.push(path.to_path_buf());
    Ok(())
}

/// Refuses to read a file that this command is going to write: the input would be lost.
pub fn refuse_target(path: &Path) -> Result<()> {
    let targets = TARGETS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let lost = targets.iter().any(|t| same_file(t, path));
    ensure!(!lost, "{} is an input of this command and would be overwritten; choose another output", path.display());
    Ok(())
}

/// Whether two names mean one file. Of a file that is not there yet, its folder and name tell.
fn same_file(a: &Path, b: &Path) -> bool {
    let real = |p: &Path| {
        let folder = p.parent().filter(|f| *f != Path::new("")).unwrap_or(Path::new("."));
        std::fs::canonicalize(p).ok().or_else(|| Some(std::fs::canonicalize(folder).ok()?.join(p.file_name()?)))
    };
    a == b || matches!((real(a), real(b)), (Some(a), Some(b)) if a == b)
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

/// Whether the name stands for something that takes bytes and is no file: a device, a pipe, a socket.
fn is_stream(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir())
}

/// The file that a name stands for: a symbolic link is written through, not replaced.
fn resolved(path: &Path) -> PathBuf {
    std::fs::canonicalize(path)
        .or_else(|_| std::fs::read_link(path).map(|to| path.with_file_name("").join(to)))
        .unwrap_or_else(|_| path.to_path_buf())
}

fn temporary(path: &Path) -> Result<NamedTempFile> {
    let folder = match path.parent() {
        _ if is_stream(path) => std::env::temp_dir(),
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
    let failed = || format!("{} cannot be written", path.display());
    if is_stream(path) {
        let mut stream = std::fs::File::options().write(true).open(path).with_context(failed)?;
        let mut out = BufWriter::new(&mut stream);
        fill(&mut out)?;
        return out.flush().with_context(failed);
    }
    let path = &resolved(path);
    let mut file = temporary(path)?;
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

/// Writes labels: as words where the labels that were read are words, else as 64-bit integers.
pub fn labels(path: &Path, labels: &[i64]) -> Result<()> {
    let names = class_names();
    if !names.is_empty() {
        let word = |l: &i64| usize::try_from(l - 1).ok().and_then(|i| names.get(i)).map_or("", String::as_str);
        let words: Vec<&str> = labels.iter().map(word).collect();
        return write(path, |out| Ok(npy::write_words(out, &words)?));
    }
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
