//! Sizes of a sweep, and what they take of the device's memory.
//!
//! Models of a sweep are padded, layer by layer, to its largest rank with operators that are zero: their gradient is
//! zero, so they stay zero, and the result is the same.

use super::device::Scalar;
use super::sweep::Model;
use crate::backend::Job;
use crate::data::problem::{Inputs, Problem};
use crate::map::Gamma;

/// One map of the stack, in the layout [a][k][j] of kernels.cu.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layer {
    pub p: usize,
    pub q: usize,
    /// The largest rank of the sweep.
    pub r: usize,
    /// Its first parameter.
    pub at: usize,
}

impl Layer {
    pub fn size(&self) -> usize {
        self.q * self.r * self.p
    }
}

/// Sizes of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shape {
    pub layers: Vec<Layer>,
    pub gamma: Option<f64>,
    /// Samples per step, which is what the buffers of each model hold.
    pub n: usize,
    pub models: usize,
    /// Shuffling orders: one where all models share it, else one per model.
    pub orders: usize,
    /// Data are symmetric matrices: gradients then need one product less, and half the scale.
    pub symmetric: bool,
    /// Inputs are matrix units.
    pub units: bool,
    /// Some model keeps the parameters of its best epoch.
    pub keeps_best: bool,
}

/// Entries of the buffers of a sweep, in scalars unless said otherwise; what is not needed has none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Parameters, moments and gradients, each.
    pub parameters: usize,
    pub best: usize,
    pub x: usize,
    /// Columns of the operators at matrix units, each of four.
    pub columns: usize,
    /// Per layer.
    pub t: Vec<usize>,
    pub out: Vec<usize>,
    /// Per gap between layers: the gradient, each of two bases of the clamp, its values.
    pub delta: Vec<usize>,
    pub basis: Vec<usize>,
    pub values: Vec<usize>,
    pub u: usize,
    pub scratch: usize,
    /// Addresses of matrices, 8 bytes each.
    pub lists: usize,
    /// Sums of squares, 8 bytes each.
    pub sums: usize,
}

/// Blocks that add up one model's errors.
const SLOTS: usize = 32;

impl Shape {
    /// Of models that have the same sizes.
    pub fn of<T: Scalar>(job: &Job<'_, T>, models: &[Model<T>]) -> Self {
        let batch = models.iter().map(Model::batch).max().unwrap_or(1);
        let shared = models.windows(2).all(|w| w[0].adam.params().seed == w[1].adam.params().seed);
        let units = matches!(job.problem.inputs(), Inputs::Units { .. });
        let mut layers: Vec<Layer> = Vec::new();
        if let Some(first) = models.first() {
            for (index, map) in first.stack.layers().iter().enumerate() {
                let r = models.iter().map(|m| m.stack.layers()[index].rank()).max().unwrap_or(1);
                let at = layers.last().map_or(0, |l| l.at + l.size());
                layers.push(Layer { p: map.p(), q: map.q(), r, at });
            }
        }
        let gamma = models.first().and_then(|m| match m.stack.gamma() {
            Gamma::Clamp(eps) if m.stack.depth() > 1 => Some(eps),
            _ => None,
        });
        let symmetric = !units && job.problem.is_symmetric();
        Self {
            layers,
            gamma,
            n: batch.min(job.problem.len()),
            models: models.len(),
            orders: if shared { 1 } else { models.len() },
            symmetric,
            units,
            keeps_best: models.iter().any(|m| m.adam.params().keep_best),
        }
    }

    /// Parameters of one model, padded.
    pub fn total(&self) -> usize {
        self.layers.iter().map(Layer::size).sum()
    }

    /// Rows of the outputs.
    pub fn q(&self) -> usize {
        self.layers.last().map_or(0, |l| l.q)
    }

    /// Blocks that add up one model's errors, a place in the sums for each.
    pub fn slots(&self) -> usize {
        (self.n * self.q() * self.q()).div_ceil(super::step::THREADS as usize).clamp(1, SLOTS)
    }

    /// Multiply-adds of a step of all models.
    pub fn cost(&self) -> usize {
        let cost = |(index, l): (usize, &Layer)| match (self.units && index == 0, index > 0) {
            (true, _) => 3 * l.r * l.q * l.q,
            (_, deeper) => l.size() * (l.p + 2 * l.q + if deeper { l.p + l.q } else { 0 }),
        };
        self.models * self.n * self.layers.iter().enumerate().map(cost).sum::<usize>()
    }

    /// Matrices in a list: one per sample and model.
    pub fn list(&self) -> usize {
        self.n * self.models
    }

    pub fn sizes(&self) -> Sizes {
        let (each, list) = (|size: usize| self.models * self.n * size, self.list());
        let inner = &self.layers[..self.layers.len() - 1];
        let first = self.layers[0];
        let products = |l: &Layer| !(self.units && l.at == 0);
        let parameters = self.models * self.total();
        let widest = self.layers.iter().filter(|l| products(l) && (l.at > 0 || !self.symmetric)).map(Layer::size).max();
        let tallest = self.layers.iter().map(|l| l.q * l.q).max().unwrap_or(0);
        let clamped = |size: usize| if self.gamma.is_some() { each(size) } else { 0 };
        Sizes {
            parameters,
            best: if self.keeps_best { parameters } else { 0 },
            x: if self.units { 0 } else { self.orders * self.n * first.p * first.p },
            columns: if self.units { each(first.r * first.q) } else { 0 },
            t: self.layers.iter().map(|l| if products(l) { each(l.size()) } else { 0 }).collect(),
            out: self.layers.iter().map(|l| each(l.q * l.q)).collect(),
            delta: inner.iter().map(|l| each(l.q * l.q)).collect(),
            basis: inner.iter().map(|l| clamped(l.q * l.q)).collect(),
            values: inner.iter().map(|l| clamped(l.q)).collect(),
            u: each(widest.unwrap_or(0)),
            scratch: if self.symmetric && self.gamma.is_none() { 0 } else { each(tallest) },
            // Six for matrix units, five for any other layer; see `buffers`.
            lists: list * (5 * self.layers.len() + usize::from(self.units)),
            sums: self.models * self.slots(),
        }
    }
}

impl Sizes {
    /// Scalars in all.
    fn scalars(&self) -> usize {
        let layers = [&self.t, &self.out, &self.delta, &self.values].into_iter().flatten().sum::<usize>();
        let bases = 2 * self.basis.iter().sum::<usize>();
        4 * self.parameters + self.best + self.x + 4 * self.columns + layers + bases + self.u + self.scratch
    }
}

/// Bytes of the device's memory that a sweep takes.
pub(super) fn need<T: Scalar>(job: &Job<'_, T>, models: &[Model<T>]) -> u64 {
    let s = Shape::of(job, models);
    let sizes = s.sizes();
    let data = |d: &Problem<'_, T>| {
        let (p, q) = (if s.units { 0 } else { d.p() }, d.q());
        d.len() * (p * p + q * q * if d.is_masked() { 2 } else { 1 })
    };
    let steps = job.problem.len().div_ceil(s.n);
    let scalars = data(job.problem) + job.validation.map_or(0, data) + sizes.scalars() + s.models * (steps + 3);
    // Per sample a flag, the two indices of a unit, a place in each order.
    let each = if s.units { 3 } else { 1 };
    let integers = (s.orders + each) * job.problem.len() + (1 + each) * job.validation.map_or(0, Problem::len);
    (scalars * size_of::<T>() + integers * 4 + (sizes.lists + sizes.sums) * 8) as u64
}
