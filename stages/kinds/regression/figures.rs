//! Kind `regression-figures`: figure 2, table 2 and the bound, drawn from the results. Trains nothing.

use super::results::{DELTA, bounded, curves, least_drop, models, settings, table2 as rows_of_table2, term};
use crate::shared::params::sizes;
use crate::shared::render::{Drawings, figure, table};
use crate::shared::results::read_results;
use anyhow::{Result, anyhow};
use kraus::BoundVersion;
use pipeline::Context;
use report::figures::error_against_rank;
use report::frames::Results;
use report::polars::prelude::{Column, DataFrame, IntoLazy, JoinType, col, lit};
use report::table::{Best, Spec};
use report::{Figure, Source, Table};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What there is to draw.
#[derive(Serialize, Deserialize, Clone, Copy, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum What {
    Figure2,
    Table2,
    Bound,
}

impl Drawings for What {
    const NAME: &'static str = "regression-figures";
    const ABOUT: &'static str = "figure 2, table 2 and the bound, from the results of simulated regression";

    fn draw(self, ctx: &Context) -> Result<()> {
        match self {
            What::Figure2 => figure(ctx, &figure2(ctx)?),
            What::Table2 => table(ctx, &table2(ctx)?),
            What::Bound => figure(ctx, &bound(ctx)?),
        }
    }
}

/// Test error against the Kraus rank of the model: one panel per map.
fn figure2(ctx: &Context) -> Result<Figure> {
    let all = read_results(ctx)?;
    let mut points = curves(&all)?;
    let title = |map: &str| {
        let (p, q) = sizes(map).ok_or_else(|| anyhow!("the map `{map}` in the results is not two sizes like 20x10"))?;
        Ok(format!("{p}×{p} → {q}×{q}"))
    };
    let titles: Vec<String> = points.texts("map")?.iter().flatten().map(|map| title(map)).collect::<Result<_>>()?;
    points.with_column(Column::new("panel".into(), titles))?;
    let figure =
        error_against_rank("figure2", "Test error against the Kraus rank of the model", &points, Source::Generated)?;
    let alt = figure.alt.clone();
    let adam = all.only(col("solver").eq(lit("adam, last epoch")))?;
    let epochs = adam.summary("epochs")?.max;
    let on_large = adam.with("map", "100x40")?.distinct("l")?;
    let large = if on_large.is_empty() {
        "the large one by the exact solver (L-BFGS on the samples in single precision, which resolves 10⁻¹² of the outputs' square, stopped where it creeps: below the true rank a few percent above the optimum; with 10000 samples the closed form from the moments, then L-BFGS; from a rank that fits exactly on the same map, where the samples determine it)"
    } else if on_large.contains(&10_000) {
        "and so is the large one"
    } else {
        "and so is the large one, except with 10000 samples: there Adam would take an hour and a half for each dataset, and the exact solver stands for it (closed form from the moments, then L-BFGS)"
    };
    let drop = match least_drop(&all)? {
        Some(factor) => format!(
            " With the exact solver and l >= 1000 the error at the true rank is at least {} times smaller than at the rank \
             of the grid below it, on both maps.",
            report::number::scientific(factor, 0)
        ),
        None => String::new(),
    };
    Ok(figure.words(
        alt,
        format!(
            "Mean squared error on 1000 test samples against the Kraus rank of the model; bands span the datasets ({}), vertical \
             lines mark the true ranks. The small map is fitted by the paper's Adam protocol ({epochs} epochs, last epoch), {large}.{drop} With \
             100 samples Adam's {epochs} epochs leave the error large at every rank; table 2 shows that the exact solver recovers the small map \
             from the same samples, so this is Adam's limit and not the data's.",
            extent(&points)?
        ),
    ))
}

/// How many datasets each map has and how far its ranks go: `5 for 20×20 → 10×10, ranks to 100; ...`.
fn extent(points: &DataFrame) -> Result<String> {
    let mut panels: Vec<String> = points.texts("panel")?.into_iter().flatten().collect();
    panels.dedup();
    let mut parts = Vec::new();
    for panel in panels {
        let here = points.with("panel", panel.as_str())?;
        let (n, rank) = (here.summary("n")?, here.summary("rank")?.max);
        let many = if n.min < n.max { format!("{} to {}", n.min, n.max) } else { format!("{}", n.max) };
        parts.push(format!("{many} for {panel}, ranks to {rank}"));
    }
    Ok(parts.join("; "))
}

