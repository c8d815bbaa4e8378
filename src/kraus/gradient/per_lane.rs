//! Forward and backward pass with one sample per lane: small matrices, sixteen samples at a time.
//!
//! The arithmetic of [`super::per_sample`], on [`Lane`]s: every entry of X, T = W X, P and D is sixteen numbers, one per
//! sample. Only the gradient sums over lanes. Used where a step has enough samples to fill the lanes and T stays in the second cache.

use crate::data::problem::{Inputs, Problem};
use crate::gradient::parameter_layout::{LANE_BYTES, Layer};
use crate::gradient::per_sample::Shared;
use crate::map::Gamma;
use linalg::batch::{LANES, Lane};
use linalg::batch::{Store, lane_gemm, lane_gradient, lane_mirror, lane_put, lane_residual};
use linalg::{Clamp, Real};

/// Whether a step over `batch` samples is faster with one sample per lane.
pub(crate) fn pays_off<T: Real>(problem: &Problem<'_, T>, layers: &[Layer], batch: usize) -> bool {
    let entries = layers.iter().map(Layer::len).sum::<usize>();
    let filled = 4 * batch >= 3 * batch.next_multiple_of(LANES);
    matches!(problem.inputs(), Inputs::Matrices(_)) && filled && entries * size_of::<Lane<T>>() <= LANE_BYTES
}

/// Buffers for sixteen samples, allocated once per fit.
pub(crate) struct PerLane<T> {
    /// Per layer: its inputs.
    z: Vec<Vec<Lane<T>>>,
    /// Per layer: T = A_k X, kept as T[k][i][a]: what belongs to one operator lies together, and stays in the first cache.
    t: Vec<Vec<Lane<T>>>,
    /// Per gap between layers: clamps of eigenvalues and of singular values.
    clamps: Vec<[Clamp<T>; 2]>,
    /// Outputs, then the gradients with respect to them, then to the inputs of each layer.
    delta: Vec<Lane<T>>,
    before: Vec<Lane<T>>,
    y: Vec<Lane<T>>,
    mask: Vec<Lane<T>>,
    /// W X^T or D W.
    scratch: Vec<Lane<T>>,
}

impl<T: Real> PerLane<T> {
    pub fn new(problem: &Problem<'_, T>, layers: &[Layer], gamma: Gamma) -> Self {
        let zeros = |n: usize| vec![[T::of(0.0); LANES]; n];
        let side = layers.iter().map(|l| l.p.max(l.q)).max().unwrap_or(0);
        let widest = layers.iter().map(Layer::len).max().unwrap_or(0);
        let q = problem.q();
        let clamp = |eps: f64, n: usize| [(); 2].map(|()| Clamp::new(n, LANES, T::of(eps)));
        Self {
            z: layers.iter().map(|l| zeros(l.p * l.p)).collect(),
            t: layers.iter().map(|l| zeros(l.len())).collect(),
            clamps: match gamma {
                Gamma::Clamp(eps) => layers[1..].iter().map(|l| clamp(eps, l.p)).collect(),
                Gamma::None => Vec::new(),
            },
            delta: zeros(side * side),
            before: zeros(side * side),
            y: zeros(q * q),
            mask: zeros(if problem.mask_slice().is_some() { q * q } else { 0 }),
            scratch: zeros(if layers.len() == 1 && problem.is_symmetric() { 0 } else { widest }),
        }
    }

    /// Adds the gradient over `samples` to `grad` and returns their sum of squares.
    pub fn run(&mut self, shared: &Shared<'_, '_, T>, samples: &[usize], grad: &mut [T]) -> f64 {
        let mut sum = 0.0;
        let mut groups = samples.chunks(LANES).peekable();
        while let Some(group) = groups.next() {
            let next = groups.peek().copied().unwrap_or(shared.ahead);
            self.forward(shared, group, next);
            sum += self.errors(shared, group);
            if shared.backward {
                self.backward(shared, group, grad);
            }
        }
        sum
    }

