//! Eight matrices side by side: entry (i, j) of all of them is one vector [`V`].
//!
//! Small matrices (22 x 22) are too small for the blocked kernels of LAPACK. Interleaved, every scalar operation of an
//! unblocked algorithm becomes one vector operation on eight matrices, with no shuffles and no tails. The loops are plain
//! Rust; [`pulp`] compiles them once for the baseline and once for AVX2 + FMA and picks at run time. Products are fused
//! multiply-adds in every version, so the bits do not depend on the machine.

use ndarray::{ArrayView2, ArrayView3, Axis};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Matrices per vector.
pub(crate) const LANES: usize = 8;

/// One entry of [`LANES`] matrices.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct V(pub [f64; LANES]);

impl V {
    pub const ZERO: V = V([0.0; LANES]);
    pub const ONE: V = V([1.0; LANES]);

    #[inline(always)]
    pub fn splat(x: f64) -> V {
        V([x; LANES])
    }
    #[inline(always)]
    pub fn map(self, f: impl Fn(f64) -> f64) -> V {
        let mut out = V::ZERO;
        for k in 0..LANES {
            out.0[k] = f(self.0[k]);
        }
        out
    }
    #[inline(always)]
    pub fn map2(self, b: V, f: impl Fn(f64, f64) -> f64) -> V {
        let mut out = V::ZERO;
        for k in 0..LANES {
            out.0[k] = f(self.0[k], b.0[k]);
        }
        out
    }
    /// self * b + c, rounded once.
    #[inline(always)]
    pub fn fma(self, b: V, c: V) -> V {
        let mut out = V::ZERO;
        for k in 0..LANES {
            out.0[k] = self.0[k].mul_add(b.0[k], c.0[k]);
        }
        out
    }
    #[inline(always)]
    pub fn sqrt(self) -> V {
        self.map(f64::sqrt)
    }
    /// `yes` in the lanes where self is zero, `no` elsewhere.
    #[inline(always)]
    pub fn if_zero(self, yes: V, no: V) -> V {
        let mut out = V::ZERO;
        for k in 0..LANES {
            out.0[k] = if self.0[k] == 0.0 { yes.0[k] } else { no.0[k] };
        }
        out
    }
    /// The sum of the lanes.
    #[inline(always)]
    pub fn sum(self) -> f64 {
        let s = self.0;
        ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]))
    }
    #[inline(always)]
    pub fn all_zero(self) -> bool {
        self.0.iter().all(|&x| x == 0.0)
    }
}

macro_rules! lanewise {
    ($($trait:ident $name:ident $op:tt),*) => {$(
        impl $trait for V {
            type Output = V;
            #[inline(always)]
            fn $name(self, b: V) -> V {
                self.map2(b, |x, y| x $op y)
            }
        }
    )*};
}
lanewise!(Add add +, Sub sub -, Mul mul *, Div div /);

impl Neg for V {
    type Output = V;
    #[inline(always)]
    fn neg(self) -> V {
        self.map(|x| -x)
    }
}

/// Run `f` compiled for the best instruction set of this machine. `f` must be `#[inline(always)]` all the way down.
#[inline(always)]
pub(crate) fn simd<R>(f: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(Inlined(f))
}

struct Inlined<F>(F);

impl<R, F: FnOnce() -> R> pulp::WithSimd for Inlined<F> {
    type Output = R;
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _simd: S) -> R {
        (self.0)()
    }
}

/// Interleave matrices `first ..` of a batch; lanes beyond its end repeat the last matrix.
/// `flip` reverses rows and columns.
pub(crate) fn pack(x: ArrayView3<'_, f64>, first: usize, flip: bool, out: &mut [V]) {
    let last = x.len_of(Axis(0)) - 1;
    for lane in 0..LANES {
        pack_lane(x.index_axis(Axis(0), (first + lane).min(last)), lane, flip, out);
    }
}

/// Put one matrix into one lane.
pub(crate) fn pack_lane(x: ArrayView2<'_, f64>, lane: usize, flip: bool, out: &mut [V]) {
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
pub(crate) fn unpack_lane(n: usize, a: &[V], lane: usize, out: &mut [f64]) {
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
        let mut lanes = vec![V::ZERO; 4];
        pack(x.view(), 0, false, &mut lanes);
        assert_eq!(lanes[3].0, [2.0, 12.0, 22.0, 22.0, 22.0, 22.0, 22.0, 22.0]);
        let mut out = [0.0; 4];
        unpack_lane(2, &lanes, 1, &mut out);
        assert_eq!(out, [10.0, 11.0, 11.0, 12.0]);
        pack(x.view(), 0, true, &mut lanes);
        assert_eq!(lanes[0].0[0], 2.0);
    }
}