/// All models of table 2 in four settings beside the paper's numbers.
fn table2(ctx: &Context) -> Result<Table> {
    let all = read_results(ctx)?;
    let settings = settings(&all)?;
    let names = settings.map(|s| s.0);
    let errors = rows_of_table2(&all)?.spread(&["name"], ("setting", &names), &["mean", "sd"])?;
    let frame = models()?.joined(&errors, &["name"], JoinType::Left)?;
    let mut specs = vec![Spec::text("Model", "heading"), Spec::text("Paper (l = 10000)", "paper")];
    specs.extend(settings.map(|(name, noise, l)| {
        let heading = format!("l = {l}, noise {noise}");
        Spec::mean_sd(&heading, &format!("mean {name}"), &format!("sd {name}"), Best::Smallest)
    }));
    let small = all.with("map", "20x10")?;
    let datasets = small.distinct("dataset")?.len();
    let ranks = |model: &str| -> Result<usize> { Ok(small.with("model", model)?.distinct("rank")?.len()) };
    let caption = format!(
        "Test MSE of all models on the map 20×20 → 10×10 of true Kraus rank 5: mean ± deviation over {datasets} datasets"
    );
    let grids = format!(
        "The paper takes the best of the ranks 1 to 100; tried here were {} of them for PTR, {} for reduced-rank regression, {} for the tensor train \
         and {} for the Tucker network, which has no more than 20.",
        ranks("ptr")?,
        ranks("reduced-rank")?,
        ranks("tensor-train")?,
        ranks("tucker")?
    );
    Ok(Table::new("table2", &caption, Source::Generated, &frame, &specs)?
        .note("The rank (or its equivalent) of each model is chosen on a validation set; errors are against Y without noise on 1000 test samples.")
        .note(&grids)
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
    let l = rows.distinct("l")?.first().copied().unwrap_or(0);
    let gamma = rows.summary("largest")?.max;
    let means = rows.lazy().group_by_stable([col("rank")]).agg([col("train_mse").mean(), col("validation_mse").mean()]);
    let means = means.sort(["rank"], Default::default()).collect()?;
    let (rank, risk) = (means.numbers("rank")?, means.numbers("train_mse")?);
    let gap: Vec<f64> =
        means.numbers("validation_mse")?.iter().zip(&risk).map(|(held, train)| (held - train).abs()).collect();
    let terms = |version: BoundVersion| -> (Vec<f64>, Vec<f64>) {
        rank.iter().filter_map(|r| Some((*r, term(l, *r as usize, gamma, version)?))).unzip()
    };
    let (printed, proved) = (terms(BoundVersion::AsPrinted), terms(BoundVersion::AsProved));
    let forms = [
        ("term as printed (no theorem)", &printed.0[..], &printed.1[..]),
        ("term as proved", &proved.0[..], &proved.1[..]),
    ];
    let figure = report::figures::bound(&rank, &risk, &gap, &forms, Source::Generated);
    let alt = figure.alt.clone();
    Ok(figure.words(
        alt,
        format!(
            "Theorem 4 on the map 20×20 → 10×10, true rank 5, noise 0.1, l = {l}, delta = {DELTA}: empirical risk of the exact \
             fit, measured gap (held-out minus training error, absolute value) and two forms of the theorem's term against the Kraus rank. As proved is the \
             theorem: the lemma's proof gives a pseudo-dimension d = pqr log2(8epq/r), and the theorem it cites the term gamma sqrt(2 d ln(el/d) / l), for \
             l > d. As printed, the paper takes the natural logarithm, drops the factor 2 and has ln(l/(pqr)): no proof gives that, and it falls again \
             once pqr > l/e. The square loss is not bounded, so gamma is the largest squared error seen on held-out entries ({gamma:.2e}). Ranks at which \
             a form says nothing are left out. The term is orders of magnitude above the gap: it bounds, it does not predict.",
        ),
    ))
}
