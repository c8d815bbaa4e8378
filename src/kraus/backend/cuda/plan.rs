//! Which jobs the GPU does, and which models share a sweep: those of one batch size and the same sizes, as long as at
//! most half of a sweep is padding and it fits into the memory.

use super::device::Scalar;
use super::shape::{Shape, need};
use super::sweep::Model;
use crate::backend::{BackendError, Job};
use crate::data::problem::{Inputs, Problem};
use crate::map::Gamma;

/// The largest number of models in a sweep: more do not make a step more efficient.
const MOST: usize = 256;
/// The most rows of a matrix that Gamma clamps: twice PAIRS of kernels.cu.
const CLAMPED: usize = 512;

fn refuse(why: &str) -> BackendError {
    BackendError::Unsupported { backend: "cuda", why: why.into() }
}

/// Refuses sizes that the kernels do not hold, and validation data of another kind than the training data.
pub(super) fn check<T: Scalar>(job: &Job<'_, T>, models: &[Model<T>]) -> Result<(), BackendError> {
    let units = |p: &Problem<'_, T>| matches!(p.inputs(), Inputs::Units { .. });
    if job.validation.is_some_and(|v| units(v) != units(job.problem)) {
        return Err(refuse("matrices and matrix units in one job; train on the processor"));
    }
    let most = job.problem.len().max(job.validation.map_or(0, Problem::len));
    for model in models {
        let shape = Shape::of(job, std::slice::from_ref(model));
        if shape.gamma.is_some() && shape.layers.iter().skip(1).any(|l| l.p > CLAMPED) {
            return Err(refuse("Gamma of matrices with more than 512 rows; train on the processor"));
        }
        let long = |l: &super::shape::Layer| [shape.n * l.q * l.q, shape.n * l.p * l.p, l.size(), shape.n * l.q * l.r];
        let longest = shape.layers.iter().flat_map(long).chain([shape.total(), shape.n * MOST, 2 * most]);
        if longest.max() > Some(i32::MAX as usize) {
            return Err(refuse("a batch or a model has more than 2^31 entries; use smaller batches"));
        }
    }
    Ok(())
}

/// What models of one sweep have in common.
fn kind<T: Scalar>(model: &Model<T>) -> (usize, Vec<usize>, u64) {
    let arch = model.stack.architecture();
    let gamma = match arch.gamma {
        Gamma::Clamp(eps) if arch.ranks.len() > 1 => eps.to_bits(),
        _ => u64::MAX,
    };
    (model.batch(), arch.dims, gamma)
}

/// The sweeps, each as many models together as padding and memory allow.
pub(super) fn sweeps<T: Scalar>(job: &Job<'_, T>, mut models: Vec<Model<T>>, free: u64) -> Vec<Vec<Model<T>>> {
    // A tenth is left to the driver and to cuBLAS.
    let budget = free / 10 * 9;
    models.sort_by_key(|m| (kind(m), m.stack.len(), m.index));
    let mut sweeps: Vec<Vec<Model<T>>> = Vec::new();
    for model in models {
        match sweeps.last_mut() {
            Some(sweep) if sweep.len() < MOST && kind(&sweep[0]) == kind(&model) => {
                sweep.push(model);
                let used = sweep.iter().map(|m| m.stack.len()).sum::<usize>();
                let padded = Shape::of(job, sweep).total() * sweep.len();
                if 2 * used < padded || need(job, sweep) > budget {
                    let alone = sweep.pop();
                    sweeps.push(alone.into_iter().collect());
                }
            }
            _ => sweeps.push(vec![model]),
        }
    }
    sweeps
}
