//! Reading and writing artefacts: arrays as .npy, structured values as .json. Errors name the file.

use anyhow::{Context as _, Result, anyhow};
use ndarray::{Array, Dimension};
use npy::{ReadableElement, WritableElement};
use pipeline::{Context, Input};
use serde::{Serialize, de::DeserializeOwned};
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;

/// Writes a value as indented JSON with a final newline.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let mut out = BufWriter::new(fs_err::File::create(path)?);
    serde_json::to_writer_pretty(&mut out, value).with_context(|| format!("writing {}", path.display()))?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// Reads a JSON file.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let file = BufReader::new(fs_err::File::open(path)?);
    serde_json::from_reader(file).with_context(|| format!("{} is not what this stage expects", path.display()))
}

/// Writes an array as .npy.
pub fn write_npy<T: WritableElement, D: Dimension>(path: &Path, array: &Array<T, D>) -> Result<()> {
    let mut out = BufWriter::new(fs_err::File::create(path)?);
    npy::write(&mut out, array).with_context(|| format!("writing {}", path.display()))?;
    Ok(out.flush()?)
}

/// Reads an array from .npy.
pub fn read_npy<T: ReadableElement, D: Dimension>(path: &Path) -> Result<Array<T, D>> {
    let file = BufReader::new(fs_err::File::open(path)?);
    npy::read(file).with_context(|| format!("{} is not the array this stage expects", path.display()))
}

/// The inputs that have the artefact `name`, over all upstream stages in order.
pub fn inputs_with<'a>(ctx: &'a Context, name: &str) -> Result<Vec<&'a Input>> {
    let mut found = Vec::new();
    for stage in ctx.needs() {
        found.extend(ctx.inputs(stage)?.iter().filter(|input| input.artefacts.contains_key(name)));
    }
    Ok(found)
}

/// The one input that has the artefact `name`.
pub fn input_with<'a>(ctx: &'a Context, name: &str) -> Result<&'a Input> {
    match inputs_with(ctx, name)?.as_slice() {
        [one] => Ok(one),
        many => Err(anyhow!("needs one input with `{name}` and has {}; check `needs` and the matrix axes", many.len())),
    }
}
