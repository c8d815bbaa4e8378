//! Kind `matrices-figures`: figures 3 to 5 and table 4, completion of simulated matrices. Trains nothing.

use super::results::{CASES, entries, epochs, figure3 as blocks, methods, table4 as rows_of_table4};
use crate::shared::files::{inputs_with, read_json, read_npy};
use crate::shared::render::{Drawings, figure, table};
use crate::shared::results::read_results;
use crate::shared::rows::{ROWS, Row};
use anyhow::{Context as _, Result};
use estimator::Mask;
use ndarray::{Array2, Ix2};
use pipeline::{Context, Input};
use report::frames::Results;
use report::polars::prelude::{DataFrame, Expr, JoinType};
use report::table::{Best, Spec};
use report::{Figure, Source, Table};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What there is to draw.
#[derive(Serialize, Deserialize, Clone, Copy, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum What {
    Figure3,
    Table4,
    Figure4,
    Figure5,
}

impl Drawings for What {
    const NAME: &'static str = "matrices-figures";
    const ABOUT: &'static str = "figures 3 to 5 and table 4, from the completions of simulated matrices";

    fn draw(self, ctx: &Context) -> Result<()> {
        match self {
            What::Figure3 => figure(ctx, &figure3(ctx)?),
            What::Table4 => table(ctx, &table4(ctx)?),
            What::Figure4 => figure(ctx, &missing_entries(ctx, "figure4", 0.35)?),
            What::Figure5 => figure(ctx, &missing_entries(ctx, "figure5", 0.85)?),
        }
    }
}

/// The protocol in the words of the captions.
fn protocol(all: &DataFrame) -> Result<String> {
    Ok(format!("Adam, {} epochs of batches of 4 blocks, rate 0.001, Glorot start, last epoch", epochs(all)?.0))
}

/// Whether a row has these values.
fn has(row: &Row, wanted: &[(&str, serde_json::Value)]) -> bool {
    wanted.iter().all(|(name, value)| row.get(*name) == Some(value))
}

/// The completed matrix of the first matrix and mask with these values.
fn filled(ctx: &Context, wanted: &[(&str, serde_json::Value)]) -> Result<Array2<f64>> {
    for input in inputs_with(ctx, "filled.npy")? {
        let rows: Vec<Row> = read_json(input.path(ROWS)?)?;
        let first = [("matrix", 0.into()), ("mask", 0.into())];
        if rows.iter().any(|r| has(r, &first) && has(r, wanted)) {
            return read_npy(input.path("filled.npy")?);
        }
    }
    anyhow::bail!("no completed matrix with {wanted:?}; check the matrices of the stages that fill")
}

/// The target and the same with NaN where it is missing, of the first matrix and mask.
fn target(ctx: &Context, wanted: &[(&str, &str)]) -> Result<(Array2<f64>, Array2<f64>)> {
    let first = [("matrix", "0"), ("mask", "0")];
    let fits = |input: &Input| {
        let same = |(name, text): &(&str, &str)| input.axes.get(name).is_some_and(|v| v.to_string() == *text);
        first.iter().chain(wanted).all(same)
    };
    let found = inputs_with(ctx, "truth.npy")?;
    let input = found.into_iter().find(|i| fits(i)).with_context(|| format!("no simulated matrix with {wanted:?}"))?;
    let truth: Array2<f64> = read_npy(input.path("truth.npy")?)?;
    let mask = Mask::from_zeros_and_ones(read_npy::<f64, Ix2>(input.path("mask.npy")?)?.view())?;
    let holes = Array2::from_shape_fn(truth.dim(), |at| if mask[at] { truth[at] } else { f64::NAN });
    Ok((truth, holes))
}

/// The mean error over all matrices and masks of some fits, for captions.
fn mean(all: &DataFrame, fits: Expr) -> Result<String> {
    Ok(format!("{:.2}", all.only(fits)?.summary("mse")?.mean))
}

/// Missing blocks, completed at four ranks.
fn figure3(ctx: &Context) -> Result<Figure> {
    let all = read_results(ctx)?;
    let all = all.with("epochs", epochs(&all)?.0)?;
    let (truth, holes) = target(ctx, &[("pattern", "blocks"), ("shifted", "true")])?;
    let mut panels = vec![("target".to_string(), truth), ("with missing blocks".to_string(), holes)];
    let mut errors = Vec::new();
    for rank in [1, 5, 30, 100] {
        let wanted =
            [("pattern", "blocks".into()), ("shifted", true.into()), ("method", "ptr".into()), ("rank", rank.into())];
        panels.push((format!("rank {rank}"), filled(ctx, &wanted)?));
        errors.push(format!("rank {rank}: {}", mean(&all, blocks(rank))?));
    }
    let f = report::figures::completion(
        "figure3",
        "Completion of missing blocks, 28 × 28, p = 7, q = 4",
        &panels,
        3,
        Some(4),
        Source::Generated,
    );
    let alt = f.alt.clone();
    Ok(f.words(
        alt,
        format!(
            "A full-rank positive semidefinite matrix from the released generator (shifted by −2 min, as released), 30 % of its \
             blocks missing, completed by partial trace regression of depth 1 ({}). One colour scale for all panels; only \
             missing entries are replaced. Mean squared error over missing entries, mean over all matrices and masks: {}.",
            protocol(&all)?,
            errors.join(", ")
        ),
    ))
}

