//! The clamp of a spectrum and its derivative, for up to sixteen matrices at once.
//!
//! Forward: Gamma(M) = U f(S) V^T with f(s) = max(s, eps) = M + sum over s_i < eps of (eps - s_i) u_i v_i^T.
//!
//! Backward: with K = U^T G V, the gradient is U (D- o (K + K^T)/2 + D+ o (K - K^T)/2) V^T, where
//! D-_ij = (f_i - f_j) / (s_i - s_j) and D+_ij = (f_i + f_j) / (s_i + s_j). D- is a divided difference of f: 1 where both
//! values are unclamped, 0 where both are clamped, and (s_i - eps) / (s_i - s_j) between, whose denominator is never the
//! smaller; so repeated values need no care. D+ grows without bound where both values vanish, because Gamma jumps there:
//! below rounding it is taken as 0. For symmetric matrices U = V, G is symmetrised and only D- remains.

use crate::kernels::Kernels;
use crate::lanes::{FEW, LANES, Lane, eigh_body, svd_body};
use num_traits::Float;

/// Decompositions of a batch of up to [`LANES`] matrices, kept between forward and backward.
///
/// Entry (i, j) of the matrix in lane l is number (i n + j) `lanes` + l of every buffer.
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
    /// Room for `count` n x n matrices, 1 to [`LANES`].
    pub fn new(n: usize, count: usize, eps: T) -> Self {
        let lanes = if count <= FEW { FEW } else { LANES };
        let square = || vec![T::zero(); n * n * lanes];
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

    /// Lanes there are: all must be filled before [`forward`](Self::forward), with anything finite.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// The matrices going in and out where there are [`LANES`] lanes; empty where there are fewer.
    pub fn batch(&mut self) -> &mut [Lane<T>] {
        if self.lanes == LANES { self.m.as_chunks_mut().0 } else { &mut [] }
    }

    /// Puts one matrix (row-major) into a lane.
    pub fn put(&mut self, lane: usize, matrix: &[T]) {
        for (to, &x) in self.m[lane..].iter_mut().step_by(self.lanes).zip(matrix) {
            *to = x;
        }
    }

    /// Takes one matrix (row-major) out of a lane.
    pub fn take(&self, lane: usize, matrix: &mut [T]) {
        for (x, &from) in matrix.iter_mut().zip(self.m[lane..].iter().step_by(self.lanes)) {
            *x = from;
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
    let (n, eps) = (c.n, c.eps);
    let (m, u) = (c.m.as_chunks_mut::<L>().0, c.u.as_chunks_mut::<L>().0);
    let (v, s) = (c.v.as_chunks_mut::<L>().0, c.s.as_chunks_mut::<L>().0);
    if c.symmetric {
        for i in 0..n {
            for j in 0..n {
                u[i * n + j] = m[i.max(j) * n + i.min(j)];
            }
        }
        m.copy_from_slice(u);
        eigh_body(n, u, s, v);
        u.copy_from_slice(v);
    } else {
        for i in 0..n {
            for j in 0..n {
                u[j * n + i] = m[i * n + j];
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
            let mut x = u[i * n + a];
            for l in 0..L {
                x[l] = x[l] * lift[l];
            }
            for b in 0..n {
                for l in 0..L {
                    m[a * n + b][l] = m[a * n + b][l] + x[l] * v[i * n + b][l];
                }
            }
        }
    }
}

/// out[i][j] = sum_k a[i][k] b[k][j], or b[j][k] if `transposed`, or a[k][i] if `left`.
#[inline(always)]
fn product<T: Float, const L: usize>(
    n: usize,
    out: &mut [[T; L]],
    a: &[[T; L]],
    left: bool,
    b: &[[T; L]],
    transposed: bool,
) {
    for i in 0..n {
        for j in 0..n {
            let mut sum = [T::zero(); L];
            for k in 0..n {
                let x = if left { &a[k * n + i] } else { &a[i * n + k] };
                let y = if transposed { &b[j * n + k] } else { &b[k * n + j] };
                for l in 0..L {
                    sum[l] = sum[l] + x[l] * y[l];
                }
            }
            out[i * n + j] = sum;
        }
    }
}

#[inline(always)]
fn backward<T: Float, const L: usize>(c: &mut Clamp<T>) {
    let (n, eps, symmetric) = (c.n, c.eps, c.symmetric);
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
    product(n, work, u, false, m, false);
    product(n, m, work, false, v, true);
    for i in 0..n {
        for j in i..n {
            let (si, sj) = (s[i], s[j]);
            let (kij, kji) = (m[i * n + j], m[j * n + i]);
            for l in 0..L {
                let (hi, lo) = (si[l].max(sj[l]), si[l].min(sj[l]));
                let between = (hi - eps) / if hi > lo { hi - lo } else { one };
                let minus = if lo >= eps { one } else { between.max(zero) };
                let sum = hi + lo;
                let raised = (hi.max(eps) + lo.max(eps)) / if sum > zero { sum } else { one };
                let plus = if lo >= eps { one } else { raised };
                let plus = if symmetric || sum <= rounding * top[l] { zero } else { plus };
                let (even, odd) = ((kij[l] + kji[l]) * half, (kij[l] - kji[l]) * half);
                m[i * n + j][l] = minus * even + plus * odd;
                m[j * n + i][l] = minus * even - plus * odd;
            }
        }
    }
    // U K V^T.
    product(n, work, u, true, m, false);
    product(n, m, work, false, v, false);
}
