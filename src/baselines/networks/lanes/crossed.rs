//! A tensor train of two cores of a high rank, computed with its full weights C = sum_r a_r b_r^T, a_r = vec(A_r) and b_r = vec(B_r).
//!
//! Forward: Y[k, l] = <C_kl, X> with the block C_kl of C. Backward: with G_kl = sum_s D_s[k, l] X_s, summed over samples s, the
//! gradients are da_r = G b_r and db_r = G^T a_r. C and the gradients cost three products of the size of C per rank and step, whatever
//! the number of samples is: less than [`super::Sides`] where the rank is high. The order in memory is A[r][k][i], B[l][j][r], C and G
//! as [l][j][k][i], their blocks as [k][l][j][i], so that every product reads and writes contiguous rows.

use super::Layer;
use linalg::Real;
use linalg::batch::{LANES, Lane};
use linalg::small::{row_dots, small_gemm};

/// Largest number of entries of C, so that C stays in the second-level cache.
const MOST: usize = 1 << 17;
/// The cost of copying blocks, in multiply-adds per entry of C.
const COPIES: usize = 8;

/// The layer from (m1, m2) to (n1, n2) matrices, and its buffers.
pub(crate) struct Crossed<T> {
    inputs: [usize; 2],
    outputs: [usize; 2],
    rank: usize,
    /// C until the end of the step, then G.
    whole: Vec<T>,
    /// `blocks` holds the blocks of C, `sum` those of G.
    blocks: Vec<T>,
    sum: Vec<T>,
    /// X^T with one row per sample.
    rows: Vec<T>,
    /// dB of the step.
    db: Vec<T>,
}

/// Whether a step of sixteen samples costs less this way than with [`super::Sides`]. The count of multiply-adds must be smaller by an
/// eighth, because the smaller products of this way run slower.
pub(crate) fn pays_off([m1, m2]: [usize; 2], [n1, n2]: [usize; 2], rank: usize) -> bool {
    let size = m1 * n1 * m2 * n2;
    let by_operators = LANES * rank * (m1 * m2 * (n1 + n2) + n1 * n2 * (2 * m1 + m2));
    size <= MOST && 8 * (3 * rank * size + (2 * LANES + COPIES) * size) < 7 * by_operators
}

impl<T: Real> Crossed<T> {
    pub(crate) fn new(inputs: [usize; 2], outputs: [usize; 2], rank: usize) -> Self {
        let zeros = |n: usize| vec![T::of(0.0); n];
        let (m, n) = (inputs[0] * inputs[1], outputs[0] * outputs[1]);
        let db = zeros(rank * inputs[1] * outputs[1]);
        Crossed {
            inputs,
            outputs,
            rank,
            whole: zeros(m * n),
            blocks: zeros(m * n),
            sum: zeros(m * n),
            rows: zeros(LANES * m),
            db,
        }
    }

    fn first_core(&self) -> usize {
        self.rank * self.inputs[0] * self.outputs[0]
    }

    /// Calls `copy` for each contiguous row over i with its two starts: in the order [l][j][k] and in the order [k][l][j].
    fn each_row(&self, mut copy: impl FnMut(usize, usize)) {
        let ([m1, m2], [n1, n2]) = (self.inputs, self.outputs);
        for (l, j) in (0..n2).flat_map(|l| (0..m2).map(move |j| (l, j))) {
            (0..n1).for_each(|k| copy(((l * m2 + j) * n1 + k) * m1, ((k * n2 + l) * m2 + j) * m1));
        }
    }
}

impl<T: Real> Layer<T> for Crossed<T> {
    fn place(&self, k: usize) -> usize {
        let ([m1, m2], [n1, n2], rank, first) = (self.inputs, self.outputs, self.rank, self.first_core());
        if k < first {
            // In the format the order is A[i][k][r], then B[r][j][l].
            let (i, k, r) = (k / (n1 * rank), k / rank % n1, k % rank);
            return (r * n1 + k) * m1 + i;
        }
        let (r, j, l) = ((k - first) / (m2 * n2), (k - first) / n2 % m2, (k - first) % n2);
        first + (l * m2 + j) * rank + r
    }

    fn begin(&mut self, theta: &[T]) {
        let (left, right) = (self.inputs[0] * self.outputs[0], self.inputs[1] * self.outputs[1]);
        let (a, b) = theta.split_at(self.first_core());
        small_gemm((right, left, self.rank), b, (self.rank, 1), a, left, &mut self.whole, left, false);
        let (m1, mut blocks) = (self.inputs[0], std::mem::take(&mut self.blocks));
        self.each_row(|whole, block| blocks[block..block + m1].copy_from_slice(&self.whole[whole..whole + m1]));
        self.blocks = blocks;
        self.sum.fill(T::of(0.0));
    }

    fn forward(&mut self, _theta: &[T], x: &[Lane<T>], y: &mut [Lane<T>]) {
        let ([m1, m2], n) = (self.inputs, y.len());
        let (x, y) = (x.as_flattened(), y.as_flattened_mut());
        for j in 0..m2 {
            let blocks = &self.blocks[j * m1..];
            small_gemm((n, LANES, m1), blocks, (m1 * m2, 1), &x[j * LANES..], m2 * LANES, y, LANES, j > 0);
        }
    }

    fn backward(&mut self, _theta: &[T], x: &[Lane<T>], d: &[Lane<T>], _gradient: &mut [T]) {
        let ([m1, m2], m, n) = (self.inputs, x.len(), d.len());
        for (l, row) in self.rows.chunks_exact_mut(m).enumerate() {
            for (j, to) in row.chunks_exact_mut(m1).enumerate() {
                to.iter_mut().enumerate().for_each(|(i, to)| *to = x[i * m2 + j][l]);
            }
        }
        small_gemm((n, m, LANES), d.as_flattened(), (LANES, 1), &self.rows, m, &mut self.sum, m, true);
    }

    fn end(&mut self, theta: &[T], gradient: &mut [T]) {
        let (left, right, rank) = (self.inputs[0] * self.outputs[0], self.inputs[1] * self.outputs[1], self.rank);
        let (m1, mut whole) = (self.inputs[0], std::mem::take(&mut self.whole));
        self.each_row(|at, block| whole[at..at + m1].copy_from_slice(&self.sum[block..block + m1]));
        self.whole = whole;
        let (a, b) = theta.split_at(self.first_core());
        let (da, db) = gradient.split_at_mut(self.first_core());
        small_gemm((rank, left, right), b, (1, rank), &self.whole, left, da, left, true);
        row_dots((right, rank, left), &self.whole, left, a, left, &mut self.db, rank);
        db.iter_mut().zip(&self.db).for_each(|(to, v)| *to += *v);
    }
}
