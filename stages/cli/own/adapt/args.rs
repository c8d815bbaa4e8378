//! The arguments of `repro adapt`: their help, their checks, and the settings of `spd::adapt` that they stand for.

use super::super::output;
use anyhow::{Result, ensure};
use spd::{
    AdaptParams, FilterParams, MapChoice, MapParams, PairsParams, PaperMapParams, RankChoice, Regularisation, Scaling,
};
use std::path::PathBuf;

/// Learn a map of SPD matrices from one domain to another, and apply it to new ones
///
/// Every map starts at recentring, which moves the mean of the source to the mean of the target. With --labels (classes of the source) it
/// is followed by a filter that keeps what tells these classes apart; cross-validation within the source decides whether the filter helps.
/// Without labels, optimal transport pairs each source matrix with a mean of targets, and a Kraus map is learned from these pairs; pairs
/// that were held out decide when to stop. Where there is no gain, the result is recentring, and a warning says so. Labels of the target
/// are never used.
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
    pub(super) source: Vec<String>,
    /// Matrices of the second domain, shape (m, q, q)
    #[arg(long, value_name = "FILE")]
    pub(super) target: String,
    /// Classes of the source matrices, whole numbers, shape (k,); one file per source. The map then uses them (see --filter)
    #[arg(long, value_name = "FILE")]
    pub(super) labels: Vec<String>,
    /// Classes of the target matrices, only to report the accuracy of MDM
    #[arg(long, value_name = "FILE")]
    pub(super) target_labels: Option<String>,
    /// More matrices of the first domain, to be mapped by the learned map (one source only)
    #[arg(long, value_name = "FILE")]
    pub(super) new: Option<String>,
    /// Where to write the images of --new instead of into the .npz: read and written in pieces (.npy)
    #[arg(long, value_name = "FILE", requires = "new")]
    pub(super) new_output: Option<PathBuf>,
    /// Where to write the arrays (.npz)
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: PathBuf,
    /// Also write the learned map, for `repro predict` (.npz; one source only)
    #[arg(long, value_name = "FILE")]
    pub(super) model: Option<PathBuf>,
    /// Draw both domains before and after (.svg or .png)
    #[arg(long, value_name = "FILE")]
    pub(super) plot: Option<PathBuf>,
    /// The paper's method: transport of matrices as recorded, Adam on the square loss from a random start
    #[arg(long)]
    pub(super) paper: bool,
    /// Targets in each mean
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(super) neighbours: usize,
    /// Weight of the entropy, as a share of the median cost [default: 0.05; with --paper 2 (0.05 median)^2]
    #[arg(long, value_name = "SHARE")]
    pub(super) relative: Option<f64>,
    /// Weight of the entropy, as a number
    #[arg(long, value_name = "R", conflicts_with = "relative")]
    pub(super) regularisation: Option<f64>,
    /// Sinkhorn iterations
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(super) iterations: usize,
    /// Kraus rank of a map learned from the pairs, or `auto` by held-out pairs [default: 1; with --paper 20]
    #[arg(long, value_name = "R", value_parser = rank)]
    pub(super) rank: Option<Rank>,
    /// Directions that the class filter keeps, `auto` by cross-validation, or `none` to learn from the pairs as without labels; with
    /// --labels only [default: three eighths of the channels]
    #[arg(long, value_name = "N", value_parser = filter, conflicts_with_all = ["paper", "rank"])]
    pub(super) filter: Option<Filter>,
    /// Coordinates in which the map is learned; without --paper it is always `whitened`
    #[arg(long, value_enum, default_value_t = Coordinates::Whitened)]
    pub(super) scaling: Coordinates,
    /// Epochs of Adam; with --paper only
    #[arg(long, value_name = "N", default_value_t = 500)]
    pub(super) epochs: usize,
    /// Channels that both domains have, as SOURCE:TARGET pairs counted from 0; needed where their numbers differ
    #[arg(long, value_name = "PAIRS")]
    pub(super) common: Option<String>,
    /// Project all matrices to their common range first (rank-deficient ones, as after an average reference)
    #[arg(long)]
    pub(super) reduce: bool,
    /// Seed of the training
    #[arg(long, default_value_t = 0)]
    pub(super) seed: u64,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Names of the coordinates.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq)]
pub(super) enum Coordinates {
    /// Both domains divided by their Riemannian mean
    Whitened,
    /// As recorded, in units of the mean eigenvalue
    Recorded,
}

/// The directions of the class filter as the user gives them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Filter {
    Auto,
    None,
    Given(usize),
}

fn filter(text: &str) -> Result<Filter, String> {
    match text {
        "auto" => Ok(Filter::Auto),
        "none" => Ok(Filter::None),
        _ => match text.parse() {
            Ok(n) if (1..=10_000).contains(&n) => Ok(Filter::Given(n)),
            _ => Err("directions are a whole number from 1 to 10000, `auto` or `none`".into()),
        },
    }
}

/// The rank of the learned map as the user gives it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rank {
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
    pub(super) fn check(&self) -> Result<()> {
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
        ensure!(self.filter.is_none() || labels > 0, "--filter needs --labels: it keeps what tells the classes apart");
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
    pub(super) fn params(&self) -> AdaptParams {
        let mut params = if self.paper { AdaptParams::paper() } else { AdaptParams::default() };
        let PairsParams { regularisation, cost, group, restore_spread, .. } = params.pairs;
        let regularisation = match (self.relative, self.regularisation) {
            (Some(share), _) => Regularisation::Relative(share),
            (None, Some(value)) => Regularisation::Absolute(value),
            (None, None) => regularisation,
        };
        let (iterations, neighbours) = (self.iterations, self.neighbours);
        params.pairs = PairsParams { regularisation, iterations, neighbours, cost, group, restore_spread };
        params.filter = match (self.filter, self.rank) {
            (Some(Filter::None), _) | (None, Some(_)) => None,
            (Some(Filter::Auto), _) => Some(FilterParams { kept: vec![2, 3, 4, 6, 8, 12, 16, 24, 32] }),
            (Some(Filter::Given(n)), _) => Some(FilterParams { kept: vec![n] }),
            (None, None) => params.filter.take(),
        };
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
