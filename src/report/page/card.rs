//! What is known of a rendered figure or table beside its files: written next to them as JSON, read back by the report page.
//!
//! Drawing and reporting are two steps, possibly days apart: stages render files, the page is put together from them.

use serde::{Deserialize, Serialize};

use crate::charts::figure::Figure;
use crate::charts::style::Width;
use crate::error::Error;
use crate::source::Source;
use crate::tables::table::Table;

/// A rendered figure or table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// File name without ending, and anchor in the report: `figure2`.
    pub id: String,
    /// Title line, or the caption of a table.
    pub title: String,
    /// Caption of a figure, with its remarks.
    pub caption: String,
    /// What a picture shows, in words; empty for a table.
    pub alt: String,
    /// Where the data come from.
    pub source: Source,
    /// Width and height of a picture in points; none for a table.
    pub size: Option<(f64, f64)>,
    /// Two columns wide.
    pub wide: bool,
}

impl Card {
    /// Of a figure.
    pub fn of_figure(f: &Figure) -> Result<Self, Error> {
        let scene = f.scene()?;
        Ok(Card {
            id: f.id.clone(),
            title: f.title.clone(),
            caption: f.caption.clone(),
            alt: f.alt.clone(),
            source: f.source.clone(),
            size: Some((scene.width, scene.height)),
            wide: f.width == Width::TwoColumns,
        })
    }

    /// Of a table.
    pub fn of_table(t: &Table) -> Self {
        Card {
            id: t.id.clone(),
            title: t.caption.clone(),
            caption: t.full_caption(),
            alt: String::new(),
            source: t.source.clone(),
            size: None,
            wide: true,
        }
    }
}
