//! One view as text: numbers separated by blanks or commas, one row per line.

use ndarray::Array2;

use crate::{Error, Result};

/// Reads a table of exactly 2000 or 200 rows and `columns` finite numbers each. Errors name file, line and column.
///
/// ```
/// let text = "1 2.5\n".repeat(199) + "1 x\n";
/// let error = datasets::mfeat::parse_view("mfeat-fou", text.as_bytes(), 2).unwrap_err();
/// assert_eq!(error.to_string(), "mfeat-fou, line 200, column 2: `x` is not a number");
/// ```
pub fn parse_view(file: &str, bytes: &[u8], columns: usize) -> Result<Array2<f64>> {
    let bad = |line: usize, column: usize, what: String| Error::Text { file: file.to_string(), line, column, what };
    let text = match std::str::from_utf8(bytes) {
        Ok(t) => t,
        Err(e) => {
            let line = 1 + bytes[..e.valid_up_to()].iter().filter(|b| **b == b'\n').count();
            return Err(bad(line, 1, "this is not text".into()));
        }
    };
    let mut values = Vec::new();
    let mut rows = 0;
    let mut last = 0;
    for (i, line) in text.lines().enumerate() {
        let line_number = i + 1;
        if line.trim().is_empty() {
            continue;
        }
        rows += 1;
        last = line_number;
        if rows > 2000 {
            return Err(bad(line_number, 1, "more than 2000 rows".into()));
        }
        let mut column = 0;
        let mut push = |cell: &str| {
            column += 1;
            if column > columns {
                return Err(bad(line_number, column, format!("more than {columns} columns")));
            }
            let short: String = cell.chars().take(20).collect();
            let x: f64 = cell.parse().map_err(|_| bad(line_number, column, format!("`{short}` is not a number")))?;
            if !x.is_finite() {
                return Err(bad(line_number, column, format!("`{short}` is not finite")));
            }
            values.push(x);
            Ok(())
        };
        if line.contains(',') {
            line.split(',').try_for_each(|c| push(c.trim()))?;
        } else {
            line.split_whitespace().try_for_each(push)?;
        }
        if column < columns {
            return Err(bad(line_number, column + 1, format!("the row ends after {column} of {columns} columns")));
        }
    }
    if rows != 2000 && rows != 200 {
        return Err(bad(last, 1, format!("the file ends after {rows} rows; 2000 (or the paper's 200) are needed")));
    }
    // Every row pushed exactly `columns` values, so the shape fits.
    Array2::from_shape_vec((rows, columns), values).map_err(|e| bad(1, 1, e.to_string()))
}
