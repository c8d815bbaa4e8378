//! The clamp of a spectrum and its derivative, for up to sixteen matrices at once.
//!
//! Forward: Gamma(M) = U f(S) V^T with f(s) = max(s, eps) = M + sum over s_i < eps of (eps - s_i) u_i v_i^T.
//!
//! Backward: with K = U^T G V, the gradient is U (D- o (K + K^T)/2 + D+ o (K - K^T)/2) V^T, where
//! D-_ij = (f_i - f_j) / (s_i - s_j) and D+_ij = (f_i + f_j) / (s_i + s_j). D- is a divided difference of f: 1 where both
//! values are unclamped, 0 where both are clamped, and (s_i - eps) / (s_i - s_j) between, whose denominator is never the
//! smaller; so repeated values need no care. D+ grows without bound where both values vanish, because Gamma jumps there:
//! below rounding it is taken as 0. For symmetric matrices U = V, G is symmetrised and only D- remains.

use super::jacobi::{eigh_body, svd_body};
use super::lane::{FEW, LANES, Lane, dot, row, row_mut, stride, tiled};
use crate::simd::dispatch::Kernels;
use num_traits::Float;

/// Decompositions of a batch of up to [`LANES`] matrices, kept between forward and backward.
///
/// Entry (i, j) of the matrix in lane l is number (i stride + j) `lanes` + l of every buffer; beyond j = n there are zeros.
#[derive(Debug, Clone)]
pub struct Clamp<T> {
    n: usize,
    lanes: usize,
    eps: T,
    symmetric: bool,
    active: bool,
    m: Vec<T>,
    u: Vec<T>,
    v: Vec<T>,
    s: Vec<T>,
    work: Vec<T>,
}

impl<T: Float + Kernels> Clamp<T> {
    /// Buffers for `count` n x n matrices, 1 to [`LANES`].
    pub fn new(n: usize, count: usize, eps: T) -> Self {
        let lanes = if count <= FEW { FEW } else { LANES };
        let square = || vec![T::zero(); n * stride(n, lanes) * lanes];
        let s = vec![T::zero(); n * lanes];
        Self {
            n,
            lanes,
            eps,
            symmetric: false,
            active: false,
            m: square(),
            u: square(),
            v: square(),
            s,
            work: square(),
        }
    }

    /// The number of lanes. All must hold finite numbers before [`forward`](Self::forward) is called.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// The matrices, inputs before a call and results after it, if there are [`LANES`] lanes; empty if there are fewer.
    pub fn batch(&mut self) -> &mut [Lane<T>] {
        if self.lanes == LANES { self.m.as_chunks_mut().0 } else { &mut [] }
    }

    /// Puts one matrix (row-major) into a lane.
    pub fn put(&mut self, lane: usize, matrix: &[T]) {
        let (wide, lanes) = (stride(self.n, self.lanes) * self.lanes, self.lanes);
        for (to, from) in self.m.chunks_exact_mut(wide).zip(matrix.chunks_exact(self.n)) {
            to[lane..].iter_mut().step_by(lanes).zip(from).for_each(|(to, &x)| *to = x);
        }
    }

    /// Takes one matrix (row-major) out of a lane.
    pub fn take(&self, lane: usize, matrix: &mut [T]) {
        let wide = stride(self.n, self.lanes) * self.lanes;
        for (to, from) in matrix.chunks_exact_mut(self.n).zip(self.m.chunks_exact(wide)) {
            to.iter_mut().zip(from[lane..].iter().step_by(self.lanes)).for_each(|(to, &x)| *to = x);
        }
    }

    /// Replaces every matrix by its clamp; `symmetric` clamps eigenvalues (the lower triangle is read).
    pub fn forward(&mut self, symmetric: bool) {
        self.symmetric = symmetric;
        T::clamp_forward(self);
    }

    /// Replaces gradients with respect to the outputs of the last [`forward`](Self::forward) by those of its inputs.
    pub fn backward(&mut self) {
        if self.active {
            T::clamp_backward(self);
        }
    }
}

#[inline(always)]
pub(crate) fn forward_body<T: Float>(c: &mut Clamp<T>) {
    if c.lanes == FEW { forward::<T, FEW>(c) } else { forward::<T, LANES>(c) }
}

#[inline(always)]
pub(crate) fn backward_body<T: Float>(c: &mut Clamp<T>) {
    if c.lanes == FEW { backward::<T, FEW>(c) } else { backward::<T, LANES>(c) }
}