    fn forward(&mut self, shared: &Shared<'_, '_, T>, group: &[usize], next: &[usize]) {
        let (depth, symmetric) = (shared.layers.len(), shared.problem.is_symmetric());
        if let Inputs::Matrices(x) = shared.problem.inputs() {
            let size = shared.problem.p() * shared.problem.p();
            put(x.as_slice(), size, group, &mut self.z[0]);
        }
        for (index, layer) in shared.layers.iter().enumerate() {
            let &Layer { r, q, p, .. } = layer;
            let w = &shared.params[layer.range()];
            let (done, after) = self.z.split_at_mut(index + 1);
            let out = if index + 1 == depth { &mut self.delta } else { &mut after[0] };
            let t = &mut self.t[index];
            // Shuffled samples are not in the cache, and the processor cannot guess their order. They are requested a few at
            // a time, because all at once would fill its queue of requests.
            let mut ahead = next.iter().take(if index == 0 { LANES } else { 0 });
            for (k, t) in t.chunks_exact_mut(p * q).enumerate() {
                ahead.by_ref().take(LANES.div_ceil(r)).for_each(|&sample| shared.prefetch(sample));
                let w = &w[k * p..];
                lane_gemm((q, p, p), w, (r * p, 1), &done[index], (p, 1), t, (1, q), Store::Set);
                // P[a, c] = sum over (k, i) of T[k, i, a] W[c, k, i], with c along the rows of the product.
                let store = match (symmetric, k) {
                    (true, 0) => Store::SetLower,
                    (true, _) => Store::AddLower,
                    (false, 0) => Store::Set,
                    (false, _) => Store::Add,
                };
                lane_gemm((q, q, p), w, (r * p, 1), t, (q, 1), out, (1, q), store);
            }
            if symmetric {
                lane_mirror(q, out, (1, q));
            }
            if index + 1 < depth && !self.clamps.is_empty() {
                clamp(&mut self.clamps[index], shared, group, out, q, true);
            }
        }
    }

    fn errors(&mut self, shared: &Shared<'_, '_, T>, group: &[usize]) -> f64 {
        let size = shared.problem.q() * shared.problem.q();
        put(shared.problem.targets_slice(), size, group, &mut self.y);
        let mask = shared.problem.mask_slice().map(|m| {
            put(m, size, group, &mut self.mask);
            &self.mask[..]
        });
        lane_residual(&mut self.delta[..size], &self.y, mask).iter().map(|s| s.as_f64()).sum()
    }

    fn backward(&mut self, shared: &Shared<'_, '_, T>, group: &[usize], grad: &mut [T]) {
        let symmetric = shared.problem.is_symmetric();
        for (index, layer) in shared.layers.iter().enumerate().rev() {
            let &Layer { r, q, p, .. } = layer;
            let w = &shared.params[layer.range()];
            let grad = &mut grad[layer.range()];
            let (d, t, shape) = (&self.delta, &self.t[index], (q, r * p, q));
            // D^T T, plus D (W X^T) where the two differ.
            lane_gradient(shape, d, (1, q), t, (1, q), grad, r * p);
            if !symmetric {
                let scratch = &mut self.scratch[..layer.len()];
                for (k, product) in scratch.chunks_exact_mut(p * q).enumerate() {
                    lane_gemm((q, p, p), &w[k * p..], (r * p, 1), &self.z[index], (1, p), product, (1, q), Store::Set);
                }
                lane_gradient(shape, d, (q, 1), scratch, (1, q), grad, r * p);
            }
            if index > 0 {
                // U = D W, then W^T U.
                let u = &mut self.scratch[..layer.len()];
                lane_gemm((r * p, q, q), w, (1, r * p), d, (1, q), u, (1, r * p), Store::Set);
                let half = if symmetric { Store::SetLower } else { Store::Set };
                lane_gemm((p, p, q * r), w, (1, p), u, (p, 1), &mut self.before, (p, 1), half);
                if symmetric {
                    lane_mirror(p, &mut self.before, (p, 1));
                }
                if !self.clamps.is_empty() {
                    clamp(&mut self.clamps[index - 1], shared, group, &mut self.before, p, false);
                }
                std::mem::swap(&mut self.delta, &mut self.before);
            }
        }
    }
}

fn put<T: Real>(data: &[T], size: usize, group: &[usize], to: &mut [Lane<T>]) {
    lane_put(group.len(), |l| &data[group[l] * size..(group[l] + 1) * size], to);
}

/// Clamps n x n matrices in place, or turns gradients after the clamp into gradients before it.
fn clamp<T: Real>(
    clamps: &mut [Clamp<T>; 2],
    shared: &Shared<'_, '_, T>,
    group: &[usize],
    data: &mut [Lane<T>],
    n: usize,
    forward: bool,
) {
    let flags = shared.problem.symmetric_inputs();
    for (kind, clamp) in clamps.iter_mut().enumerate() {
        let ours: [bool; LANES] =
            std::array::from_fn(|l| group.get(l).is_some_and(|&sample| flags[sample] == (kind == 0)));
        let Some(first) = ours.iter().position(|&o| o) else { continue };
        // Lanes without a matrix of this kind repeat the first one, so that they need no more sweeps than it does.
        for (to, from) in clamp.batch().iter_mut().zip(&data[..n * n]) {
            for l in 0..LANES {
                to[l] = if ours[l] { from[l] } else { from[first] };
            }
        }
        if forward {
            clamp.forward(kind == 0);
        } else {
            clamp.backward();
        }
        for (to, from) in data[..n * n].iter_mut().zip(clamp.batch()) {
            for l in 0..LANES {
                to[l] = if ours[l] { from[l] } else { to[l] };
            }
        }
    }
}
