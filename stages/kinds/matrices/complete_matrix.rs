//! Kind `complete-matrix`: completes a simulated matrix by one method and measures the error over the missing entries.

use crate::shared::files::{input_with, read_npy, write_npy};
use crate::shared::params::{SolverChoice, number};
use crate::shared::protocol::{BLOCKS, Protocol, completion_params};
use crate::shared::rows::{row, write_rows};
use anyhow::{Result, anyhow};
use baselines::{Regressor, TensorTrain, TraceRegression, Training};
use estimator::Mask;
use kraus::completion::{Partial, assemble, blocks};
use ndarray::{Array2, Array3, Ix2};
use pipeline::{Context, Environment, ParamError, Stage, StageError, StageResult};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The kind.
pub struct CompleteMatrix;

#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Method {
    /// Partial trace regression on the blocks.
    Ptr,
    /// The same with blocks of one entry: trace regression by Kraus factors.
    TraceKraus,
    /// Trace regression from matrix units to blocks: for each entry of a block a p x p matrix with a nuclear norm, as in table 2.
    Trace,
    /// The same with blocks of one entry: the nuclear norm of the whole matrix.
    TraceWhole,
    /// Tensor-train network from matrix units to blocks.
    TensorTrain,
    /// The mean of the observed entries.
    Mean,
}

completion_params! {
    /// Its parameters.
    pub struct Params {
        /// Axes of the matrix, here to join and to label.
        matrix: u64,
        #[serde(default)]
        mask: u64,
        pattern: String,
        #[serde(default)]
        level: f64,
        #[serde(default)]
        shifted: bool,
        method: Method,
        /// Blocks per side.
        #[serde(default = "number::<7>")]
        p: usize,
        /// Rows of a block.
        #[serde(default = "number::<4>")]
        q: usize,
        /// Kraus rank or tensor-train rank.
        #[serde(default = "number::<30>")]
        rank: usize,
        /// Number of layers.
        #[serde(default = "number::<1>")]
        depth: usize,
    }
}

/// One line of the results.
#[derive(Serialize)]
struct Line<'a> {
    method: Method,
    matrix: u64,
    mask: u64,
    pattern: &'a str,
    level: f64,
    shifted: bool,
    rank: usize,
    depth: usize,
    solver: SolverChoice,
    rescale: bool,
    epochs: usize,
    /// Mean squared error over the missing entries.
    mse: f64,
    /// Mean square of the missing entries: the error of zero.
    scale: f64,
    /// Mean squared error over the observed entries, before they are put back.
    observed_mse: f64,
}

impl Params {
    fn protocol(&self) -> Protocol {
        let (p, q) = if self.method == Method::TraceKraus { (self.p * self.q, 1) } else { (self.p, self.q) };
        self.protocol_on(p, q, BLOCKS)
    }
}