#[inline(always)]
fn forward<T: Float, const L: usize>(c: &mut Clamp<T>) {
    let (n, eps, wide) = (c.n, c.eps, stride(c.n, L));
    let (m, u) = (c.m.as_chunks_mut::<L>().0, c.u.as_chunks_mut::<L>().0);
    let (v, s) = (c.v.as_chunks_mut::<L>().0, c.s.as_chunks_mut::<L>().0);
    if c.symmetric {
        for i in 0..n {
            for j in 0..n {
                u[i * wide + j] = m[i.max(j) * wide + i.min(j)];
            }
        }
        m.copy_from_slice(u);
        eigh_body(n, u, s, v);
        u.copy_from_slice(v);
    } else {
        for i in 0..n {
            for j in 0..n {
                u[j * wide + i] = m[i * wide + j];
            }
        }
        svd_body(n, u, s, v);
    }
    c.active = false;
    for i in 0..n {
        let mut lift = [T::zero(); L];
        for l in 0..L {
            lift[l] = (eps - s[i][l]).max(T::zero());
        }
        if lift.iter().all(|x| *x == T::zero()) {
            continue;
        }
        c.active = true;
        for a in 0..n {
            let mut x = u[i * wide + a];
            for l in 0..L {
                x[l] = x[l] * lift[l];
            }
            add_row(row_mut(m, a, wide), &tiled(&x), row(v, i, wide));
        }
    }
}

/// y <- y + x v along a row.
#[inline(always)]
fn add_row<T: Float>(y: &mut [Lane<T>], x: &Lane<T>, v: &[Lane<T>]) {
    for (y, v) in y.iter_mut().zip(v) {
        for l in 0..LANES {
            y[l] = y[l] + x[l] * v[l];
        }
    }
}

/// out[i][j] = sum_k a[i][k] b[k][j], with a[k][i] instead if `left`.
#[inline(always)]
fn product<T: Float, const L: usize>(n: usize, out: &mut [[T; L]], a: &[[T; L]], left: bool, b: &[[T; L]]) {
    let wide = stride(n, L);
    for i in 0..n {
        for c in 0..wide * L / LANES {
            let mut sum = [T::zero(); LANES];
            for k in 0..n {
                let x = tiled(&a[if left { k * wide + i } else { i * wide + k }]);
                let y = &row(b, k, wide)[c];
                for l in 0..LANES {
                    sum[l] = sum[l] + x[l] * y[l];
                }
            }
            row_mut(out, i, wide)[c] = sum;
        }
    }
}

#[inline(always)]
fn backward<T: Float, const L: usize>(c: &mut Clamp<T>) {
    let (n, eps, symmetric, wide) = (c.n, c.eps, c.symmetric, stride(c.n, L));
    let (m, work) = (c.m.as_chunks_mut::<L>().0, c.work.as_chunks_mut::<L>().0);
    let (u, v, s) = (c.u.as_chunks::<L>().0, c.v.as_chunks::<L>().0, c.s.as_chunks::<L>().0);
    let (zero, one) = (T::zero(), T::one());
    let half = one / (one + one);
    let rounding = T::epsilon() / (half * half * half * half);
    let mut top = [T::zero(); L];
    for s in s {
        for l in 0..L {
            top[l] = top[l].max(s[l].abs());
        }
    }
    // K = U^T G V: singular vectors are the rows of u and v.
    product(n, work, u, false, m);
    for i in 0..n {
        for j in 0..n {
            m[i * wide + j] = dot(row(work, i, wide), row(v, j, wide));
        }
    }
    for i in 0..n {
        for j in i..n {
            let (si, sj) = (s[i], s[j]);
            let (kij, kji) = (m[i * wide + j], m[j * wide + i]);
            for l in 0..L {
                let (hi, lo) = (si[l].max(sj[l]), si[l].min(sj[l]));
                let between = (hi - eps) / if hi > lo { hi - lo } else { one };
                let minus = if lo >= eps { one } else { between.max(zero) };
                let sum = hi + lo;
                let raised = (hi.max(eps) + lo.max(eps)) / if sum > zero { sum } else { one };
                let plus = if lo >= eps { one } else { raised };
                let plus = if symmetric || sum <= rounding * top[l] { zero } else { plus };
                let (even, odd) = ((kij[l] + kji[l]) * half, (kij[l] - kji[l]) * half);
                m[i * wide + j][l] = minus * even + plus * odd;
                m[j * wide + i][l] = minus * even - plus * odd;
            }
        }
    }
    // U K V^T.
    product(n, work, u, true, m);
    product(n, m, work, false, v);
}
