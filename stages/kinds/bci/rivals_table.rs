//! The table of the learned map beside its rivals; drawn by `bci-figures`.

use super::figures::{title, with_means};
use super::results::source;
use super::rivals::METHODS;
use crate::shared::results::read_results;
use anyhow::Result;
use pipeline::Context;
use report::frames::Results;
use report::polars::prelude::{IntoLazy, JoinType, col};
use report::table::{Best, Spec};
use report::{Source, Table};

/// The method that the last note compares with the others.
const OURS: &str = "OoSAdapt ours";

/// Accuracy by subject and method, mean and deviation over the draws; the last row is the mean over subjects.
pub fn rivals(ctx: &Context) -> Result<Table> {
    let results = read_results(ctx)?;
    let classes = results.numbers("classes")?.first().copied().unwrap_or(0.0) as usize;
    let source = source(results.with("data", "real")?.height() == results.height(), classes);
    let by_subject = results.summaries(&["subject", "method"], "accuracy")?;
    let wide = by_subject.spread(&["subject"], ("method", &METHODS.map(|m| m.0)), &["mean", "sd"])?;
    let frame = with_means(&wide.lazy().sort(["subject"], Default::default()).collect()?)?;
    let mut specs = vec![Spec::text("Subject", "subject")];
    specs.extend(METHODS.map(|(method, calibrated)| {
        let heading = if calibrated { format!("{method} *") } else { method.to_string() };
        Spec::mean_sd(&heading, &format!("mean {method}"), &format!("sd {method}"), Best::Plain)
    }));
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
    let ours = results.with("method", OURS)?;
    for (method, _) in METHODS.into_iter().filter(|(m, _)| *m != OURS) {
        let both = ours.joined(&results.with("method", method)?, &["subject", "draw"], JoinType::Inner)?;
        // The columns of the other method come with polars' suffix.
        let gained = both.lazy().select([(col("accuracy") - col("accuracy_right")).alias("gained")]).collect()?;
        let (mean, gained) = (gained.summary("gained")?.mean, gained.numbers("gained")?);
        // A method may have no result: calibration trials of every class are not always there.
        if gained.is_empty() {
            continue;
        }
        words.push(format!("{method} {mean:+.2} (p = {:.3})", spd::paired_permutation_test(&gained)));
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
