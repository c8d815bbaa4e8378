//! Kind `matrices-results`: the rows of simulated completion as one table, and its numbers for figures 3 to 5 and table 4.
//! How rows are selected and what the paper states stands here too, for the figures.

use crate::shared::results::{Experiment, Numbers};
use anyhow::Result;
use pipeline::Context;
use report::frames::Results;
use report::polars::prelude::{DataFrame, Expr, IntoLazy, JoinType, col, df, lit, when};

/// The experiment.
pub struct Matrices;

impl Experiment for Matrices {
    const NAME: &'static str = "matrices-results";
    const ABOUT: &'static str =
        "all completions of simulated matrices as one table, and the numbers their claims are judged by";

    fn metrics(_: &Context, results: &DataFrame, out: &mut Numbers) -> Result<()> {
        metrics(results, out)
    }
}

/// Columns of table 4: name, pattern of missing blocks, with the released shift, heading. The first is the paper's.
pub const CASES: [(&str, &str, bool, &str); 4] = [
    ("released", "blocks", true, "30 % of blocks, shifted as released"),
    ("off-diagonal", "off-diagonal", true, "30 % of off-diagonal blocks, shifted"),
    ("diagonal", "diagonal", true, "all diagonal blocks, shifted"),
    ("plain", "blocks", false, "30 % of blocks, no shift"),
];

/// The rows of table 4: name in metrics, method, Kraus or tensor-train rank (0: none), heading, the paper's number. Names
/// that end in `-long` are the fits of most epochs, the others those of the paper's protocol.
pub const METHODS: [(&str, &str, usize, &str, &str); 11] = [
    ("ptr", "ptr", 30, "Partial trace regression, rank 30", "0.572 ± 0.019"),
    ("ptr5", "ptr", 5, "Partial trace regression, rank 5", ""),
    ("ptr100", "ptr", 100, "Partial trace regression, rank 100", ""),
    ("ptr-long", "ptr", 30, "Partial trace regression, rank 30, trained to the end", ""),
    ("ptr100-long", "ptr", 100, "Partial trace regression, rank 100, trained to the end", ""),
    ("trace", "trace", 0, "Trace regression (nuclear norm, one matrix per entry of a block)", "2.996 ± 1.078"),
    ("trace-whole", "trace-whole", 0, "Trace regression (nuclear norm of the whole matrix)", ""),
    ("trace-kraus", "trace-kraus", 0, "Trace regression (Kraus rank 30, blocks of one entry)", ""),
    ("tensor-train", "tensor-train", 0, "Tensor-train NN", "3.942 ± 1.463"),
    ("mean", "mean", 0, "Mean of the observed entries", ""),
    ("zero", "zero", 0, "Zero", ""),
];

/// [`METHODS`] as a frame: `name`, `method`, `wanted` (the rank; 0 for any), `heading`, `paper`.
pub fn methods() -> Result<DataFrame> {
    Ok(df!(
        "name" => METHODS.map(|m| m.0),
        "method" => METHODS.map(|m| m.1),
        "wanted" => METHODS.map(|m| m.2 as i64),
        "long" => METHODS.map(|m| m.0.ends_with("-long")),
        "heading" => METHODS.map(|m| m.3),
        "paper" => METHODS.map(|m| m.4),
    )?)
}

/// Table 4 as rows: the error of each method (`name`) in each `case`, over all matrices and masks.
pub fn table4(results: &DataFrame) -> Result<DataFrame> {
    let (short, long) = epochs(results)?;
    // `zero` is no fit: its error is the scale of what is missing, which every row of a mask has.
    let zero = results.with("method", "mean")?.lazy();
    let zero = zero.with_columns([lit("zero").alias("method"), col("scale").alias("mse")]).collect()?;
    let cases = df!(
        "case" => CASES.map(|c| c.0),
        "pattern" => CASES.map(|c| c.1),
        "shifted" => CASES.map(|c| c.2),
    )?;
    let rank = col("wanted").eq(lit(0)).or(col("wanted").eq(col("rank")));
    let wanted_epochs = when(col("long")).then(lit(long.unwrap_or(f64::NAN))).otherwise(lit(short));
    let fits = results.vstack(&zero)?.joined(&methods()?, &["method"], JoinType::Inner)?;
    let fits = fits.only(rank.and(col("epochs").eq(wanted_epochs)))?;
    let fits = fits.joined(&cases, &["pattern", "shifted"], JoinType::Inner)?;
    Ok(fits.summaries(&["name", "case"], "mse")?)
}

/// Epochs of the paper's protocol, and of the fits that were trained to the end where there are any.
pub fn epochs(results: &DataFrame) -> Result<(f64, Option<f64>)> {
    let all = results.with("method", "ptr")?.summary("epochs")?;
    Ok((all.min, Some(all.max).filter(|m| *m > all.min)))
}

/// Fits of figure 3 (missing blocks, as the released generator makes them) at a rank.
pub fn figure3(rank: i64) -> Expr {
    let blocks = col("pattern").eq(lit("blocks")).and(col("shifted").eq(lit(true)));
    blocks.and(col("method").eq(lit("ptr"))).and(col("rank").eq(lit(rank)))
}

/// Fits of figures 4 and 5 (missing entries) at a level and depth.
pub fn entries(level: f64, depth: i64) -> Expr {
    col("pattern").eq(lit("entries")).and(col("level").eq(lit(level))).and(col("depth").eq(lit(depth)))
}

/// Epochs of the released scripts.
const EPOCHS: i64 = 50;

/// Levels of figures 4 and 5.
pub const LEVELS: [(&str, f64); 2] = [("figure4", 0.35), ("figure5", 0.85)];

/// The numbers. Only the paper's protocol counts: what a smaller profile trains says nothing about the paper's claims.
fn metrics(results: &DataFrame, out: &mut Numbers) -> Result<()> {
    let results = &results.with("epochs", EPOCHS)?;
    for rank in [1, 5, 30] {
        out.summary(&format!("figure3.rank{rank}.mse"), results.only(figure3(rank))?.summary("mse")?);
    }
    let table = table4(results)?.with("case", CASES[0].0)?;
    for (name, error) in table.texts("name")?.into_iter().flatten().zip(table.listed()?) {
        if matches!(name.as_str(), "ptr" | "trace" | "trace-whole" | "tensor-train" | "mean") {
            out.summary(&format!("table4.{name}.mse"), error);
        }
    }
    for (figure, level) in LEVELS {
        for depth in [1, 2] {
            out.summary(&format!("{figure}.depth{depth}.mse"), results.only(entries(level, depth))?.summary("mse")?);
        }
    }
    Ok(())
}