/// Missing entries, completed at two depths.
fn missing_entries(ctx: &Context, id: &str, level: f64) -> Result<Figure> {
    let all = read_results(ctx)?;
    let text = level.to_string();
    let (truth, holes) = target(ctx, &[("pattern", "entries"), ("level", &text)])?;
    let mut panels = vec![("target".to_string(), truth), ("with missing entries".to_string(), holes)];
    let mut errors = Vec::new();
    for depth in [1, 2] {
        let wanted = [("pattern", "entries".into()), ("level", level.into()), ("depth", depth.into())];
        panels.push((format!("depth {depth}"), filled(ctx, &wanted)?));
        errors.push(format!("depth {depth}: {}", mean(&all, entries(level, depth))?));
    }
    let title = format!("{:.0} % of the entries missing, p = 7, q = 4", 100.0 * level);
    let f = report::figures::completion(id, &title, &panels, 2, Some(4), Source::Generated);
    let alt = f.alt.clone();
    Ok(f.words(
        alt,
        format!(
            "Target, target with {:.0} % of its entries missing (symmetric, not by blocks), and partial trace regression of Kraus \
             rank 30 with one map (7-4) and two maps (7-5-4, no Gamma); {}. The matrix is shifted by −2 min as released. One \
             colour scale. Mean squared error over missing entries, mean over all matrices and masks: {}.",
            100.0 * level,
            protocol(&all)?,
            errors.join(", ")
        ),
    ))
}

/// Errors over the missing entries, with and without the released shift, beside the paper's.
fn table4(ctx: &Context) -> Result<Table> {
    let all = read_results(ctx)?;
    let rows = rows_of_table4(&all)?;
    let count = rows.summary("n")?.max;
    let errors = rows.spread(&["name"], ("case", &CASES.map(|c| c.0)), &["mean", "sd"])?;
    let frame = methods()?.joined(&errors, &["name"], JoinType::Left)?;
    let mut specs = vec![Spec::text("Method", "heading"), Spec::text("Paper", "paper")];
    specs.extend(CASES.map(|(case, _, _, heading)| {
        Spec::mean_sd(heading, &format!("mean {case}"), &format!("sd {case}"), Best::Smallest)
    }));
    let caption = "Completion of missing blocks of 28 × 28 positive semidefinite matrices (p = 7, q = 4): mean squared error over missing entries";
    let mut table = Table::new("table4", caption, Source::Generated, &frame, &specs)?
        .note(format!("Mean ± deviation over {count} cases: random full-rank matrices and random masks, the same for all methods. The paper does not say how many it averages over."))
        .note(format!("Partial trace regression and the trace regression by Kraus factors: {}, depth 1. At depth 1 the block size does not change the model (theorem 5), only the path of the training: blocks of one entry make more steps per epoch.", protocol(&all)?))
        .note("The released generator shifts a matrix with negative entries by −2 min, because it marks missing entries by zero; here a mask does that, and the shift only sets the scale for comparing with the paper. A shifted matrix is nearly constant, so the mean of the observed entries is a strong rival: what PTR gains on the tensor-train NN is that it finds this constant.")
        .note("Trace regression by blocks is the form of table 2. Its penalty is followed down from the largest one to the one that held-out blocks choose; its error is a quarter of the paper's. Solved at a small penalty at once, to a tolerance of 1e-5, it leaves unseen entries at zero: then its error is near the paper's (2.1 ± 0.8 in the first column). PTR is better than it and than the tensor-train NN, as in the paper. That ordering does not hold for other forms: at the paper's epochs the nuclear norm of the whole matrix, Kraus factors on single entries and on shifted matrices even the plain mean do as well as PTR or better.");
    if let (_, Some(most)) = epochs(&all)? {
        table = table.note(format!(
            "The paper's protocol stops PTR early: at its end the observed entries are not fitted yet. “Trained to the end” is the same model and rate after {most} epochs: better where blocks of the diagonal are missing, worse where only off-diagonal ones are."
        ));
    }
    Ok(table)
}
