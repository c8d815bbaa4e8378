//! `repro adapt`: learn a map of SPD matrices from one domain (a session, a device) to another, and apply it.
//!
//! The procedure is `spd::adapt`; here are the arguments, the files and what is printed. `sources` reads and checks, `summary`
//! prints, `plot` draws.

mod plot;
mod sources;
mod summary;

use super::super::text::duration;
use super::arrays::{Source, piece};
use super::facts::Facts;
use super::output::{self, Member};
use anyhow::{Result, bail, ensure};
use kraus::{Fit, KrausMap, Stack};
use ndarray::{Array3, Axis, concatenate};
use npy::{Dtype, Header};
use sources::{Domain, Domains};
use spd::{
    AdaptParams, Adaptation, CostIn, MapChoice, MapParams, PairsParams, PaperMapParams, RankChoice, Regularisation,
    Scaling, adapt,
};
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

/// Learn a map of SPD matrices from one domain to another, and apply it to new ones
///
/// Optimal transport pairs each source matrix with a weighted Riemannian mean of targets. A Kraus map is then learned from these
/// pairs, starting at recentring (which moves the mean of the source to the mean of the target). Pairs that were held out decide
/// when to stop; where they are mapped no better than by recentring, recentring is the result, and a warning says so. With --labels
/// (classes of the source) the transport keeps the classes together. Labels of the target are never used.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro adapt --source monday.npy --target tuesday.npy --new more_monday.npy -o out.npz
  repro mdm --train out.npz:new --labels y.npy --test tuesday.npy       then: classify tuesday by monday's labels
  repro adapt --source a.npy --source b.npy --target c.npy -o out.npz      two sources, one map each
  repro adapt --source x22.npy --target x15.npy --common 0:0,3:1,5:2 -o out.npz   other channels

out.npz holds `mapped` (the sources under the learned map), `transported` (the means that transport pairs them with), `plan` (k, m), and
with --new `new`. Several sources stand one after the other, with plans `plan0`, `plan1` and so on.")]
pub struct Args {
    /// Matrices of the first domain, shape (k, p, p), symmetric positive definite; may be given several times
    #[arg(long, value_name = "FILE", required = true)]
    source: Vec<String>,
    /// Matrices of the second domain, shape (m, q, q)
    #[arg(long, value_name = "FILE")]
    target: String,
    /// Classes of the source matrices, whole numbers, shape (k,); one file per source
    #[arg(long, value_name = "FILE")]
    labels: Vec<String>,
    /// Classes of the target matrices, only to report the accuracy of MDM
    #[arg(long, value_name = "FILE")]
    target_labels: Option<String>,
    /// More matrices of the first domain, to be mapped by the learned map (one source only)
    #[arg(long, value_name = "FILE")]
    new: Option<String>,
    /// Where to write the images of --new instead of into the .npz: read and written in pieces (.npy)
    #[arg(long, value_name = "FILE", requires = "new")]
    new_output: Option<PathBuf>,
    /// Where to write the arrays (.npz)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Also write the learned map, for `repro predict` (.npz; one source only)
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// Draw both domains before and after (.svg or .png)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// The paper's method: transport of matrices as recorded, Adam on the square loss from a random start
    #[arg(long)]
    paper: bool,
    /// Targets in each mean
    #[arg(long, value_name = "N", default_value_t = 20)]
    neighbours: usize,
    /// Weight of the entropy, as a share of the median cost [default: 0.05; with --paper 2 (0.05 median)^2]
    #[arg(long, value_name = "SHARE")]
    relative: Option<f64>,
    /// Weight of the entropy, as a number
    #[arg(long, value_name = "R", conflicts_with = "relative")]
    regularisation: Option<f64>,
    /// Sinkhorn iterations
    #[arg(long, value_name = "N", default_value_t = 1000)]
    iterations: usize,
    /// Kraus rank of the learned map, or `auto` by held-out pairs [default: 5; with --paper 20]
    #[arg(long, value_name = "R", value_parser = rank)]
    rank: Option<Rank>,
    /// Coordinates in which the map is learned; without --paper it is always `whitened`
    #[arg(long, value_enum, default_value_t = Coordinates::Whitened)]
    scaling: Coordinates,
    /// Epochs of Adam; with --paper only
    #[arg(long, value_name = "N", default_value_t = 500)]
    epochs: usize,
    /// Channels that both domains have, as SOURCE:TARGET pairs counted from 0; needed where their numbers differ
    #[arg(long, value_name = "PAIRS")]
    common: Option<String>,
    /// Project all matrices to their common range first (rank-deficient ones, as after an average reference)
    #[arg(long)]
    reduce: bool,
    /// Seed of the training
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Names of the coordinates.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq)]
enum Coordinates {
    /// Both domains divided by their Riemannian mean
    Whitened,
    /// As recorded, in units of the mean eigenvalue
    Recorded,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Rank {
    Auto,
    Given(usize),
}

fn rank(text: &str) -> Result<Rank, String> {
    match text {
        "auto" => Ok(Rank::Auto),
        _ => match text.parse() {
            Ok(r) if (1..=10_000).contains(&r) => Ok(Rank::Given(r)),
            _ => Err("a rank is a whole number from 1 to 10000, or `auto`".into()),
        },
    }
}

impl Args {
    fn check(&self) -> Result<()> {
        output::check_ends(&self.output, &["npz"])?;
        if let Some(path) = &self.model {
            output::check_ends(path, &["npz"])?;
        }
        if let Some(path) = &self.new_output {
            output::check_ends(path, &["npy"])?;
        }
        if let Some(path) = &self.plot {
            output::check_ends(path, &["svg", "png"])?;
        }
        let (sources, labels) = (self.source.len(), self.labels.len());
        ensure!(
            labels == 0 || labels == sources,
            "{sources} sources and {labels} files of labels; give one each, or none"
        );
        let single = self.new.is_some() || self.model.is_some();
        ensure!(
            sources == 1 || !single,
            "--new and --model belong to one source; run the command once per source for them"
        );
        ensure!(self.paper || self.scaling == Coordinates::Whitened, "--scaling recorded needs --paper");
        ensure!(!(self.paper && self.rank == Some(Rank::Auto)), "--rank auto does not go with --paper; give a number");
        Ok(())
    }

