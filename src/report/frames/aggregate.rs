//! Grouping, aggregation, pivoting, choosing: what makes table 2 and figure 2 out of a thousand rows.
//!
//! Groups keep the order of their first row, and sums run in row order, so the same rows give the same bits.

use crate::error::Error;
use crate::frames::results::{Cell, Results};

/// Mean, deviation and extremes of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Number of finite values.
    pub n: usize,
    /// Mean.
    pub mean: f64,
    /// Standard deviation with n - 1; NaN for n < 2.
    pub sd: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
}

impl Summary {
    /// Of the finite values among `values`.
    ///
    /// ```
    /// let s = report::aggregate::Summary::of([1.0, 3.0, f64::NAN]);
    /// assert_eq!((s.n, s.mean, s.min, s.max), (2, 2.0, 1.0, 3.0));
    /// assert!((s.sd - 2f64.sqrt()).abs() < 1e-15);
    /// ```
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let v: Vec<f64> = values.into_iter().filter(|v| v.is_finite()).collect();
        let n = v.len();
        let mean = v.iter().sum::<f64>() / n as f64;
        let square: f64 = v.iter().map(|x| (x - mean) * (x - mean)).sum();
        Summary {
            n,
            mean,
            sd: if n > 1 { (square / (n - 1) as f64).sqrt() } else { f64::NAN },
            min: v.iter().copied().reduce(f64::min).unwrap_or(f64::NAN),
            max: v.iter().copied().reduce(f64::max).unwrap_or(f64::NAN),
        }
    }
}

/// Rows that share the values of the key columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The shared values.
    pub key: Vec<Cell>,
    /// Row numbers, ascending.
    pub rows: Vec<usize>,
}

impl Results {
    /// Split the rows by the key columns.
    pub fn groups(&self, keys: &[&str]) -> Result<Vec<Group>, Error> {
        let columns = keys.iter().map(|k| self.column(k)).collect::<Result<Vec<_>, _>>()?;
        let mut found: std::collections::HashMap<Vec<String>, usize> = Default::default();
        let mut groups: Vec<Group> = Vec::new();
        for i in 0..self.len() {
            let key: Vec<Cell> = columns.iter().map(|c| c[i].clone()).collect();
            let at = *found.entry(key.iter().map(Cell::text).collect()).or_insert(groups.len());
            if at == groups.len() {
                groups.push(Group { key, rows: Vec::new() });
            }
            groups[at].rows.push(i);
        }
        Ok(groups)
    }

    /// Key columns, then `n`, `mean`, `sd`, `min`, `max` of `value` per group.
    pub fn aggregate(&self, keys: &[&str], value: &str) -> Result<Results, Error> {
        let numbers = self.numbers(value)?;
        let groups = self.groups(keys)?;
        let s: Vec<Summary> = groups.iter().map(|g| Summary::of(g.rows.iter().map(|i| numbers[*i]))).collect();
        let mut columns: Vec<(String, Vec<Cell>)> = keys
            .iter()
            .enumerate()
            .map(|(k, n)| (n.to_string(), groups.iter().map(|g| g.key[k].clone()).collect()))
            .collect();
        let float = |f: fn(&Summary) -> f64| s.iter().map(|s| Cell::Float(f(s))).collect::<Vec<_>>();
        columns.push(("n".into(), s.iter().map(|s| Cell::Int(s.n as i64)).collect()));
        columns.push(("mean".into(), float(|s| s.mean)));
        columns.push(("sd".into(), float(|s| s.sd)));
        columns.push(("min".into(), float(|s| s.min)));
        columns.push(("max".into(), float(|s| s.max)));
        Results::from_columns(columns)
    }

    /// Of each group the row with the smallest `by` (the rank chosen on the validation set, say); rows without a number are
    /// passed over.
    pub fn best(&self, keys: &[&str], by: &str) -> Result<Results, Error> {
        let numbers = self.numbers(by)?;
        let rows: Vec<usize> = self
            .groups(keys)?
            .iter()
            .filter_map(|g| {
                let usable = g.rows.iter().copied().filter(|i| !numbers[*i].is_nan());
                usable.min_by(|a, b| numbers[*a].total_cmp(&numbers[*b]))
            })
            .collect();
        self.take(&rows)
    }

    /// One row per value of `row`, one column per value of `column`, the first matching `value` in each cell.
    pub fn pivot(&self, row: &str, column: &str, value: &str) -> Result<Results, Error> {
        let (rows, columns, values) = (self.groups(&[row])?, self.groups(&[column])?, self.column(value)?);
        let cell =
            |r: &[usize], c: &[usize]| r.iter().find(|i| c.contains(i)).map_or(Cell::Null, |i| values[*i].clone());
        let mut out = vec![(row.to_string(), rows.iter().map(|g| g.key[0].clone()).collect::<Vec<_>>())];
        for c in &columns {
            out.push((c.key[0].text(), rows.iter().map(|r| cell(&r.rows, &c.rows)).collect()));
        }
        Results::from_columns(out)
    }

    /// Curves: for each value of the `keys`, (x, summary of y) sorted by x.
    pub fn curves(&self, keys: &[&str], x: &str, y: &str) -> Result<Vec<(Vec<Cell>, Vec<(f64, Summary)>)>, Error> {
        let (xs, ys) = (self.numbers(x)?, self.numbers(y)?);
        let mut out = Vec::new();
        for g in self.groups(keys)? {
            let mut at: Vec<f64> = g.rows.iter().map(|i| xs[*i]).filter(|v| v.is_finite()).collect();
            at.sort_by(f64::total_cmp);
            at.dedup();
            let points =
                at.into_iter().map(|v| (v, Summary::of(g.rows.iter().filter(|i| xs[**i] == v).map(|i| ys[*i]))));
            out.push((g.key.clone(), points.collect()));
        }
        Ok(out)
    }
}
