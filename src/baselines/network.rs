//! Training of one-layer tensor networks: vec(Y) = vec(X) W(theta) + b, the mean square minimised by Adam or L-BFGS.
//!
//! A [`Format`] says how few parameters theta make the many weights W (tensor train or Tucker), how a batch goes through
//! them and how the gradient comes back. Both share this loop. Adam as in Keras (D. P. Kingma and J. Ba, ICLR 2015);
//! L-BFGS on the whole sample is in `optimum`.

use crate::half::Half;
use crate::optimum;
use crate::regressor::{mean_square, split};
use crate::room::Room;
use crate::{Error, Fitted, Layout, Report, Result};
use linalg::kernels::{AdamStep, adam_step};
use linalg::matmul;
use linalg::random::StandardNormal;
use ndarray::{Array1, Array2, ArrayView2, ArrayView3, s};
use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use rand_distr::Distribution;

/// Which weights the fitted model gets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Keep {
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
    pub keep: Keep,
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
            keep: Keep::Last,
        }
    }
}

impl Training {
    fn check(&self) -> Result<()> {
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
            if self.bias || self.keep != Keep::Last {
                return Err(Error::parameter(
                    "bias",
                    "L-BFGS fits no bias and keeps its last weights; use Adam for others",
                ));
            }
        }
        Ok(())
    }
}

/// A parametrisation of a weight matrix W (inputs, outputs).
pub(crate) trait Format {
    /// Number of parameters.
    fn len(&self) -> usize;
    /// Standard deviation of each parameter such that the entries of W have standard deviation `weight`.
    fn deviation(&self, weight: f64) -> f64;
    /// W at theta.
    fn dense(&self, theta: &[f64], room: &Room) -> Array2<f64>;
    /// The gradient in theta, given that in W.
    fn pull(&self, theta: &[f64], dw: Array2<f64>, room: &Room, gradient: &mut [f64]);
    /// Parameters whose weights are near W, where the format has a direct way to them: a start for the optimum.
    fn near(&self, _w: Array2<f64>) -> Result<Option<Vec<f64>>> {
        Ok(None)
    }
    /// Whether a batch is contracted with the parts of W instead of with W.
    fn contracts(&self) -> bool {
        false
    }
    /// A batch x (b, inputs) through the weights and back: `turn` gets x W and puts the gradient there in its place.
    /// W is formed once per step and the batch goes through it as one product.
    fn step(&self, theta: &[f64], x: ArrayView2<'_, f64>, turn: Turn<'_>, room: &Room, gradient: &mut [f64]) {
        let w = self.dense(theta, room);
        let mut y = room.product(x, w.view());
        room.give(w);
        turn(&mut y);
        self.pull(theta, room.product(x.t(), y.view()), room, gradient);
        room.give(y);
    }
}

/// What happens between forward and backward: predictions become the gradient of the loss in them.
pub(crate) type Turn<'a> = &'a mut dyn FnMut(&mut Array2<f64>);

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

