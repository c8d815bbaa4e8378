//! Layers as the trainer of partial trace regression runs them: sixteen samples at once, one per SIMD lane.
//!
//! Every entry of X, of Y and of the products between them is one [`Lane`]: sixteen numbers, one per sample. Parameters are plain numbers
//! that all samples share. The products are those of `linalg::batch`, which give the same bits with every instruction set. Only
//! gradients are sums over lanes.
//!
//! | file | what it holds |
//! |---|---|
//! | `sides` | a tensor train of two cores, sum_r A_r^T X B_r: the general layer of partial trace regression |
//! | `crossed` | the same for a high rank: computes with the full weights |
//! | `tucker` | a Tucker layer: products with the factors and the core |
//! | `dense` | any other format: its weights W are formed once per step |

mod crossed;
mod dense;
mod sides;
mod tucker;

pub(crate) use crossed::{Crossed, pays_off};
pub(crate) use dense::Dense;
pub(crate) use sides::Sides;
pub(crate) use tucker::TuckerLanes;

use linalg::Real;
use linalg::batch::{LANES, Lane, lane_put, lane_residual};
use linalg::small::prefetch;

/// A layer X -> Y with parameters theta, and its derivative. A step calls `begin` once, then `forward` and `backward` for each group of
/// sixteen samples, then `end` once.
pub(crate) trait Layer<T: Real> {
    /// The index in the layer of the k-th parameter of the format.
    fn place(&self, k: usize) -> usize {
        k
    }
    /// Prepares a step at theta.
    fn begin(&mut self, _theta: &[T]) {}
    /// Y of sixteen samples.
    fn forward(&mut self, theta: &[T], x: &[Lane<T>], y: &mut [Lane<T>]);
    /// Adds the gradient in theta, given D = dL/dY of the samples of the last `forward`.
    fn backward(&mut self, theta: &[T], x: &[Lane<T>], d: &[Lane<T>], gradient: &mut [T]);
    /// Finishes a step: adds to the gradient what `backward` has collected but not yet added.
    fn end(&mut self, _theta: &[T], _gradient: &mut [T]) {}
}

/// The square loss of a layer on batches, with its buffers.
pub(crate) struct Pass<'a, T> {
    layer: Box<dyn Layer<T> + 'a>,
    /// Number of parameters of the layer. In theta a bias may follow them.
    weights: usize,
    x: Vec<Lane<T>>,
    y: Vec<Lane<T>>,
    d: Vec<Lane<T>>,
}

/// Inputs and targets, one sample per row, row after row.
pub(crate) type Rows<'d, T> = (&'d [T], &'d [T]);

impl<'a, T: Real> Pass<'a, T> {
    /// Buffers for this layer of `weights` parameters from `inputs` to `outputs` numbers.
    pub(crate) fn new(layer: Box<dyn Layer<T> + 'a>, weights: usize, inputs: usize, outputs: usize) -> Self {
        let zeros = |n: usize| vec![[T::of(0.0); LANES]; n];
        Pass { layer, weights, x: zeros(inputs), y: zeros(outputs), d: zeros(outputs) }
    }

    /// Parameters in the order of the layer; the bias after the weights keeps its place.
    pub(crate) fn to_layer(&self, theta: &[f64]) -> Vec<T> {
        let mut placed: Vec<T> = theta.iter().map(|&v| T::of(v)).collect();
        (0..self.weights).for_each(|k| placed[self.layer.place(k)] = T::of(theta[k]));
        placed
    }

    /// Parameters in the order of the format.
    pub(crate) fn to_format(&self, theta: &[T]) -> Vec<f64> {
        let order = |k: usize| if k < self.weights { self.layer.place(k) } else { k };
        (0..theta.len()).map(|k| theta[order(k)].as_f64()).collect()
    }

    /// Returns the sum of squared errors of `samples` and writes half of its gradient into `gradient`. `next` are the samples of the next
    /// call. They are requested from memory now, because the processor cannot predict the order of shuffled samples.
    pub(crate) fn run(
        &mut self,
        theta: &[T],
        (inputs, targets): Rows<'_, T>,
        samples: &[usize],
        next: &[usize],
        gradient: &mut [T],
    ) -> f64 {
        let (p, q) = (self.x.len(), self.y.len());
        let (weights, bias) = theta.split_at(self.weights);
        let (inner, outer) = gradient.split_at_mut(self.weights);
        inner.fill(T::of(0.0));
        outer.fill(T::of(0.0));
        self.layer.begin(weights);
        let (mut sum, mut groups) = (0.0, samples.chunks(LANES).peekable());
        while let Some(group) = groups.next() {
            lane_put(group.len(), |l| &inputs[group[l] * p..][..p], &mut self.x);
            lane_put(group.len(), |l| &targets[group[l] * q..][..q], &mut self.y);
            for &sample in groups.peek().copied().unwrap_or(next).iter().take(LANES) {
                prefetch(&inputs[sample * p..][..p]);
                prefetch(&targets[sample * q..][..q]);
            }
            self.layer.forward(weights, &self.x, &mut self.d);
            for (entry, &b) in self.d.iter_mut().zip(bias) {
                entry.iter_mut().for_each(|y| *y += b);
            }
            let squares = lane_residual(&mut self.d, &self.y, None);
            sum += squares[..group.len()].iter().map(|s| s.as_f64()).sum::<f64>();
            if group.len() < LANES {
                // Lanes without a sample hold the bias as their prediction: they must not count as errors.
                self.d.iter_mut().for_each(|entry| entry[group.len()..].fill(T::of(0.0)));
            }
            for (g, entry) in outer.iter_mut().zip(&self.d) {
                *g += entry.iter().fold(T::of(0.0), |sum, &d| sum + d);
            }
            self.layer.backward(weights, &self.x, &self.d, inner);
        }
        self.layer.end(weights, inner);
        sum
    }
}

/// Transposes lanes into sixteen rows: row l holds the numbers of sample l.
pub(crate) fn to_rows<T: Copy>(lanes: &[Lane<T>], rows: &mut [T]) {
    for (l, row) in rows.chunks_exact_mut(lanes.len()).enumerate() {
        row.iter_mut().zip(lanes).for_each(|(to, from)| *to = from[l]);
    }
}
