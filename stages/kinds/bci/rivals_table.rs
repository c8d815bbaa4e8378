//! The tables of the learned map beside its rivals, and their rows in MOABB's columns; drawn by `bci-figures`.

use super::figures::title;
use super::results::{direction, source};
use super::rivals::{METHODS, Method, OURS, OURS_LABELS};
use crate::shared::results::read_results;
use anyhow::Result;
use pipeline::Context;
use report::frames::{Results, Summary};
use report::polars::prelude::{Column, DataFrame, NamedFrom, Series};
use report::table::{Best, Spec};
use report::{Source, Table};

/// Which matrices of the source trained the classifier.
#[derive(Clone, Copy, PartialEq)]
pub enum Trained {
    /// All of them: the protocol of table 3.
    All,
    /// Those that the map has not seen.
    New,
}

/// The rows behind a table.
struct Rows {
    results: DataFrame,
    subjects: Vec<usize>,
}

impl Rows {
    fn read(ctx: &Context, trained: Trained) -> Result<Rows> {
        let name = if trained == Trained::All { "all" } else { "new" };
        let results = read_results(ctx)?.with("trained", name)?;
        Ok(Rows { subjects: results.distinct("subject")?, results })
    }

    fn of(&self, subject: usize, method: &Method) -> Result<DataFrame> {
        Ok(self.results.with("subject", subject as i64)?.with("method", method.name)?)
    }

    /// One summary per subject.
    fn summaries(&self, method: &Method, score: &str) -> Result<Vec<Summary>> {
        self.subjects.iter().map(|&s| Ok(self.of(s, method)?.summary(score)?)).collect()
    }

    /// Differences of two methods, paired by subject and draw.
    fn differences(&self, a: &Method, b: &Method) -> Result<Vec<f64>> {
        let mut found = Vec::new();
        for &s in &self.subjects {
            let (ours, theirs) = (self.of(s, a)?, self.of(s, b)?);
            // A method may lack a draw whose calibration trials had not every class.
            for draw in theirs.distinct("draw")? {
                let at = |rows: &DataFrame| -> Result<f64> {
                    Ok(rows.with("draw", draw as i64)?.numbers("accuracy")?.first().copied().unwrap_or(f64::NAN))
                };
                found.push(at(&ours)? - at(&theirs)?);
            }
        }
        Ok(found.into_iter().filter(|d| d.is_finite()).collect())
    }
}

/// Scores by subject and method, mean and deviation over the draws; below them the means over the subjects.
pub fn rivals(ctx: &Context, trained: Trained) -> Result<Table> {
    let rows = Rows::read(ctx, trained)?;
    let classes = rows.results.numbers("classes")?.first().copied().unwrap_or(0.0) as usize;
    let source = source(rows.results.with("data", "real")?.height() == rows.results.height(), classes);
    let (from, onto) = direction(&rows.results)?;
    let names = rows.subjects.iter().map(usize::to_string);
    let names: Vec<String> = names.chain(["mean", "balanced accuracy", "kappa"].map(String::from)).collect();
    let mut columns = vec![Column::from(Series::new("subject".into(), names))];
    let mut specs = vec![Spec::text("Subject", "subject")];
    let some = |v: f64| Some(v).filter(|v| v.is_finite());
    for method in &METHODS {
        let found = rows.summaries(method, "accuracy")?;
        let over = |score: &str| -> Result<f64> {
            let each = rows.summaries(method, score)?;
            Ok(each.iter().map(|s| s.mean).sum::<f64>() / each.len().max(1) as f64)
        };
        let last = [over("accuracy")?, over("balanced_accuracy")?, over("kappa")?];
        let heading = heading(method);
        let sd = format!("{heading} sd");
        let means: Vec<Option<f64>> = found.iter().map(|s| s.mean).chain(last).map(some).collect();
        let deviations: Vec<Option<f64>> = found.iter().map(|s| some(s.sd)).chain([None; 3]).collect();
        columns.push(Column::from(Series::new(heading.as_str().into(), means)));
        columns.push(Column::from(Series::new(sd.as_str().into(), deviations)));
        specs.push(Spec::mean_sd(&heading, &heading, &sd, Best::Plain));
    }
    let frame = DataFrame::new_infer_height(columns)?;
    let (id, on) = match trained {
        Trained::All => ("rivals", format!("all of the {from} session")),
        Trained::New => ("rivals-new", format!("trials of the {from} session that the map has not seen")),
    };
    let text = format!(
        "Accuracy (%) of MDM trained on {on}, tested on the {onto} session: mean ± deviation over the random choices of trials"
    );
    let table = Table::new(id, &title(&text, &source), source.clone(), &frame, &specs)?
        .note(format!(
            "A random 80 % of the {from} session and all of the {onto}, without its labels, make the map; only NoAdapt and MDWM do not use the \
             unlabelled trials of the {onto} session. Maps marked + also use the labels of these 80 %. Methods marked * use the labels of the \
             first 20 % of the {onto} session. All are tested on the other 80 % of it. The last two rows are means over the subjects.",
        ))
        .note(
            "NoAdapt: trials as recorded. FullAdapt: trials mapped by optimal transport, all of them in sample. OoSAdapt, paper: that of table \
             3, a Kraus map of rank 20 by Adam on the square loss, for the 20 % that are new. recentring: both means go to one point \
             (pyRiemann's TLCenter). POT: exact transport of tangent vectors (POT's EMDTransport). RPA: recentring, scaling and rotation \
             (TLCenter, TLScale, TLRotate). MDWM: class means of both sessions mixed half and half.",
        )
        .note(HOW_CHOSEN)
        .note(comparison(&rows)?);
    Ok(match source {
        Source::Simulated => table.note("SIMULATED recordings: the numbers say nothing about the paper's subjects."),
        _ => table,
    })
}

