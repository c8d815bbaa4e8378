//! Tables: built from a result frame, printed as Markdown, CSV, LaTeX (booktabs) and HTML from one description.

use polars::prelude::DataFrame;

use crate::error::Error;
use crate::frames::Results;
use crate::source::Source;

/// Which value of a column is printed in bold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Best {
    /// None.
    Plain,
    /// The smallest mean.
    Smallest,
}

/// One column of a table and where its values come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spec {
    /// Text (or any value as it is) from a column.
    Text {
        /// Heading.
        header: String,
        /// Column of the frame.
        from: String,
    },
    /// A number, with its deviation if a column is named.
    Number {
        /// Heading.
        header: String,
        /// Column of means.
        mean: String,
        /// Column of deviations.
        sd: Option<String>,
        /// What to print in bold.
        best: Best,
    },
}

impl Spec {
    /// A text column.
    pub fn text(header: &str, from: &str) -> Self {
        Spec::Text { header: header.into(), from: from.into() }
    }

    /// Mean and deviation; the best in bold.
    pub fn mean_sd(header: &str, mean: &str, sd: &str, best: Best) -> Self {
        Spec::Number { header: header.into(), mean: mean.into(), sd: Some(sd.into()), best }
    }

    /// A number; the best in bold.
    pub fn number(header: &str, mean: &str, best: Best) -> Self {
        Spec::Number { header: header.into(), mean: mean.into(), sd: None, best }
    }

    fn header(&self) -> &str {
        match self {
            Spec::Text { header, .. } | Spec::Number { header, .. } => header,
        }
    }
}

/// One printed value.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// Text.
    Text(String),
    /// A number with optional deviation.
    Number {
        /// Mean.
        mean: f64,
        /// Deviation.
        sd: Option<f64>,
        /// Best of its column.
        bold: bool,
    },
    /// No value.
    Empty,
}

/// A table ready to print.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// File name without ending, and anchor in the report: `table2`.
    pub id: String,
    /// Caption.
    pub caption: String,
    /// Where the data come from; printed with the caption.
    pub source: Source,
    /// Headings; `true` marks columns of numbers.
    pub columns: Vec<(String, bool)>,
    /// Rows.
    pub rows: Vec<Vec<Entry>>,
    /// Remarks below the table.
    pub notes: Vec<String>,
}

impl Table {
    /// From a frame of results.
    pub fn new(id: &str, caption: &str, source: Source, data: &DataFrame, specs: &[Spec]) -> Result<Self, Error> {
        let mut columns: Vec<Vec<Entry>> = Vec::new();
        for spec in specs {
            columns.push(match spec {
                Spec::Text { from, .. } => {
                    data.texts(from)?.into_iter().map(|t| t.map_or(Entry::Empty, Entry::Text)).collect()
                }
                Spec::Number { mean, sd, best, .. } => {
                    let means = data.numbers(mean)?;
                    let sds = sd.as_ref().map(|s| data.numbers(s)).transpose()?;
                    let winner = winner(&means, *best);
                    let made = means.iter().enumerate().map(|(i, m)| match m.is_nan() {
                        true => Entry::Empty,
                        false => {
                            let sd = sds.as_ref().map(|s| s[i]).filter(|s| !s.is_nan());
                            Entry::Number { mean: *m, sd, bold: winner == Some(*m) }
                        }
                    });
                    made.collect()
                }
            });
        }
        let rows = (0..data.height()).map(|i| columns.iter().map(|c| c[i].clone()).collect()).collect();
        let heads = specs.iter().map(|s| (s.header().to_string(), matches!(s, Spec::Number { .. }))).collect();
        Ok(Table { id: id.into(), caption: caption.into(), source, columns: heads, rows, notes: vec![] })
    }

    /// Add a remark below the table.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Caption and data source in one sentence or two.
    pub fn full_caption(&self) -> String {
        let source = self.source.to_string();
        if source.is_empty() { self.caption.clone() } else { format!("{} [{source}]", self.caption) }
    }
}

fn winner(v: &[f64], best: Best) -> Option<f64> {
    let finite = v.iter().copied().filter(|x| x.is_finite());
    match best {
        Best::Plain => None,
        Best::Smallest => finite.reduce(f64::min),
    }
}
