//! A map with signs and intercept on disk: one .npz that numpy reads as it is.
//!
//! | array | what |
//! |---|---|
//! | `layer0` | operators A_k, shape (r, q, p), as in a stack |
//! | `signs` | s_k = +-1, shape (r) |
//! | `intercept` | B, shape (q, q); absent where there is none |
//! | `metadata` | one JSON string: format, version, positivity, how it was chosen |
//!
//! The format has another name than that of stacks, so that a program that knows only stacks refuses it instead of forgetting signs and intercept.

use super::affine::{AffineMap, Positivity};
use crate::error::Error;
use crate::io::disk::{DiskError, atomically};
use ndarray::{Array1, Ix1, Ix2, Ix3};
use npy::{Array, Member, NpzReader, NpzWriter};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek, Write};
use std::path::Path;

const FORMAT: &str = "kraus-affine";
const SCHEMA: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
struct Metadata {
    format: String,
    schema: u32,
    version: String,
    positivity: String,
    notes: Vec<String>,
}

/// A map with the notes that were saved with it.
#[derive(Debug, Clone)]
pub struct SavedAffine {
    /// The map.
    pub map: AffineMap,
    /// How it was chosen.
    pub notes: Vec<String>,
}

/// Writes a map. The same map gives the same bytes.
pub fn save_affine(path: impl AsRef<Path>, map: &AffineMap, notes: &[String]) -> Result<(), DiskError> {
    let path = path.as_ref();
    atomically(path, |file| write(file, map, notes)).map_err(|source| DiskError::Io { path: path.to_owned(), source })
}

/// The bytes that [`save_affine`] writes.
pub(super) fn affine_bytes(map: &AffineMap, notes: &[String]) -> std::io::Result<Vec<u8>> {
    let mut bytes = Cursor::new(Vec::new());
    write(&mut bytes, map, notes)?;
    Ok(bytes.into_inner())
}

fn write(to: &mut (impl Write + Seek), map: &AffineMap, notes: &[String]) -> std::io::Result<()> {
    let metadata = Metadata {
        format: FORMAT.into(),
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        positivity: map.positivity().as_str().into(),
        notes: notes.to_vec(),
    };
    let text = serde_json::to_string(&metadata)?;
    let signs = Array1::from(map.signs().to_vec()).into_dyn();
    let mut npz = NpzWriter::new(to);
    npz.add("layer0", &Member::Floats { array: map.map().ops().into_dyn(), single: false })?;
    npz.add("signs", &Member::Floats { array: signs.view(), single: false })?;
    if let Some(b) = map.intercept() {
        npz.add("intercept", &Member::Floats { array: b.into_dyn(), single: false })?;
    }
    npz.add("metadata", &Member::Text(&text))?;
    npz.finish().map(drop)
}

/// Reads a map with signs and intercept; None where the file is a stack or something else.
pub fn load_affine(path: impl AsRef<Path>) -> Result<Option<SavedAffine>, DiskError> {
    let path = path.as_ref();
    let file = File::open(path).map_err(|source| DiskError::Io { path: path.to_owned(), source })?;
    read(path, BufReader::new(file))
}

/// Reads a map from the bytes of a file; `path` is the name used in messages.
pub(super) fn read(path: &Path, from: impl Read + Seek) -> Result<Option<SavedAffine>, DiskError> {
    let corrupt = |what: String| DiskError::Corrupt { path: path.to_owned(), what };
    // What is no archive at all is for the reader of stacks to complain about.
    let Ok(mut archive) = NpzReader::open(&path.display().to_string(), from) else { return Ok(None) };
    if !archive.has("signs") || !archive.has("metadata") {
        return Ok(None);
    }
    let intercept = archive.has("intercept");
    let mut array = |name: &str| archive.array(name).map_err(|e| corrupt(format!("the array `{name}` {}", e.defect)));
    let Array::Text { values, .. } = array("metadata")? else {
        return Err(corrupt("the array `metadata` is not a text".into()));
    };
    let meta: Metadata = serde_json::from_str(&values.concat()).map_err(|e| corrupt(format!("metadata: {e}")))?;
    if meta.format != FORMAT || meta.schema != SCHEMA {
        return Err(corrupt(format!("format `{}` {}, expected `{FORMAT}` {SCHEMA}", meta.format, meta.schema)));
    }
    let positivity =
        Positivity::of(&meta.positivity).ok_or_else(|| corrupt(format!("positivity `{}`", meta.positivity)))?;
    let mut numbers = |name: &str| -> Result<ndarray::ArrayD<f64>, DiskError> {
        match array(name)? {
            Array::Numbers { values, .. } => Ok(values),
            Array::Text { .. } => Err(corrupt(format!("the array `{name}` does not hold numbers"))),
        }
    };
    let shape = |name: &str| corrupt(format!("the array `{name}` has the wrong number of axes"));
    let ops = numbers("layer0")?.into_dimensionality::<Ix3>().map_err(|_| shape("layer0"))?;
    let signs = numbers("signs")?.into_dimensionality::<Ix1>().map_err(|_| shape("signs"))?;
    let b = match intercept {
        true => Some(numbers("intercept")?.into_dimensionality::<Ix2>().map_err(|_| shape("intercept"))?),
        false => None,
    };
    let model = |source: Error| DiskError::Model { path: path.to_owned(), source };
    let map = AffineMap::new(ops, signs.to_vec(), b, positivity).map_err(model)?;
    Ok(Some(SavedAffine { map, notes: meta.notes }))
}
