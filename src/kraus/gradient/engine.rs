//! Gradients of the square loss over any set of samples: blocks of samples on all cores, reduced in a fixed order.
//!
//! How many blocks there are depends on the shapes alone, never on the number of threads: results are equal bit for bit.

use crate::data::problem::Problem;
use crate::error::Result;
use crate::gradient::parameter_layout::{Layer, Order, layers, to_natural, to_training};
use crate::gradient::per_choi::{Choi, PerChoi};
use crate::gradient::per_lane::{PerLane, pays_off};
use crate::gradient::per_sample::{PerSample, Shared, transpose};
use crate::map::Stack;
use linalg::Real;
use linalg::batch::LANES;
use linalg::small::add_to;

/// Multiply-adds that a block must have at least to be worth another core.
const GRAIN: usize = 1 << 22;
/// The largest number of blocks of a step.
const MOST_BLOCKS: usize = 16;
/// Parameters that one task adds up or updates.
pub(crate) const PIECE: usize = 1 << 14;
/// The least number of samples in a block. Each block has a gradient buffer, which is cleared and added up once per step.
const LEAST_BLOCK: usize = 4;

/// The loss of a stack on a problem and its gradient, with all buffers allocated once.
pub struct Engine<'s, 'p, T> {
    problem: &'s Problem<'p, T>,
    pub(crate) layers: Vec<Layer>,
    pub(crate) params: Vec<T>,
    transposed: Vec<T>,
    blocks: Vec<Block<T>>,
    /// For a layer that is passed through its Choi matrix.
    choi: Option<Choi<T>>,
}

/// The buffers of one block of samples, and its results.
struct Block<T> {
    path: Path<T>,
    /// Gradient in training layout.
    grad: Vec<T>,
    /// Sum of squared errors.
    sum: f64,
}

/// How a block is computed: small matrices sixteen samples at a time, one per SIMD lane, perhaps through the Choi matrix; others one by one.
enum Path<T> {
    Lanes(PerLane<T>),
    Choi(PerChoi<T>),
    Samples(PerSample<T>),
}

impl<T: Real> Block<T> {
    fn run(&mut self, shared: &Shared<'_, '_, T>, choi: &[T], samples: &[usize]) {
        self.sum = match &mut self.path {
            Path::Choi(buffers) => buffers.run(shared, choi, samples),
            Path::Lanes(buffers) => {
                if shared.backward {
                    self.grad.fill(T::of(0.0));
                }
                buffers.run(shared, samples, &mut self.grad)
            }
            Path::Samples(buffers) => buffers.run(shared, samples, &mut self.grad),
        };
    }
}

impl<'s, 'p, T: Real> Engine<'s, 'p, T> {
    /// Allocates the buffers for gradients over up to `batch` samples at once.
    pub fn new(problem: &'s Problem<'p, T>, stack: &Stack<T>, batch: usize) -> Result<Self> {
        problem.check_fits(stack)?;
        let batch = batch.clamp(1, problem.len());
        let layers = layers(problem, stack, batch);
        let choi = layers[0].order == Order::Natural;
        let lanes = !choi && pays_off(problem, &layers, batch);
        let least = if lanes || choi { LANES } else { LEAST_BLOCK };
        let count = (batch * sample_cost(&layers) / GRAIN).min(MOST_BLOCKS).min(batch / least).max(1);
        let block = batch.div_ceil(count);
        let path = || match (choi, lanes) {
            (true, _) => Path::Choi(PerChoi::new(problem)),
            (_, true) => Path::Lanes(PerLane::new(problem, &layers, stack.gamma())),
            _ => Path::Samples(PerSample::new(&layers, stack.gamma(), block)),
        };
        // Through the Choi matrix the blocks share one gradient.
        let of_block = |i: usize| if choi && i > 0 { Vec::new() } else { vec![T::of(0.0); stack.len()] };
        let blocks = (0..count).map(|i| Block { path: path(), grad: of_block(i), sum: 0.0 }).collect();
        let choi = choi.then(|| Choi::new(&layers[0]));
        let zeros = || vec![T::of(0.0); stack.len()];
        let transposes = layers.iter().skip(1).any(|l| l.order == Order::PerOperator);
        let transposed = if transposes { zeros() } else { Vec::new() };
        let mut engine = Self { problem, params: zeros(), transposed, blocks, layers, choi };
        engine.load(stack);
        Ok(engine)
    }

