//! Eight matrices side by side in `f64`: entry (i, j) of all of them is one vector [`F64x8`].
//!
//! Small matrices (22 x 22) are too small for the blocked kernels of LAPACK. Interleaved, every scalar operation of an
//! unblocked algorithm becomes one vector operation on eight matrices, with no shuffles and no tails. Such algorithms are plain
//! Rust over [`F64x8`]; [`vectorised`](crate::simd::vectorised) runs them compiled for the instruction set in use.

use super::lane::zip;
use ndarray::{ArrayView2, ArrayView3, Axis};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Matrices per vector.
const LANES: usize = F64x8::LANES;

/// One entry of eight matrices, one per lane. Operators and methods work in each lane by itself.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct F64x8(pub [f64; 8]);

impl F64x8 {
    /// The number of lanes.
    pub const LANES: usize = 8;
    /// Zero in every lane.
    pub const ZERO: F64x8 = F64x8([0.0; LANES]);
    /// One in every lane.
    pub const ONE: F64x8 = F64x8([1.0; LANES]);

    /// `x` in every lane.
    #[inline(always)]
    pub fn splat(x: f64) -> F64x8 {
        F64x8([x; LANES])
    }
    /// f of the number in each lane.
    #[inline(always)]
    pub fn map(self, f: impl Fn(f64) -> f64) -> F64x8 {
        let mut out = F64x8::ZERO;
        for k in 0..LANES {
            out.0[k] = f(self.0[k]);
        }
        out
    }
    /// f of the two numbers in each lane.
    #[inline(always)]
    pub fn map2(self, b: F64x8, f: impl Fn(f64, f64) -> f64) -> F64x8 {
        F64x8(zip(&self.0, &b.0, f))
    }
    /// self * b + c, rounded once.
    #[inline(always)]
    pub fn fma(self, b: F64x8, c: F64x8) -> F64x8 {
        let mut out = F64x8::ZERO;
        for k in 0..LANES {
            out.0[k] = self.0[k].mul_add(b.0[k], c.0[k]);
        }
        out
    }
    /// The square roots.
    #[inline(always)]
    pub fn sqrt(self) -> F64x8 {
        self.map(f64::sqrt)
    }
    /// `yes` in the lanes where self is zero, `no` elsewhere.
    #[inline(always)]
    pub fn if_zero(self, yes: F64x8, no: F64x8) -> F64x8 {
        let mut out = F64x8::ZERO;
        for k in 0..LANES {
            out.0[k] = if self.0[k] == 0.0 { yes.0[k] } else { no.0[k] };
        }
        out
    }
    /// The sum of the lanes: lanes l and l + 4 are added first, then neighbours, then the two halves.
    #[inline(always)]
    pub fn sum(self) -> f64 {
        let s = self.0;
        ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]))
    }
    /// Whether every lane is zero.
    #[inline(always)]
    pub fn all_zero(self) -> bool {
        self.0.iter().all(|&x| x == 0.0)
    }
}

macro_rules! lanewise {
    ($($trait:ident $name:ident $op:tt),*) => {$(
        impl $trait for F64x8 {
            type Output = F64x8;
            #[inline(always)]
            fn $name(self, b: F64x8) -> F64x8 {
                self.map2(b, |x, y| x $op y)
            }
        }
    )*};
}
lanewise!(Add add +, Sub sub -, Mul mul *, Div div /);

impl Neg for F64x8 {
    type Output = F64x8;
    #[inline(always)]
    fn neg(self) -> F64x8 {
        self.map(|x| -x)
    }
}

/// Interleaves matrices `first ..` of a batch; lanes beyond its end repeat the last matrix.
/// `flip` reverses rows and columns.
pub fn pack_eight(x: ArrayView3<'_, f64>, first: usize, flip: bool, out: &mut [F64x8]) {
    let last = x.len_of(Axis(0)) - 1;
    for lane in 0..LANES {
        pack_lane(x.index_axis(Axis(0), (first + lane).min(last)), lane, flip, out);
    }
}

/// Puts one matrix into one lane; `flip` reverses rows and columns.
pub fn pack_lane(x: ArrayView2<'_, f64>, lane: usize, flip: bool, out: &mut [F64x8]) {
    if let (Some(x), false) = (x.as_slice(), flip) {
        for (o, v) in out.iter_mut().zip(x) {
            o.0[lane] = *v;
        }
        return;
    }
    let n = x.nrows();
    for ((i, j), v) in x.indexed_iter() {
        let at = if flip { (n - 1 - i) * n + n - 1 - j } else { i * n + j };
        out[at].0[lane] = *v;
    }
}

/// The symmetric matrix whose lower triangle (column j at `a[j * n ..]`) lies in `lane`, row by row.
pub fn unpack_lane(n: usize, a: &[F64x8], lane: usize, out: &mut [f64]) {
    for j in 0..n {
        for i in j..n {
            let v = a[j * n + i].0[lane];
            out[i * n + j] = v;
            out[j * n + i] = v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array3;

    #[test]
    fn pack_repeats_the_last_matrix_and_unpack_restores_it() {
        let x = Array3::from_shape_fn((3, 2, 2), |(k, i, j)| (10 * k + i + j) as f64);
        let mut lanes = vec![F64x8::ZERO; 4];
        pack_eight(x.view(), 0, false, &mut lanes);
        assert_eq!(lanes[3].0, [2.0, 12.0, 22.0, 22.0, 22.0, 22.0, 22.0, 22.0]);
        let mut out = [0.0; 4];
        unpack_lane(2, &lanes, 1, &mut out);
        assert_eq!(out, [10.0, 11.0, 11.0, 12.0]);
        pack_eight(x.view(), 0, true, &mut lanes);
        assert_eq!(lanes[0].0[0], 2.0);
    }
}
