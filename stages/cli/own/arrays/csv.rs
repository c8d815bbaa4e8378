//! A table of numbers as text: commas, semicolons or blanks between the fields, one row per line.
//!
//! Not by polars, which takes one sign between fields and no blanks, and names no line of a file that it refuses.
//!
//! Names of columns and rows are recognised, as pandas and R write them, left out, and told: read as data they would be wrong silently.
//!
//! | what | is recognised by |
//! |---|---|
//! | line of column names | a field that is no number; or the numbers 0, 1, 2, ... over rows that are not all whole numbers |
//! | column of row names | fields that are no numbers under a line of column names; or 0, 1, 2, ... under an empty name, `Unnamed: 0` or `index`; or 0, 1, 2, ... where the rest is square |

use crate::cli::text::count;
use anyhow::{Context, Result, bail, ensure};
use ndarray::Array2;

/// A table and what was left out of it.
#[derive(Debug)]
pub struct Table {
    /// The numbers; empty fields, `nan` and `NA` are NaN.
    pub values: Array2<f64>,
    /// What was taken for names, in words.
    pub note: Option<String>,
}

/// The fields of a text, line by line.
struct Lines<'a> {
    path: &'a str,
    /// Number of the line (from 1) and its fields.
    lines: Vec<(usize, Vec<&'a str>)>,
}

/// Reads the table in `text`; `path` is the name used in messages.
pub fn table(path: &str, text: &str) -> Result<Table> {
    let mut all = split(path, text)?;
    let header = all.has_header();
    let names = if header { all.lines.remove(0).1 } else { Vec::new() };
    ensure!(!all.lines.is_empty(), "{path} holds no numbers; a matrix is one line per row");
    let index = all.has_index(&names)?;
    let columns = all.lines[0].1.len() - usize::from(index);
    ensure!(columns > 0, "{path} holds no numbers; a matrix is one line per row");
    let mut values = Vec::with_capacity(all.lines.len() * columns);
    for (number, fields) in &all.lines {
        for field in &fields[usize::from(index)..] {
            let value = parse(field);
            values.push(value.with_context(|| format!("{path}:{number}: `{field}` is no number; repair the line"))?);
        }
    }
    let note = match (header, index) {
        (true, true) => Some("the first line and the first column are names and were left out"),
        (true, false) => Some("the first line is names and was left out"),
        (false, true) => Some("the first column counts the rows and was left out"),
        (false, false) => None,
    };
    let values = Array2::from_shape_vec((all.lines.len(), columns), values)?;
    Ok(Table { values, note: note.map(str::to_owned) })
}

/// The words of a table with one column (of labels, say), without its name, or `None` if it has several columns.
pub fn words(path: &str, text: &str) -> Result<Option<Vec<String>>> {
    let mut all = split(path, text)?;
    let width = all.lines.first().map_or(0, |l| l.1.len());
    // An index written by pandas: an empty name over 0, 1, 2, ...
    let index = width == 2 && all.lines[0].1[0].is_empty() && counts(all.lines[1..].iter().map(|l| l.1[0]));
    if width != 1 && !index {
        return Ok(None);
    }
    if index || all.lines.len() > 1 && ["label", "labels", "class", "target"].contains(&all.lines[0].1[0]) {
        all.lines.remove(0);
    }
    Ok(Some(all.lines.iter().map(|l| l.1[usize::from(index)].trim_matches('"').to_owned()).collect()))
}

fn split<'a>(path: &'a str, text: &'a str) -> Result<Lines<'a>> {
    let mut lines: Vec<(usize, Vec<&str>)> = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
        let line = line.trim_start_matches('\u{feff}'); // the mark that Excel puts first
        let fields: Vec<&str> = match [',', ';', '\t'].into_iter().find(|s| line.contains(*s)) {
            Some(s) => line.split(s).map(str::trim).collect(),
            None => line.split_whitespace().collect(),
        };
        if let Some((_, before)) = lines.last() {
            let (got, expected) = (fields.len(), before.len());
            // R writes one name fewer than there are columns.
            let from_r = lines.len() == 1 && got == expected + 1 && before.iter().any(|f| parse(f).is_none());
            ensure!(
                got == expected || from_r,
                "{path}:{}: {} where the lines before have {expected}; repair the line",
                number + 1,
                count(got, "field")
            );
            if from_r {
                lines[0].1.insert(0, "");
            }
        }
        lines.push((number + 1, fields));
    }
    Ok(Lines { path, lines })
}

/// A number, or NaN for what is missing; nothing for a word.
fn parse(field: &str) -> Option<f64> {
    let missing = field.is_empty() || ["nan", "na", "null"].contains(&field.to_ascii_lowercase().as_str());
    if missing { Some(f64::NAN) } else { field.parse().ok() }
}

/// Whether the fields are 0, 1, 2, ... written as whole numbers.
fn counts<'a>(fields: impl Iterator<Item = &'a str>) -> bool {
    fields.enumerate().all(|(i, f)| f.parse() == Ok(i))
}