    /// Takes the parameters of a stack of the same shape.
    pub fn load(&mut self, stack: &Stack<T>) {
        to_training(&self.layers, &stack.to_vec(), &mut self.params);
    }

    /// Takes the parameters of an engine for the same stack on another problem. The two layouts differ where one problem
    /// has matrices and the other matrix units; `natural` holds the parameters on the way and is reused between calls.
    pub(crate) fn load_from(&mut self, other: &Engine<'_, '_, T>, natural: &mut Vec<T>) {
        if self.layers.iter().zip(&other.layers).all(|(a, b)| a.order == b.order) {
            return self.params.copy_from_slice(&other.params);
        }
        natural.resize(self.params.len(), T::of(0.0));
        to_natural(&other.layers, &other.params, natural);
        to_training(&self.layers, natural, &mut self.params);
    }

    /// Writes the parameters into a stack of the same shape. `scratch` is reused between calls.
    pub fn store(&self, stack: &mut Stack<T>, scratch: &mut Vec<T>) {
        scratch.resize(self.params.len(), T::of(0.0));
        to_natural(&self.layers, &self.params, scratch);
        stack.set(scratch);
    }

    /// Whether a step is large enough to use several cores.
    pub fn is_parallel(&self) -> bool {
        self.blocks.len() > 1
    }

    /// Transposes the operators of the layers whose backward pass reads both A_k and A_k^T.
    fn transpose_operators(&mut self) {
        for layer in self.layers.iter().skip(1).filter(|l| l.order == Order::PerOperator) {
            let (size, at) = (layer.q * layer.p, layer.range());
            let operators = self.params[at.clone()].chunks(size).zip(self.transposed[at].chunks_mut(size));
            operators.for_each(|(from, to)| transpose(from, layer.p, layer.q, to));
        }
    }

    /// Sum of squared (masked) errors over the samples. The gradient stays in the engine until the next pass.
    pub fn pass(&mut self, samples: &[usize], backward: bool) -> f64 {
        self.pass_and_prefetch(samples, backward, &[])
    }

    /// As [`pass`](Self::pass), and prefetches the samples that the next pass will read.
    pub(crate) fn pass_and_prefetch(&mut self, samples: &[usize], backward: bool, next: &[usize]) -> f64 {
        let mut block = samples.len().div_ceil(self.blocks.len());
        if matches!(self.blocks[0].path, Path::Lanes(_) | Path::Choi(_)) {
            block = block.next_multiple_of(LANES);
        }
        self.transpose_operators();
        if let Some(choi) = &mut self.choi {
            choi.lift(&self.layers[0], &self.params);
        }
        let shared = Shared {
            problem: self.problem,
            layers: &self.layers,
            params: &self.params,
            transposed: &self.transposed,
            backward,
            ahead: if self.blocks.len() == 1 { next } else { &[] },
        };
        let blocks_of_choi = self.choi.as_ref().map_or(&[][..], Choi::blocks);
        run_blocks(&shared, blocks_of_choi, &mut self.blocks, samples, block);
        if let (true, Some(choi)) = (backward, &mut self.choi) {
            pull_choi(choi, &self.layers[0], &self.params, &mut self.blocks);
        } else if backward && self.blocks.len() > 1 {
            let (first, rest) = self.blocks.split_at_mut(1);
            add_blocks(&mut first[0].grad, rest, 0);
        }
        self.blocks.iter().map(|block| block.sum).sum()
    }

    /// The gradient of the last pass in training layout, to be multiplied by [`scale`](Self::scale).
    pub(crate) fn gradient(&self) -> &[T] {
        &self.blocks[0].grad
    }

