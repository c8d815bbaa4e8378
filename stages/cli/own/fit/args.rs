//! The arguments of `repro fit` and their help.

use super::super::{gamma, gib, ranks};
use anyhow::Result;
use kraus::Gamma;
use kraus::regress::Method;
use std::path::{Path, PathBuf};

/// Fit a map from matrices to matrices: Y = sum_k s_k A_k X A_k^T + B
///
/// X holds l symmetric p x p matrices, Y the l symmetric q x q matrices they are mapped to. Two families are fitted and compared by
/// cross-validation: completely positive maps (all signs +, B positive semidefinite: the paper's model, which keeps positive semidefinite
/// matrices so), and differences of two such maps. Coordinates, penalty and number of operators are chosen; every choice is printed.
///
/// With --rank, --ranks, --depth, --solver or --noise-free, and on data with hardly any noise, the paper's model is fitted exactly, without
/// penalty and intercept. A rank chosen by cross-validation is the smallest whose error is within one standard error of the least.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro fit --x X.npy --y Y.npy -o model.npz                    choose everything, print the evidence
  repro fit --x X.npy --y Y.npy --positivity complete -o model.npz     the paper's family, with intercept
  repro fit --x X.npy --y Y.npy -o model.npz --plot=evidence.svg        a picture of the evidence
  repro fit --x X.npy --y Y.npy --rank 5 -o model.npz           a given rank
  repro fit --x X.npy --y Y.npy --noise-free -o model.npz       Y is exact: the smallest rank that explains it
  repro fit --x X.npy --y Y.npy --rank 5 --depth 2 --hidden 15 --gamma clamp:1e-4 -o model.npz
  repro predict --model model.npz --x new.npy -o new_Y.npy      then: apply it

From Python: numpy.save(\"X.npy\", X) with X of shape (l, p, p), numpy.save(\"Y.npy\", Y) with Y of shape (l, q, q).
numpy.load(\"model.npz\") has the A_k as `layer0`, shape (r, q, p), and perhaps `signs` (r) and `intercept` (q, q).

Arrays: .npy of float32 or float64 (C or Fortran order, any endianness), or file.npz:name. A file larger than 256 MiB or a
quarter of memory is read once, in pieces; only what the fit needs of it is kept (depth 1, solvers auto, lbfgs, closed-form).
Exit code 2 and one sentence if something is wrong; then no file is written.")]
pub struct Args {
    /// Inputs, shape (l, p, p)
    #[arg(long, value_name = "FILE")]
    pub(super) x: String,
    /// Outputs, shape (l, q, q)
    #[arg(long, value_name = "FILE")]
    pub(super) y: String,
    /// Where to write the model (.npz)
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: PathBuf,
    /// Number r of matrices A_k [default: chosen by cross-validation]
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(super) rank: Option<u32>,
    /// Ranks of a map without penalty to choose from, for example 1..20 or 1,2,5; the search ends after three that bring nothing
    #[arg(long, value_name = "LIST", value_parser = ranks_value)]
    pub(super) ranks: Option<Ranks>,
    /// Which maps: completely positive, or any that keep symmetry with outputs projected into the cone or not
    #[arg(long, value_enum, default_value_t = Kind::Auto)]
    pub(super) positivity: Kind,
    /// Folds of the cross-validation; 0 for none (needs --rank)
    #[arg(long, value_name = "K", default_value_t = 5, value_parser = clap::value_parser!(u16).range(0..=1000))]
    pub(super) folds: u16,
    /// Y is exact, without noise: take the smallest rank that explains it
    #[arg(long, conflicts_with = "rank")]
    pub(super) noise_free: bool,
    /// Layers: maps applied one after the other
    #[arg(long, value_name = "L", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub(super) depth: u16,
    /// Sizes between the layers, for example 15 or 17,12 [default: equal steps from p to q]
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    pub(super) hidden: Vec<usize>,
    /// Between the layers: `none`, or `clamp:EPS` to raise eigenvalues below EPS to it
    #[arg(long, value_name = "GAMMA", value_parser = gamma, default_value = "none")]
    pub(super) gamma: Gamma,
    /// How to fit
    #[arg(long, value_enum, default_value_t = SolverName::Auto)]
    pub(super) solver: SolverName,
    /// Epochs (adam: 100) or iterations (lbfgs: 2000) at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) epochs: Option<u32>,
    /// Random starts of lbfgs, of which the best is kept
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(super) restarts: u16,
    /// Samples per step of adam
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub(super) batch: usize,
    /// Learning rate of adam
    #[arg(long, value_name = "RATE", default_value_t = 1e-3)]
    pub(super) rate: f64,
    /// Seed of random starts and folds: the same seed gives the same model
    #[arg(long, default_value_t = 0)]
    pub(super) seed: u64,
    /// Largest squared error of an entry that can occur, for the generalisation bound [default: 4 max Y^2]
    #[arg(long, value_name = "BOUND")]
    pub(super) loss_bound: Option<f64>,
    /// Probability with which the bound may fail
    #[arg(long, default_value_t = 0.05)]
    pub(super) delta: f64,
    /// Memory in GiB to reckon with [default: the machine's]
    #[arg(long, value_name = "GIB", value_parser = gib)]
    pub(super) memory: Option<f64>,
    /// Draw the curve and the loss in the terminal, or the curve to a file: --plot=FILE (.svg or .png)
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub(super) plot: Option<Option<PathBuf>>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl Args {
    /// The file to draw to, if one was named.
    pub(super) fn picture(&self) -> Option<&Path> {
        self.plot.as_ref()?.as_deref()
    }

    /// Whether to draw with the text.
    pub(super) fn in_terminal(&self) -> bool {
        self.plot == Some(None)
    }
}

/// A list of ranks; clap would take a plain vector for a repeated option.
#[derive(Clone, Debug)]
pub struct Ranks(pub Vec<usize>);

/// Parser of [`Ranks`].
pub fn ranks_value(text: &str) -> Result<Ranks, String> {
    ranks(text).map(Ranks)
}

/// Names of families.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Cross-validation chooses between `complete` and `output`
    Auto,
    /// Completely positive: the paper's model
    Complete,
    /// Differences of two such maps; outputs that leave the cone are projected back
    Output,
    /// Differences of two such maps, outputs as they come
    None,
}

/// Names of solvers.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq)]
pub enum SolverName {
    /// Closed form as the start of L-BFGS where it exists, else random starts
    Auto,
    /// Minibatches, the paper's protocol: scale the data to about 1 first
    Adam,
    /// L-BFGS from random starts
    Lbfgs,
    /// Without iteration: needs symmetric X, 2 rank <= p + 1 and little noise
    ClosedForm,
    /// One operator at a time, to compare
    BlockCoordinate,
}

impl SolverName {
    pub(super) fn method(self) -> Method {
        match self {
            SolverName::Auto => Method::Auto,
            SolverName::Adam => Method::Adam,
            SolverName::Lbfgs => Method::Lbfgs,
            SolverName::ClosedForm => Method::ClosedForm,
            SolverName::BlockCoordinate => Method::BlockCoordinate,
        }
    }
}
