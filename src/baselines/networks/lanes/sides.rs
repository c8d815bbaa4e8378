//! A tensor train of two cores, one per side of X: Y = sum_r A_r^T X B_r.
//!
//! With D = dL/dY: dA_r = X B_r D^T and dB_r = X^T A_r D. The forward pass keeps T_r = X B_r for dA_r; the backward pass computes
//! U_r = X^T A_r for dB_r. Together that is 2 p q (p + q) + p q^2 multiply-adds per sample and r. The order of the parameters is that of
//! the trainer of partial trace regression: A[k][r][i], then B[l][r][j], so that the gradient over all r is one product.

use super::Layer;
use linalg::Real;
use linalg::batch::{LANES, Lane, Store, lane_gemm, lane_gradient};

/// Number of U_r computed at a time: so few of them stay in the cache until their gradient is added.
const TOGETHER: usize = 4;

/// The layer from (m1, m2) to (n1, n2) matrices, and its buffers.
pub(crate) struct Sides<T> {
    inputs: [usize; 2],
    outputs: [usize; 2],
    rank: usize,
    /// T[r][i][l].
    t: Vec<Lane<T>>,
    /// U[r][j][k] of at most [`TOGETHER`] values of r.
    u: Vec<Lane<T>>,
}

impl<T: Real> Sides<T> {
    pub(crate) fn new(inputs: [usize; 2], outputs: [usize; 2], rank: usize) -> Self {
        let zeros = |n: usize| vec![[T::of(0.0); LANES]; n];
        let (t, u) = (zeros(rank * inputs[0] * outputs[1]), zeros(TOGETHER.min(rank) * inputs[1] * outputs[0]));
        Sides { inputs, outputs, rank, t, u }
    }

    fn first_core(&self) -> usize {
        self.rank * self.inputs[0] * self.outputs[0]
    }
}

impl<T: Real> Layer<T> for Sides<T> {
    fn place(&self, k: usize) -> usize {
        let ([m1, m2], [n1, n2], rank, first) = (self.inputs, self.outputs, self.rank, self.first_core());
        if k < first {
            // In the format the order is A[i][k][r], then B[r][j][l].
            let (i, k, r) = (k / (n1 * rank), k / rank % n1, k % rank);
            return (k * rank + r) * m1 + i;
        }
        let (r, j, l) = ((k - first) / (m2 * n2), (k - first) / n2 % m2, (k - first) % n2);
        first + (l * rank + r) * m2 + j
    }

    fn forward(&mut self, theta: &[T], x: &[Lane<T>], y: &mut [Lane<T>]) {
        let ([m1, m2], [n1, n2], rank) = (self.inputs, self.outputs, self.rank);
        let (a, b) = theta.split_at(self.first_core());
        for (r, t) in self.t.chunks_exact_mut(m1 * n2).enumerate() {
            lane_gemm((n2, m1, m2), &b[r * m2..], (rank * m2, 1), x, (1, m2), t, (1, n2), Store::Set);
            let store = if r == 0 { Store::Set } else { Store::Add };
            lane_gemm((n1, n2, m1), &a[r * m1..], (rank * m1, 1), t, (n2, 1), y, (n2, 1), store);
        }
    }

    fn backward(&mut self, theta: &[T], x: &[Lane<T>], d: &[Lane<T>], gradient: &mut [T]) {
        let ([m1, m2], [n1, n2], rank) = (self.inputs, self.outputs, self.rank);
        let first = self.first_core();
        let (da, db) = gradient.split_at_mut(first);
        lane_gradient((n1, rank * m1, n2), d, (n2, 1), &self.t, (1, n2), da, rank * m1);
        for from in (0..rank).step_by(TOGETHER) {
            let count = TOGETHER.min(rank - from);
            for (r, u) in self.u.chunks_exact_mut(m2 * n1).take(count).enumerate() {
                let a = &theta[(from + r) * m1..first];
                lane_gemm((n1, m2, m1), a, (rank * m1, 1), x, (m2, 1), u, (1, n1), Store::Set);
            }
            lane_gradient((n2, count * m2, n1), d, (1, n2), &self.u, (1, n1), &mut db[from * m2..], rank * m2);
        }
    }
}
