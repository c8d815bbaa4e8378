//! Forward and backward pass through the Choi matrix: one small layer of a high rank, or many samples at once.
//!
//! With w_k = vec(A_k), n = p q numbers, C = sum_k w_k w_k^T holds the blocks C_ab (p, p) of Phi(X)_ab = <C_ab, X>, and with
//! G_ab = sum_s D_s[a, b] X_s the gradient sum_s D_s A_k X_s is G w_k. C and G cost 3/2 r n^2 multiply-adds per step, whatever
//! the number of samples is, and a sample costs p^2 q (q + 1) instead of r p q (p + 2 q): [`pays_off`] counts which way is
//! cheaper. Data are symmetric, so blocks with a <= b are enough. Parameters are kept in the order of the map, A[k][a][i].

use crate::data::problem::{Inputs, Problem};
use crate::gradient::parameter_layout::Layer;
use crate::gradient::per_sample::Shared;
use linalg::Real;
use linalg::batch::{LANES, Lane, lane_put, lane_residual};
use linalg::small::{add_to, small_gemm};

/// C takes at most this many numbers, so that it stays in the second cache.
const MOST: usize = 1 << 17;
/// Copies of blocks cost about as much as this many multiply-adds per entry of C.
const COPIES: usize = 4;

/// Whether a pass over `batch` samples costs less through the Choi matrix. A seventh less by count, because its products are smaller.
pub(crate) fn pays_off<T: Real>(problem: &Problem<'_, T>, layers: &[Layer], batch: usize) -> bool {
    let [Layer { r, q, p, .. }] = *layers else { return false };
    let (n, pairs) = (p * q, q * (q + 1) / 2);
    if !problem.is_symmetric() || !matches!(problem.inputs(), Inputs::Matrices(_)) || n * n > MOST {
        return false;
    }
    let by_operators = batch * r * n * (p + q + q / 2);
    let by_choi = r * (pairs * p * p + n * n) + batch.next_multiple_of(LANES) * 2 * pairs * p * p + COPIES * n * n;
    8 * by_choi < 7 * by_operators
}

/// The Choi matrix of a step and the sum of the gradient over all blocks, shared by the blocks.
pub(crate) struct Choi<T> {
    /// Rows of blocks of one a: (p, (q - a) p).
    strip: Vec<T>,
    /// C_ab for a <= b, one block after the other, each row by row.
    blocks: Vec<T>,
    /// G as (n, n).
    whole: Vec<T>,
}

/// The buffers of one block of samples.
pub(crate) struct PerChoi<T> {
    x: Vec<Lane<T>>,
    /// Sixteen inputs, one after the other.
    rows: Vec<T>,
    /// Predictions, then errors: of the pairs a <= b, and of all entries.
    half: Vec<Lane<T>>,
    delta: Vec<Lane<T>>,
    y: Vec<Lane<T>>,
    mask: Vec<Lane<T>>,
    /// G_ab for a <= b over the samples of this block.
    pub sum: Vec<T>,
}

/// The pairs a <= b of q rows, in order.
fn pairs(q: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..q).flat_map(move |a| (a..q).map(move |b| (a, b)))
}

impl<T: Real> Choi<T> {
    pub fn new(&Layer { q, p, .. }: &Layer) -> Self {
        let zeros = |n: usize| vec![T::of(0.0); n];
        Self { strip: zeros(p * p * q), blocks: zeros(p * p * q * (q + 1) / 2), whole: zeros(p * q * p * q) }
    }

    /// The blocks of C at these parameters.
    pub fn lift(&mut self, &Layer { r, q, p, .. }: &Layer, w: &[T]) {
        let n = p * q;
        let mut done = 0;
        for a in 0..q {
            let (from, width) = (&w[a * p..], (q - a) * p);
            small_gemm((p, width, r), from, (1, n), from, n, &mut self.strip, width, false);
            for b in 0..q - a {
                for (i, to) in self.blocks[done..done + p * p].chunks_exact_mut(p).enumerate() {
                    to.copy_from_slice(&self.strip[i * width + b * p..][..p]);
                }
                done += p * p;
            }
        }
    }

