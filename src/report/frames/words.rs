//! The words of our domain on polars frames: summaries of repeated measurements, the best of a group, numbers of a column.

use std::sync::Arc;

use polars::frame::PivotColumnNaming::Combine;
use polars::prelude::{
    Column, DataFrame, DataType, Expr, IntoLazy, JoinArgs, JoinType, LazyFrame, Literal, MaintainOrderJoin,
    SortMultipleOptions, all, col, cols, element, lit,
};

use crate::error::Error;

/// Mean, deviation and extremes of a group of measurements.
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

/// The columns `n`, `mean`, `sd`, `min` and `max` over the finite values of a column: what an aggregation asks for.
pub fn summary(value: &str) -> [Expr; 5] {
    let number = col(value).cast(DataType::Float64);
    let finite = number.clone().filter(number.is_finite());
    [
        finite.clone().count().alias("n"),
        finite.clone().mean().alias("mean"),
        finite.clone().std(1).alias("sd"),
        finite.clone().min().alias("min"),
        finite.max().alias("max"),
    ]
}

/// What tables, figures and claims ask of a frame of results.
pub trait Results {
    /// The rows that fulfil a condition, in their order.
    fn only(&self, condition: Expr) -> Result<DataFrame, Error>;
    /// The rows where `column` has the value.
    fn with<V: Literal>(&self, column: &str, value: V) -> Result<DataFrame, Error>;
    /// One column as numbers; null is NaN.
    fn numbers(&self, column: &str) -> Result<Vec<f64>, Error>;
    /// One column as text; null is `None`.
    fn texts(&self, column: &str) -> Result<Vec<Option<String>>, Error>;
    /// The distinct whole numbers of a column, ascending.
    fn distinct(&self, column: &str) -> Result<Vec<usize>, Error>;
    /// Per group of the keys, in order of first appearance: the keys and [`summary`] of the value.
    fn summaries(&self, keys: &[&str], value: &str) -> Result<DataFrame, Error>;
    /// The summary of one column over all rows.
    fn summary(&self, value: &str) -> Result<Summary, Error>;
    /// The rows of a frame that [`summary`] made.
    fn listed(&self) -> Result<Vec<Summary>, Error>;
    /// Of each group the row with the smallest number in `by` (the first of several); rows without a number are passed over.
    fn best(&self, keys: &[&str], by: &str) -> Result<DataFrame, Error>;
    /// The summary of `y` at each `x`, ascending.
    fn curve(&self, x: &str, y: &str) -> Result<Vec<(f64, Summary)>, Error>;
    /// The rows in their order, each with the columns of the rows of `other` that have the same keys; a null equals a null.
    fn joined(&self, other: &DataFrame, keys: &[&str], how: JoinType) -> Result<DataFrame, Error>;
    /// One row per group of `rows`, and of each of `values` one column per name found in the column `names`, called `value name`: a pivot.
    fn spread(&self, rows: &[&str], names: (&str, &[&str]), values: &[&str]) -> Result<DataFrame, Error>;
}

/// An error that names the columns there are, when one is missing.
fn known(frame: &DataFrame, columns: &[&str]) -> Result<(), Error> {
    match columns.iter().find(|c| frame.column(c).is_err()) {
        None => Ok(()),
        Some(missing) => {
            let have: Vec<String> = frame.get_column_names().iter().map(|n| n.to_string()).collect();
            Err(Error::NoColumn { column: missing.to_string(), have: have.join(", ") })
        }
    }
}

fn rows(plan: LazyFrame) -> Result<DataFrame, Error> {
    Ok(plan.collect()?)
}

impl Results for DataFrame {
    fn only(&self, condition: Expr) -> Result<DataFrame, Error> {
        rows(self.clone().lazy().filter(condition))
    }

    fn with<V: Literal>(&self, column: &str, value: V) -> Result<DataFrame, Error> {
        known(self, &[column])?;
        self.only(col(column).eq(lit(value)))
    }

