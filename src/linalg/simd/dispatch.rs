//! Every kernel compiled for each instruction set, one of them chosen at run time.
//!
//! Results depend neither on the instruction set (see the module above) nor on the number of threads.

use super::Product;
#[cfg(target_arch = "x86_64")]
use super::level::{Level, level};
use super::plain::Plain;
#[cfg(target_arch = "x86_64")]
use super::x86::{Avx2, Avx512};
use crate::batch::{
    Clamp, LANES, Lane, LaneSum, backward_body, forward_body, lane_pack, lane_product, lane_residual_body, lane_sum,
};
use crate::small::{AdamStep, Dots, adam_body, add_body, dots, product, residual_body};

/// The kernels of a scalar type. Call them through the functions of [`crate::small`] and [`crate::batch`].
pub trait Kernels: Sized + Copy {
    #[doc(hidden)]
    unsafe fn product(g: RawProduct<Self>);
    #[doc(hidden)]
    unsafe fn dots(g: RawDots<Self>);
    #[doc(hidden)]
    fn adam(step: AdamStep<Self>, w: &mut [Self], m: &mut [Self], v: &mut [Self], g: &[Self]);
    #[doc(hidden)]
    fn residual(out: &mut [Self], y: &[Self], mask: Option<&[Self]>) -> Self;
    #[doc(hidden)]
    fn add_to(out: &mut [Self], x: &[Self]);
    #[doc(hidden)]
    fn clamp_forward(c: &mut Clamp<Self>);
    #[doc(hidden)]
    fn clamp_backward(c: &mut Clamp<Self>);
    #[doc(hidden)]
    unsafe fn lane_product(g: RawProduct<Self>);
    #[doc(hidden)]
    unsafe fn lane_sum(g: RawLaneSum<Self>);
    #[doc(hidden)]
    unsafe fn lane_pack(rows: &[*const Self; LANES], n: usize, to: *mut Self);
    #[doc(hidden)]
    fn lane_residual(out: &mut [Lane<Self>], y: &[Lane<Self>], mask: Option<&[Lane<Self>]>) -> Lane<Self>;
}

#[doc(hidden)]
pub struct RawProduct<T>(pub(crate) Product<T>);
#[doc(hidden)]
pub struct RawDots<T>(pub(crate) Dots<T>);
#[doc(hidden)]
pub struct RawLaneSum<T>(pub(crate) LaneSum<T>);

