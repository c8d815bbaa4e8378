//! Fitted stacks on disk: one .npz that numpy reads as it is.
//!
//! | array | what |
//! |---|---|
//! | `layer0`, `layer1`, ... | operators, shape (r, q, p), first applied first |
//! | `gamma` | scalar: the clamp between layers, NaN for none |
//! | `metadata` | one JSON string: format, version, sizes, ranks, solver, loss history |
//!
//! `numpy.load("model.npz")["layer0"]` gives the operators; `json.loads(str(f["metadata"]))` the rest. The same model gives the
//! same bytes. Written to a temporary file beside the target and renamed: a file is whole or absent.

use crate::error::Error;
use crate::map::KrausMap;
use crate::solver::{Fit, History, Stop};
use crate::stack::{Gamma, Stack};
use linalg::Real;
use ndarray::{Ix3, arr0};
use npy::{Array, Member, NpzReader, NpzWriter};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufReader, BufWriter, Cursor, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Why a model could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Its reason.
        source: std::io::Error,
    },
    /// The file is not a model: truncated, of another kind or tampered with.
    #[error("{}: {what}; write the model again with `save`", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The arrays do not make a stack.
    #[error("{}: {source}", path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: Error,
    },
}

/// Number of the layout above; raised when a reader of the old layout could misunderstand the new one.
const SCHEMA: u32 = 1;
const FORMAT: &str = "kraus-stack";

/// The metadata string. Times are left out: the same fit gives the same bytes.
#[derive(Debug, Serialize, Deserialize)]
struct Metadata {
    format: String,
    schema: u32,
    version: String,
    dims: Vec<usize>,
    ranks: Vec<usize>,
    gamma: Option<f64>,
    dtype: String,
    solver: String,
    stop: String,
    model_epoch: usize,
    loss: Vec<f64>,
    validation: Vec<f64>,
    notes: Vec<String>,
}

const STOPS: [(Stop, &str); 6] = [
    (Stop::Max, "max"),
    (Stop::Tolerance, "tolerance"),
    (Stop::Target, "target"),
    (Stop::Patience, "patience"),
    (Stop::Cancelled, "cancelled"),
    (Stop::Direct, "direct"),
];

/// Writes a fitted stack.
pub fn save<T: Real>(path: impl AsRef<Path>, fit: &Fit<T>) -> Result<(), DiskError> {
    let path = path.as_ref();
    atomically(path, |file| write(file, fit)).map_err(|source| DiskError::Io { path: path.to_owned(), source })
}

/// The bytes that [`save`] writes.
pub fn to_bytes<T: Real>(fit: &Fit<T>) -> std::io::Result<Vec<u8>> {
    let mut bytes = Cursor::new(Vec::new());
    write(&mut bytes, fit)?;
    Ok(bytes.into_inner())
}

fn write<T: Real>(to: &mut (impl Write + Seek), fit: &Fit<T>) -> std::io::Result<()> {
    let arch = fit.model.architecture();
    let single = size_of::<T>() == 4;
    let gamma = match arch.gamma {
        Gamma::None => None,
        Gamma::Clamp(eps) => Some(eps),
    };
    let h = &fit.history;
    let stop = STOPS.iter().find(|(s, _)| *s == h.stop).map_or("max", |(_, name)| name);
    let metadata = Metadata {
        format: FORMAT.into(),
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        dims: arch.dims,
        ranks: arch.ranks,
        gamma,
        dtype: if single { "f4" } else { "f8" }.into(),
        solver: h.solver.clone(),
        stop: stop.into(),
        model_epoch: h.model_epoch,
        loss: h.loss.clone(),
        validation: h.validation.clone(),
        notes: h.notes.clone(),
    };
    let text = serde_json::to_string(&metadata)?;
    let mut npz = NpzWriter::new(to);
    for (i, map) in fit.model.layers().iter().enumerate() {
        let ops = map.ops().mapv(|v| v.as_f64()).into_dyn();
        npz.add(&format!("layer{i}"), &Member::Floats { array: ops.view(), single })?;
    }
    let clamp = arr0(gamma.unwrap_or(f64::NAN)).into_dyn();
    npz.add("gamma", &Member::Floats { array: clamp.view(), single: false })?;
    npz.add("metadata", &Member::Text(&text))?;
    npz.finish().map(drop)
}

