//! Files that commands leave: whole or not at all.
//!
//! Everything is written to a temporary file in the folder of the target, synced and renamed. Whether the target can be
//! written is asked before the work begins, so that an hour of fitting does not end in a refusal.

use anyhow::{Context, Result, bail, ensure};
use ndarray::{Array, ArrayD, ArrayView2, Dimension};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

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
        bail!("{} does not end in {list}; name the output so", path.display());
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
        let ours = |e: &anyhow::Error| e.is::<std::io::Error>() || e.is::<zip::result::ZipError>();
        fill(&mut out).map_err(|e| if ours(&e) { e.context(failed()) } else { e })?;
        out.flush().with_context(failed)?;
    }
    file.as_file().sync_all().with_context(failed)?;
    file.persist(path).map(drop).map_err(|e| e.error).with_context(failed)
}

/// The bytes before the items of a C-ordered little-endian array.
pub fn header(descr: &str, shape: &[usize]) -> Vec<u8> {
    let shape = match shape {
        [n] => format!("({n},)"),
        _ => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    // The mark, the version and the length take 10 bytes; the items start at a multiple of 64.
    while (10 + text.len() + 1) % 64 != 0 {
        text.push(' ');
    }
    text.push('\n');
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((text.len() as u16).to_le_bytes());
    out.extend(text.as_bytes());
    out
}

/// Writes items as 4- or 8-byte floats.
pub fn items<'a>(out: &mut impl Write, single: bool, values: impl IntoIterator<Item = &'a f64>) -> std::io::Result<()> {
    values.into_iter().try_for_each(|v| match single {
        true => out.write_all(&(*v as f32).to_le_bytes()),
        false => out.write_all(&v.to_le_bytes()),
    })
}

/// The type string of floats.
pub fn floats(single: bool) -> &'static str {
    if single { "<f4" } else { "<f8" }
}

/// Writes one array as .npy.
pub fn npy<D: Dimension>(path: &Path, array: &Array<f64, D>, single: bool) -> Result<()> {
    write(path, |out| {
        out.write_all(&header(floats(single), array.shape()))?;
        Ok(items(out, single, array)?)
    })
}

/// Writes labels as 64-bit integers.
pub fn labels(path: &Path, labels: &[i64]) -> Result<()> {
    write(path, |out| {
        out.write_all(&header("<i8", &[labels.len()]))?;
        labels.iter().try_for_each(|l| out.write_all(&l.to_le_bytes()))?;
        Ok(())
    })
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
        let mut zip = ZipWriter::new(out);
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .last_modified_time(DateTime::default())
            .unix_permissions(0o644);
        for (name, member) in members {
            let large = matches!(member, Member::Floats(a) if a.len() >= 1 << 28);
            zip.start_file(format!("{name}.npy"), options.large_file(large))?;
            match member {
                Member::Floats(a) => {
                    zip.write_all(&header("<f8", a.shape()))?;
                    items(&mut zip, false, a)?;
                }
                Member::Labels(l) => {
                    zip.write_all(&header("<i8", &[l.len()]))?;
                    l.iter().try_for_each(|v| zip.write_all(&v.to_le_bytes()))?;
                }
            }
        }
        zip.finish()?;
        Ok(())
    })
}
