//! Gradients of the square loss over any set of samples: blocks of samples on all cores, reduced in a fixed order.
//!
//! How many blocks there are depends on the shapes alone, never on the number of threads: results are equal bit for bit.

use crate::error::Result;
use crate::lane_work::{LaneWork, pays};
use crate::layout::{Layer, Order, layers, to_natural, to_training};
use crate::problem::Problem;
use crate::stack::Stack;
use crate::work::{Shared, Work, transpose};
use linalg::Real;
use linalg::kernels::add_to;
use linalg::lanes::LANES;

/// Below this many multiply-adds a block is not worth another core.
const GRAIN: usize = 1 << 22;
const MOST_BLOCKS: usize = 16;
/// Parameters that one core adds up or moves at a time.
pub(crate) const PIECE: usize = 1 << 14;
/// Samples that share one gradient buffer at least: each buffer is cleared and added up once per step.
const LEAST_BLOCK: usize = 4;

/// The loss of a stack on a problem and its gradient, with all buffers allocated once.
pub struct Engine<'s, 'p, T> {
    problem: &'s Problem<'p, T>,
    layers: Vec<Layer>,
    pub(crate) params: Vec<T>,
    flipped: Vec<T>,
    works: Vec<Block<T>>,
}

/// What one block of samples is worked on with, and what it gives.
struct Block<T> {
    how: How<T>,
    /// Gradient in training layout.
    grad: Vec<T>,
    /// Sum of squared errors.
    sum: f64,
}

/// Small matrices go sixteen samples at a time, one per lane; others one by one.
enum How<T> {
    Lanes(LaneWork<T>),
    Samples(Work<T>),
}

impl<T: Real> Block<T> {
    fn run(&mut self, shared: &Shared<'_, '_, T>, samples: &[usize]) {
        self.sum = match &mut self.how {
            How::Lanes(work) => {
                if shared.backward {
                    self.grad.fill(T::of(0.0));
                }
                work.run(shared, samples, &mut self.grad)
            }
            How::Samples(work) => work.run(shared, samples, &mut self.grad),
        };
    }
}

impl<'s, 'p, T: Real> Engine<'s, 'p, T> {
    /// Room for gradients over up to `batch` samples at once.
    pub fn new(problem: &'s Problem<'p, T>, stack: &Stack<T>, batch: usize) -> Result<Self> {
        problem.check_fits(stack)?;
        let layers = layers(problem, stack);
        let batch = batch.clamp(1, problem.len());
        let cost = batch * layers.iter().map(Layer::cost).sum::<usize>();
        let lanes = pays(problem, &layers, batch);
        let least = if lanes { LANES } else { LEAST_BLOCK };
        let blocks = (cost / GRAIN).min(MOST_BLOCKS).min(batch / least).max(1);
        let block = batch.div_ceil(blocks);
        let how = || match lanes {
            true => How::Lanes(LaneWork::new(problem, &layers, stack.gamma)),
            false => How::Samples(Work::new(&layers, stack.gamma, block)),
        };
        let works = (0..blocks).map(|_| Block { how: how(), grad: vec![T::of(0.0); stack.len()], sum: 0.0 }).collect();
        let zeros = || vec![T::of(0.0); stack.len()];
        let flips = layers.iter().skip(1).any(|l| l.order == Order::Apart);
        let flipped = if flips { zeros() } else { Vec::new() };
        let mut engine = Self { problem, params: zeros(), flipped, works, layers };
        engine.load(stack);
        Ok(engine)
    }

    /// Takes the parameters of a stack of the same shape.
    pub fn load(&mut self, stack: &Stack<T>) {
        to_training(&self.layers, &stack.to_vec(), &mut self.params);
    }

    /// Writes the parameters into a stack of the same shape. `scratch` is reused between calls.
    pub fn store(&self, stack: &mut Stack<T>, scratch: &mut Vec<T>) {
        scratch.resize(self.params.len(), T::of(0.0));
        to_natural(&self.layers, &self.params, scratch);
        stack.set(scratch);
    }

    /// Whether a step is large enough to use several cores.
    pub fn is_parallel(&self) -> bool {
        self.works.len() > 1
    }

    /// Transposes what is read both ways.
    fn flip(&mut self) {
        for layer in self.layers.iter().skip(1).filter(|l| l.order == Order::Apart) {
            let (size, at) = (layer.q * layer.p, layer.range());
            let operators = self.params[at.clone()].chunks(size).zip(self.flipped[at].chunks_mut(size));
            operators.for_each(|(from, to)| transpose(from, layer.p, layer.q, to));
        }
    }

    /// Sum of squared (masked) errors over the samples; the gradient is kept, see `gradient`.
    pub fn pass(&mut self, samples: &[usize], backward: bool) -> f64 {
        self.pass_before(samples, backward, &[])
    }

    /// As [`pass`](Self::pass), fetching meanwhile what the next pass will read.
    pub(crate) fn pass_before(&mut self, samples: &[usize], backward: bool, next: &[usize]) -> f64 {
        let mut block = samples.len().div_ceil(self.works.len());
        if matches!(self.works[0].how, How::Lanes(_)) {
            block = block.next_multiple_of(LANES);
        }
        self.flip();
        let shared = Shared {
            problem: self.problem,
            layers: &self.layers,
            params: &self.params,
            flipped: &self.flipped,
            backward,
            ahead: if self.works.len() == 1 { next } else { &[] },
        };
        spread(&shared, &mut self.works, samples, block);
        if backward && self.works.len() > 1 {
            let (first, rest) = self.works.split_at_mut(1);
            reduce(&mut first[0].grad, rest, 0);
        }
        self.works.iter().map(|work| work.sum).sum()
    }

    /// The gradient of the last pass in training layout, to be multiplied by [`scale`](Self::scale).
    pub(crate) fn gradient(&self) -> &[T] {
        &self.works[0].grad
    }

    /// Parameters and gradient together, for an optimiser.
    pub(crate) fn params_and_gradient(&mut self) -> (&mut [T], &[T]) {
        (&mut self.params, &self.works[0].grad)
    }

    /// What the gradient of the mean over `samples` samples must be multiplied by: 2 / N, or 4 / N where symmetric.
    pub(crate) fn scale(&self, samples: usize) -> f64 {
        let n = (samples * self.problem.q() * self.problem.q()) as f64;
        if self.problem.is_symmetric() { 4.0 / n } else { 2.0 / n }
    }
}

/// Blocks in halves, each half on whichever core is free.
fn spread<T: Real>(shared: &Shared<'_, '_, T>, works: &mut [Block<T>], samples: &[usize], block: usize) {
    if let [work] = works {
        return work.run(shared, samples);
    }
    let (left, right) = works.split_at_mut(works.len() / 2);
    let (first, second) = samples.split_at((left.len() * block).min(samples.len()));
    rayon::join(|| spread(shared, left, first, block), || spread(shared, right, second, block));
}

/// Adds the gradients of the other blocks to the first, each entry in the order of the blocks.
fn reduce<T: Real>(grad: &mut [T], rest: &[Block<T>], at: usize) {
    if grad.len() <= PIECE {
        return rest.iter().for_each(|work| add_to(grad, &work.grad[at..at + grad.len()]));
    }
    let half = grad.len() / 2;
    let (left, right) = grad.split_at_mut(half);
    rayon::join(|| reduce(left, rest, at), || reduce(right, rest, at + half));
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
