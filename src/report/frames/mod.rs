//! Frames: results as polars frames, from the first row to the last table.
//!
//! Rows come from units as JSON objects ([`from_rows`]), are kept and published as Parquet and CSV, and are grouped, joined and pivoted by
//! polars' own words (`report::polars::prelude`). [`Results`] adds the few words of our domain: a summary of repeated
//! measurements, the best row of a group, the numbers of a column.
//!
//! The same rows give the same bits: groups keep the order of their first row, polars sums a group in row order (compensated), and neither
//! depends on its number of threads (`tests/frames.rs`).

mod files;
mod words;

pub use files::{from_csv, from_parquet, from_rows, stacked, to_csv, to_parquet};
pub use words::{Results, Summary, summary};