/// How the settings of the learned map came about.
const HOW_CHOSEN: &str = "OoSAdapt, ours: a Kraus map that starts at recentring, with the defaults of `repro adapt`. Without labels it is \
    learned from pairs that transport makes, and is recentring where held-out pairs are mapped no better. With labels of the source it is \
    recentring followed by a filter that keeps 8 of the 22 directions, those that tell the classes of the source apart, and of the others only the \
    variance; it is recentring where cross-validation within the source is against the filter. The filter and its size were chosen on simulated \
    subjects.";

fn heading(method: &Method) -> String {
    let marks = [(method.source_labels, "+"), (method.target_labels, "*")];
    let marks: String = marks.into_iter().filter(|m| m.0).map(|m| m.1).collect();
    if marks.is_empty() { method.name.to_owned() } else { format!("{} {marks}", method.name) }
}

/// Both learned maps against every other method, and where they lose.
fn comparison(rows: &Rows) -> Result<String> {
    let mut words = Vec::new();
    for ours in METHODS.iter().filter(|m| [OURS, OURS_LABELS].contains(&m.name)) {
        let mut each = Vec::new();
        for other in METHODS.iter().filter(|m| ![OURS, OURS_LABELS].contains(&m.name)) {
            let differences = rows.differences(ours, other)?;
            if differences.is_empty() {
                continue;
            }
            let mean = differences.iter().sum::<f64>() / differences.len() as f64;
            each.push(format!("{} {mean:+.2} (p = {:.3})", other.name, spd::paired_permutation_test(&differences)));
        }
        words.push(format!("{}: {}", ours.name, each.join(", ")));
    }
    Ok(format!(
        "Mean difference from each method over subjects and choices, with the p-value of a paired sign-flip permutation test. {}. \
         Choices of one subject share trials, so these p-values are optimistic.",
        words.join("; ")
    ))
}

/// The results in MOABB's columns, one row per subject and pipeline: the mean accuracy over the draws. MOABB also writes the time
/// of the training; artefacts hold no times, so that the same inputs give the same bytes.
pub fn moabb(ctx: &Context, trained: Trained) -> Result<String> {
    let rows = Rows::read(ctx, trained)?;
    let real = rows.results.with("data", "real")?.height() == rows.results.height();
    let dataset = if real { "BNCI2014-001" } else { "SIMULATED" };
    let session = if direction(&rows.results)?.1 == "second" { "1test" } else { "0train" };
    let mut out = String::from("score,time,samples,subject,session,channels,n_sessions,dataset,pipeline\n");
    for &subject in &rows.subjects {
        for method in &METHODS {
            let found = rows.of(subject, method)?;
            let mean = |column: &str| -> Result<f64> { Ok(found.summary(column)?.mean) };
            let score = mean("accuracy")? / 100.0;
            if !score.is_finite() {
                continue;
            }
            let (samples, channels) = (mean("trained_on")?, mean("channels")?);
            let pipeline = heading(method).replace(',', "");
            out.push_str(&format!("{score},,{samples},{subject},{session},{channels},2,{dataset},{pipeline} + MDM\n"));
        }
    }
    Ok(out)
}
