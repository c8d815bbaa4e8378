//! Frames: rows of results, one row per fit, held by polars; and the groups and summaries made of them.
//!
//! Nothing here knows a figure or a table. A file belongs here when it takes rows and returns rows or numbers.

pub mod aggregate;
pub mod results;
