//! Raw results: one row per fit, kept as a polars frame, read from and written to CSV and JSON rows.
//!
//! polars is built here with its eager core only (its readers and lazy engine triple the build), so reading, writing, grouping
//! and pivoting are a few plain functions over columns. Sizes are thousands of rows, where this costs nothing.

use polars::prelude::{AnyValue, Column, DataFrame, DataType, NamedFrom, Series};
use serde_json::{Map, Value};

use crate::error::Error;
use crate::page::escape;

/// One value of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing there.
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// Text.
    Text(String),
}

impl Cell {
    /// As a number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Cell::Int(i) => Some(*i as f64),
            Cell::Float(f) => Some(*f),
            _ => None,
        }
    }

    /// As text that reads back as the same value.
    pub fn text(&self) -> String {
        match self {
            Cell::Null => String::new(),
            Cell::Bool(b) => b.to_string(),
            Cell::Int(i) => i.to_string(),
            // Debug prints the shortest digits that read back exactly, and keeps ".0" so that it stays a float.
            Cell::Float(f) if f.is_finite() => format!("{f:?}"),
            Cell::Float(f) if f.is_nan() => "NaN".into(),
            Cell::Float(f) => if *f > 0.0 { "inf" } else { "-inf" }.into(),
            Cell::Text(t) => t.clone(),
        }
    }

    /// The value that `text` stands for.
    pub fn parse(text: &str) -> Cell {
        match text {
            "" => Cell::Null,
            "true" => Cell::Bool(true),
            "false" => Cell::Bool(false),
            "NaN" => Cell::Float(f64::NAN),
            "inf" => Cell::Float(f64::INFINITY),
            "-inf" => Cell::Float(f64::NEG_INFINITY),
            t if t.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.') => t
                .parse()
                .map(Cell::Int)
                .or_else(|_| t.parse().map(Cell::Float))
                .unwrap_or_else(|_| Cell::Text(t.into())),
            t => Cell::Text(t.into()),
        }
    }

    fn from_json(v: &Value) -> Cell {
        match v {
            Value::Null => Cell::Null,
            Value::Bool(b) => Cell::Bool(*b),
            Value::Number(n) => n.as_i64().map(Cell::Int).unwrap_or(Cell::Float(n.as_f64().unwrap_or(f64::NAN))),
            Value::String(s) => match s.as_str() {
                // JSON has no such numbers; we write them as these words.
                "NaN" | "inf" | "-inf" => Cell::parse(s),
                s => Cell::Text(s.into()),
            },
            other => Cell::Text(other.to_string()),
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Cell::Null => Value::Null,
            Cell::Bool(b) => Value::from(*b),
            Cell::Int(i) => Value::from(*i),
            Cell::Float(f) if f.is_finite() => Value::from(*f),
            other => Value::from(other.text()),
        }
    }
}

/// Rows of results.
#[derive(Clone, Debug)]
pub struct Results {
    frame: DataFrame,
}

impl Results {
    /// From a polars frame.
    pub fn from_frame(frame: DataFrame) -> Self {
        Results { frame }
    }

    /// The polars frame.
    pub fn frame(&self) -> &DataFrame {
        &self.frame
    }

    /// From named columns of equal length. A column of whole numbers and floats becomes floats; mixed with text, text.
    pub fn from_columns(columns: Vec<(String, Vec<Cell>)>) -> Result<Self, Error> {
        let height = columns.first().map_or(0, |c| c.1.len());
        let made = columns.into_iter().map(|(name, cells)| column(&name, &cells)).collect();
        Ok(Results { frame: DataFrame::new(height, made)? })
    }