/// Defines a function that is compiled for each instruction set and picks one at run time.
macro_rules! versions {
    ($t:ty, $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty, $wide:expr, $fma:expr, $plain:expr) => {
        #[cfg(target_arch = "x86_64")]
        fn $name($($arg: $ty),*) -> $ret {
            #[target_feature(enable = "avx512f,avx512vl,avx2,fma")]
            fn wide($($arg: $ty),*) -> $ret {
                $wide
            }
            #[target_feature(enable = "avx2,fma")]
            fn fma($($arg: $ty),*) -> $ret {
                $fma
            }
            match level() {
                // SAFETY: `level` only returns what it has found on this machine.
                Level::Avx512 => unsafe { wide($($arg),*) },
                // SAFETY: as above.
                Level::Avx2 => unsafe { fma($($arg),*) },
                Level::Plain => $plain,
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        fn $name($($arg: $ty),*) -> $ret {
            $plain
        }
    };
}

macro_rules! kernels {
    ($t:ty) => {
        impl Kernels for $t {
            unsafe fn product(g: RawProduct<Self>) {
                // SAFETY (of the three calls): the caller vouches for the pointers, `versions!` for the features.
                versions!($t, run(g: Product<$t>) -> (),
                    unsafe { product::<Avx512<$t>>(g) }, unsafe { product::<Avx2<$t>>(g) }, unsafe { product::<Plain<$t>>(g) });
                run(g.0);
            }
            unsafe fn dots(g: RawDots<Self>) {
                // SAFETY (of the three calls): as for `product`.
                versions!($t, run(g: Dots<$t>) -> (),
                    unsafe { dots::<Avx512<$t>>(g) }, unsafe { dots::<Avx2<$t>>(g) }, unsafe { dots::<Plain<$t>>(g) });
                run(g.0);
            }
            unsafe fn lane_product(g: RawProduct<Self>) {
                // SAFETY (of the three calls, here and below): as for `product`.
                versions!($t, run(g: Product<$t>) -> (), unsafe { lane_product::<Avx512<$t>>(g) },
                    unsafe { lane_product::<Avx2<$t>>(g) }, unsafe { lane_product::<Plain<$t>>(g) });
                run(g.0);
            }
            unsafe fn lane_sum(g: RawLaneSum<Self>) {
                versions!($t, run(g: LaneSum<$t>) -> (), unsafe { lane_sum::<Avx512<$t>>(g) },
                    unsafe { lane_sum::<Avx2<$t>>(g) }, unsafe { lane_sum::<Plain<$t>>(g) });
                run(g.0);
            }
            unsafe fn lane_pack(rows: &[*const $t; LANES], n: usize, to: *mut $t) {
                versions!($t, run(rows: &[*const $t; LANES], n: usize, to: *mut $t) -> (),
                    unsafe { lane_pack::<Avx512<$t>>(rows, n, to) }, unsafe { lane_pack::<Avx2<$t>>(rows, n, to) },
                    unsafe { lane_pack::<Plain<$t>>(rows, n, to) });
                run(rows, n, to);
            }
            versions!($t, lane_residual(out: &mut [Lane<$t>], y: &[Lane<$t>], mask: Option<&[Lane<$t>]>) -> Lane<$t>,
                lane_residual_body(out, y, mask), lane_residual_body(out, y, mask), lane_residual_body(out, y, mask));
            versions!($t, adam(step: AdamStep<$t>, w: &mut [$t], m: &mut [$t], v: &mut [$t], g: &[$t]) -> (),
                adam_body(step, w, m, v, g), adam_body(step, w, m, v, g), adam_body(step, w, m, v, g));
            versions!($t, residual(out: &mut [$t], y: &[$t], mask: Option<&[$t]>) -> $t,
                residual_body(out, y, mask), residual_body(out, y, mask), residual_body(out, y, mask));
            versions!($t, add_to(out: &mut [$t], x: &[$t]) -> (), add_body(out, x), add_body(out, x), add_body(out, x));
            versions!($t, clamp_forward(c: &mut Clamp<$t>) -> (), forward_body(c), forward_body(c), forward_body(c));
            versions!($t, clamp_backward(c: &mut Clamp<$t>) -> (), backward_body(c), backward_body(c), backward_body(c));
        }
    };
}
kernels!(f32);
kernels!(f64);

/// Runs `f` compiled for the instruction set in use.
///
/// Only what is inlined into `f` is compiled for that set: all of it must be `#[inline(always)]`, the closure itself too.
/// Two registers of four doubles are faster than one of eight: distances, means and logarithms of 22 x 22 matrices take a tenth less time with
/// AVX2 than with AVX-512 on a machine that has both.
/// Without AVX2 a fused multiply-add of `f` is a call of the C library, which is slow and has the same bits.
///
/// ```
/// use linalg::batch::F64x8;
/// let (a, b) = (F64x8::splat(2.0), F64x8::splat(3.0));
/// let c = linalg::simd::vectorised(#[inline(always)] || a.fma(b, F64x8::ONE));
/// assert_eq!(c.0, [7.0; 8]);
/// ```
#[inline(always)]
pub fn vectorised<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        #[inline]
        #[target_feature(enable = "avx2,fma")]
        fn fma<R>(f: impl FnOnce() -> R) -> R {
            f()
        }
        match level() {
            // SAFETY: `level` only returns what it has found on this machine, and whoever has AVX-512 has AVX2.
            Level::Avx512 | Level::Avx2 => unsafe { fma(f) },
            Level::Plain => f(),
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    f()
}