/// Writes through a temporary file in the same folder, synced and renamed; nothing is left behind on failure.
pub(crate) fn atomically(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let name = path.file_name().ok_or_else(|| std::io::Error::other("not a file name"))?;
    let mut temporary = std::ffi::OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(temporary);
    let result = (|| {
        let mut file = BufWriter::new(File::create(&temporary)?);
        fill(&mut file)?;
        file.flush()?;
        file.get_ref().sync_all()?;
        std::fs::rename(&temporary, path)
    })();
    if result.is_err() {
        // The first error is the one to report; a leftover that cannot be removed adds nothing to it.
        let _ = std::fs::remove_file(&temporary);
    }
    result
}

/// Reads a fitted stack. Arrays of the other precision are converted.
pub fn load<T: Real>(path: impl AsRef<Path>) -> Result<Fit<T>, DiskError> {
    let path = path.as_ref();
    let file = File::open(path).map_err(|source| DiskError::Io { path: path.to_owned(), source })?;
    read(path, BufReader::new(file))
}

/// Reads what [`to_bytes`] gave; `path` is the name used in messages.
pub fn from_bytes<T: Real>(path: impl AsRef<Path>, bytes: &[u8]) -> Result<Fit<T>, DiskError> {
    read(path.as_ref(), Cursor::new(bytes))
}

fn read<T: Real>(path: &Path, from: impl Read + Seek) -> Result<Fit<T>, DiskError> {
    let corrupt = |what: String| DiskError::Corrupt { path: path.to_owned(), what };
    // `DiskError` names the file, so that the problem alone is taken from the reader's error.
    let name = path.display().to_string();
    let mut archive = NpzReader::open(&name, from).map_err(|e| corrupt(e.defect.to_string()))?;
    let depth = archive.names().iter().filter(|n| n.starts_with("layer")).count();
    let mut array = |name: &str| archive.array(name).map_err(|e| corrupt(format!("the array `{name}` {}", e.defect)));
    let Array::Text { values, .. } = array("metadata")? else {
        return Err(corrupt("the array `metadata` is not a text".into()));
    };
    let text = values.concat();
    let meta: Metadata = serde_json::from_str(&text).map_err(|e| corrupt(format!("metadata: {e}")))?;
    if meta.format != FORMAT || meta.schema != SCHEMA {
        let (format, schema) = (meta.format, meta.schema);
        return Err(corrupt(format!("format `{format}` {schema}, expected `{FORMAT}` {SCHEMA}")));
    }
    let gamma = match array("gamma")? {
        Array::Numbers { values, .. } if values.len() == 1 => values.sum(),
        _ => return Err(corrupt("the array `gamma` is not one number".into())),
    };
    let gamma = if gamma.is_nan() { Gamma::None } else { Gamma::Clamp(gamma) };
    let model = |source: Error| DiskError::Model { path: path.to_owned(), source };
    let mut layers = Vec::new();
    for i in 0..depth {
        let name = format!("layer{i}");
        let Array::Numbers { values, .. } = array(&name)? else {
            return Err(corrupt(format!("the array `{name}` does not hold numbers")));
        };
        let shape = npy::shape_text(values.shape());
        let ops = values
            .into_dimensionality::<Ix3>()
            .map_err(|_| corrupt(format!("the array `{name}` has shape {shape}, expected (r, q, p)")))?;
        layers.push(KrausMap::new(ops.mapv(T::of)).map_err(model)?);
    }
    let stack = Stack::new(layers, gamma).map_err(model)?;
    let arch = stack.architecture();
    if arch.dims != meta.dims || arch.ranks != meta.ranks {
        return Err(corrupt(format!("arrays have sizes {:?}, the metadata say {:?}", arch.dims, meta.dims)));
    }
    let mut history = History::of(&meta.solver);
    history.loss = meta.loss;
    history.validation = meta.validation;
    history.notes = meta.notes;
    history.model_epoch = meta.model_epoch;
    history.stop = STOPS.iter().find(|(_, name)| *name == meta.stop).map_or(Stop::Max, |(s, _)| *s);
    Ok(Fit { model: stack, history, last: None })
}
