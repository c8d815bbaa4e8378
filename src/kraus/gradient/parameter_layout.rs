//! The order of the parameters in memory while a stack is trained: every product reads and writes contiguous rows.
//!
//! A layer whose inputs are matrices is kept **stacked**: W[a][k][i] = A_k[a, i], which is the Stinespring matrix. Read as
//! (q r) x p it gives T = W X for all operators in one product, and T comes out as q x (r p), ready for P = T W^T and for
//! the gradient D T. A first layer whose inputs are matrix units is kept by **columns**: W[i][k][a], because
//! Phi(E_ij) = L_i^T L_j with L_i the r x q matrix of the i-th columns. A layer too large for the second cache is kept
//! operator by operator (**per operator**), W[k][i][a]: while one k is worked on, A_k^T, X A_k^T and the gradient of A_k
//! stay in the first cache. A layer that is passed through its Choi matrix ([`super::per_choi`]) is kept in the order of the map.

use crate::data::problem::{Inputs, Problem};
use crate::gradient::per_choi;
use crate::map::Stack;
use linalg::Real;
use linalg::batch::Lane;

/// With one sample per lane, T of all layers takes at most this many bytes, so that the other buffers fit into the second
/// cache beside it.
pub(crate) const LANE_BYTES: usize = 1 << 20;
/// Matrices with fewer rows fill too few registers when operators are worked on one by one.
const LEAST_PER_OPERATOR: usize = 48;

/// In which order a layer's parameters are kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Order {
    /// W[a][k][i].
    Stacked,
    /// W[i][k][a], for matrix units.
    Columns,
    /// W[k][i][a], for large matrices.
    PerOperator,
    /// W[k][a][i], the order of the map, for the pass through its Choi matrix.
    Natural,
}

/// Sizes of one layer and where its parameters lie.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layer {
    pub r: usize,
    pub q: usize,
    pub p: usize,
    pub order: Order,
    /// Index of the first parameter.
    pub at: usize,
}

impl Layer {
    pub fn len(&self) -> usize {
        self.r * self.q * self.p
    }

    pub fn range(&self) -> std::ops::Range<usize> {
        self.at..self.at + self.len()
    }

    /// Where A_k[a, i] is kept.
    fn index(&self, k: usize, a: usize, i: usize) -> usize {
        let Self { r, q, p, at, .. } = *self;
        at + match self.order {
            Order::Stacked => (a * r + k) * p + i,
            Order::Columns => (i * r + k) * q + a,
            Order::PerOperator => (k * p + i) * q + a,
            Order::Natural => (k * q + a) * p + i,
        }
    }

    /// Multiply-adds of forward and backward for one sample.
    pub fn cost(&self) -> usize {
        let Self { r, q, p, .. } = *self;
        if self.order == Order::Columns { 3 * r * q * q } else { r * q * p * (p + 2 * q) }
    }
}

/// The layers of a stack that is to be fitted to a problem in passes over up to `batch` samples.
pub(crate) fn layers<T: Real>(problem: &Problem<'_, T>, stack: &Stack<T>, batch: usize) -> Vec<Layer> {
    let units = matches!(problem.inputs(), Inputs::Units { .. });
    let mut at = 0;
    let mut place = |(index, map): (usize, &crate::KrausMap<T>)| {
        let (r, q, p) = (map.rank(), map.q(), map.p());
        let order = match units && index == 0 {
            true => Order::Columns,
            false if p >= LEAST_PER_OPERATOR && r * q * p * size_of::<Lane<T>>() > LANE_BYTES => Order::PerOperator,
            false => Order::Stacked,
        };
        let layer = Layer { r, q, p, order, at };
        at += layer.len();
        layer
    };
    let mut layers: Vec<Layer> = stack.layers().iter().enumerate().map(&mut place).collect();
    if per_choi::pays_off(problem, &layers, batch) {
        layers[0].order = Order::Natural;
    }
    layers
}

/// Visits (position in the order of [`Stack::to_vec`], position in training layout) of every parameter.
fn positions(layers: &[Layer]) -> impl Iterator<Item = (usize, usize)> + '_ {
    layers.iter().flat_map(|&layer| {
        let Layer { r, q, p, at, .. } = layer;
        (0..r * q * p).map(move |n| (at + n, layer.index(n / (q * p), n / p % q, n % p)))
    })
}

/// From the order of [`Stack::to_vec`] to training layout.
pub(crate) fn to_training<T: Real>(layers: &[Layer], natural: &[T], training: &mut [T]) {
    positions(layers).for_each(|(from, to)| training[to] = natural[from]);
}

/// From training layout to the order of [`Stack::to_vec`].
pub(crate) fn to_natural<T: Real>(layers: &[Layer], training: &[T], natural: &mut [T]) {
    positions(layers).for_each(|(to, from)| natural[to] = training[from]);
}
