//! Forward and backward pass sample by sample: the arithmetic of every gradient-based solver.
//!
//! With D = dL/dP (up to the constant that the caller applies) the backward pass of one layer is
//! dA_k = D A_k X^T + D^T A_k X and dX = sum_k A_k^T D A_k. Where X and D are symmetric the first is 2 D (A_k X), which
//! reuses the forward product T = A_k X: three products instead of five.

use crate::data::problem::{Inputs, Matrices, Problem};
use crate::gradient::parameter_layout::{Layer, Order};
use crate::gradient::per_operator::{self, mirror};
use crate::map::Gamma;
use linalg::small::{residual, row_dots, small_gemm};
use linalg::{Clamp, Real};

/// Samples that go through a single layer together, so that parameters and gradient are read once for all of them. A larger
/// number would only make the buffers larger.
const TOGETHER: usize = 4;

/// Rows of a symmetric output that are computed together: the rows of one tile of dot products.
const ROWS: usize = 4;

/// Buffers of one block, allocated once per fit.
pub(crate) struct PerSample<T> {
    /// Samples passed through all layers together; sixteen share one clamp.
    chunk: usize,
    /// Per layer: the inputs of the chunk (empty for the first, which reads the problem).
    z: Vec<Vec<T>>,
    /// Per layer: T = W X of the chunk, sample by sample or operator by operator (see [`super::per_operator`]).
    t: Vec<Vec<T>>,
    /// Per gap between layers: clamps of eigenvalues and of singular values.
    clamps: Vec<[Clamp<T>; 2]>,
    /// Outputs, then the gradients with respect to them, then to the inputs of each layer.
    delta: Vec<T>,
    before: Vec<T>,
    /// One transposed matrix.
    transposed: Vec<T>,
    /// One T, or U = D W.
    scratch: Vec<T>,
}

/// What a pass reads, shared by all blocks.
pub(crate) struct Shared<'s, 'p, T> {
    pub problem: &'s Problem<'p, T>,
    pub layers: &'s [Layer],
    /// Parameters in training layout.
    pub params: &'s [T],
    /// The A_k as q x p, at the same offsets, of the layers kept per operator except the first. The gradient with respect
    /// to the inputs of those layers needs them.
    pub transposed: &'s [T],
    /// Whether the backward pass is wanted.
    pub backward: bool,
    /// The samples of the next pass, where they are known.
    pub ahead: &'s [usize],
}

impl<T: Real> Shared<'_, '_, T> {
    pub fn prefetch(&self, sample: usize) {
        if let Inputs::Matrices(x) = self.problem.inputs() {
            linalg::small::prefetch(input(x, sample, self.problem.p()));
        }
        let size = self.problem.q() * self.problem.q();
        linalg::small::prefetch(&self.problem.targets_slice()[sample * size..(sample + 1) * size]);
    }
}

impl<T: Real> PerSample<T> {
    pub fn new(layers: &[Layer], gamma: Gamma, block: usize) -> Self {
        let chunk = block.clamp(1, if layers.len() == 1 { TOGETHER } else { linalg::batch::LANES });
        let zeros = |n: usize| vec![T::of(0.0); n];
        let side = layers.iter().map(|l| l.p.max(l.q)).max().unwrap_or(0);
        let widest = layers.iter().map(Layer::len).max().unwrap_or(0);
        let clamp = |eps: f64, n: usize| [(); 2].map(|()| Clamp::new(n, chunk, T::of(eps)));
        Self {
            chunk,
            z: layers.iter().enumerate().map(|(i, l)| zeros(if i == 0 { 0 } else { chunk * l.p * l.p })).collect(),
            t: layers.iter().map(|l| zeros(if l.order == Order::Columns { 0 } else { chunk * l.len() })).collect(),
            clamps: match gamma {
                Gamma::Clamp(eps) => layers[1..].iter().map(|l| clamp(eps, l.p)).collect(),
                Gamma::None => Vec::new(),
            },
            delta: zeros(chunk * side * side),
            before: zeros(chunk * side * side),
            transposed: zeros(side * side),
            scratch: zeros(widest),
        }
    }

    /// Writes the gradient over `samples` to `grad` and returns their sum of squares.
    pub fn run(&mut self, shared: &Shared<'_, '_, T>, samples: &[usize], grad: &mut [T]) -> f64 {
        let mut sum = 0.0;
        for (n, chunk) in samples.chunks(self.chunk).enumerate() {
            // Shuffled samples are not in the cache, and the processor cannot guess their order.
            let ahead = samples.iter().skip((n + 1) * self.chunk).take(self.chunk);
            ahead.for_each(|&sample| shared.prefetch(sample));
            self.forward(shared, chunk);
            sum += self.errors(shared, chunk);
            if shared.backward {
                self.backward(shared, chunk, grad, n > 0);
            }
        }
        if shared.backward && samples.is_empty() {
            grad.fill(T::of(0.0));
        }
        sum
    }

