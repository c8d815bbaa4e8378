//! Adam on minibatches (D. P. Kingma and J. Ba, ICLR 2015; in the form of Keras), in single precision.
//!
//! The order of the samples is drawn anew in each epoch. Nothing runs in parallel inside a fit, so the number of threads changes no bit.

use super::format::Format;
use super::lanes::Pass;
use super::scratch::Scratch;
use super::training::{KeptEpoch, Training};
use crate::regressor::{mean_square, split};
use crate::{Report, Result};
use estimator::Convergence;
use linalg::matmul;
use linalg::small::{AdamStep, adam_step};
use ndarray::{Array2, s};
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

const BETA1: f64 = 0.9;
const BETA2: f64 = 0.999;
const EPSILON: f64 = 1e-7;

/// The Adam update at step t (counted from 1) for a mean over `entries` squared errors. The gradient that it scales is half of the
/// gradient of the sum of squared errors, hence the factor 2 / `entries`.
fn step(rate: f64, t: i32, entries: usize) -> AdamStep<f32> {
    AdamStep {
        rate: (rate * (1.0 - BETA2.powi(t)).sqrt() / (1.0 - BETA1.powi(t))) as f32,
        beta1: BETA1 as f32,
        beta2: BETA2 as f32,
        epsilon: EPSILON as f32,
        scale: (2.0 / entries as f64) as f32,
    }
}

/// Trains the format on inputs z and targets t, starting from theta, which ends with the bias where there is one. Returns the trained
/// parameters and the report.
pub(crate) fn fit(
    format: &dyn Format,
    how: &Training,
    theta: Vec<f64>,
    z: &Array2<f64>,
    t: &Array2<f64>,
    rng: &mut ChaCha8Rng,
) -> Result<(Vec<f64>, Report)> {
    let samples = match how.keep {
        KeptEpoch::Last => z.nrows(),
        KeptEpoch::Best { holdout } => split(z.nrows(), holdout)?,
    };
    let single = |a: &Array2<f64>| a.iter().map(|&v| v as f32).collect::<Vec<f32>>();
    let (inputs, targets) = (single(z), single(t));
    let outputs = t.ncols();
    let mut pass = Pass::new(format.layer(), format.len(), z.ncols(), outputs);
    let mut now = pass.to_layer(&theta);
    let zeros = || vec![0.0f32; now.len()];
    let (mut first, mut second, mut gradient, mut steps) = (zeros(), zeros(), zeros(), 0);
    let mut order: Vec<usize> = (0..samples).collect();
    let mut best = (f64::INFINITY, None);
    let mut report = Report { parameters: theta.len(), iterations: how.epochs, ..Report::default() };
    for epoch in 0..how.epochs {
        let progress = epoch as f64 / (how.epochs.max(2) - 1) as f64;
        let rate = how.learning_rate * linalg::math::pow(how.decay, progress);
        order.shuffle(rng);
        let (mut sum, mut batches) = (0.0, order.chunks(how.batch).peekable());
        while let Some(batch) = batches.next() {
            let next = batches.peek().copied().unwrap_or_default();
            sum += pass.run(&now, (&inputs, &targets), batch, next, &mut gradient);
            steps += 1;
            adam_step(step(rate, steps, batch.len() * outputs), &mut now, &mut first, &mut second, &gradient);
        }
        report.history.push(sum / (samples * outputs) as f64);
        if let KeptEpoch::Best { .. } = how.keep {
            let here = pass.to_format(&now);
            let (weights, bias) = here.split_at(format.len());
            let (zv, tv) = (z.slice(s![samples.., ..]), t.slice(s![samples.., ..]));
            let mut residual = matmul(zv, format.dense(weights, &Scratch::default()).view()) - tv;
            if !bias.is_empty() {
                residual += &ndarray::ArrayView1::from(bias);
            }
            let error = mean_square(residual.iter());
            if error < best.0 {
                best = (error, Some(here));
                report.chosen = vec![("best epoch", (epoch + 1) as f64)];
            }
        }
    }
    let change = match report.history[..] {
        [.., before, last] => (before - last).abs() / before.abs().max(f64::MIN_POSITIVE),
        _ => f64::INFINITY,
    };
    // Adam has no stopping rule: it ends after the given epochs. So it never counts as converged, however small the last change is.
    report.convergence = Some(Convergence::judge("relative change of the loss", change, -1.0, how.epochs));
    Ok((best.1.unwrap_or_else(|| pass.to_format(&now)), report))
}
