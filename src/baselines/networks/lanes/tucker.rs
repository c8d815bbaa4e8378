//! A Tucker layer as products with the factors and the core: Y = U3 S(U1^T X U2) U4^T.
//!
//! Forward: T = X U2, Z = U1^T T, H = S^T Z (over pairs of indices), K = H U4^T, Y = U3 K. Backward, with D = dL/dY: dU3 = D K^T, E = U3^T D,
//! dU4 = E^T H, dH = E U4, dS = Z dH^T, dZ = S dH, dU1 = T dZ^T, V = U1 dZ, dU2 = X^T V; gradients are sums over samples.
//! Parameters lie as in the format: the core (R1 R2, R3 R4), then U1, U2, U3, U4, all row by row.

use super::{Layer, to_rows};
use linalg::Real;
use linalg::batch::{LANES, Lane, Store, lane_gemm, lane_gradient};
use linalg::small::small_gemm;

/// The layer of these sizes and ranks, and its buffers.
pub(crate) struct TuckerLanes<T> {
    sizes: [usize; 4],
    ranks: [usize; 4],
    /// T (p1, R2) of the forward pass, and V of the same shape of the backward pass.
    t: Vec<Lane<T>>,
    v: Vec<Lane<T>>,
    /// Z (R1, R2) and its gradient.
    z: Vec<Lane<T>>,
    dz: Vec<Lane<T>>,
    /// H (R3, R4) and its gradient. `dh_rows` holds the gradient a second time, as one row per sample.
    h: Vec<Lane<T>>,
    dh: Vec<Lane<T>>,
    dh_rows: Vec<T>,
    /// K (R3, q2), and E of the same shape.
    k: Vec<Lane<T>>,
    e: Vec<Lane<T>>,
}

impl<T: Real> TuckerLanes<T> {
    pub(crate) fn new(sizes: [usize; 4], ranks: [usize; 4]) -> Self {
        let zeros = |n: usize| vec![[T::of(0.0); LANES]; n];
        let ([p1, _, _, q2], [r1, r2, r3, r4]) = (sizes, ranks);
        TuckerLanes {
            sizes,
            ranks,
            t: zeros(p1 * r2),
            v: zeros(p1 * r2),
            z: zeros(r1 * r2),
            dz: zeros(r1 * r2),
            h: zeros(r3 * r4),
            dh: zeros(r3 * r4),
            dh_rows: vec![T::of(0.0); LANES * r3 * r4],
            k: zeros(r3 * q2),
            e: zeros(r3 * q2),
        }
    }

    /// The index in theta at which the core, U1, U2, U3 and U4 begin.
    fn starts(&self) -> [usize; 5] {
        let mut at = [0; 5];
        at[1] = self.ranks.iter().product();
        (1..4).for_each(|k| at[k + 1] = at[k] + self.sizes[k - 1] * self.ranks[k - 1]);
        at
    }
}

impl<T: Real> Layer<T> for TuckerLanes<T> {
    fn forward(&mut self, theta: &[T], x: &[Lane<T>], y: &mut [Lane<T>]) {
        let ([p1, p2, q1, q2], [r1, r2, r3, r4]) = (self.sizes, self.ranks);
        let [s, u1, u2, u3, u4] = self.starts().map(|at| &theta[at..]);
        lane_gemm((r2, p1, p2), u2, (1, r2), x, (1, p2), &mut self.t, (1, r2), Store::Set);
        lane_gemm((r1, r2, p1), u1, (1, r1), &self.t, (r2, 1), &mut self.z, (r2, 1), Store::Set);
        let (z, h) = (self.z.as_flattened(), self.h.as_flattened_mut());
        small_gemm((r3 * r4, LANES, r1 * r2), s, (1, r3 * r4), z, LANES, h, LANES, false);
        lane_gemm((q2, r3, r4), u4, (r4, 1), &self.h, (1, r4), &mut self.k, (1, q2), Store::Set);
        lane_gemm((q1, q2, r3), u3, (r3, 1), &self.k, (q2, 1), y, (q2, 1), Store::Set);
    }

    fn backward(&mut self, theta: &[T], x: &[Lane<T>], d: &[Lane<T>], gradient: &mut [T]) {
        let ([p1, p2, q1, q2], [r1, r2, r3, r4]) = (self.sizes, self.ranks);
        let at = self.starts();
        let [s, u1, _, u3, u4] = at.map(|at| &theta[at..]);
        lane_gradient((q1, r3, q2), d, (q2, 1), &self.k, (1, q2), &mut gradient[at[3]..], r3);
        lane_gemm((r3, q2, q1), u3, (1, r3), d, (q2, 1), &mut self.e, (q2, 1), Store::Set);
        lane_gradient((q2, r4, r3), &self.e, (1, q2), &self.h, (r4, 1), &mut gradient[at[4]..], r4);
        lane_gemm((r4, r3, q2), u4, (1, r4), &self.e, (1, q2), &mut self.dh, (1, r4), Store::Set);
        // The sum over samples of Z dH^T is one product, whose inner dimension is the samples.
        to_rows(&self.dh, &mut self.dh_rows);
        let core = (r1 * r2, r3 * r4, LANES);
        small_gemm(core, self.z.as_flattened(), (LANES, 1), &self.dh_rows, r3 * r4, gradient, r3 * r4, true);
        let (dh, dz) = (self.dh.as_flattened(), self.dz.as_flattened_mut());
        small_gemm((r1 * r2, LANES, r3 * r4), s, (r3 * r4, 1), dh, LANES, dz, LANES, false);
        lane_gradient((p1, r1, r2), &self.t, (r2, 1), &self.dz, (1, r2), &mut gradient[at[1]..], r1);
        lane_gemm((p1, r2, r1), u1, (r1, 1), &self.dz, (r2, 1), &mut self.v, (r2, 1), Store::Set);
        lane_gradient((p2, r2, p1), x, (1, p2), &self.v, (r2, 1), &mut gradient[at[2]..], r2);
    }
}