    fn forward(&mut self, shared: &Shared<'_, '_, T>, chunk: &[usize]) {
        let (depth, symmetric) = (shared.layers.len(), shared.problem.is_symmetric());
        for (index, layer) in shared.layers.iter().enumerate() {
            let (done, next) = self.z.split_at_mut(index + 1);
            let out = if index + 1 == depth { &mut self.delta } else { &mut next[0] };
            let &Layer { r, q, p, .. } = layer;
            let w = &shared.params[layer.range()];
            if layer.order == Order::PerOperator {
                let xs = (0..chunk.len()).map(|s| match shared.problem.inputs() {
                    Inputs::Matrices(x) if index == 0 => input(x, chunk[s], p),
                    _ => &done[index][s * p * p..(s + 1) * p * p],
                });
                let t = &mut self.t[index][..chunk.len() * layer.len()];
                per_operator::forward(layer, w, xs, t, out, symmetric);
            }
            let one_by_one = if layer.order == Order::PerOperator { &[] } else { chunk };
            for (s, (&sample, out)) in one_by_one.iter().zip(out.chunks_exact_mut(q * q)).enumerate() {
                let x = match (index, shared.problem.inputs()) {
                    (0, Inputs::Units { pairs, .. }) => {
                        let (i, j) = pairs[sample];
                        let (li, lj) = (&w[i * r * q..(i + 1) * r * q], &w[j * r * q..(j + 1) * r * q]);
                        small_gemm((q, q, r), li, (1, q), lj, q, out, q, false);
                        continue;
                    }
                    (0, Inputs::Matrices(x)) => input(x, sample, p),
                    _ => &done[index][s * p * p..(s + 1) * p * p],
                };
                let t = &mut self.t[index][s * layer.len()..(s + 1) * layer.len()];
                small_gemm((q * r, p, p), w, (p, 1), x, p, t, p, false);
                output((q, r * p), t, w, out, symmetric);
                if symmetric {
                    mirror(q, out);
                }
            }
            if index + 1 < depth && !self.clamps.is_empty() {
                clamp(&mut self.clamps[index], shared, chunk, out, q, true);
            }
        }
    }

    fn errors(&mut self, shared: &Shared<'_, '_, T>, chunk: &[usize]) -> f64 {
        let mut sum = 0.0;
        let size = shared.problem.q() * shared.problem.q();
        let targets = shared.problem.targets_slice();
        for (&sample, out) in chunk.iter().zip(self.delta.chunks_exact_mut(size)) {
            let at = sample * size..(sample + 1) * size;
            let mask = shared.problem.mask_slice().map(|m| &m[at.clone()]);
            sum += residual(out, &targets[at], mask).as_f64();
        }
        sum
    }