    fn numbers(&self, name: &str) -> Result<Vec<f64>, Error> {
        known(self, &[name])?;
        let column = self.column(name)?;
        let numbers = column.cast(&DataType::Float64)?;
        let numbers = numbers.f64()?;
        if numbers.null_count() > column.null_count() {
            let texts = self.texts(name)?;
            let row = numbers.iter().zip(&texts).position(|(n, t)| n.is_none() && t.is_some()).unwrap_or(0);
            let value = texts.into_iter().nth(row).flatten().unwrap_or_default();
            return Err(Error::NotANumber { column: name.into(), row: row + 1, value });
        }
        Ok(numbers.iter().map(|n| n.unwrap_or(f64::NAN)).collect())
    }

    fn texts(&self, name: &str) -> Result<Vec<Option<String>>, Error> {
        known(self, &[name])?;
        let column = self.column(name)?.cast(&DataType::String)?;
        Ok(column.str()?.iter().map(|t| t.map(str::to_string)).collect())
    }

    fn distinct(&self, column: &str) -> Result<Vec<usize>, Error> {
        known(self, &[column])?;
        let found = rows(self.clone().lazy().select([col(column).drop_nulls().unique().sort(Default::default())]))?;
        Ok(found.numbers(column)?.into_iter().map(|v| v as usize).collect())
    }

    fn summaries(&self, keys: &[&str], value: &str) -> Result<DataFrame, Error> {
        known(self, &[keys, &[value]].concat())?;
        rows(self.clone().lazy().group_by_stable(columns(keys)).agg(summary(value)))
    }

    fn summary(&self, value: &str) -> Result<Summary, Error> {
        known(self, &[value])?;
        // An aggregation over all rows gives one row, also where there are none.
        Ok(rows(self.clone().lazy().select(summary(value)))?.listed()?.swap_remove(0))
    }

    fn listed(&self) -> Result<Vec<Summary>, Error> {
        let column = |name| self.numbers(name);
        let (n, mean, sd, min, max) = (column("n")?, column("mean")?, column("sd")?, column("min")?, column("max")?);
        let one = |i: usize| Summary { n: n[i] as usize, mean: mean[i], sd: sd[i], min: min[i], max: max[i] };
        Ok((0..n.len()).map(one).collect())
    }

    fn best(&self, keys: &[&str], by: &str) -> Result<DataFrame, Error> {
        known(self, &[keys, &[by]].concat())?;
        let order: Vec<String> = self.get_column_names().iter().map(|n| n.to_string()).collect();
        let number = col(by).cast(DataType::Float64);
        let first = SortMultipleOptions::default().with_maintain_order(true);
        let usable = self.clone().lazy().filter(number.clone().is_not_null().and(number.clone().is_not_nan()));
        let chosen = usable.group_by_stable(columns(keys)).agg([all().as_expr().sort_by([number], first).first()]);
        rows(chosen.select(order.iter().map(|n| col(n.as_str())).collect::<Vec<_>>()))
    }

    fn curve(&self, x: &str, y: &str) -> Result<Vec<(f64, Summary)>, Error> {
        let at = self.only(col(x).is_not_null())?.summaries(&[x], y)?;
        let at = rows(at.lazy().sort([x], Default::default()))?;
        Ok(at.numbers(x)?.into_iter().zip(at.listed()?).filter(|(x, _)| x.is_finite()).collect())
    }

    fn joined(&self, other: &DataFrame, keys: &[&str], how: JoinType) -> Result<DataFrame, Error> {
        known(self, keys)?;
        known(other, keys)?;
        let mut how = JoinArgs::new(how);
        (how.maintain_order, how.nulls_equal) = (MaintainOrderJoin::Left, true);
        rows(self.clone().lazy().join(other.clone().lazy(), columns(keys), columns(keys), how))
    }

    fn spread(&self, by: &[&str], (on, names): (&str, &[&str]), values: &[&str]) -> Result<DataFrame, Error> {
        known(self, &[by, &[on], values].concat())?;
        let wanted = Arc::new(DataFrame::new(names.len(), vec![Column::new(on.into(), names)])?);
        let (on, by, values) = (cols([on]), cols(by.iter().copied()), cols(values.iter().copied()));
        rows(self.clone().lazy().pivot(on, wanted, by, values, element().first(), true, " ".into(), Combine))
    }
}

/// A name for each column, for polars.
fn columns(names: &[&str]) -> Vec<Expr> {
    names.iter().map(|n| col(*n)).collect()
}
