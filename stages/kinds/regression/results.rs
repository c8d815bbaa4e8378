//! Kind `regression-results`: the rows of simulated regression as one table, and its numbers: table 2 in each setting, the drop of
//! figure 2, the gap of theorem 4. How rows are selected and what the paper states stands here too, for the figures.

use crate::shared::results::{NoParams, Numbers, values, write_results};
use anyhow::Result;
use kraus::{BoundParams, bound};
use pipeline::{Context, Stage, StageResult};
use report::Results;

/// The kind.
pub struct RegressionResults;

impl Stage for RegressionResults {
    const NAME: &'static str = "regression-results";
    const ABOUT: &'static str =
        "all fits of simulated regression as one table, and the numbers its claims are judged by";
    const SCHEMA: u32 = 1;
    type Params = NoParams;

    fn run(&self, _: &NoParams, ctx: &Context) -> StageResult {
        Ok(write_results(ctx, metrics)?)
    }
}

/// The settings of table 2: name, noise, training samples. The paper's sizes are 10000 and 100; a smaller profile has others.
pub fn settings(results: &Results) -> Result<[(&'static str, f64, usize); 4]> {
    let sizes = results.only("map", "20x10")?.numbers("l")?;
    let large = sizes.iter().copied().fold(0.0, f64::max) as usize;
    let small = sizes.iter().copied().fold(f64::INFINITY, f64::min) as usize;
    Ok([
        ("table2", 0.0, large),
        ("table2-noise", 0.1, large),
        ("table2-small", 0.0, small),
        ("table2-small-noise", 0.1, small),
    ])
}

/// The rows of table 2: name in metrics, model, solver, heading, the paper's numbers at l = 10000.
pub const MODELS: [(&str, &str, &str, &str, &str); 12] = [
    (
        "ptr",
        "ptr",
        "adam, last epoch",
        "Partial trace regression: Adam, last epoch (the paper's protocol)",
        "0.001 ± 0.0008",
    ),
    ("ptr-best-epoch", "ptr", "adam, best epoch", "Partial trace regression: Adam, best epoch", ""),
    ("ptr-exact", "ptr", "exact", "Partial trace regression: exact solver", ""),
    ("trace", "trace", "", "Trace regression (nuclear norm)", "0.028 ± 0.0144"),
    ("trace-psd", "trace-psd", "", "Trace regression (PSD)", ""),
    ("multivariate", "multivariate", "", "Multivariate regression", "0.058 ± 0.0134"),
    ("reduced-rank", "reduced-rank", "", "Reduced-rank multivariate regression", "0.245 ± 0.1023"),
    ("hopls", "hopls", "", "HOPLS", "1.602 ± 0.0011"),
    ("tensor-train", "tensor-train", "adam", "Tensor-train NN: Adam", "0.001 ± 0.0009"),
    ("tensor-train-exact", "tensor-train", "exact", "Tensor-train NN: exact solver", ""),
    ("tucker", "tucker", "adam", "Tucker NN: Adam", "0.595 ± 0.0252"),
    ("tucker-exact", "tucker", "exact", "Tucker NN: exact solver", ""),
];

/// Of each dataset the rank with the least validation error, for one model in one setting of table 2.
pub fn chosen(results: &Results, model: &str, solver: &str, noise: f64, l: usize) -> Result<Results> {
    let mut rows = results.only("map", "20x10")?.only("true_rank", "5")?.only("model", model)?;
    rows = rows.only("noise", &format!("{noise:?}"))?.only("l", &l.to_string())?;
    if !solver.is_empty() && !rows.is_empty() {
        rows = rows.only("solver", solver)?;
    }
    if rows.is_empty() { Ok(rows) } else { Ok(rows.best(&["dataset"], "validation_mse")?) }
}

/// The fits of one curve of figure 2: the paper's Adam where it was run, the exact solver where only that was.
pub fn curve(results: &Results, map: &str, true_rank: usize, l: usize) -> Result<Results> {
    let rows = results.only("model", "ptr")?.only("map", map)?.only("noise", "0.0")?;
    let rows = rows.only("true_rank", &true_rank.to_string())?.only("l", &l.to_string())?;
    let adam = rows.only("solver", "adam, last epoch")?;
    if adam.is_empty() { Ok(rows.only("solver", "exact")?) } else { Ok(adam) }
}

/// By how much the exact solver's error drops from the rank of the grid below the true one to the true one, for every
/// map, true rank and l >= 1000 without noise that it fitted: the least of these factors.
pub fn least_drop(results: &Results) -> Result<Option<f64>> {
    let exact = results.only("model", "ptr")?.only("solver", "exact")?.only("noise", "0.0")?;
    let mut least = None::<f64>;
    for map in ["20x10", "100x40"] {
        let here = exact.only("map", map)?;
        if here.is_empty() {
            continue;
        }
        for true_rank in values(&here, "true_rank")? {
            for l in values(&here, "l")?.into_iter().filter(|l| *l >= 1000) {
                let rows = here.only("true_rank", &true_rank.to_string())?.only("l", &l.to_string())?;
                let points = means(&rows)?;
                let below = points.iter().rfind(|(rank, _)| *rank < true_rank);
                if let (Some((_, below)), Some((_, at))) = (below, points.iter().find(|(rank, _)| *rank == true_rank)) {
                    let factor = below / at.max(f64::MIN_POSITIVE);
                    least = Some(least.map_or(factor, |l| l.min(factor)));
                }
            }
        }
    }
    Ok(least)
}

/// The exact fits whose gap theorem 4 bounds: noise 0.1, the largest training set.
pub fn bounded(results: &Results) -> Result<Results> {
    let rows = results.only("model", "ptr")?.only("solver", "exact")?.only("map", "20x10")?;
    let rows = rows.only("noise", "0.1")?.only("true_rank", "5")?;
    let largest = rows.numbers("l")?.into_iter().fold(0.0, f64::max);
    Ok(rows.only("l", &largest.to_string())?)
}

/// Confidence of theorem 4's bound is 1 - delta.
pub const DELTA: f64 = 0.05;

/// Theorem 4 at the rank r: the complexity and confidence terms for errors up to gamma; none where l <= pqr.
pub fn term(l: usize, rank: usize, gamma: f64) -> Option<f64> {
    bound(&BoundParams { l, p: 20, q: 10, rank, gamma, delta: DELTA }).ok().map(|b| b.total(0.0))
}

/// The numbers. Only the paper's sizes count: what a smaller profile measures says nothing about the paper's claims.
fn metrics(results: &Results, out: &mut Numbers) -> Result<()> {
    for (setting, noise, l) in settings(results)?.into_iter().filter(|(_, _, l)| [100, 10_000].contains(l)) {
        if setting.starts_with("table2-small") != (l == 100) {
            continue;
        }
        for (name, model, solver, _, _) in MODELS {
            let rows = chosen(results, model, solver, noise, l)?;
            if !rows.is_empty() {
                out.summary(&format!("{setting}.{name}.mse"), rows.numbers("test_mse")?);
            }
        }
    }
    for (name, map, true_rank) in [("small", "20x10", 5), ("large", "100x40", 20)] {
        let sizes = values(&results.only("map", map)?, "l")?;
        for &l in &sizes {
            let curve = curve_at(results, map, true_rank, l)?;
            let at = curve.iter().find(|(rank, _)| *rank == true_rank).map(|(_, mse)| *mse);
            out.number(&format!("figure2.{name}.l{l}.mse"), at);
            if l == 10_000 {
                let below = curve.iter().rfind(|(rank, _)| *rank < true_rank).map(|(_, mse)| *mse);
                out.number(&format!("figure2.{name}.before.mse"), below);
                out.number(&format!("figure2.{name}.after.mse"), at);
            }
        }
    }
    let rows = bounded(results)?.only("rank", "5")?;
    if !rows.is_empty() {
        let (train, held) = (rows.numbers("train_mse")?, rows.numbers("validation_mse")?);
        let gap = train.iter().zip(&held).map(|(t, v)| v - t).sum::<f64>() / train.len() as f64;
        let gamma = rows.numbers("largest")?.into_iter().fold(0.0, f64::max);
        let l = rows.numbers("l")?[0] as usize;
        out.number("bound.gap", Some(gap));
        out.number("bound.term", term(l, 5, gamma));
    }
    Ok(())
}

/// Mean test error at each rank of a curve, ranks ascending.
fn curve_at(results: &Results, map: &str, true_rank: usize, l: usize) -> Result<Vec<(usize, f64)>> {
    means(&curve(results, map, true_rank, l)?)
}

/// Mean test error at each rank, ranks ascending; nothing of no rows.
fn means(rows: &Results) -> Result<Vec<(usize, f64)>> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let curves = rows.curves(&["map"], "rank", "test_mse")?;
    Ok(curves.into_iter().flat_map(|(_, points)| points).map(|(rank, s)| (rank as usize, s.mean)).collect())
}