impl Lines<'_> {
    /// Whether the first line holds the names of the columns.
    fn has_header(&self) -> bool {
        let [(_, first), rest @ ..] = self.lines.as_slice() else { return false };
        if first.iter().any(|f| parse(f).is_none()) {
            return true;
        }
        let unnamed = usize::from(first.first().is_some_and(|f| f.is_empty()));
        let whole = |f: &&str| f.parse::<i64>().is_ok();
        // A line 0, 1, 2, ... may be data where all data are whole numbers.
        first.len() > 1
            && counts(first[unnamed..].iter().copied())
            && !rest.is_empty()
            && (unnamed == 1 || rest.iter().any(|(_, fields)| !fields.iter().all(&whole)))
    }

    /// Whether the first column holds the names of the rows; `names` is the line of names, empty without one.
    fn has_index(&self, names: &[&str]) -> Result<bool> {
        let (rows, columns) = (self.lines.len(), self.lines[0].1.len());
        let first = || self.lines.iter().map(|l| l.1[0]);
        let words = first().filter(|f| parse(f).is_none()).count();
        if words == rows && columns > 1 && !names.is_empty() {
            return Ok(true);
        }
        if let Some((number, fields)) = self.lines.iter().find(|l| parse(l.1[0]).is_none()).filter(|_| words < rows) {
            bail!("{}:{number}: `{}` is no number; repair the line", self.path, fields[0]);
        }
        let unnamed = names.first().is_some_and(|n| n.is_empty() || *n == "index" || n.starts_with("Unnamed"));
        Ok(columns > 1 && counts(first()) && (unnamed || columns == rows + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    fn read(text: &str) -> (Array2<f64>, Option<String>) {
        let t = table("x.csv", text).unwrap();
        (t.values, t.note)
    }

    #[test]
    fn plain_tables_are_read_as_they_are() {
        let plain = array![[1.0, 2.5], [3.0, 4.0]];
        for text in ["1,2.5\n3,4\n", "1; 2.5\n3;4", "1 2.5\n\n3\t4\n", "\u{feff}1,2.5\r\n3,4\r\n"] {
            assert_eq!(read(text), (plain.clone(), None), "{text:?}");
        }
        let (missing, _) = read("1,\n2,nan\n");
        assert!(missing[[0, 1]].is_nan() && missing[[1, 1]].is_nan());
    }

    /// `DataFrame.to_csv()` with its default names gave one row and one column too many.
    #[test]
    fn what_pandas_writes_is_recognised() {
        let square = array![[1.0, 0.5], [0.5, 1.0]];
        for text in
            [",0,1\n0,1.0,0.5\n1,0.5,1.0\n", "Unnamed: 0,a,b\n0,1.0,0.5\n1,0.5,1.0\n", ",a,b\nx,1.0,0.5\ny,0.5,1.0\n"]
        {
            let (values, note) = read(text);
            assert_eq!(values, square, "{text:?}");
            assert!(note.unwrap().contains("first line and the first column"), "{text:?}");
        }
        let (values, note) = read("0,1\n1.0,0.5\n0.5,1.0\n");
        assert_eq!(values, square);
        assert!(note.unwrap().starts_with("the first line is names"));
        let (values, note) = read("0,1.0,0.5\n1,0.5,1.0\n");
        assert_eq!(values, square);
        assert!(note.unwrap().starts_with("the first column counts"));
        // R: one name fewer than columns.
        let (values, _) = read("a b\nx 1.0 0.5\ny 0.5 1.0\n");
        assert_eq!(values, square);
    }

    #[test]
    fn data_that_only_look_like_names_stay() {
        assert_eq!(read("0,1,2\n3,4,5\n").0.nrows(), 2, "whole numbers all over");
        assert_eq!(read("0\n1\n2\n").0.dim(), (3, 1), "labels");
        assert_eq!(read("a,b\n0,1.5\n1,2.5\n2,0.5\n").0.dim(), (3, 2), "a named column that counts is data");
    }

    #[test]
    fn what_is_no_table_is_refused_with_its_line() {
        let said = |text: &str| table("x.csv", text).unwrap_err().to_string();
        assert!(said("1,2\n3,oops\n").contains("x.csv:2: `oops` is no number"), "{}", said("1,2\n3,oops\n"));
        assert!(said("1,2\n3,4,5\n").contains("x.csv:2: 3 fields where the lines before have 2"));
        assert!(said("1,2\n3,4\n5\n").contains("x.csv:3: 1 field where the lines before have 2"));
        assert!(said("a,b\n").contains("holds no numbers") && said("").contains("holds no numbers"));
        assert!(said("a,b\nx,1\n2,3\n").contains("x.csv:2: `x` is no number"));
    }

    #[test]
    fn words_are_one_column() {
        let two = Some(vec!["left".to_string(), "right".into()]);
        for text in ["left\nright\n", "label\nleft\nright\n", ",0\n0,left\n1,right\n", "\"left\"\n\"right\"\n"] {
            assert_eq!(words("y.csv", text).unwrap(), two, "{text:?}");
        }
        assert_eq!(words("y.csv", "a,b\nc,d\n").unwrap(), None);
    }
}