impl Stage for CompleteMatrix {
    const NAME: &'static str = "complete-matrix";
    const SEED_NAME: &'static str = "fill";
    const ABOUT: &'static str = "a simulated matrix completed by one method, and its error over the missing entries";
    /// How long to train changes no start.
    const SEEDLESS: &'static [&'static str] = &["epochs"];
    type Params = Params;

    fn check(&self, p: &Params) -> Result<(), ParamError> {
        p.protocol().check()
    }

    fn externals(&self, p: &Params, env: &Environment) -> Result<BTreeMap<String, String>, StageError> {
        let trains = matches!(p.method, Method::Ptr | Method::TraceKraus);
        Ok(if trains { p.protocol().externals(env) } else { BTreeMap::new() })
    }

    fn run(&self, p: &Params, ctx: &Context) -> StageResult {
        let input = input_with(ctx, "truth.npy")?;
        let truth: Array2<f64> = read_npy(input.path("truth.npy")?)?;
        let mask = Mask::from_zeros_and_ones(read_npy::<f64, Ix2>(input.path("mask.npy")?)?.view())?;
        let partial = Partial::new(truth.view(), &mask)?;
        let prediction = match p.method {
            Method::Ptr | Method::TraceKraus => p.protocol().complete(ctx, &partial, ctx.seed())?.prediction,
            Method::Trace => trace(&partial, p.p, p.q, ctx.seed())?,
            Method::TraceWhole => trace(&partial, p.p * p.q, 1, ctx.seed())?,
            Method::TensorTrain => tensor_train(p, &partial, ctx.seed())?,
            Method::Mean => Array2::from_elem(truth.dim(), partial.values().sum() / partial.observed() as f64),
        };
        let flags = mask.flags();
        let mean = |seen: bool, f: &dyn Fn((usize, usize)) -> f64| {
            let at = || flags.indexed_iter().filter(|(_, m)| **m == seen);
            at().map(|(at, _)| f(at)).sum::<f64>() / at().count().max(1) as f64
        };
        let error = |at: (usize, usize)| (prediction[at] - truth[at]).powi(2);
        let line = Line {
            method: p.method,
            matrix: p.matrix,
            mask: p.mask,
            pattern: &p.pattern,
            level: p.level,
            shifted: p.shifted,
            rank: p.rank,
            depth: p.depth,
            solver: p.solver,
            rescale: p.rescale,
            epochs: p.epochs,
            mse: mean(false, &error),
            scale: mean(false, &|at| truth[at].powi(2)),
            observed_mse: mean(true, &error),
        };
        write_npy(&ctx.output("filled.npy")?, &partial.filled(prediction.view()))?;
        Ok(write_rows(ctx, &[row(&line)?])?)
    }
}

/// Matrix units E_ij (pairs, p, p).
fn units(p: usize, pairs: &[(usize, usize)]) -> Array3<f64> {
    let mut x = Array3::zeros((pairs.len(), p, p));
    for (k, &(i, j)) in pairs.iter().enumerate() {
        x[[k, i, j]] = 1.0;
    }
    x
}

/// The blocks of a p x p grid all of whose entries are observed, in an order by seed: a validation set at its end is a random one.
fn observed_blocks(partial: &Partial, p: usize, q: usize, seed: u64) -> Result<Vec<(usize, usize)>> {
    let all: Vec<(usize, usize)> = (0..p).flat_map(|i| (0..p).map(move |j| (i, j))).collect();
    let whole = blocks(partial.mask().flags(), q, &all);
    let seen = all.iter().zip(whole.outer_iter()).filter(|(_, m)| m.iter().all(|m| *m));
    let mut pairs: Vec<(usize, usize)> = seen.map(|(pair, _)| *pair).collect();
    pairs.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    if pairs.is_empty() {
        Err(anyhow!("no block is observed as a whole, so this method has nothing to learn from"))
    } else {
        Ok(pairs)
    }
}

/// A regressor from matrix units to blocks, asked for all blocks.
fn regress(method: &dyn Regressor, partial: &Partial, p: usize, q: usize, seed: u64) -> Result<Array2<f64>> {
    let pairs = observed_blocks(partial, p, q, seed)?;
    let fitted = method.fit(units(p, &pairs).view(), blocks(partial.values(), q, &pairs).view())?;
    let all: Vec<(usize, usize)> = (0..p).flat_map(|i| (0..p).map(move |j| (i, j))).collect();
    let predicted = fitted.predict(units(p, &all).view())?;
    Ok(linalg::symmetrise(assemble(predicted.view(), p, &all).view()))
}

/// The weight of the nuclear norm is chosen on held-out blocks.
fn trace(partial: &Partial, p: usize, q: usize, seed: u64) -> Result<Array2<f64>> {
    // Errors are compared to three digits: a looser stopping rule than the default is enough.
    let method = TraceRegression { tolerance: 1e-5, ..TraceRegression::nuclear() };
    regress(&method, partial, p, q, seed)
}

fn tensor_train(p: &Params, partial: &Partial, seed: u64) -> Result<Array2<f64>> {
    let training = Training { epochs: p.epochs, batch: p.batch, seed, ..Training::default() };
    regress(&TensorTrain::square(p.p, p.q, p.rank, training), partial, p.p, p.q, seed)
}