/// Loss (mean square over samples and entries) of a batch and its gradient in theta, the bias at the end of both.
pub(crate) fn loss_and_gradient(
    format: &dyn Format,
    theta: &[f64],
    (x, y): (ArrayView2<'_, f64>, ArrayView2<'_, f64>),
    room: &Room,
    gradient: &mut [f64],
) -> f64 {
    let (weights, offset) = theta.split_at(format.len());
    let (inner, outer) = gradient.split_at_mut(format.len());
    let mut loss = 0.0;
    let mut turn = |residual: &mut Array2<f64>| {
        *residual -= &y;
        if !offset.is_empty() {
            *residual += &ndarray::ArrayView1::from(offset);
        }
        loss = mean_square(residual.iter());
        *residual *= 2.0 / residual.len() as f64;
        if !outer.is_empty() {
            outer.iter_mut().zip(residual.columns()).for_each(|(g, column)| *g = column.sum());
        }
    };
    format.step(weights, x, &mut turn, room, inner);
    loss
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
        return fit(&Half::new(format, input), how, (x, input, whole), (y, output));
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
        let (theta, mut report) = optimum::fit(format, theta, iterations, z.view(), t.view())?;
        report.history.iter_mut().for_each(|loss| *loss *= sy * sy);
        let coef = format.dense(&theta, &Room::default()) * (sy / sx);
        return Ok(Fitted::linear(input, output, coef, report));
    }
    let samples = match how.keep {
        Keep::Last => z.nrows(),
        Keep::Best { holdout } => split(z.nrows(), holdout)?,
    };
    if how.bias {
        theta.extend(std::iter::repeat_n(0.0, output.len()));
    }
    let n = theta.len();
    let mut adam = Adam { first: vec![0.0; n], second: vec![0.0; n], steps: 0 };
    let (room, mut gradient) = (Room::default(), vec![0.0; n]);
    let mut order: Vec<usize> = (0..samples).collect();
    let mut best = (f64::INFINITY, Vec::new());
    let mut report = Report { parameters: n, iterations: how.epochs, ..Report::default() };
    for epoch in 0..how.epochs {
        let progress = epoch as f64 / (how.epochs.max(2) - 1) as f64;
        let rate = how.learning_rate * linalg::math::pow(how.decay, progress);
        order.shuffle(&mut rng);
        let mut total = 0.0;
        for batch in order.chunks(how.batch) {
            let (zb, tb) = (room.rows(&z, batch), room.rows(&t, batch));
            let loss = loss_and_gradient(format, &theta, (zb.view(), tb.view()), &room, &mut gradient);
            room.give(zb);
            room.give(tb);
            adam.update(&mut theta, &gradient, rate);
            total += loss * batch.len() as f64;
        }
        report.history.push(total / samples as f64 * sy * sy);
        if let Keep::Best { .. } = how.keep {
            let (zv, tv) = (z.slice(s![samples.., ..]), t.slice(s![samples.., ..]));
            let mut residual = matmul(zv, format.dense(&theta[..format.len()], &room).view()) - tv;
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
    if !best.1.is_empty() {
        theta = best.1;
    }
    let coef = format.dense(&theta[..format.len()], &room) * (sy / sx);
    let bias = match how.bias {
        true => Array1::from_vec(theta[format.len()..].to_vec()) * sy,
        false => Array1::zeros(output.len()),
    };
    Ok(Fitted { input, output, coef, bias, report })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TensorTrain, Tucker};

    fn wave(rows: usize, cols: usize, m: f64) -> Array2<f64> {
        Array2::from_shape_fn((rows, cols), |(i, j)| (m * (1 + i * cols + j) as f64).sin())
    }

    /// Every component of the gradient against a central difference; the loss is quartic or less in each parameter.
    fn check(format: &dyn Format, inputs: usize, outputs: usize) {
        let (x, y) = (wave(7, inputs, 1.3), wave(7, outputs, 0.7));
        for bias in [false, true] {
            let n = format.len() + if bias { outputs } else { 0 };
            let theta: Vec<f64> = wave(1, n, 2.1).into_raw_vec_and_offset().0;
            let (pair, room) = ((x.view(), y.view()), Room::default());
            // What the arrays hold before must not matter.
            let mut gradient = vec![f64::NAN; n];
            loss_and_gradient(format, &theta, pair, &room, &mut gradient);
            let largest = gradient.iter().fold(0.0f64, |m, g| m.max(g.abs()));
            for k in 0..n {
                let at = |h: f64| {
                    let mut moved = theta.clone();
                    moved[k] += h;
                    loss_and_gradient(format, &moved, pair, &room, &mut vec![0.0; n])
                };
                let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!((difference - gradient[k]).abs() < 1e-8 * largest, "{k}: {difference} against {}", gradient[k]);
            }
        }
    }

    /// The gradient through W is the one through the batch.
    fn check_pull(format: &dyn Format, inputs: usize, outputs: usize) {
        let (x, dy) = (wave(5, inputs, 1.3), wave(5, outputs, 0.7));
        let theta: Vec<f64> = wave(1, format.len(), 2.1).into_raw_vec_and_offset().0;
        let (mut batch, mut dense) = (vec![f64::NAN; format.len()], vec![f64::NAN; format.len()]);
        let (room, mut y) = (Room::default(), Array2::zeros((0, 0)));
        let turn = &mut |out: &mut Array2<f64>| y = std::mem::replace(out, dy.clone());
        format.step(&theta, x.view(), turn, &room, &mut batch);
        format.pull(&theta, x.t().dot(&dy), &room, &mut dense);
        let largest = batch.iter().fold(0.0f64, |m, g| m.max(g.abs()));
        assert!(batch.iter().zip(&dense).all(|(a, b)| (a - b).abs() < 1e-12 * largest));
        assert!((y - x.dot(&format.dense(&theta, &room))).iter().all(|e| e.abs() < 1e-12));
    }

    /// On symmetric inputs half of the weights' rows say the same as all of them, and so do their gradients.
    #[test]
    fn half_of_the_rows_is_enough_for_symmetric_inputs() {
        let layer = Tucker { ranks: [2, 3, 1, 2], training: Training::default() }.format([3, 3, 2, 2]).unwrap();
        let layout = Layout { rows: 3, cols: 3, half: true };
        let half = Half::new(&layer, layout);
        check(&half, 6, 4);
        let x = ndarray::Array3::from_shape_fn((4, 3, 3), |(s, i, j)| ((1 + s + 5 * i + 5 * j) as f64).sin());
        let theta: Vec<f64> = wave(1, layer.len(), 2.1).into_raw_vec_and_offset().0;
        let room = Room::default();
        let full = Layout::full(x.view()).encode(x.view()).dot(&layer.dense(&theta, &room));
        let short = layout.encode(x.view()).dot(&half.dense(&theta, &room));
        assert!((&full - &short).iter().all(|e| e.abs() < 1e-12));
    }

    #[test]
    fn tensor_train_gradient_agrees_with_central_differences() {
        let (inputs, outputs, training) = (vec![2, 3, 2], vec![2, 1, 3], Training::default());
        let layer = TensorTrain { inputs, outputs, ranks: vec![2, 3], training };
        check(&layer.format().unwrap(), 12, 6);
        check_pull(&layer.format().unwrap(), 12, 6);
    }

    #[test]
    fn tucker_gradient_agrees_with_central_differences() {
        let layer = Tucker { ranks: [2, 3, 1, 2], training: Training::default() };
        check(&layer.format([3, 4, 2, 3]).unwrap(), 12, 6);
        check_pull(&layer.format([3, 4, 2, 3]).unwrap(), 12, 6);
    }

    /// W entry by entry from the definitions.
    #[test]
    fn dense_weights_follow_the_definitions() {
        let (inputs, outputs, training) = (vec![2, 3], vec![2, 2], Training::default());
        let tt = TensorTrain { inputs, outputs, ranks: vec![2], training }.format().unwrap();
        let theta: Vec<f64> = wave(1, tt.len(), 2.1).into_raw_vec_and_offset().0;
        let (first, second) = theta.split_at(8);
        let w = tt.dense(&theta, &Room::default());
        let entry = |i: (usize, usize), j: (usize, usize)| -> f64 {
            (0..2).map(|r| first[(i.0 * 2 + j.0) * 2 + r] * second[(r * 3 + i.1) * 2 + j.1]).sum()
        };
        for (i, j) in [((0, 0), (0, 0)), ((1, 2), (0, 1)), ((1, 0), (1, 1)), ((0, 2), (1, 0))] {
            assert!((w[[i.0 * 3 + i.1, j.0 * 2 + j.1]] - entry(i, j)).abs() < 1e-14);
        }

        let tucker = Tucker { ranks: [1, 2, 2, 1], training }.format([2, 3, 2, 2]).unwrap();
        let theta: Vec<f64> = wave(1, tucker.len(), 2.1).into_raw_vec_and_offset().0;
        let (core, rest) = theta.split_at(4);
        let (u1, rest) = rest.split_at(2);
        let (u2, rest) = rest.split_at(6);
        let (u3, u4) = rest.split_at(4);
        let w = tucker.dense(&theta, &Room::default());
        for (i, j, k, l) in [(0, 0, 0, 0), (1, 2, 1, 0), (0, 1, 1, 1), (1, 0, 0, 1)] {
            let terms = (0..2).flat_map(|b| (0..2).map(move |c| (b, c)));
            let entry: f64 = terms.map(|(b, c)| core[b * 2 + c] * u1[i] * u2[j * 2 + b] * u3[k * 2 + c] * u4[l]).sum();
            assert!((w[[i * 3 + j, k * 2 + l]] - entry).abs() < 1e-14);
        }
    }
}
