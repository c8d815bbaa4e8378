//! Kind `matrices-results`: the rows of simulated completion as one table, and its numbers for figures 3 to 5 and table 4.
//! How rows are selected and what the paper states stands here too, for the figures.

use crate::shared::results::{NoParams, Numbers, write_results};
use anyhow::Result;
use pipeline::{Context, Stage, StageResult};
use report::Results;

/// The kind.
pub struct MatricesResults;

impl Stage for MatricesResults {
    const NAME: &'static str = "matrices-results";
    const ABOUT: &'static str =
        "all completions of simulated matrices as one table, and the numbers their claims are judged by";
    const SCHEMA: u32 = 1;
    type Params = NoParams;

    fn run(&self, _: &NoParams, ctx: &Context) -> StageResult {
        Ok(write_results(ctx, metrics)?)
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

/// Errors of a method over all matrices and masks. `zero` is no fit: its error is the scale of what is missing.
pub fn errors(results: &Results, method: &str, rank: usize, pattern: &str, shifted: bool) -> Result<Vec<f64>> {
    let (fit, column) = if method == "zero" { ("mean", "scale") } else { (method, "mse") };
    let rows = results.only("method", fit)?.only("pattern", pattern)?.only("shifted", &shifted.to_string())?;
    let rows = if rank > 0 { rows.only("rank", &rank.to_string())? } else { rows };
    Ok(rows.numbers(column)?)
}

/// Epochs of the paper's protocol, and of the fits that were trained to the end where there are any.
pub fn epochs(results: &Results) -> Result<(f64, Option<f64>)> {
    let all = results.only("method", "ptr")?.numbers("epochs")?;
    let (least, most) = all.iter().fold((f64::INFINITY, 0.0f64), |(l, m), e| (l.min(*e), m.max(*e)));
    Ok((least, Some(most).filter(|m| *m > least)))
}

/// The rows of one kind of training: `long` or the paper's protocol. What is not trained belongs to both.
pub fn trained(results: &Results, long: bool) -> Result<Results> {
    let (short, most) = epochs(results)?;
    let wanted = if long { most } else { Some(short) };
    let epochs = results.numbers("epochs")?;
    let rows: Vec<usize> = (0..epochs.len()).filter(|i| Some(epochs[*i]) == wanted).collect();
    Ok(results.take(&rows)?)
}

/// Fits of figure 3 (missing blocks, as the released generator makes them) at a rank.
pub fn figure3(results: &Results, rank: usize) -> Result<Results> {
    let rows = results.only("pattern", "blocks")?.only("method", "ptr")?.only("shifted", "true")?;
    Ok(rows.only("rank", &rank.to_string())?)
}

/// Fits of figures 4 and 5 (missing entries) at a level and depth.
pub fn entries(results: &Results, level: f64, depth: usize) -> Result<Results> {
    let rows = results.only("pattern", "entries")?.only("level", &level.to_string())?;
    Ok(rows.only("depth", &depth.to_string())?)
}

/// Epochs of the released scripts, as a cell's text.
const EPOCHS: &str = "50";

/// Levels of figures 4 and 5.
pub const LEVELS: [(&str, f64); 2] = [("figure4", 0.35), ("figure5", 0.85)];

/// The numbers. Only the paper's protocol counts: what a smaller profile trains says nothing about the paper's claims.
fn metrics(results: &Results, out: &mut Numbers) -> Result<()> {
    let results = &results.only("epochs", EPOCHS)?;
    for rank in [1, 5, 30] {
        out.summary(&format!("figure3.rank{rank}.mse"), figure3(results, rank)?.numbers("mse")?);
    }
    for (name, method, rank, _, _) in METHODS {
        if matches!(name, "ptr" | "trace" | "trace-whole" | "tensor-train" | "mean") {
            out.summary(&format!("table4.{name}.mse"), errors(results, method, rank, "blocks", true)?);
        }
    }
    for (figure, level) in LEVELS {
        for depth in [1, 2] {
            out.summary(&format!("{figure}.depth{depth}.mse"), entries(results, level, depth)?.numbers("mse")?);
        }
    }
    Ok(())
}
