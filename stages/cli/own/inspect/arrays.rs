//! The arrays of a .npy, .npz or .mat file: shapes, types, ranges.

use super::super::arrays::bytes;
use super::super::facts::{Facts, number};
use super::super::times;
use anyhow::{Context, Result};
use datasets::mat::{self, Value};
use npy::{Array, NpzReader, Reader};
use serde_json::json;
use std::fs::File;
use std::io::BufReader;

/// Arrays above this are not read, only their header is shown.
const LARGEST: u64 = 1 << 30;

fn open(name: &str) -> Result<NpzReader<BufReader<File>>> {
    let file = File::open(name).with_context(|| format!("{name} cannot be read"))?;
    Ok(NpzReader::open(name, BufReader::new(file))?)
}

/// Whether an .npz is a model. A file that is no archive is left to the reader of models, which says so.
pub fn is_model(name: &str) -> Result<bool> {
    if !std::path::Path::new(name).is_file() {
        return Ok(true);
    }
    Ok(open(name).map_or(true, |npz| npz.has("metadata") && npz.has("layer0")))
}

/// The page of an .npy file.
pub fn npy(name: &str, facts: &mut Facts) -> Result<()> {
    let file = File::open(name).with_context(|| format!("{name} cannot be read"))?;
    let mut array = Reader::open(name, file)?;
    let (shape, dtype) = (array.shape().to_vec(), array.dtype());
    facts.say("shape", times(&shape), json!(shape));
    facts.say("type", dtype.name(), dtype.name());
    facts.say("order", if array.header().fortran { "Fortran" } else { "C" }, array.header().fortran);
    if dtype.is_text() {
        words(facts, &array.text()?);
    } else if array.header().bytes() <= LARGEST {
        range(facts, "values", array.all()?.iter().copied());
    }
    Ok(())
}

/// The page of an .npz file that is no model.
pub fn npz(name: &str, facts: &mut Facts) -> Result<()> {
    let mut npz = open(name)?;
    for array in npz.names() {
        let header = npz.header(&array)?;
        let mut text = format!("{}, {}", times(&header.shape), header.dtype.name());
        if header.bytes() <= LARGEST
            && let Array::Numbers { values, .. } = npz.array(&array)?
        {
            text += &format!(", {}", summary(values.iter().copied()));
        }
        facts.say(&array, text, json!({"shape": header.shape, "type": header.dtype.name()}));
    }
    Ok(())
}

/// The page of a MATLAB file.
pub fn mat(name: &str, facts: &mut Facts) -> Result<()> {
    for (variable, value) in mat::read(name, &bytes(name)?)? {
        let (text, shape) = describe(&value);
        facts.say(&variable, text, json!({"shape": shape}));
    }
    Ok(())
}

fn describe(value: &Value) -> (String, Vec<usize>) {
    match value {
        Value::Numeric(n) => {
            let kind = if n.imaginary.is_some() { "complex numbers" } else { "numbers" };
            (format!("{}, {kind}, {}", times(&n.shape), summary(n.data.iter().copied())), n.shape.clone())
        }
        Value::Text(t) => (format!("text `{}`", t.chars().take(40).collect::<String>()), vec![]),
        Value::Cell { shape, .. } => (format!("{} cells", times(shape)), shape.clone()),
        Value::Struct { shape, names, .. } => {
            (format!("{} struct with the fields {}", times(shape), names.join(", ")), shape.clone())
        }
        Value::Unsupported(class) => (format!("of class {class}, which is not read here"), vec![]),
    }
}

/// `-1.2 to 3.4` and what is not finite.
fn summary(values: impl Iterator<Item = f64>) -> String {
    let (mut low, mut high, mut odd) = (f64::INFINITY, f64::NEG_INFINITY, 0usize);
    for v in values {
        if v.is_finite() {
            (low, high) = (low.min(v), high.max(v));
        } else {
            odd += 1;
        }
    }
    let range = if low <= high { format!("{} to {}", number(low), number(high)) } else { "no finite value".into() };
    if odd > 0 { format!("{range}, {odd} not finite") } else { range }
}

fn range(facts: &mut Facts, key: &str, values: impl Iterator<Item = f64>) {
    let text = summary(values);
    facts.say(key, text.clone(), text);
}

fn words(facts: &mut Facts, all: &[String]) {
    let mut names: Vec<&str> = all.iter().map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    let list = names.iter().take(12).copied().collect::<Vec<_>>().join(", ");
    facts.say("words", format!("{} different: {list}", names.len()), json!(names.len()));
}
