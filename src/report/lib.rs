//! Result tables and pictures: one plotting style, tables in four formats, claims, the report page.
//!
//! Nothing here trains or reads the network: plain numbers in, files out, and the same bytes every time.
//!
//! Rooms: [`frames`] (rows of results), [`tables`], [`charts`] (what a figure shows), [`drawing`] (ink on a canvas), [`figures`] (the
//! paper's figures), [`claims`], [`page`].
//!
//! | want | take |
//! |---|---|
//! | rows of results, grouped and summarised | [`frames`], on polars |
//! | a table in Markdown, CSV, LaTeX, HTML | [`table::Table`] |
//! | a figure as SVG and PNG | [`figure::Figure`], ready made ones in [`figures`] |
//! | the paper's claims and their verdicts | [`claims`] |
//! | what is known of a rendered file | [`card::Card`] |
//! | the page that tells the whole story | [`page::ReportPage`] |
//! | a curve in the terminal | [`term::plot`] |
//!
//! From a thousand rows to a table and a figure:
//!
//! ```
//! use report::{frames::{self, Results}, table::{Best, Spec, Table}, figures::error_against_rank, source::Source};
//! # fn main() -> Result<(), report::Error> {
//! let rows = "20 → 10,100,5,1,3.0\n20 → 10,100,5,1,5.0\n20 → 10,100,5,5,1e-9\n20 → 10,100,5,5,3e-9\n";
//! let rows = frames::from_csv(&format!("panel,l,true_rank,rank,mse\n{rows}"))?;
//! let errors = rows.summaries(&["panel", "l", "true_rank", "rank"], "mse")?;
//! let table = Table::new("t", "Error by rank", Source::Generated, &errors,
//!     &[Spec::text("rank", "rank"), Spec::mean_sd("MSE", "mean", "sd", Best::Smallest)])?;
//! assert!(table.markdown().contains("**(2.0 ± 1.4)×10⁻⁹**"));
//! let figure = error_against_rank("figure2", "Error against rank", &errors, Source::Generated)?;
//! assert!(figure.svg()?.starts_with("<svg"));
//! # Ok(()) }
//! ```
//!
//! A figure goes through three steps: description ([`figure`]) → plotters' charts, recorded as shapes in points ([`scene`]) → SVG or PNG
//! ([`drawing::paint`]). Text is measured and drawn from an embedded font ([`font`]), so the recording knows every text box and
//! tests can ask whether any two overlap.

pub mod charts;
pub mod claims;
pub mod drawing;
pub mod error;
pub mod figures;
pub mod frames;
pub mod page;
pub mod source;
pub mod tables;

pub use charts::{axis, figure, style};
pub use drawing::{font, scene, term};
pub use page::{card, escape};
pub use tables::{number, table};

pub use card::Card;
pub use error::Error;
pub use figure::Figure;
pub use frames::Results;
pub use polars;
pub use source::Source;
pub use table::Table;
