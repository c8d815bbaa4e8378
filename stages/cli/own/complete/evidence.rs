//! What `repro complete` says about its result: validation errors beside simple rivals, the cone, and rows that were never seen.

use super::Args;
use crate::cli::output as print;
use crate::cli::own::facts::{Facts, number};
use crate::cli::text::{Table, count};
use kraus::completion::Filled;
use serde_json::json;

/// The validation errors, as a table.
pub fn scores(args: &Args, done: &Filled, facts: &mut Facts) {
    let mut table = Table::new(&["filled by", "relative error on hidden entries", ""], &[1]);
    let least = done.scores.iter().map(|s| s.error).fold(f64::INFINITY, f64::min);
    for (i, s) in done.scores.iter().enumerate() {
        let mark = if i == 0 { "<- chosen" } else { "" };
        table.row(vec![s.name.clone(), number(s.error), mark.into()]);
    }
    if !args.json {
        print(&(table.render() + "\n"));
    }
    let values: Vec<_> = done.scores.iter().map(|s| json!({"filled_by": s.name, "error": s.error})).collect();
    let name = done.scores.first().map_or("", |s| s.name.as_str());
    facts.say(
        "chosen",
        format!("{name}: relative error {} on hidden entries", number(done.error())),
        json!({"name": name, "error": done.error(), "by_order": done.by_order, "scores": values}),
    );
    if done.error().is_nan() {
        facts.warn("so little is observed that none of it could be hidden: the result is not validated");
    } else if least > 0.9 {
        facts.warn("hidden entries were predicted hardly better than by 0: what is observed does not determine what is missing");
    }
}

/// Adds the findings about the result.
pub fn add_result_facts(args: &Args, done: &Filled, views: bool, blocks: bool, facts: &mut Facts) {
    if !blocks {
        let text =
            format!("{} beside the diagonal, trace penalty {}", count(done.rank, "dimension"), number(done.penalty));
        facts.say("model", text, json!({"rank": done.rank, "penalty": done.penalty}));
        let words = if done.converged {
            "yes"
        } else {
            "no: the iteration limit was reached; the validation error above is that of what is written"
        };
        facts.say("converged", words, done.converged);
    }
    let (low, high) = done.spectrum;
    let psd = match (done.is_psd(), args.no_psd) {
        (true, _) => "yes".to_string(),
        (false, true) => "no, and not asked for".into(),
        (false, false) => format!(
            "no: the observed entries do not allow it here, the nearest such matrix is {} away (relative); --psd or --denoise moves them",
            number(done.outside)
        ),
    };
    facts.say(
        "psd",
        format!("{psd}; eigenvalues {} to {}", number(low), number(high)),
        json!({"psd": done.is_psd(), "least": low, "most": high, "outside": done.outside}),
    );
    if done.moved > 0.0 {
        facts.say("observed entries", format!("changed by at most {} of the largest", number(done.moved)), done.moved);
    }
    if !done.empty_rows.is_empty() && !blocks {
        let shown = done.empty_rows.iter().take(20).map(usize::to_string).collect::<Vec<_>>().join(", ");
        let more =
            if done.empty_rows.len() > 20 { format!(", ... ({} rows)", done.empty_rows.len()) } else { String::new() };
        let source = match (done.by_order, views) {
            (true, _) => {
                "they come from their neighbours in the file, because neighbours are alike here (the table says by how much); \
                 the same samples in another order would give another result, and --order ignore leaves the order out"
            }
            (false, true) => {
                "they come from the other views and from the mean of the other rows. The order of the samples plays no part"
            }
            (false, false) => {
                "nothing is known of them but the mean of the other rows; other matrices of the same samples help (--view). \
                 The order of the samples plays no part"
            }
        };
        facts.warn(format!("rows without any observed entry: {shown}{more}; {source}"));
    }
    facts.silent("undetermined_rows", json!({"empty": done.empty_rows}));
}
