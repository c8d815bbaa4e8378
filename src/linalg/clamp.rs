//! The clamp of a spectrum and its derivative, for sixteen matrices at once.
//!
//! Forward: Gamma(M) = U f(S) V^T with f(s) = max(s, eps) = M + sum over s_i < eps of (eps - s_i) u_i v_i^T.
//!
//! Backward: with K = U^T G V, the gradient is U (D- o (K + K^T)/2 + D+ o (K - K^T)/2) V^T, where
//! D-_ij = (f_i - f_j) / (s_i - s_j) and D+_ij = (f_i + f_j) / (s_i + s_j). D- is a divided difference of f: 1 where both
//! values are unclamped, 0 where both are clamped, and (s_i - eps) / (s_i - s_j) between, whose denominator is never the
//! smaller; so repeated values need no care. D+ grows without bound where both values vanish, because Gamma jumps there:
//! below rounding it is taken as 0. For symmetric matrices U = V, G is symmetrised and only D- remains.

use crate::kernels::Kernels;
use crate::lanes::{LANES, Lane, eigh_body, svd_body};
use num_traits::Float;

/// Decompositions of a batch of up to [`LANES`] matrices, kept between forward and backward.
#[derive(Debug, Clone)]
pub struct Clamp<T> {
    n: usize,
    eps: T,
    symmetric: bool,
    active: bool,
    /// The matrices going in and out: entry (i, j) of lane l at `[i n + j][l]`.
    pub m: Vec<Lane<T>>,
    u: Vec<Lane<T>>,
    v: Vec<Lane<T>>,
    s: Vec<Lane<T>>,
    work: Vec<Lane<T>>,
}

impl<T: Float + Kernels> Clamp<T> {
    /// Room for n x n matrices.
    pub fn new(n: usize, eps: T) -> Self {
        let square = || vec![[T::zero(); LANES]; n * n];
        let s = vec![[T::zero(); LANES]; n];
        Self { n, eps, symmetric: false, active: false, m: square(), u: square(), v: square(), s, work: square() }
    }

    /// Puts one matrix (row-major) into a lane.
    pub fn put(&mut self, lane: usize, matrix: &[T]) {
        for (to, &x) in self.m.iter_mut().zip(matrix) {
            to[lane] = x;
        }
    }

    /// Takes one matrix (row-major) out of a lane.
    pub fn take(&self, lane: usize, matrix: &mut [T]) {
        for (x, from) in matrix.iter_mut().zip(&self.m) {
            *x = from[lane];
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
    let (n, eps) = (c.n, c.eps);
    if c.symmetric {
        for i in 0..n {
            for j in 0..n {
                c.u[i * n + j] = c.m[i.max(j) * n + i.min(j)];
            }
        }
        c.m.copy_from_slice(&c.u);
        eigh_body(n, &mut c.u, &mut c.s, &mut c.v);
        c.u.copy_from_slice(&c.v);
    } else {
        for i in 0..n {
            for j in 0..n {
                c.u[j * n + i] = c.m[i * n + j];
            }
        }
        svd_body(n, &mut c.u, &mut c.s, &mut c.v);
    }
    c.active = false;
    for i in 0..n {
        let mut lift = [T::zero(); LANES];
        for l in 0..LANES {
            lift[l] = (eps - c.s[i][l]).max(T::zero());
        }
        if lift.iter().all(|x| *x == T::zero()) {
            continue;
        }
        c.active = true;
        for a in 0..n {
            let mut x = c.u[i * n + a];
            for l in 0..LANES {
                x[l] = x[l] * lift[l];
            }
            for b in 0..n {
                for l in 0..LANES {
                    c.m[a * n + b][l] = c.m[a * n + b][l] + x[l] * c.v[i * n + b][l];
                }
            }
        }
    }
}

/// out[i][j] = sum_k a[i][k] b[k][j], or b[j][k] if `transposed`, or a[k][i] if `left`.
#[inline(always)]
fn product<T: Float>(n: usize, out: &mut [Lane<T>], a: &[Lane<T>], left: bool, b: &[Lane<T>], transposed: bool) {
    for i in 0..n {
        for j in 0..n {
            let mut sum = [T::zero(); LANES];
            for k in 0..n {
                let x = if left { &a[k * n + i] } else { &a[i * n + k] };
                let y = if transposed { &b[j * n + k] } else { &b[k * n + j] };
                for l in 0..LANES {
                    sum[l] = sum[l] + x[l] * y[l];
                }
            }
            out[i * n + j] = sum;
        }
    }
}

#[inline(always)]
pub(crate) fn backward_body<T: Float>(c: &mut Clamp<T>) {
    let (n, eps) = (c.n, c.eps);
    let (zero, one) = (T::zero(), T::one());
    let half = one / (one + one);
    let rounding = T::epsilon() / (half * half * half * half);
    let mut top = [T::zero(); LANES];
    for s in &c.s {
        for l in 0..LANES {
            top[l] = top[l].max(s[l].abs());
        }
    }
    // K = U^T G V: singular vectors are the rows of u and v.
    product(n, &mut c.work, &c.u, false, &c.m, false);
    product(n, &mut c.m, &c.work, false, &c.v, true);
    for i in 0..n {
        for j in i..n {
            let (si, sj) = (c.s[i], c.s[j]);
            let (kij, kji) = (c.m[i * n + j], c.m[j * n + i]);
            for l in 0..LANES {
                let (hi, lo) = (si[l].max(sj[l]), si[l].min(sj[l]));
                let between = (hi - eps) / if hi > lo { hi - lo } else { one };
                let minus = if lo >= eps { one } else { between.max(zero) };
                let sum = hi + lo;
                let raised = (hi.max(eps) + lo.max(eps)) / if sum > zero { sum } else { one };
                let plus = if lo >= eps { one } else { raised };
                let plus = if c.symmetric || sum <= rounding * top[l] { zero } else { plus };
                let (even, odd) = ((kij[l] + kji[l]) * half, (kij[l] - kji[l]) * half);
                c.m[i * n + j][l] = minus * even + plus * odd;
                c.m[j * n + i][l] = minus * even - plus * odd;
            }
        }
    }
    // U K V^T.
    product(n, &mut c.work, &c.u, true, &c.m, false);
    product(n, &mut c.m, &c.work, false, &c.v, false);
}
