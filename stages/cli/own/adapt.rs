//! `repro adapt`: move SPD matrices of one domain (a session, a device) to another by optimal transport.

use super::super::text::duration;
use super::arrays::Source;
use super::facts::{Facts, number};
use super::output::{self, Member};
use super::predict::apply;
use super::times;
use anyhow::{Result, ensure};
use kraus::{AdamParams, Fit, KrausMap, Problem, Solver, Stack, Start, Stopping};
use ndarray::{Array1, Array3, Axis};
use serde_json::json;
use spd::{
    DensityWeights, GroupLasso, MeanParams, Metric, SinkhornParams, TransportPlan, barycentric_map, density_weights,
    pairwise_distances, regularisation_from_median, self_distances, sinkhorn, sinkhorn_group_lasso, sinkhorn_log,
};
use std::path::PathBuf;
use std::time::Instant;

/// Map SPD matrices from one domain to another by optimal transport, and learn the map for new ones
///
/// Each source matrix goes to the weighted Riemannian mean of the targets that an entropic transport plan sends it to. With
/// --labels (classes of the source) the plan keeps the classes together. Transport maps only the matrices it was computed
/// for; a partial trace regression from source to mapped matrices is learned for the others (--new, --model).
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro adapt --source monday.npy --target tuesday.npy -o out.npz
  repro adapt --source monday.npy --target tuesday.npy --labels y.npy --new more_monday.npy -o out.npz
  repro mdm --train out.npz:mapped --labels y.npy --test tuesday.npy       then: classify tuesday by monday's labels

