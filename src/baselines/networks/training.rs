//! Training of one-layer tensor networks: vec(Y) = vec(X) W(theta) + b. Adam or L-BFGS minimises the mean squared error.
//!
//! A [`Format`] (tensor train or Tucker) computes the many weights W from few parameters theta, and the gradient in theta from that in W.
//! Adam is in `minibatch`, L-BFGS on the whole sample in `whole_sample`.

use super::format::Format;
use super::scratch::Scratch;
use super::symmetric_input::SymmetricInput;
use super::{minibatch, whole_sample};
use crate::regressor::mean_square;
use crate::{Error, Fitted, Layout, Result};
use linalg::random::StandardNormal;
use ndarray::{Array1, Array2, ArrayView3};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::Distribution;

/// The epoch whose weights the fitted model keeps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KeptEpoch {
    /// The weights after the last epoch (the paper's protocol).
    Last,
    /// The weights of the epoch with the least error on the last `holdout` share of the samples, which are not trained on.
    Best {
        /// Share of the samples that validates.
        holdout: f64,
    },
}

/// The method that minimises the mean squared error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Optimiser {
    /// Adam on minibatches, in single precision, as in partial trace regression.
    Adam,
    /// L-BFGS on the whole sample: the optimum of the format (possibly a local one). Of [`Training`] it uses the seed and `standardise`;
    /// there is no bias.
    Lbfgs {
        /// Most iterations of each of its two runs: the first on centred inputs, the second on the inputs as they are.
        iterations: usize,
    },
}

/// How a network is trained.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Training {
    /// Adam or L-BFGS.
    pub optimiser: Optimiser,
    /// Passes over the samples.
    pub epochs: usize,
    /// Samples per step.
    pub batch: usize,
    /// Adam's step size in the first epoch.
    pub learning_rate: f64,
    /// The step size falls geometrically over the epochs to this share of the first one; with 1 it is constant, as in the paper.
    pub decay: f64,
    /// Whether the layer has a bias b.
    pub bias: bool,
    /// Divide X and Y by their root mean square before training (scale only, nothing is centred). The released data have entries in the
    /// hundreds; without this, Adam's steps of fixed length would need thousands of epochs.
    pub standardise: bool,
    /// Seed of the initial weights and of the order of the samples.
    pub seed: u64,
    /// Last epoch or best epoch.
    pub keep: KeptEpoch,
}

impl Default for Training {
    fn default() -> Self {
        Training {
            optimiser: Optimiser::Adam,
            epochs: 50,
            batch: 64,
            learning_rate: 1e-2,
            decay: 1e-2,
            bias: false,
            standardise: true,
            seed: 0,
            keep: KeptEpoch::Last,
        }
    }
}

impl Training {
    pub(crate) fn check(&self) -> Result<()> {
        for (name, value) in [("epochs", self.epochs), ("batch", self.batch)] {
            if value == 0 {
                return Err(Error::parameter(name, "must be at least 1"));
            }
        }
        for (name, value) in [("learning_rate", self.learning_rate), ("decay", self.decay)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(Error::parameter(name, format!("must be positive and finite, got {value}")));
            }
        }
        if let Optimiser::Lbfgs { iterations } = self.optimiser {
            if iterations == 0 {
                return Err(Error::parameter("iterations", "must be at least 1"));
            }
            if self.bias || self.keep != KeptEpoch::Last {
                return Err(Error::parameter(
                    "bias",
                    "L-BFGS fits no bias and keeps its last weights; use Adam for others",
                ));
            }
        }
        Ok(())
    }
}

fn root_mean_square(a: &Array2<f64>) -> f64 {
    let rms = mean_square(a.iter()).sqrt();
    if rms > 0.0 { rms } else { 1.0 }
}

/// Fits the format to the samples.
pub(crate) fn train(
    format: &dyn Format,
    how: &Training,
    x: ArrayView3<'_, f64>,
    y: ArrayView3<'_, f64>,
) -> Result<Fitted> {
    how.check()?;
    let (input, whole, output) = (Layout::of(x), Layout::full(x), Layout::full(y));
    if input.half && how.optimiser != Optimiser::Adam {
        // For symmetric inputs the folded weights give the same model at half the cost.
        return fit(&SymmetricInput::new(format, input), how, (x, input, whole), (y, output));
    }
    fit(format, how, (x, whole, whole), (y, output))
}

/// Fits the format to vectors in the layout `input`. `whole` is the layout of the unfolded inputs, which sets the scale of the data and
/// of the first weights.
fn fit(
    format: &dyn Format,
    how: &Training,
    (x, input, whole): (ArrayView3<'_, f64>, Layout, Layout),
    (y, output): (ArrayView3<'_, f64>, Layout),
) -> Result<Fitted> {
    let (mut z, mut t) = (input.encode(x), output.encode(y));
    let (mut sx, mut sy) = (1.0, 1.0);
    if how.standardise {
        // The root mean square over all entries of the matrix, also where the vectors hold half of them.
        let share = (input.len() as f64 / whole.len() as f64).sqrt();
        (sx, sy) = (root_mean_square(&z) * share, root_mean_square(&t));
        z /= sx;
        t /= sy;
    }
    let mut rng = ChaCha8Rng::seed_from_u64(how.seed);
    let glorot = (2.0 / (whole.len() + output.len()) as f64).sqrt();
    let deviation = format.deviation(glorot);
    let mut theta: Vec<f64> = (0..format.len())
        .map(|_| {
            let unit: f64 = StandardNormal.sample(&mut rng);
            unit * deviation
        })
        .collect();
    let (theta, mut report) = match how.optimiser {
        Optimiser::Lbfgs { iterations } => whole_sample::fit(format, theta, iterations, z.view(), t.view())?,
        Optimiser::Adam => {
            theta.extend(std::iter::repeat_n(0.0, if how.bias { output.len() } else { 0 }));
            minibatch::fit(format, how, theta, &z, &t, &mut rng)?
        }
    };
    report.history.iter_mut().for_each(|loss| *loss *= sy * sy);
    let (weights, offset) = theta.split_at(format.len());
    let coef = format.dense(weights, &Scratch::default()) * (sy / sx);
    let bias = match offset {
        [] => Array1::zeros(output.len()),
        offset => Array1::from_vec(offset.to_vec()) * sy,
    };
    Ok(Fitted { input, output, coef, bias, report })
}
