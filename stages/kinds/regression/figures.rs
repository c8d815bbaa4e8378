//! Kind `regression-figures`: figure 2, table 2 and the bound, drawn from the results. Trains nothing.

use super::results::{DELTA, MODELS, bounded, chosen, curve, least_drop, settings, term};
use crate::shared::render::{figure, table};
use crate::shared::results::{read_results, values};
use anyhow::Result;
use pipeline::{Context, Stage, StageResult};
use report::aggregate::Summary;
use report::figures::{RankCurve, RankPanel, error_against_rank};
use report::results::Cell;
use report::table::{Best, Spec};
use report::{Figure, Results, Source, Table};
use serde::{Deserialize, Serialize};

/// The kind.
pub struct RegressionFigures;

/// Its parameters.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// What to draw.
    what: What,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum What {
    Figure2,
    Table2,
    Bound,
}

impl Stage for RegressionFigures {
    const NAME: &'static str = "regression-figures";
    const ABOUT: &'static str = "figure 2, table 2 and the bound, from the results of simulated regression";
    const SCHEMA: u32 = 1;
    type Params = Params;

    fn run(&self, p: &Params, ctx: &Context) -> StageResult {
        match p.what {
            What::Figure2 => figure(ctx, &figure2(ctx)?)?,
            What::Table2 => table(ctx, &table2(ctx)?)?,
            What::Bound => figure(ctx, &bound(ctx)?)?,
        }
        Ok(())
    }
}

/// Test error against the Kraus rank of the model: one panel per map.
fn figure2(ctx: &Context) -> Result<Figure> {
    let all = read_results(ctx)?;
    let mut panels = Vec::new();
    for map in ["20x10", "100x40"] {
        let mut curves = Vec::new();
        let here = all.only("map", map)?;
        for true_rank in values(&here, "true_rank")? {
            for samples in values(&here, "l")? {
                for (_, points) in curve(&all, map, true_rank, samples)?.curves(&["map"], "rank", "test_mse")? {
                    let of = |f: fn(&Summary) -> f64| points.iter().map(|p| f(&p.1)).collect::<Vec<_>>();
                    let rank = points.iter().map(|p| p.0).collect();
                    curves.push(RankCurve {
                        samples,
                        true_rank,
                        rank,
                        mse: of(|s| s.mean),
                        band: Some((of(|s| s.min), of(|s| s.max))),
                    });
                }
            }
        }
        if !curves.is_empty() {
            let (p, q) = map.split_once('x').unwrap_or((map, ""));
            panels.push(RankPanel { title: format!("{p}×{p} → {q}×{q}"), curves });
        }
    }
    let figure =
        error_against_rank("figure2", "Test error against the Kraus rank of the model", &panels, Source::Generated);
    let alt = figure.alt.clone();
    let adam = all.only("map", "100x40")?.only("solver", "adam, last epoch")?;
    let large = if adam.is_empty() {
        "the large one by the exact solver (L-BFGS on the samples in single precision, which resolves 10⁻¹² of the outputs' square, stopped where it creeps: below the true rank a few percent above the optimum; with 10000 samples the closed form from the moments, then L-BFGS; from a rank that fits exactly on the same map, where the samples determine it)"
    } else {
        "the large one too, except with 10000 samples, which the exact solver fits (closed form from the moments, then L-BFGS)"
    };
    let drop = match least_drop(&all)? {
        Some(factor) => format!(
            " With the exact solver and l >= 1000 the error at the true rank is at least {} times smaller than at the rank \
             of the grid below it, on both maps.",
            report::axis::scientific(factor, 0)
        ),
        None => String::new(),
    };
    Ok(figure.words(
        alt,
        format!(
            "Mean squared error on 1000 test samples against the Kraus rank of the model; bands span the datasets, vertical \
             lines mark the true ranks. The small map is fitted by the paper's Adam protocol (100 epochs, last epoch), {large}.{drop} With \
             100 samples Adam's 100 epochs leave the error large at every rank; table 2 shows that the exact solver recovers the small map \
             from the same samples, so this is Adam's limit and not the data's."
        ),
    ))
}

