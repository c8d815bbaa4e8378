//! What can go wrong here, in one sentence each: what, where, what to do next.

use thiserror::Error;

/// Every error of this crate.
#[derive(Debug, Error)]
pub enum Error {
    /// The bitmap or vector backend refused to draw.
    #[error("figure `{figure}`: drawing failed ({why}); render it as SVG, or report the description that caused it")]
    Drawing {
        /// Title of the figure.
        figure: String,
        /// The backend's words.
        why: String,
    },
    /// A figure's description contradicts itself.
    #[error("figure `{figure}`: {why}; correct the description before rendering")]
    Figure {
        /// Title of the figure.
        figure: String,
        /// What is wrong.
        why: String,
    },
    /// A column that a table or an aggregation needs is not there.
    #[error("results have no column `{column}`; columns are: {have}")]
    NoColumn {
        /// The column asked for.
        column: String,
        /// The columns there are.
        have: String,
    },
    /// A column holds text where numbers are needed.
    #[error("column `{column}`, row {row}: `{value}` is not a number; filter such rows out first")]
    NotANumber {
        /// The column.
        column: String,
        /// Row, counted from 1.
        row: usize,
        /// What stands there.
        value: String,
    },
    /// JSON that cannot be read as rows or claims.
    #[error("{what}: {source}; correct the file")]
    Json {
        /// Which document.
        what: String,
        /// serde's words, with line and column.
        source: serde_json::Error,
    },
    /// A claims file that reads but makes no sense.
    #[error("claim `{id}`: {why}; correct the claims file")]
    Claim {
        /// The claim.
        id: String,
        /// What is wrong.
        why: String,
    },
    /// Polars refused: a file that is no table, or columns that do not fit together.
    #[error("table of results: {0}")]
    Polars(#[from] polars::prelude::PolarsError),
}