out.npz holds `mapped` (k, n, n), `plan` (k, m), and with --new `new` (images of the new matrices).")]
pub struct Args {
    /// Matrices of the first domain, shape (k, n, n), symmetric positive definite
    #[arg(long, value_name = "FILE")]
    source: String,
    /// Matrices of the second domain, shape (m, n, n)
    #[arg(long, value_name = "FILE")]
    target: String,
    /// Classes of the source matrices, whole numbers, shape (k,)
    #[arg(long, value_name = "FILE")]
    labels: Option<String>,
    /// More matrices of the first domain, to be mapped by the learned map
    #[arg(long, value_name = "FILE")]
    new: Option<String>,
    /// Where to write the arrays (.npz)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Also write the learned map, for `repro predict` (.npz)
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// Targets in each mean
    #[arg(long, value_name = "N", default_value_t = 20)]
    neighbours: usize,
    /// Weight of the entropy [default: 2 (0.05 median cost)^2]
    #[arg(long, value_name = "R")]
    regularisation: Option<f64>,
    /// Sinkhorn iterations
    #[arg(long, value_name = "N", default_value_t = 1000)]
    iterations: usize,
    /// Kraus rank of the learned map
    #[arg(long, value_name = "R", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rank: u32,
    /// Epochs of its training
    #[arg(long, value_name = "N", default_value_t = 500)]
    epochs: usize,
    /// Seed of its training
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Run the command.
pub fn run(args: &Args) -> Result<u8> {
    let began = Instant::now();
    output::check_ends(&args.output, &["npz"])?;
    if let Some(path) = &args.model {
        output::check_ends(path, &["npz"])?;
    }
    let source = Source::open(&args.source)?.definite("the source")?;
    let target = Source::open(&args.target)?.definite("the target")?;
    let new = args.new.as_ref().map(|f| Source::open(f)?.definite("the new matrices")).transpose()?;
    let (k, n, m) = (source.dim().0, source.dim().1, target.dim().0);
    let sized = [(&args.target, Some(&target)), (args.new.as_ref().unwrap_or(&args.target), new.as_ref())];
    for (name, batch) in sized.iter().filter_map(|(name, b)| b.map(|b| (name, b))) {
        let got = batch.dim().1;
        ensure!(
            got == n,
            "{} holds {} matrices and {name} holds {}; both must agree",
            args.source,
            times(&[n; 2]),
            times(&[got; 2])
        );
    }
    let labels = args.labels.as_ref().map(|f| Source::open(f)?.labels(k, &args.source)).transpose()?;

    let mut facts = Facts::default();
    facts.say("matrices", format!("{k} -> {m}, {}", times(&[n; 2])), json!({"source": k, "target": m, "n": n}));
    let (plan, domain) = transport(args, &source, &target, labels.as_deref())?;
    facts.say(
        "transport",
        format!("cost {}, marginals met to {} ({domain})", number(plan.cost), number(plan.marginal_error)),
        json!({"cost": plan.cost, "marginal_error": plan.marginal_error, "domain": domain}),
    );
    if plan.marginal_error > 1e-3 / k.max(m) as f64 {
        facts.warn("the plan has not converged; raise --iterations or --regularisation");
    }
    let means = barycentric_map(plan.plan.view(), target.view(), args.neighbours, &MeanParams::default().check()?)?;
    let mut mapped = Array3::zeros(source.dim());
    for (mean, mut out) in means.iter().zip(mapped.axis_iter_mut(Axis(0))) {
        out.assign(&mean.matrix);
    }
    let before = pairwise_distances(source.view(), target.view(), Metric::AffineInvariant)?;
    let after = pairwise_distances(mapped.view(), target.view(), Metric::AffineInvariant)?;
    let mean = |d: &ndarray::Array2<f64>| d.sum() / d.len() as f64;
    let (before, after) = (mean(&before), mean(&after));
    facts.say(
        "distance",
        format!("mean to the targets {} -> {}", number(before), number(after)),
        json!({"before": before, "after": after}),
    );
    let mut members =
        vec![("mapped", Member::Floats(mapped.clone().into_dyn())), ("plan", Member::Floats(plan.plan.into_dyn()))];
    if new.is_some() || args.model.is_some() {
        let fit = learn(args, &source, &mapped)?;
        let square = |a: &Array3<f64>| a.iter().map(|v| v * v).sum::<f64>();
        let error = (square(&(&apply(&fit.model, source.view())? - &mapped)) / square(&mapped)).sqrt();
        facts.say(
            "learned map",
            format!("rank {}, relative error {} on the source", args.rank, number(error)),
            json!({"rank": args.rank, "relative_error": error}),
        );
        if let Some(new) = &new {
            members.push(("new", Member::Floats(apply(&fit.model, new.view())?.into_dyn())));
        }
        if let Some(path) = &args.model {
            kraus::save(path, &fit)?;
        }
    }
    let written = output::npz(&args.output, &members);
    if let (Err(_), Some(path)) = (&written, &args.model) {
        let _ = std::fs::remove_file(path); // all or nothing; the first error is the one to report
    }
    written?;
    facts.say("time", duration(began.elapsed()), began.elapsed().as_secs_f64());
    facts.say("wrote", args.output.display().to_string(), args.output.display().to_string());
    facts.print(args.json)?;
    Ok(0)
}

/// The plan under squared Riemannian distances, and in which domain it was computed.
fn transport(
    args: &Args,
    source: &Array3<f64>,
    target: &Array3<f64>,
    labels: Option<&[i64]>,
) -> Result<(TransportPlan, &'static str)> {
    let cost = pairwise_distances(source.view(), target.view(), Metric::AffineInvariant)?.mapv(|d| d * d);
    let regularisation = match args.regularisation {
        Some(r) => r,
        None => regularisation_from_median(cost.view())?,
    };
    let params = SinkhornParams { regularisation, iterations: args.iterations, tolerance: 0.0 }.check()?;
    if let Some(labels) = labels {
        let weights = |x: &Array3<f64>| -> Result<Array1<f64>, spd::Error> {
            density_weights(self_distances(x.view(), Metric::AffineInvariant)?.view(), DensityWeights::default())
        };
        let (a, b) = (weights(source)?, weights(target)?);
        return Ok((
            sinkhorn_group_lasso(cost.view(), a.view(), b.view(), labels, GroupLasso::default(), &params)?,
            "with labels",
        ));
    }
    let uniform = |n: usize| Array1::from_elem(n, 1.0 / n as f64);
    let (a, b) = (uniform(cost.nrows()), uniform(cost.ncols()));
    match sinkhorn(cost.view(), a.view(), b.view(), &params) {
        Err(spd::Error::Underflow { .. }) => {
            Ok((sinkhorn_log(cost.view(), a.view(), b.view(), &params)?, "log domain"))
        }
        other => Ok((other?, "plain domain")),
    }
}

/// The paper's map: Adam on matrices divided by their mean eigenvalue, so that the unit of the signal does not matter. A Kraus map
/// is linear, so the map of the scaled matrices is the map of the matrices.
fn learn(args: &Args, source: &Array3<f64>, mapped: &Array3<f64>) -> Result<Fit<f64>> {
    let (k, n, _) = source.dim();
    let unit = source.outer_iter().map(|m| m.diag().sum()).sum::<f64>() / (k * n) as f64;
    let (x, y) = (source.mapv(|v| (v / unit) as f32), mapped.mapv(|v| (v / unit) as f32));
    let problem = Problem::matrices(x.view(), y.view())?;
    let solver =
        AdamParams { stopping: Stopping::after(args.epochs), seed: args.seed, ..AdamParams::default() }.check()?;
    let fit = solver.fit(&problem, Start::single(n, n, args.rank as usize, args.seed))?;
    let layers = fit.model.layers.into_iter().map(|l| KrausMap::new(l.into_ops().mapv(f64::from)));
    Ok(Fit { model: Stack::new(layers.collect::<Result<_, _>>()?, fit.model.gamma)?, history: fit.history, last: None })
}
