//! Frames in and out: JSON rows in; CSV and Parquet in and out.

use std::io::Cursor;

use polars::prelude::{
    AnyValue, Column, DataFrame, DataType, IntoLazy, LazyFrame, SerReader, SerWriter, Series, UnionArgs, concat,
};
use polars_io::prelude::{CsvReadOptions, CsvWriter, ParquetCompression, ParquetReader, ParquetWriter};
use serde_json::{Map, Value};

use crate::error::Error;

/// From JSON objects, one per row; columns in order of first appearance, missing keys are null. A column of whole numbers and other
/// numbers holds floats; mixed with text, text.
///
/// JSON has no NaN and no infinity: the words `NaN`, `inf` and `-inf` stand for them.
pub fn from_rows(rows: &[Map<String, Value>]) -> Result<DataFrame, Error> {
    let mut names: Vec<&String> = Vec::new();
    for key in rows.iter().flat_map(|r| r.keys()) {
        if !names.contains(&key) {
            names.push(key);
        }
    }
    let column = |name: &&String| {
        let cells: Vec<AnyValue> = rows.iter().map(|r| r.get(*name).map_or(AnyValue::Null, cell)).collect();
        let text = cells.iter().any(|c| matches!(c, AnyValue::String(_)));
        let float = cells.iter().any(|c| matches!(c, AnyValue::Float64(_)));
        let kind = match cells.iter().find(|c| !c.is_null()) {
            _ if text => DataType::String,
            _ if float => DataType::Float64,
            Some(first) => first.dtype(),
            None => DataType::Null,
        };
        Ok(Column::from(Series::from_any_values_and_dtype(name.as_str().into(), &cells, &kind, false)?))
    };
    let columns = names.iter().map(column).collect::<Result<Vec<_>, Error>>()?;
    Ok(DataFrame::new(rows.len(), columns)?)
}

fn cell(value: &Value) -> AnyValue<'_> {
    match value {
        Value::Null => AnyValue::Null,
        Value::Bool(b) => AnyValue::Boolean(*b),
        Value::Number(n) => match n.as_i64() {
            Some(i) => AnyValue::Int64(i),
            None => AnyValue::Float64(n.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(s) => match s.as_str() {
            "NaN" => AnyValue::Float64(f64::NAN),
            "inf" => AnyValue::Float64(f64::INFINITY),
            "-inf" => AnyValue::Float64(f64::NEG_INFINITY),
            s => AnyValue::String(s),
        },
        nested => AnyValue::StringOwned(nested.to_string().into()),
    }
}

/// Frames below one another: all their columns in order of first appearance, null where a frame does not have one. A column that is text in
/// one frame is text in all, and numbers of different kinds become floats.
pub fn stacked(frames: &[DataFrame]) -> Result<DataFrame, Error> {
    if frames.is_empty() {
        return Ok(DataFrame::empty());
    }
    let parts: Vec<LazyFrame> = frames.iter().map(|f| f.clone().lazy()).collect();
    Ok(concat(parts, UnionArgs { diagonal: true, to_supertypes: true, ..Default::default() })?.collect()?)
}

/// From CSV with a header line; the kind of a column follows from all its values.
pub fn from_csv(text: &str) -> Result<DataFrame, Error> {
    let options = CsvReadOptions::default().with_has_header(true).with_infer_schema_length(None);
    Ok(options.into_reader_with_file_handle(Cursor::new(text.as_bytes())).finish()?)
}

/// As CSV; numbers keep all their digits.
pub fn to_csv(frame: &DataFrame) -> Result<String, Error> {
    let mut out = Vec::new();
    CsvWriter::new(&mut out).finish(&mut frame.clone())?;
    // The writer gives what it was given, and all text in a frame is UTF-8.
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// From the bytes of a Parquet file.
pub fn from_parquet(bytes: &[u8]) -> Result<DataFrame, Error> {
    Ok(ParquetReader::new(Cursor::new(bytes)).finish()?)
}

/// As a Parquet file: kinds and bits of all values are kept, and Python opens it.
pub fn to_parquet(frame: &DataFrame) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    ParquetWriter::new(&mut out).with_compression(ParquetCompression::Snappy).finish(&mut frame.clone())?;
    Ok(out)
}