    /// From JSON objects, one per row; columns in order of first appearance, missing keys are null.
    pub fn from_rows(rows: &[Map<String, Value>]) -> Result<Self, Error> {
        let mut names: Vec<&String> = Vec::new();
        for key in rows.iter().flat_map(|r| r.keys()) {
            if !names.contains(&key) {
                names.push(key);
            }
        }
        let cell = |r: &Map<String, Value>, n: &str| r.get(n).map_or(Cell::Null, Cell::from_json);
        let columns = names.iter().map(|n| (n.to_string(), rows.iter().map(|r| cell(r, n)).collect())).collect();
        Results::from_columns(columns)
    }

    /// From a JSON array of objects, or one object per line.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let bad = |source| Error::Json { what: "result rows".into(), source };
        let rows: Vec<Map<String, Value>> = if text.trim_start().starts_with('[') {
            serde_json::from_str(text).map_err(bad)?
        } else {
            text.lines()
                .filter(|l| !l.trim().is_empty())
                .map(serde_json::from_str)
                .collect::<Result<_, _>>()
                .map_err(bad)?
        };
        Results::from_rows(&rows)
    }

    /// Rows as JSON objects.
    pub fn rows(&self) -> Vec<Map<String, Value>> {
        let columns: Vec<(String, Vec<Cell>)> = self.columns();
        (0..self.len()).map(|i| columns.iter().map(|(n, c)| (n.clone(), c[i].to_json())).collect()).collect()
    }

    /// As a JSON array.
    pub fn to_json(&self) -> String {
        // Maps of strings and finite numbers always serialise.
        serde_json::to_string(&self.rows()).unwrap_or_default()
    }

    /// From CSV with a header line.
    pub fn from_csv(text: &str) -> Result<Self, Error> {
        let records = parse_csv(text)?;
        let Some((head, body)) = records.split_first() else {
            return Err(Error::Csv { line: 1, why: "the file is empty".into() });
        };
        for (line, r) in body {
            if r.len() != head.1.len() {
                let why = format!("{} fields where the header has {}", r.len(), head.1.len());
                return Err(Error::Csv { line: *line, why });
            }
        }
        let columns = head.1.iter().enumerate();
        Results::from_columns(
            columns.map(|(i, n)| (n.clone(), body.iter().map(|r| Cell::parse(&r.1[i])).collect())).collect(),
        )
    }

    /// As CSV; numbers keep all their digits.
    pub fn to_csv(&self) -> String {
        let columns = self.columns();
        let mut out = columns.iter().map(|c| escape::csv(&c.0)).collect::<Vec<_>>().join(",");
        out.push('\n');
        for i in 0..self.len() {
            out.push_str(&columns.iter().map(|c| escape::csv(&c.1[i].text())).collect::<Vec<_>>().join(","));
            out.push('\n');
        }
        out
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.frame.height()
    }

    /// No rows at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Column names.
    pub fn names(&self) -> Vec<String> {
        self.frame.get_column_names().iter().map(|n| n.to_string()).collect()
    }

    /// All columns as cells.
    pub fn columns(&self) -> Vec<(String, Vec<Cell>)> {
        self.frame.columns().iter().map(|c| (c.name().to_string(), cells(c))).collect()
    }

    /// One column as cells.
    pub fn column(&self, name: &str) -> Result<Vec<Cell>, Error> {
        let found = self.frame.column(name);
        found.map(cells).map_err(|_| Error::NoColumn { column: name.into(), have: self.names().join(", ") })
    }

    /// One column as numbers; null is NaN.
    pub fn numbers(&self, name: &str) -> Result<Vec<f64>, Error> {
        let one = |(i, c): (usize, &Cell)| match c {
            Cell::Null => Ok(f64::NAN),
            c => c.number().ok_or_else(|| Error::NotANumber { column: name.into(), row: i + 1, value: c.text() }),
        };
        self.column(name)?.iter().enumerate().map(one).collect()
    }

    /// The rows whose numbers are listed, in that order; numbers past the end are left out.
    pub fn take(&self, rows: &[usize]) -> Result<Self, Error> {
        let pick = |c: &[Cell]| rows.iter().filter_map(|i| c.get(*i).cloned()).collect();
        Results::from_columns(self.columns().into_iter().map(|(n, c)| (n, pick(&c))).collect())
    }

    /// The rows where `column` has the value written as `text` (numbers are compared as numbers).
    pub fn only(&self, column: &str, text: &str) -> Result<Self, Error> {
        let want = Cell::parse(text);
        let same = |c: &Cell| c.text() == text || (c.number().is_some() && c.number() == want.number());
        let rows: Vec<usize> =
            self.column(column)?.iter().enumerate().filter(|(_, c)| same(c)).map(|(i, _)| i).collect();
        self.take(&rows)
    }
}