    /// The settings of the procedure.
    fn params(&self) -> AdaptParams {
        let mut params = if self.paper { AdaptParams::paper() } else { AdaptParams::default() };
        let PairsParams { regularisation, cost, group, .. } = params.pairs;
        let regularisation = match (self.relative, self.regularisation) {
            (Some(share), _) => Regularisation::Relative(share),
            (None, Some(value)) => Regularisation::Absolute(value),
            (None, None) => regularisation,
        };
        let (iterations, neighbours) = (self.iterations, self.neighbours);
        params.pairs = PairsParams { regularisation, iterations, neighbours, cost, group };
        params.map = match (self.paper, self.rank) {
            (true, r) => {
                let scaling = match self.scaling {
                    Coordinates::Whitened => Scaling::Whitened,
                    Coordinates::Recorded => Scaling::Unit,
                };
                let base = PaperMapParams::default();
                let rank = if let Some(Rank::Given(r)) = r { r } else { base.rank };
                MapChoice::Paper(PaperMapParams { rank, epochs: self.epochs, scaling, seed: self.seed, ..base })
            }
            (false, Some(Rank::Auto)) => {
                let map = MapParams { seed: self.seed, ..MapParams::default() };
                MapChoice::Recentred(map, RankChoice::Auto(vec![1, 2, 3, 5, 8]))
            }
            (false, r) => {
                let base = MapParams::default();
                let rank = if let Some(Rank::Given(r)) = r { r } else { base.rank };
                MapChoice::Recentred(MapParams { rank, seed: self.seed, ..base }, RankChoice::Given)
            }
        };
        params
    }
}

/// Run the command.
pub fn run(args: &Args) -> Result<u8> {
    let began = Instant::now();
    args.check()?;
    let Domains { sources, target, common, reduction } = Domains::read(args)?;
    let params = args.params();
    let mut facts = Facts::default();
    summary::domains(&mut facts, &sources, &target, &common, reduction.as_ref());
    let mut found: Vec<Adaptation> = Vec::new();
    for source in &sources {
        let learned = adapt(
            source.matrices.view(),
            target.matrices.view(),
            source.labels.as_deref(),
            &common,
            &params,
            &mut |_, _, _| true,
        );
        found.push(learned.map_err(|e| anyhow::anyhow!("{} to {}: {e}", source.name, target.name))?);
    }
    summary::maps(&mut facts, args, &sources, &target, &found)?;
    let mapped = images(&sources, &found, |source, found| found.apply(source.matrices.view()))?;
    let transported = images(&sources, &found, |_, found| Ok(found.pairs.mapped.clone()))?;
    let mut members = vec![
        ("mapped".to_owned(), Member::Floats(mapped.clone().into_dyn())),
        ("transported".to_owned(), Member::Floats(transported.into_dyn())),
    ];
    for (k, one) in found.iter().enumerate() {
        let name = if found.len() == 1 { "plan".to_owned() } else { format!("plan{k}") };
        members.push((name, Member::Floats(one.pairs.plan.plan.clone().into_dyn())));
    }
    if let Some(reduction) = &reduction {
        members.push(("basis".to_owned(), Member::Floats(reduction.basis().clone().into_dyn())));
    }
    let mut written: Vec<PathBuf> = Vec::new();
    let result = (|| -> Result<()> {
        if let (Some(path), [one]) = (&args.model, found.as_slice()) {
            let map = KrausMap::new(one.map.operators.clone())?;
            let model = Stack::new(vec![map], kraus::Gamma::None)?;
            kraus::save(path, &Fit { model, history: Default::default(), last: None })?;
            written.push(path.clone());
        }
        if let (Some(file), [one]) = (&args.new, found.as_slice()) {
            let new = stream(args, file, one, reduction.as_ref(), &mut facts)?;
            if let Some(path) = &args.new_output {
                written.push(path.clone());
            }
            if let Some(new) = new {
                members.push(("new".to_owned(), Member::Floats(new.into_dyn())));
            }
        }
        if let Some(path) = &args.plot {
            plot::draw(path, &sources, &target, &mapped)?;
            written.push(path.clone());
        }
        let (names, arrays): (Vec<String>, Vec<Member>) = members.into_iter().unzip();
        output::npz(&args.output, &names.iter().map(String::as_str).zip(arrays).collect::<Vec<_>>())
    })();
    if let Err(e) = result {
        // All or nothing; the first error is the one to report.
        written.iter().for_each(|path| drop(std::fs::remove_file(path)));
        return Err(e);
    }
    facts.say("time", duration(began.elapsed()), began.elapsed().as_secs_f64());
    facts.say("wrote", args.output.display().to_string(), args.output.display().to_string());
    facts.print(args.json)?;
    Ok(0)
}

/// One batch per source, one after the other.
fn images(
    sources: &[Domain],
    found: &[Adaptation],
    of: impl Fn(&Domain, &Adaptation) -> Result<Array3<f64>, spd::Error>,
) -> Result<Array3<f64>> {
    let parts = sources.iter().zip(found).map(|(s, f)| of(s, f)).collect::<Result<Vec<_>, _>>()?;
    Ok(concatenate(Axis(0), &parts.iter().map(|p| p.view()).collect::<Vec<_>>())?)
}

/// Maps the matrices of `file` in pieces: into --new-output, or into one array.
fn stream(
    args: &Args,
    file: &str,
    found: &Adaptation,
    reduction: Option<&spd::Reduction>,
    facts: &mut Facts,
) -> Result<Option<Array3<f64>>> {
    let mut new = Source::open(file)?;
    let (l, n) = new.batch("the new matrices")?;
    let p = reduction.map_or(found.map.operators.dim().2, |r| r.basis().nrows());
    ensure!(n == p, "{file} holds {n} x {n} matrices and {} holds {p} x {p}; both must agree", args.source[0]);
    let (step, single, q) = (piece(new.shape()), new.single(), found.map.operators.dim().1);
    let mut outside = 0;
    let mut each = |from: usize| -> Result<Array3<f64>> {
        let block = new.matrices(from..(from + step).min(l))?;
        let block = match reduction {
            Some(reduction) => reduction.apply(block.view())?,
            None => block,
        };
        outside += match found.outside(block.view()) {
            Ok(count) => count,
            Err(spd::Error::NotPositiveDefinite { index, .. }) => bail!(
                "{file}: matrix {} is not positive definite or of deficient rank; use a shrinkage covariance, --reduce, or drop it",
                from + index
            ),
            Err(e) => return Err(e.into()),
        };
        Ok(found.apply(block.view())?)
    };
    let images = match &args.new_output {
        Some(path) => {
            output::write(path, |out| {
                out.write_all(&Header::new(Dtype::float(single), &[l, q, q]).to_bytes())?;
                (0..l).step_by(step).try_for_each(|from| Ok(npy::write_floats(out, single, &each(from)?)?))
            })?;
            None
        }
        None => {
            let mut all = Array3::zeros((l, q, q));
            for from in (0..l).step_by(step) {
                let block = each(from)?;
                all.slice_mut(ndarray::s![from..from + block.dim().0, .., ..]).assign(&block);
            }
            Some(all)
        }
    };
    summary::new(facts, l, outside);
    Ok(images)
}
