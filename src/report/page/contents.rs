//! What stands on the page: figures, tables, downloads, differences from the paper, data sets.

use super::card::Card;
use crate::source::Source;

/// A file offered as a download from within the page.
#[derive(Clone, Debug, PartialEq)]
pub struct Download {
    /// File name.
    pub name: String,
    /// Contents (CSV or JSON).
    pub text: String,
}

/// A figure on the page.
#[derive(Clone, Debug, PartialEq)]
pub struct PageFigure {
    /// Its id is the anchor; its alt text and caption are printed.
    pub card: Card,
    /// The picture.
    pub svg: String,
    /// The numbers behind it.
    pub data: Option<Download>,
    /// What differs from the paper here, and why; empty for nothing.
    pub differs: String,
    /// The command that makes it again.
    pub command: String,
}

/// A table on the page.
#[derive(Clone, Debug, PartialEq)]
pub struct PageTable {
    /// Its id names the download.
    pub card: Card,
    /// The table itself.
    pub html: String,
    /// The table as a download.
    pub csv: String,
    /// What differs from the paper here, and why; empty for nothing.
    pub differs: String,
    /// The command that makes it again.
    pub command: String,
}

/// A difference between the paper and this reproduction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Difference {
    /// What.
    pub what: String,
    /// In the paper.
    pub paper: String,
    /// Here.
    pub here: String,
    /// Why.
    pub why: String,
}

/// A data set that was used.
#[derive(Clone, Debug, PartialEq)]
pub struct DataUse {
    /// Name.
    pub name: String,
    /// What was really used.
    pub used: Source,
    /// Where it comes from (printed as text, never requested).
    pub address: String,
    /// Licence and attribution.
    pub licence: String,
}