    /// Parameters and gradient together, for an optimiser.
    pub(crate) fn params_and_gradient(&mut self) -> (&mut [T], &[T]) {
        (&mut self.params, &self.blocks[0].grad)
    }

    /// The factor of the gradient of the mean over `samples` samples: 2 / N, or 4 / N where the data are symmetric.
    pub(crate) fn scale(&self, samples: usize) -> f64 {
        let n = (samples * self.problem.q() * self.problem.q()) as f64;
        if self.problem.is_symmetric() { 4.0 / n } else { 2.0 / n }
    }
}

/// Runs the blocks. They are split in halves recursively, so that a free core takes the other half.
fn run_blocks<T: Real>(
    shared: &Shared<'_, '_, T>,
    choi: &[T],
    blocks: &mut [Block<T>],
    samples: &[usize],
    block: usize,
) {
    if let [only] = blocks {
        return only.run(shared, choi, samples);
    }
    let (left, right) = blocks.split_at_mut(blocks.len() / 2);
    let (first, second) = samples.split_at((left.len() * block).min(samples.len()));
    rayon::join(|| run_blocks(shared, choi, left, first, block), || run_blocks(shared, choi, right, second, block));
}

/// Multiply-adds of a sample that grow with the number of samples.
fn sample_cost(layers: &[Layer]) -> usize {
    match layers {
        [Layer { q, p, order: Order::Natural, .. }] => p * p * q * (q + 1),
        _ => layers.iter().map(Layer::cost).sum(),
    }
}

/// Adds the sums of all blocks up in their order, and takes the gradient from the total.
fn pull_choi<T: Real>(choi: &mut Choi<T>, layer: &Layer, params: &[T], blocks: &mut [Block<T>]) {
    let (first, rest) = blocks.split_at_mut(1);
    let Path::Choi(total) = &mut first[0].path else { return };
    for block in rest {
        if let Path::Choi(part) = &block.path {
            total.add(part);
        }
    }
    choi.pull(layer, params, &total.sum, &mut first[0].grad);
}

/// Adds the gradients of the other blocks to the first, each entry in the order of the blocks.
fn add_blocks<T: Real>(grad: &mut [T], rest: &[Block<T>], at: usize) {
    if grad.len() <= PIECE {
        return rest.iter().for_each(|block| add_to(grad, &block.grad[at..at + grad.len()]));
    }
    let half = grad.len() / 2;
    let (left, right) = grad.split_at_mut(half);
    rayon::join(|| add_blocks(left, rest, at), || add_blocks(right, rest, at + half));
}

/// The mean squared error of a stack on a problem and its gradient in the order of [`Stack::to_vec`].
///
/// ```
/// use kraus::{KrausMap, Problem, Stack, loss_and_gradient};
/// use ndarray::array;
/// // Phi(x) = a^2 x on 1 x 1 matrices: loss (a^2 x - y)^2, derivative 4 a x (a^2 x - y).
/// let (x, y) = (array![[[3.0]]], array![[[1.0]]]);
/// let problem = Problem::matrices(x.view(), y.view()).unwrap();
/// let stack = Stack::from(KrausMap::new(array![[[2.0]]]).unwrap());
/// let (loss, gradient) = loss_and_gradient(&stack, &problem).unwrap();
/// assert_eq!((loss, gradient), (121.0, vec![4.0 * 2.0 * 3.0 * 11.0]));
/// ```
pub fn loss_and_gradient<T: Real>(stack: &Stack<T>, problem: &Problem<'_, T>) -> Result<(f64, Vec<T>)> {
    let mut engine = Engine::new(problem, stack, problem.len())?;
    let samples = (0..problem.len()).collect::<Vec<_>>();
    let sum = engine.pass(&samples, true);
    let mut gradient = vec![T::of(0.0); stack.len()];
    to_natural(&engine.layers, engine.gradient(), &mut gradient);
    let scale = T::of(engine.scale(problem.len()));
    gradient.iter_mut().for_each(|g| *g *= scale);
    Ok((sum / (problem.len() * problem.q() * problem.q()) as f64, gradient))
}