    /// The blocks of C.
    pub fn blocks(&self) -> &[T] {
        &self.blocks
    }

    /// G w_k for every k, from the blocks of G.
    pub fn pull(&mut self, &Layer { r, q, p, .. }: &Layer, w: &[T], sum: &[T], grad: &mut [T]) {
        let n = p * q;
        for ((a, b), block) in pairs(q).zip(sum.chunks_exact(p * p)) {
            for (j, row) in block.chunks_exact(p).enumerate() {
                self.whole[(b * p + j) * n + a * p..][..p].copy_from_slice(row);
                self.whole[(a * p + j) * n + b * p..][..p].copy_from_slice(row);
            }
        }
        small_gemm((r, n, n), w, (n, 1), &self.whole, n, grad, n, false);
    }
}

impl<T: Real> PerChoi<T> {
    pub fn new(problem: &Problem<'_, T>) -> Self {
        let (p, q) = (problem.p(), problem.q());
        let lanes = |n: usize| vec![[T::of(0.0); LANES]; n];
        let half = q * (q + 1) / 2;
        Self {
            x: lanes(p * p),
            rows: vec![T::of(0.0); LANES * p * p],
            half: lanes(half),
            delta: lanes(q * q),
            y: lanes(q * q),
            mask: lanes(if problem.mask_slice().is_some() { q * q } else { 0 }),
            sum: vec![T::of(0.0); half * p * p],
        }
    }

    /// Sets `sum` to G over `samples` and returns their sum of squares.
    pub fn run(&mut self, shared: &Shared<'_, '_, T>, blocks: &[T], samples: &[usize]) -> f64 {
        let (p, q) = (shared.problem.p(), shared.problem.q());
        let (inputs, outputs) = (p * p, q * q);
        let half = self.half.len();
        let Inputs::Matrices(x) = shared.problem.inputs() else { return 0.0 };
        let x = x.as_slice();
        if shared.backward {
            self.sum.fill(T::of(0.0));
        }
        let mut total = 0.0;
        let mut groups = samples.chunks(LANES).peekable();
        while let Some(group) = groups.next() {
            put(x, inputs, group, &mut self.x);
            let next = groups.peek().copied().unwrap_or(shared.ahead);
            next.iter().take(LANES).for_each(|&sample| shared.prefetch(sample));
            // P_ab = <C_ab, X> for all samples of the group.
            let (from, to) = (self.x.as_flattened(), self.half.as_flattened_mut());
            small_gemm((half, LANES, inputs), blocks, (inputs, 1), from, LANES, to, LANES, false);
            for ((a, b), value) in pairs(q).zip(&self.half) {
                self.delta[a * q + b] = *value;
                self.delta[b * q + a] = *value;
            }
            put(shared.problem.targets_slice(), outputs, group, &mut self.y);
            let mask = shared.problem.mask_slice().map(|m| {
                put(m, outputs, group, &mut self.mask);
                &self.mask[..]
            });
            total += lane_residual(&mut self.delta, &self.y, mask).iter().map(|s| s.as_f64()).sum::<f64>();
            if shared.backward {
                for ((a, b), value) in pairs(q).zip(&mut self.half) {
                    *value = self.delta[a * q + b];
                }
                for (row, &sample) in self.rows.chunks_exact_mut(inputs).zip(group) {
                    row.copy_from_slice(&x[sample * inputs..(sample + 1) * inputs]);
                }
                let (d, count) = (self.half.as_flattened(), group.len());
                small_gemm((half, inputs, count), d, (LANES, 1), &self.rows, inputs, &mut self.sum, inputs, true);
            }
        }
        total
    }

    /// Adds the sum of another block.
    pub fn add(&mut self, other: &Self) {
        add_to(&mut self.sum, &other.sum);
    }
}

fn put<T: Real>(data: &[T], size: usize, group: &[usize], to: &mut [Lane<T>]) {
    lane_put(group.len(), |l| &data[group[l] * size..(group[l] + 1) * size], to);
}
