//! Which jobs the GPU does, and which models share a sweep.
//!
//! Models of a sweep are padded to its largest rank with operators that are zero: their gradient is zero, so they stay
//! zero, and the result is the same. At most half of a sweep may be padding, and it must fit into the memory.

use super::device::Scalar;
use super::sweep::Model;
use crate::backend::{BackendError, Job};
use crate::problem::{Inputs, Problem};

/// Models in a sweep at most: more do not make a step more efficient.
const MOST: usize = 256;

fn refuse(why: &str) -> BackendError {
    BackendError::Unsupported { backend: "cuda", why: why.into() }
}

/// Refuses data that the kernels do not handle.
pub(super) fn check<T: Scalar>(job: &Job<'_, T>) -> Result<(), BackendError> {
    for problem in std::iter::once(job.problem).chain(job.validation) {
        if matches!(problem.inputs(), Inputs::Units { .. }) {
            return Err(refuse("inputs are matrix units (completion); train on the processor"));
        }
        if !problem.is_symmetric() {
            return Err(refuse("inputs, targets or masks are not symmetric; train on the processor"));
        }
    }
    Ok(())
}

/// Refuses stacks of several maps, and sizes that the kernels' integers do not hold.
pub(super) fn check_models<T: Scalar>(job: &Job<'_, T>, models: &[Model<T>]) -> Result<(), BackendError> {
    if let Some(deep) = models.iter().find(|m| m.stack.depth() != 1) {
        return Err(refuse(&format!("a stack of {} maps; train on the processor", deep.stack.depth())));
    }
    let shape = Shape::of(job, models);
    let Shape { p, q, n, rank, .. } = shape;
    let longest =
        [n * q * q, n * p, rank * p * q, rank * MOST, job.problem.len(), job.validation.map_or(0, Problem::len)];
    if longest.iter().any(|&size| size > i32::MAX as usize) {
        return Err(refuse("a batch or a model has more than 2^31 entries; use smaller batches"));
    }
    Ok(())
}

/// Sizes of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub p: usize,
    pub q: usize,
    /// The largest rank.
    pub rank: usize,
    /// Samples per step.
    pub n: usize,
    pub models: usize,
    /// Shuffling orders: one where all models share it, else one per model.
    pub orders: usize,
}

impl Shape {
    pub fn of<T: Scalar>(job: &Job<'_, T>, models: &[Model<T>]) -> Self {
        let batch = models.iter().map(Model::batch).max().unwrap_or(1);
        let shared = models.windows(2).all(|w| w[0].adam.params().seed == w[1].adam.params().seed);
        Self {
            p: job.problem.p(),
            q: job.problem.q(),
            rank: models.iter().map(Model::rank).max().unwrap_or(1),
            n: batch.min(job.problem.len()),
            models: models.len(),
            orders: if shared { 1 } else { models.len() },
        }
    }

    /// Parameters of one model, padded.
    pub fn size(&self) -> usize {
        self.rank * self.p * self.q
    }
}

/// Bytes of the device's memory that a sweep takes: what [`super::step::Buffers`] allocates.
pub(super) fn need<T: Scalar>(job: &Job<'_, T>, models: &[Model<T>]) -> u64 {
    let s = Shape::of(job, models);
    let data = |d: &Problem<'_, T>| d.len() * (s.p * s.p + s.q * s.q * if d.mask().is_some() { 2 } else { 1 });
    let steps = job.problem.len().div_ceil(s.n);
    let scalars = data(job.problem)
        + job.validation.map_or(0, data)
        + s.orders * s.p * s.p * s.n
        + s.models * (4 * s.size() + s.size() * s.n + s.n * s.q * s.q + steps + 3);
    let integers = s.orders * job.problem.len() + job.validation.map_or(0, Problem::len);
    (scalars * size_of::<T>() + integers * 4 + s.models * 8) as u64
}

/// The sweeps: models of one batch size, sorted by rank, as many together as padding and memory allow.
pub(super) fn sweeps<T: Scalar>(job: &Job<'_, T>, mut models: Vec<Model<T>>, free: u64) -> Vec<Vec<Model<T>>> {
    // A tenth is left to the driver and to cuBLAS.
    let budget = free / 10 * 9;
    models.sort_by_key(|m| (m.batch(), m.rank(), m.index));
    let mut sweeps: Vec<Vec<Model<T>>> = Vec::new();
    for model in models {
        match sweeps.last_mut() {
            Some(sweep) if sweep.len() < MOST && sweep[0].batch() == model.batch() => {
                sweep.push(model);
                let (used, widest) = sweep.iter().fold((0, 0), |(u, w), m| (u + m.rank(), w.max(m.rank())));
                if 2 * used < widest * sweep.len() || need(job, sweep) > budget {
                    let alone = sweep.pop();
                    sweeps.push(alone.into_iter().collect());
                }
            }
            _ => sweeps.push(vec![model]),
        }
    }
    sweeps
}