fn column(name: &str, cells: &[Cell]) -> Column {
    let all = |f: fn(&Cell) -> bool| cells.iter().all(|c| *c == Cell::Null || f(c));
    let series = if cells.iter().any(|c| *c != Cell::Null) && all(|c| matches!(c, Cell::Bool(_))) {
        let v: Vec<Option<bool>> = cells.iter().map(|c| if let Cell::Bool(b) = c { Some(*b) } else { None }).collect();
        Series::new(name.into(), v)
    } else if cells.iter().any(|c| *c != Cell::Null) && all(|c| matches!(c, Cell::Int(_))) {
        let v: Vec<Option<i64>> = cells.iter().map(|c| if let Cell::Int(i) = c { Some(*i) } else { None }).collect();
        Series::new(name.into(), v)
    } else if all(|c| c.number().is_some()) {
        Series::new(name.into(), cells.iter().map(Cell::number).collect::<Vec<Option<f64>>>())
    } else {
        let v: Vec<Option<String>> = cells.iter().map(|c| (*c != Cell::Null).then(|| c.text())).collect();
        Series::new(name.into(), v)
    };
    series.into()
}

fn cells(c: &Column) -> Vec<Cell> {
    let ints = matches!(c.dtype(), DataType::Int64 | DataType::Int32 | DataType::UInt32 | DataType::UInt64);
    let one = |v: AnyValue| match v {
        AnyValue::Null => Cell::Null,
        AnyValue::Boolean(b) => Cell::Bool(b),
        AnyValue::String(s) => Cell::Text(s.to_string()),
        AnyValue::StringOwned(s) => Cell::Text(s.to_string()),
        v if ints => v.try_extract::<i64>().map_or(Cell::Null, Cell::Int),
        v => v.try_extract::<f64>().map_or_else(|_| Cell::Text(v.to_string()), Cell::Float),
    };
    (0..c.len()).map(|i| c.get(i).map_or(Cell::Null, one)).collect()
}

/// Records with the line each begins on.
fn parse_csv(text: &str) -> Result<Vec<(usize, Vec<String>)>, Error> {
    let mut records = Vec::new();
    let (mut record, mut field) = (Vec::new(), String::new());
    let (mut line, mut start, mut quoted, mut was_quoted) = (1, 1, false, false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' if quoted => quoted = false,
            '"' if field.is_empty() && !was_quoted => (quoted, was_quoted) = (true, true),
            '"' => return Err(Error::Csv { line, why: "a quote inside a field that is not quoted".into() }),
            ',' if !quoted => {
                record.push(std::mem::take(&mut field));
                was_quoted = false;
            }
            '\r' if !quoted && chars.peek() == Some(&'\n') => {}
            '\n' if !quoted => {
                line += 1;
                record.push(std::mem::take(&mut field));
                was_quoted = false;
                if record.len() > 1 || !record[0].is_empty() {
                    records.push((start, std::mem::take(&mut record)));
                }
                record.clear();
                start = line;
            }
            c => {
                line += usize::from(c == '\n');
                field.push(c);
            }
        }
    }
    if quoted {
        return Err(Error::Csv { line: start, why: "a quoted field never ends".into() });
    }
    if !field.is_empty() || !record.is_empty() {
        record.push(field);
        records.push((start, record));
    }
    Ok(records)
}
