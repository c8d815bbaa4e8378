//! The table of the learned map beside its rivals; drawn by `bci-figures`.

use super::figures::title;
use super::results::source;
use super::rivals::METHODS;
use crate::shared::results::read_results;
use anyhow::Result;
use pipeline::Context;
use report::frames::{Results, Summary};
use report::polars::prelude::{Column, DataFrame, NamedFrom, Series};
use report::table::{Best, Spec};
use report::{Source, Table};

/// The method that the last note compares with the others.
const OURS: &str = "OoSAdapt ours";

/// Accuracy by subject and method, mean and deviation over the draws; the last row is the mean over subjects.
pub fn rivals(ctx: &Context) -> Result<Table> {
    let results = read_results(ctx)?;
    let subjects = results.distinct("subject")?;
    let classes = results.numbers("classes")?.first().copied().unwrap_or(0.0) as usize;
    let source = source(results.with("data", "real")?.height() == results.height(), classes);
    let of = |subject: usize, method: &str| -> Result<DataFrame> {
        Ok(results.with("subject", subject as i64)?.with("method", method)?)
    };
    let column = |name: &str, values: Vec<Option<f64>>| Column::from(Series::new(name.into(), values));
    let names: Vec<String> = subjects.iter().map(usize::to_string).chain(["mean".into()]).collect();
    let mut columns = vec![Column::from(Series::new("subject".into(), names))];
    let mut specs = vec![Spec::text("Subject", "subject")];
    for (method, calibrated) in METHODS {
        let found: Vec<Summary> =
            subjects.iter().map(|&s| Ok(of(s, method)?.summary("accuracy")?)).collect::<Result<_>>()?;
        let mean = found.iter().map(|s| s.mean).sum::<f64>() / found.len().max(1) as f64;
        let heading = if calibrated { format!("{method} *") } else { method.to_string() };
        let sd = format!("{heading} sd");
        let some = |v: f64| Some(v).filter(|v| v.is_finite());
        columns.push(column(&heading, found.iter().map(|s| s.mean).chain([mean]).map(some).collect()));
        columns.push(column(&sd, found.iter().map(|s| some(s.sd)).chain([None]).collect()));
        specs.push(Spec::mean_sd(&heading, &heading, &sd, Best::Plain));
    }
    let frame = DataFrame::new_infer_height(columns)?;
    let text = "Accuracy (%) of MDM trained on trials of the first session that the map has not seen, tested on the second session: \
                mean ± deviation over the random choices of trials";
    let table = Table::new("rivals", &title(text, &source), source.clone(), &frame, &specs)?
        .note(
            "A random 80 % of the first session and all of the second, without its labels, make the map; the classifier is trained on the \
             other 20 % after the map. Methods marked * also use the labels of the first 20 % of the second session. All are tested on the \
             other 80 % of it.",
        )
        .note(
            "none: trials as recorded. recentring: both means go to one point (pyRiemann's TLCenter). POT: exact transport of tangent vectors \
             (POT's EMDTransport). OoSAdapt paper: Kraus map of rank 20 by Adam on the square loss. OoSAdapt ours: Kraus map started at \
             recentring, log-Euclidean loss; the loss and its penalty were chosen on one simulated subject, rank and spread after a look at the real data. RPA: recentring, scaling and rotation (TLCenter, TLScale, \
             TLRotate). MDWM: class means of both sessions mixed half and half.",
        );
    let mut words = Vec::new();
    for (method, _) in METHODS.into_iter().filter(|(m, _)| *m != OURS) {
        let mut differences = Vec::new();
        for &s in &subjects {
            let (ours, theirs) = (of(s, OURS)?.numbers("accuracy")?, of(s, method)?.numbers("accuracy")?);
            differences.extend(ours.into_iter().zip(theirs).map(|(a, b)| a - b));
        }
        let mean = differences.iter().sum::<f64>() / differences.len().max(1) as f64;
        words.push(format!("{method} {mean:+.2} (p = {:.3})", spd::paired_permutation_test(&differences)));
    }
    let table = table.note(format!(
        "Mean difference of OoSAdapt ours from each method over subjects and choices, with the p-value of a paired sign-flip permutation \
         test: {}. Choices of one subject share trials, so these values are optimistic.",
        words.join(", ")
    ));
    Ok(match source {
        Source::Simulated => table.note("SIMULATED recordings: the numbers say nothing about the paper's subjects."),
        _ => table,
    })
}