    /// Adds the gradient over the chunk to `grad` where `add` is set, and overwrites `grad` otherwise.
    fn backward(&mut self, shared: &Shared<'_, '_, T>, chunk: &[usize], grad: &mut [T], add: bool) {
        let symmetric = shared.problem.is_symmetric();
        for (index, layer) in shared.layers.iter().enumerate().rev() {
            let &Layer { r, q, p, .. } = layer;
            let w = &shared.params[layer.range()];
            let grad = &mut grad[layer.range()];
            // The sum over samples of D^T T is one product, whose inner dimension is all rows of all samples.
            let (count, t) = (chunk.len(), &self.t[index]);
            match layer.order {
                Order::Columns if add => (),
                Order::Columns => grad.fill(T::of(0.0)),
                Order::Natural => unreachable!("such a layer is passed through its Choi matrix"),
                Order::Stacked => small_gemm((q, r * p, count * q), &self.delta, (1, q), t, r * p, grad, r * p, add),
                Order::PerOperator => {
                    per_operator::gradient(layer, count, &self.delta, &t[..count * layer.len()], grad, add)
                }
            }
            for (s, &sample) in chunk.iter().enumerate() {
                let d = &self.delta[s * q * q..(s + 1) * q * q];
                let x = match (index, shared.problem.inputs()) {
                    (0, Inputs::Units { pairs, .. }) => {
                        // dL_i = L_j D^T and dL_j = L_i D; the same where data are symmetric, so that i = j.
                        let (i, j) = pairs[sample];
                        let (li, lj) = (i * r * q..(i + 1) * r * q, j * r * q..(j + 1) * r * q);
                        transpose(d, q, q, &mut self.transposed);
                        small_gemm(
                            (r, q, q),
                            &w[lj.clone()],
                            (q, 1),
                            &self.transposed,
                            q,
                            &mut grad[li.clone()],
                            q,
                            true,
                        );
                        if !symmetric {
                            small_gemm((r, q, q), &w[li], (q, 1), d, q, &mut grad[lj], q, true);
                        }
                        continue;
                    }
                    (0, Inputs::Matrices(x)) => input(x, sample, p),
                    _ => &self.z[index][s * p * p..(s + 1) * p * p],
                };
                let scratch = &mut self.scratch[..layer.len()];
                let dx = if index > 0 { &mut self.before[s * p * p..(s + 1) * p * p] } else { &mut [] };
                if layer.order == Order::PerOperator {
                    if !symmetric {
                        transpose(d, q, q, &mut self.transposed);
                        per_operator::second_gradient(layer, w, &self.transposed, x, scratch, grad);
                    }
                    if index > 0 {
                        per_operator::input_gradient(layer, (w, &shared.transposed[layer.range()]), d, scratch, dx);
                    }
                } else if !symmetric || index > 0 {
                    // U = D W serves both dA_k = U_k X^T and dX = W^T U.
                    small_gemm((q, r * p, q), d, (q, 1), w, r * p, scratch, r * p, false);
                    if !symmetric {
                        transpose(x, p, p, &mut self.transposed);
                        small_gemm((q * r, p, p), scratch, (p, 1), &self.transposed, p, grad, p, true);
                    }
                    if index > 0 {
                        small_gemm((p, p, q * r), w, (1, p), scratch, p, dx, p, false);
                    }
                }
            }
            if index > 0 {
                if !self.clamps.is_empty() {
                    clamp(&mut self.clamps[index - 1], shared, chunk, &mut self.before, p, false);
                }
                std::mem::swap(&mut self.delta, &mut self.before);
            }
        }
    }
}

/// `out` = T W^T for T and W (q, n). Of a symmetric result each strip of rows is computed up to the diagonal.
fn output<T: Real>((q, n): (usize, usize), t: &[T], w: &[T], out: &mut [T], symmetric: bool) {
    let strip = if symmetric { ROWS } else { q };
    for row in (0..q).step_by(strip) {
        let end = (row + strip).min(q);
        let columns = if symmetric { end } else { q };
        row_dots((end - row, columns, n), &t[row * n..], n, w, n, &mut out[row * q..], q);
    }
}

fn input<'x, T: Real>(x: &'x Matrices<'_, T>, sample: usize, p: usize) -> &'x [T] {
    &x.as_slice()[sample * p * p..(sample + 1) * p * p]
}

/// Clamps a chunk of n x n matrices in place, or turns gradients after the clamp into gradients before it.
fn clamp<T: Real>(
    clamps: &mut [Clamp<T>; 2],
    shared: &Shared<'_, '_, T>,
    chunk: &[usize],
    data: &mut [T],
    n: usize,
    forward: bool,
) {
    for (kind, clamp) in clamps.iter_mut().enumerate() {
        let flags = shared.problem.symmetric_inputs();
        let ours = |sample: &usize| flags[*sample] == (kind == 0);
        if !chunk.iter().any(ours) {
            continue;
        }
        // Lanes without a matrix repeat the first one, so that they need no more sweeps than it does.
        let first = chunk.iter().position(ours).unwrap_or(0);
        for lane in 0..clamp.lanes() {
            let s = if chunk.get(lane).is_some_and(ours) { lane } else { first };
            clamp.put(lane, &data[s * n * n..(s + 1) * n * n]);
        }
        if forward {
            clamp.forward(kind == 0);
        } else {
            clamp.backward();
        }
        for (lane, _) in chunk.iter().enumerate().filter(|(_, s)| ours(s)) {
            clamp.take(lane, &mut data[lane * n * n..(lane + 1) * n * n]);
        }
    }
}

/// Writes m^T to `out` (cols x rows) for m (rows x cols), in squares that stay in the first cache.
pub(crate) fn transpose<T: Real>(m: &[T], rows: usize, cols: usize, out: &mut [T]) {
    const SQUARE: usize = 16;
    for (top, left) in (0..rows).step_by(SQUARE).flat_map(|i| (0..cols).step_by(SQUARE).map(move |j| (i, j))) {
        for j in left..(left + SQUARE).min(cols) {
            for i in top..(top + SQUARE).min(rows) {
                out[j * rows + i] = m[i * cols + j];
            }
        }
    }
}
