//! Kind `bci-results`: the rows of out-of-sample adaptation as one table, and its numbers: the accuracies of table 3 by
//! subject, and what data they were measured on. How rows are selected stands here too, for the figures.

use crate::shared::results::{Experiment, Numbers};
use anyhow::Result;
use pipeline::Context;
use report::Source;
use report::frames::Results;
use report::polars::prelude::{DataFrame, IntoLazy, SortMultipleOptions};

/// The experiment.
pub struct Bci;

impl Experiment for Bci {
    const NAME: &'static str = "bci-results";
    const ABOUT: &'static str =
        "the accuracies of BCI adaptation as one table, and the numbers its claims are judged by";

    fn metrics(_: &Context, results: &DataFrame, out: &mut Numbers) -> Result<()> {
        metrics(results, out)
    }
}

/// The columns of table 3: name in metrics, column of the rows, heading.
pub const COLUMNS: [(&str, &str, &str); 3] = [
    ("noadapt", "no_adapt", "NoAdapt"),
    ("fulladapt", "full_adapt", "FullAdapt"),
    ("oosadapt", "oos_adapt", "OoSAdapt"),
];

/// The variant of the transport that the paper uses; its accuracies are table 3's.
pub const PAPERS_VARIANT: &str = "unsupervised";

/// Classes of the recordings that the paper uses; numbers on fewer classes cannot be compared with its table.
pub const PAPERS_CLASSES: usize = 4;

/// The rows of one subject.
pub struct Subject {
    /// 1 to 9.
    pub subject: usize,
    /// Classes among its trials.
    pub classes: usize,
    /// Real or simulated.
    pub source: Source,
    rows: DataFrame,
}

impl Subject {
    /// Whether the paper's numbers may stand beside these.
    pub fn comparable(&self) -> bool {
        self.source != Source::Simulated && self.classes == PAPERS_CLASSES
    }
}

/// The subjects, ascending.
pub fn subjects(results: &DataFrame) -> Result<Vec<Subject>> {
    let mut found = Vec::new();
    let order = SortMultipleOptions::default().with_maintain_order(true);
    let sorted = results.clone().lazy().sort(["subject"], order).collect()?;
    for rows in sorted.partition_by_stable(["subject"], true)? {
        let subject = rows.distinct("subject")?[0]; // the same in all rows of the part
        let classes = rows.numbers("classes")?[0] as usize;
        let real = rows.with("data", "real")?.height() == rows.height();
        found.push(Subject { subject, classes, source: source(real, classes), rows });
    }
    Ok(found)
}

/// The data of a figure or table: real only if all of them are.
pub fn source(real: bool, classes: usize) -> Source {
    match real {
        true if classes == PAPERS_CLASSES => Source::Real("BCI Competition IV 2a".into()),
        true => Source::Real(format!("BCI Competition IV 2a, {classes} of its {PAPERS_CLASSES} classes")),
        false => Source::Simulated,
    }
}

/// The session that was mapped and the one it was mapped to, in words: (`first`, `second`), or the other way round.
pub fn direction(results: &DataFrame) -> Result<(&'static str, &'static str)> {
    let backwards = results.height() > 0 && results.with("source", "E")?.height() == results.height();
    Ok(if backwards { ("second", "first") } else { ("first", "second") })
}

/// The numbers. Accuracies on fewer classes, or of the second session mapped to the first, get names of their own, so that no claim about the paper's table reads them.
fn metrics(results: &DataFrame, out: &mut Numbers) -> Result<()> {
    for s in subjects(results)? {
        let table = match s.classes {
            PAPERS_CLASSES if direction(results)?.0 == "first" => "table3".to_string(),
            PAPERS_CLASSES => "table3-backwards".to_string(),
            n => format!("table3-{n}-classes"),
        };
        out.source = s.source.clone();
        for (name, column, _) in COLUMNS {
            let name = format!("{table}.s{}.{name}", s.subject);
            let accuracy = s.rows.with("variant", PAPERS_VARIANT)?.summary(column)?;
            match column {
                "oos_adapt" => out.summary(&name, accuracy),
                // The others do not depend on the draw: a deviation of zero would claim to be measured.
                _ => out.number(&name, Some(accuracy.max)),
            }
        }
    }
    Ok(())
}
