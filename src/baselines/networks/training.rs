//! Training of one-layer tensor networks: vec(Y) = vec(X) W(theta) + b, the mean square minimised by Adam or L-BFGS.
//!
//! A [`Format`] says how few parameters theta make the many weights W (tensor train or Tucker), how a batch goes through
//! them and how the gradient comes back. Both share this loop. Adam as in Keras (D. P. Kingma and J. Ba, ICLR 2015);
//! L-BFGS on the whole sample is in `whole_sample`.

use super::format::{Format, loss_and_gradient};
use super::scratch::Scratch;
use super::symmetric_input::SymmetricInput;
use super::whole_sample;
use crate::regressor::{mean_square, split};
use crate::{Error, Fitted, Layout, Report, Result};
use estimator::Convergence;
use linalg::matmul;
use linalg::random::StandardNormal;
use linalg::small::{AdamStep, adam_step};
use ndarray::{Array1, Array2, ArrayView3, s};
use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use rand_distr::Distribution;

/// The epoch whose weights the fitted model keeps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KeptEpoch {
    /// Those after the last epoch (the paper's protocol).
    Last,
    /// Those of the epoch with the least error on the last `holdout` share of the samples, which then do not train.
    Best {
        /// Share of the samples that validates.
        holdout: f64,
    },
}

/// What minimises the mean square.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Optimiser {
    /// Adam on minibatches, as networks are trained.
    Adam,
    /// L-BFGS on the whole sample: the optimum that the format allows (a local one, in theory). Of [`Training`] it uses
    /// the seed and `standardise`; there is no bias.
    Lbfgs {
        /// Iterations at most, twice: without the means first, then on the data as they are.
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
    /// The step size falls geometrically over the epochs to this share of the first; 1 keeps it, as the paper does.
    pub decay: f64,
    /// Whether the layer has a bias b.
    pub bias: bool,
    /// Divide X and Y by their root mean square before training (scale only, nothing is centred). The released data
    /// have entries in the hundreds, and Adam's steps of fixed length would need thousands of epochs to get there.
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

/// Adam's state and its update.
struct Adam {
    first: Vec<f64>,
    second: Vec<f64>,
    steps: i32,
}

impl Adam {
    fn update(&mut self, theta: &mut [f64], gradient: &[f64], rate: f64) {
        const BETA1: f64 = 0.9;
        const BETA2: f64 = 0.999;
        self.steps += 1;
        let rate = rate * (1.0 - BETA2.powi(self.steps)).sqrt() / (1.0 - BETA1.powi(self.steps));
        let step = AdamStep { rate, beta1: BETA1, beta2: BETA2, epsilon: 1e-7, scale: 1.0 };
        adam_step(step, theta, &mut self.first, &mut self.second, gradient);
    }
}

fn root_mean_square(a: &Array2<f64>) -> f64 {
    let rms = mean_square(a.iter()).sqrt();
    if rms > 0.0 { rms } else { 1.0 }
}

/// Fits the format to the samples. Symmetric inputs are half-vectorised, which changes nothing but the cost.
pub(crate) fn train(
    format: &dyn Format,
    how: &Training,
    x: ArrayView3<'_, f64>,
    y: ArrayView3<'_, f64>,
) -> Result<Fitted> {
    how.check()?;
    let (input, whole, output) = (Layout::of(x), Layout::full(x), Layout::full(y));
    let adam = how.optimiser == Optimiser::Adam;
    if input.half && !(adam && format.contracts()) {
        return fit(&SymmetricInput::new(format, input), how, (x, input, whole), (y, output));
    }
    fit(format, how, (x, whole, whole), (y, output))
}

/// The fit, with vectors in the layout that the format is for; `whole` sets the scale of the first weights.
fn fit(
    format: &dyn Format,
    how: &Training,
    (x, input, whole): (ArrayView3<'_, f64>, Layout, Layout),
    (y, output): (ArrayView3<'_, f64>, Layout),
) -> Result<Fitted> {
    let (mut z, mut t) = (input.encode(x), output.encode(y));
    let (mut sx, mut sy) = (1.0, 1.0);
    if how.standardise {
        // Of the whole matrix's entries, whichever of them the vectors hold.
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
    if let Optimiser::Lbfgs { iterations } = how.optimiser {
        let (theta, mut report) = whole_sample::fit(format, theta, iterations, z.view(), t.view())?;
        report.history.iter_mut().for_each(|loss| *loss *= sy * sy);
        let coef = format.dense(&theta, &Scratch::default()) * (sy / sx);
        return Ok(Fitted::linear(input, output, coef, report));
    }
    let samples = match how.keep {
        KeptEpoch::Last => z.nrows(),
        KeptEpoch::Best { holdout } => split(z.nrows(), holdout)?,
    };
    if how.bias {
        theta.extend(std::iter::repeat_n(0.0, output.len()));
    }
    let n = theta.len();
    let mut adam = Adam { first: vec![0.0; n], second: vec![0.0; n], steps: 0 };
    let (scratch, mut gradient) = (Scratch::default(), vec![0.0; n]);
    let mut order: Vec<usize> = (0..samples).collect();
    let mut best = (f64::INFINITY, Vec::new());
    let mut report = Report { parameters: n, iterations: how.epochs, ..Report::default() };
    for epoch in 0..how.epochs {
        let progress = epoch as f64 / (how.epochs.max(2) - 1) as f64;
        let rate = how.learning_rate * linalg::math::pow(how.decay, progress);
        order.shuffle(&mut rng);
        let mut total = 0.0;
        for batch in order.chunks(how.batch) {
            let (zb, tb) = (scratch.rows(&z, batch), scratch.rows(&t, batch));
            let loss = loss_and_gradient(format, &theta, (zb.view(), tb.view()), &scratch, &mut gradient);
            scratch.give(zb);
            scratch.give(tb);
            adam.update(&mut theta, &gradient, rate);
            total += loss * batch.len() as f64;
        }
        report.history.push(total / samples as f64 * sy * sy);
        if let KeptEpoch::Best { .. } = how.keep {
            let (zv, tv) = (z.slice(s![samples.., ..]), t.slice(s![samples.., ..]));
            let mut residual = matmul(zv, format.dense(&theta[..format.len()], &scratch).view()) - tv;
            if how.bias {
                residual += &ndarray::ArrayView1::from(&theta[format.len()..]);
            }
            let error = mean_square(residual.iter());
            if error < best.0 {
                best = (error, theta.clone());
                report.chosen = vec![("best epoch", (epoch + 1) as f64)];
            }
        }
    }
    let change = match report.history[..] {
        [.., before, last] => (before - last).abs() / before.abs().max(f64::MIN_POSITIVE),
        _ => f64::INFINITY,
    };
    // The number of epochs ends it, so it is stopped, however little the loss still changes.
    report.convergence = Some(Convergence::judge("relative change of the loss", change, -1.0, how.epochs));
    if !best.1.is_empty() {
        theta = best.1;
    }
    let coef = format.dense(&theta[..format.len()], &scratch) * (sy / sx);
    let bias = match how.bias {
        true => Array1::from_vec(theta[format.len()..].to_vec()) * sy,
        false => Array1::zeros(output.len()),
    };
    Ok(Fitted { input, output, coef, bias, report })
}