/// All models of table 2 in four settings beside the paper's numbers.
fn table2(ctx: &Context) -> Result<Table> {
    let all = read_results(ctx)?;
    let mut columns: Vec<(String, Vec<Cell>)> = vec![
        ("model".into(), MODELS.iter().map(|m| Cell::Text(m.3.into())).collect()),
        ("paper".into(), MODELS.iter().map(|m| Cell::Text(m.4.into())).collect()),
    ];
    let settings = settings(&all)?;
    for (name, noise, l) in settings {
        let (mut mean, mut sd) = (Vec::new(), Vec::new());
        for (_, model, solver, _, _) in MODELS {
            let rows = chosen(&all, model, solver, noise, l)?;
            let s = if rows.is_empty() { None } else { Some(Summary::of(rows.numbers("test_mse")?)) };
            mean.push(s.map_or(Cell::Null, |s| Cell::Float(s.mean)));
            sd.push(s.map_or(Cell::Null, |s| Cell::Float(s.sd)));
        }
        columns.push((name.into(), mean));
        columns.push((format!("{name} sd"), sd));
    }
    let heading = |noise: f64, l: usize| format!("l = {l}, noise {noise}");
    let mut specs = vec![Spec::text("Model", "model"), Spec::text("Paper (l = 10000)", "paper")];
    specs.extend(
        settings.map(|(name, noise, l)| Spec::mean_sd(&heading(noise, l), name, &format!("{name} sd"), Best::Smallest)),
    );
    let frame = Results::from_columns(columns)?;
    let caption =
        "Test MSE of all models on the map 20×20 → 10×10 of true Kraus rank 5: mean ± deviation over datasets";
    Ok(Table::new("table2", caption, Source::Generated, &frame, &specs)?
        .note("The rank (or its equivalent) of each model is chosen on a validation set; errors are against Y without noise on 1000 test samples.")
        .note(
            "Noise 0 is what the released generator makes, although the paper's model has noise: plain least squares is then exact at \
             l = 10000, so the paper's 0.058 for it cannot be its optimum.",
        )
        .note("The paper's 0.001 for PTR is where Adam's steps bounce, not the model's floor: compare its best epoch and the exact solver.")
        .note(
            "Every model is fitted as well as it allows. As a tensor train with one core per side the map has rank 5, its Kraus rank. A Tucker \
             network needs its full ranks (20, 20, 10, 10), which are among those tried: it then is multivariate regression with 41000 parameters. \
             Reduced-rank regression needs rank 55, all of the outputs, and HOPLS one latent vector for each of the 210 directions of X, of \
             which at most 100 are tried, as in the paper.",
        )
        .note(
            "Networks: Adam, batches of 16, step size falling from 0.01 to 0.0001, data divided by their root mean square, last epoch; the exact \
             solver is L-BFGS on all samples.",
        )
        .note("At l = 100 the paper states 0.007 ± 0.013 for PTR and 0.662 ± 0.364 for the tensor-train NN."))
}

/// Theorem 4 against the rank: empirical risk, measured gap, and the theorem's term.
fn bound(ctx: &Context) -> Result<Figure> {
    let rows = bounded(&read_results(ctx)?)?;
    let l = rows.numbers("l")?.first().copied().unwrap_or(0.0) as usize;
    let gamma = rows.numbers("largest")?.into_iter().fold(0.0, f64::max);
    let mean = |value: &str| -> Result<Vec<(f64, f64)>> {
        let curves = rows.curves(&["map"], "rank", value)?;
        Ok(curves.into_iter().flat_map(|(_, points)| points).map(|(rank, s)| (rank, s.mean)).collect())
    };
    let (train, held) = (mean("train_mse")?, mean("validation_mse")?);
    let (mut rank, mut risk, mut gap, mut terms) = (vec![], vec![], vec![], vec![]);
    for ((r, train), (_, held)) in train.into_iter().zip(held) {
        if let Some(t) = term(l, r as usize, gamma) {
            rank.push(r);
            risk.push(train);
            gap.push((held - train).abs());
            terms.push(t);
        }
    }
    let figure = report::figures::bound(&rank, &risk, &gap, &terms, Source::Generated);
    let alt = figure.alt.clone();
    Ok(figure.words(
        alt,
        format!(
            "Theorem 4 on the map 20×20 → 10×10, true rank 5, noise 0.1, l = {l}, delta = {DELTA}: empirical risk of the exact \
             fit, measured gap (held-out minus training error, absolute value) and the theorem's term against the Kraus rank. The square loss is not \
             bounded, so gamma is the largest squared error seen on held-out entries ({gamma:.2e}); ranks with l <= pqr are \
             left out, where the theorem's logarithm would be negative. The term is orders of magnitude above the gap: it bounds, it does not predict.",
        ),
    ))
}
