//! The curves of cross-validation: as a table, in the terminal, and as lines of a picture.

use super::Args;
use crate::cli::output as print;
use crate::cli::own::facts::{Facts, floored};
use crate::cli::own::pictures::Family;
use crate::cli::text::Table;
use kraus::regress::{Outcome, Pairs, Score, ranks::ROUNDING};
use serde_json::json;

/// Relative errors below this are rounding.
pub fn floor() -> f64 {
    (2.0 * ROUNDING).sqrt()
}

/// sqrt(mse / mean Y^2): 0 is perfect, 1 is no better than predicting 0.
pub fn relative(mse: f64, data: &Pairs) -> f64 {
    if data.mean_square > 0.0 { (mse / data.mean_square).sqrt() } else { 0.0 }
}

/// What cross-validation saw, as curves of relative errors, and the chosen number of operators.
pub fn families(outcome: &Outcome, data: &Pairs) -> (Vec<Family>, f64) {
    let entries = (data.q * data.q) as f64;
    // Errors of the penalised families are per matrix, of the others per entry.
    let curve = |scores: &[Score], per: f64| -> Vec<(f64, f64)> {
        scores.iter().map(|s| (s.rank as f64, relative(s.mean() / per, data).max(floor()))).collect()
    };
    let (mut all, mut chosen) = (Vec::new(), 1.0);
    for tried in outcome.regression.iter().flat_map(|r| &r.tried) {
        let name = if tried.complete { "completely positive" } else { "with signs" };
        all.push((name.to_owned(), curve(&tried.curve, entries)));
    }
    if let Some(found) = &outcome.unpenalised {
        let points = curve(&found.curve, 1.0);
        if !points.is_empty() {
            all.push(("without penalty".to_owned(), points));
        }
    }
    match (&outcome.regression, &outcome.unpenalised) {
        (Some(r), _) if outcome.use_regression => chosen = r.map.signs().len() as f64,
        (_, Some(u)) => chosen = u.fit.model.architecture().ranks[0] as f64, // every layer has the same rank
        _ => {}
    }
    (all, chosen)
}

/// The curve, as a table and perhaps a plot.
pub fn show(curve: &[Score], chosen: usize, args: &Args, data: &Pairs, facts: &mut Facts) {
    let mut table = Table::new(&["rank", "validation mse", "std. error", "relative", ""], &[0, 1, 2, 3]);
    let least = 2.0 * ROUNDING * data.mean_square;
    for (i, s) in curve.iter().enumerate() {
        let mark = if i == chosen { "<- chosen" } else { "" };
        let mse = if s.mean() <= least { "rounding".into() } else { format!("{:.4e}", s.mean()) };
        let cells = [mse, format!("{:.1e}", s.error()), floored(relative(s.mean(), data), floor()), mark.into()];
        table.row([s.rank.to_string()].into_iter().chain(cells).collect());
    }
    let values: Vec<_> =
        curve.iter().map(|s| json!({"rank": s.rank, "mse": s.mean(), "standard_error": s.error()})).collect();
    if !args.json {
        print(&(table.render() + "\n"));
    }
    if args.in_terminal() {
        let points: Vec<(f64, f64)> = curve.iter().map(|s| (s.rank as f64, s.mean())).collect();
        print(&(report::term::plot("validation mse by rank", &points, report::axis::Scale::Log, 60, 8) + "\n"));
    }
    facts.say(
        "chosen rank",
        format!("{} of {} tried", curve[chosen].rank, curve.len()),
        json!({"rank": curve[chosen].rank, "curve": values}),
    );
}
