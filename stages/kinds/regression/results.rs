//! Kind `regression-results`: the rows of simulated regression as one table, and its numbers: table 2 in each setting, the drop of
//! figure 2, the gap of theorem 4. How rows are selected and what the paper states stands here too, for the figures.

use crate::shared::results::{Experiment, Numbers};
use anyhow::Result;
use kraus::{BoundParams, BoundVersion, bound};
use pipeline::Context;
use report::frames::{Results, summary};
use report::polars::prelude::{DataFrame, Expr, IntoLazy, JoinType, col, df, lit};

/// The experiment.
pub struct Regression;

impl Experiment for Regression {
    const NAME: &'static str = "regression-results";
    const ABOUT: &'static str =
        "all fits of simulated regression as one table, and the numbers its claims are judged by";

    fn metrics(_: &Context, results: &DataFrame, out: &mut Numbers) -> Result<()> {
        metrics(results, out)
    }
}

/// The settings of table 2: name, noise, training samples. The paper's sizes are 10000 and 100; a smaller profile has others.
pub fn settings(results: &DataFrame) -> Result<[(&'static str, f64, usize); 4]> {
    let sizes = results.with("map", "20x10")?.distinct("l")?;
    let (small, large) = (sizes.first().copied().unwrap_or(0), sizes.last().copied().unwrap_or(0));
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

/// [`MODELS`] as a frame: `name`, `model`, `wanted` (the solver; empty for any), `heading`, `paper`.
pub fn models() -> Result<DataFrame> {
    Ok(df!(
        "name" => MODELS.map(|m| m.0),
        "model" => MODELS.map(|m| m.1),
        "wanted" => MODELS.map(|m| m.2),
        "heading" => MODELS.map(|m| m.3),
        "paper" => MODELS.map(|m| m.4),
    )?)
}

/// Table 2 as rows: the test error of each model (`name`) in each `setting`, with the rank chosen on the validation set of each dataset.
pub fn table2(results: &DataFrame) -> Result<DataFrame> {
    let settings = settings(results)?;
    let settings = df!(
        "setting" => settings.map(|s| s.0),
        "noise" => settings.map(|s| s.1),
        "l" => settings.map(|s| s.2 as i64),
    )?;
    let here = col("map").eq(lit("20x10")).and(col("true_rank").eq(lit(5)));
    let wanted = col("wanted").eq(lit("")).or(col("wanted").eq(col("solver")));
    let fits = results.only(here)?.joined(&models()?, &["model"], JoinType::Inner)?.only(wanted)?;
    let fits = fits.joined(&settings, &["noise", "l"], JoinType::Inner)?;
    let chosen = fits.best(&["name", "setting", "dataset"], "validation_mse")?;
    Ok(chosen.summaries(&["name", "setting"], "test_mse")?)
}

/// What identifies a curve of figure 2.
pub const CURVE: [&str; 3] = ["map", "true_rank", "l"];

/// The fits of partial trace regression without noise.
fn noiseless() -> Expr {
    col("model").eq(lit("ptr")).and(col("noise").eq(lit(0.0)))
}

/// The points of figure 2, curve by curve and rank by rank: the paper's Adam where it was run, the exact solver where only that was.
pub fn curves(results: &DataFrame) -> Result<DataFrame> {
    let adam = || col("solver").eq(lit("adam, last epoch"));
    let exact_only = col("solver").eq(lit("exact")).and(adam().any(true).over(CURVE.map(col))?.not());
    points(&results.only(noiseless())?.only(adam().or(exact_only))?)
}

/// The test error at each rank of each curve, both ascending.
fn points(fits: &DataFrame) -> Result<DataFrame> {
    let keys = [&CURVE[..], &["rank"]].concat();
    let points = fits.summaries(&keys, "test_mse")?;
    // By name the small map, 20x10, would come after the large one, 100x40.
    let order = [col("map").eq(lit("100x40")), col("true_rank"), col("l"), col("rank")];
    Ok(points.lazy().sort_by_exprs(order, Default::default()).collect()?)
}

/// For each curve the error at the true rank (`at`) and at the rank of the grid below it (`below`).
fn drops(points: &DataFrame) -> Result<DataFrame> {
    let mean = |which: Expr| col("mean").filter(which);
    let (rank, truth) = (col("rank"), col("true_rank"));
    let at = rank.clone().eq(truth.clone());
    let aggregates = [
        mean(rank.lt(truth)).last().alias("below"),
        mean(at.clone()).first().alias("at"),
        col("n").filter(at).first().alias("n"),
    ];
    Ok(points.clone().lazy().group_by_stable(CURVE.map(col)).agg(aggregates).collect()?)
}

/// By how much the exact solver's error drops from the rank of the grid below the true one to the true one, for every
/// map, true rank and l >= 1000 without noise that it fitted: the least of these factors.
pub fn least_drop(results: &DataFrame) -> Result<Option<f64>> {
    let exact = col("solver").eq(lit("exact")).and(col("l").gt_eq(lit(1000)));
    let drops = drops(&points(&results.only(noiseless().and(exact))?)?)?;
    let factors = drops.numbers("below")?.into_iter().zip(drops.numbers("at")?);
    Ok(factors.map(|(below, at)| below / at.max(f64::MIN_POSITIVE)).filter(|f| !f.is_nan()).reduce(f64::min))
}

/// The exact fits whose gap theorem 4 bounds: noise 0.1, the largest training set.
pub fn bounded(results: &DataFrame) -> Result<DataFrame> {
    let here = col("map").eq(lit("20x10")).and(col("noise").eq(lit(0.1))).and(col("true_rank").eq(lit(5)));
    let exact = col("model").eq(lit("ptr")).and(col("solver").eq(lit("exact")));
    Ok(results.only(here.and(exact))?.only(col("l").eq(col("l").max()))?)
}

/// Confidence of theorem 4's bound is 1 - delta.
pub const DELTA: f64 = 0.05;

/// Theorem 4 at the rank r: the complexity and confidence terms for errors up to gamma; none where this form of the theorem
/// says nothing.
pub fn term(l: usize, rank: usize, gamma: f64, version: BoundVersion) -> Option<f64> {
    bound(&BoundParams { l, p: 20, q: 10, rank, gamma, delta: DELTA }, version).ok().map(|b| b.total(0.0))
}

/// The numbers. Only the paper's sizes count: what a smaller profile measures says nothing about the paper's claims.
fn metrics(results: &DataFrame, out: &mut Numbers) -> Result<()> {
    let paper: Vec<&str> = settings(results)?
        .into_iter()
        .filter(|(setting, _, l)| *l == if setting.starts_with("table2-small") { 100 } else { 10_000 })
        .map(|(setting, _, _)| setting)
        .collect();
    let table = table2(results)?;
    let names = table.texts("setting")?.into_iter().zip(table.texts("name")?);
    for ((setting, name), summary) in names.zip(table.listed()?) {
        let (setting, name) = (setting.unwrap_or_default(), name.unwrap_or_default());
        if paper.contains(&setting.as_str()) {
            out.summary(&format!("{setting}.{name}.mse"), summary);
        }
    }
    let drops = drops(&curves(results)?)?;
    for (name, map, true_rank) in [("small", "20x10", 5), ("large", "100x40", 20)] {
        let here = drops.only(col("map").eq(lit(map)).and(col("true_rank").eq(lit(true_rank))))?;
        let (l, n) = (here.numbers("l")?, here.numbers("n")?);
        let errors = here.numbers("below")?.into_iter().zip(here.numbers("at")?);
        for ((l, n), (below, at)) in l.into_iter().zip(n).zip(errors) {
            out.mean(&format!("figure2.{name}.l{l}.mse"), at, n);
            if l == 10_000.0 {
                out.mean(&format!("figure2.{name}.before.mse"), below, n);
                out.mean(&format!("figure2.{name}.after.mse"), at, n);
            }
        }
    }
    let rows = bounded(results)?.with("rank", 5)?;
    if rows.height() > 0 {
        let gap = rows.clone().lazy().with_column((col("validation_mse") - col("train_mse")).alias("gap"));
        out.summary("bound.gap", gap.select(summary("gap")).collect()?.listed()?[0]);
        let (l, gamma) = (rows.distinct("l")?[0], rows.summary("largest")?.max);
        out.number("bound.term", term(l, 5, gamma, BoundVersion::AsProved));
        out.number("bound.printed", term(l, 5, gamma, BoundVersion::AsPrinted));
    }
    Ok(())
}
