//! Scalars that make faer compute the same bits on every machine.
//!
//! faer chooses the width of its vectors and a product kernel by the features of the processor (AVX-512, AVX2, none), and
//! the blocks of that kernel by the sizes of the caches. Its decompositions therefore differ in their last bits from one
//! machine to another. faer is generic over its scalar, though. `Fixed64` and `Fixed32` are f64 and f32 under another name:
//! faer takes its generic kernels for them, and these follow the type [`FixedArch`], which has vectors of 256 bits on every
//! machine: AVX2 with FMA where it exists, arrays of the same length with the same fused multiply-add elsewhere.
//!
//! Every method passes the call on to f64 or f32, except for sums over a vector, which have one order here. The file is long because
//! faer's traits have dozens of methods, and each needs its line.

use crate::simd::{Level, level};
use faer::traits::pulp::{self, Simd};
use faer::traits::{ComplexField, RealField, SimdArch, SimdCapabilities};
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, RemAssign, Sub, SubAssign};

/// Vectors of 256 bits on every machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct FixedArch;

impl SimdArch for FixedArch {
    #[inline]
    fn dispatch<R>(self, f: impl pulp::WithSimd<Output = R>) -> R {
        #[cfg(target_arch = "x86_64")]
        if level() != Level::Plain
            && let Some(simd) = pulp::x86::V3::try_new()
        {
            return simd.vectorize(Run(f, simd));
        }
        f.with_simd(pulp::Scalar256b)
    }
}

/// A call of `f` with the vectors of AVX2, compiled for AVX2.
#[cfg(target_arch = "x86_64")]
struct Run<F>(F, pulp::x86::V3);

#[cfg(target_arch = "x86_64")]
impl<R, F: pulp::WithSimd<Output = R>> pulp::NullaryFnOnce for Run<F> {
    type Output = R;
    #[inline(always)]
    fn call(self) -> R {
        self.0.with_simd(self.1)
    }
}

macro_rules! operator {
    ($name:ident, $op:tt, $trait:ident $fn:ident, $assign:ident $assign_fn:ident) => {
        impl $trait for $name {
            type Output = $name;
            #[inline(always)]
            fn $fn(self, b: $name) -> $name {
                $name(self.0 $op b.0)
            }
        }
        impl $trait<&$name> for $name {
            type Output = $name;
            #[inline(always)]
            fn $fn(self, b: &$name) -> $name {
                $name(self.0 $op b.0)
            }
        }
        impl $trait<$name> for &$name {
            type Output = $name;
            #[inline(always)]
            fn $fn(self, b: $name) -> $name {
                $name(self.0 $op b.0)
            }
        }
        impl $trait for &$name {
            type Output = $name;
            #[inline(always)]
            fn $fn(self, b: &$name) -> $name {
                $name(self.0 $op b.0)
            }
        }
        impl $assign for $name {
            #[inline(always)]
            fn $assign_fn(&mut self, b: $name) {
                self.0 = self.0 $op b.0;
            }
        }
        impl $assign<&$name> for $name {
            #[inline(always)]
            fn $assign_fn(&mut self, b: &$name) {
                self.0 = self.0 $op b.0;
            }
        }
    };
}

/// Methods that take and return vectors, indices or masks of the inner scalar unchanged.
macro_rules! pass_on {
    ($t:ty; $($fn:ident($($arg:ident: $ty:ident),*) -> $ret:ident;)*) => {
        $(
            #[inline(always)]
            fn $fn<S: Simd>(ctx: &S, $($arg: Self::$ty<S>),*) -> Self::$ret<S> {
                <$t as ComplexField>::$fn::<S>(ctx, $($arg),*)
            }
        )*
    };
}

macro_rules! fixed {
    ($name:ident, $t:ty, $index:ty, $lanes:literal, $vec:ident, $indices:ident, $mask:ident) => {
        /// The scalar under another name; see the module.
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
        #[repr(transparent)]
        pub struct $name(pub $t);

        operator!($name, +, Add add, AddAssign add_assign);
        operator!($name, -, Sub sub, SubAssign sub_assign);
        operator!($name, *, Mul mul, MulAssign mul_assign);
        operator!($name, /, Div div, DivAssign div_assign);
        operator!($name, %, Rem rem, RemAssign rem_assign);

        impl Neg for $name {
            type Output = $name;
            #[inline(always)]
            fn neg(self) -> $name {
                $name(-self.0)
            }
        }
        impl Neg for &$name {
            type Output = $name;
            #[inline(always)]
            fn neg(self) -> $name {
                $name(-self.0)
            }
        }
        impl num_traits::Zero for $name {
            fn zero() -> Self {
                $name(0.0)
            }
            fn is_zero(&self) -> bool {
                self.0 == 0.0
            }
        }
        impl num_traits::One for $name {
            fn one() -> Self {
                $name(1.0)
            }
        }
        impl num_traits::Num for $name {
            type FromStrRadixErr = <$t as num_traits::Num>::FromStrRadixErr;
            fn from_str_radix(text: &str, radix: u32) -> Result<Self, Self::FromStrRadixErr> {
                <$t as num_traits::Num>::from_str_radix(text, radix).map($name)
            }
        }

        impl ComplexField for $name {
            type Arch = FixedArch;
            type Index = $index;
            type Real = Self;
            type SimdCtx<S: Simd> = S;
            type SimdIndex<S: Simd> = S::$indices;
            type SimdMask<S: Simd> = S::$mask;
            type SimdMemMask<S: Simd> = pulp::MemMask<S::$mask>;
            type SimdVec<S: Simd> = S::$vec;
            type Unit = $t;
            const IS_REAL: bool = true;
            const SIMD_CAPABILITIES: SimdCapabilities = SimdCapabilities::Simd;

            #[inline(always)]
            fn zero_impl() -> Self {
                $name(0.0)
            }
            #[inline(always)]
            fn one_impl() -> Self {
                $name(1.0)
            }
            #[inline(always)]
            fn nan_impl() -> Self {
                $name(<$t>::NAN)
            }
            #[inline(always)]
            fn infinity_impl() -> Self {
                $name(<$t>::INFINITY)
            }
            #[inline(always)]
            fn from_real_impl(x: &Self) -> Self {
                *x
            }
            #[inline(always)]
            fn from_f64_impl(x: f64) -> Self {
                $name(x as $t)
            }
            #[inline(always)]
            fn real_part_impl(x: &Self) -> Self {
                *x
            }
            #[inline(always)]
            fn imag_part_impl(_: &Self) -> Self {
                $name(0.0)
            }
            #[inline(always)]
            fn copy_impl(x: &Self) -> Self {
                *x
            }
            #[inline(always)]
            fn conj_impl(x: &Self) -> Self {
                *x
            }
            #[inline(always)]
            fn recip_impl(x: &Self) -> Self {
                $name(1.0 / x.0)
            }
            #[inline(always)]
            fn sqrt_impl(x: &Self) -> Self {
                $name(x.0.sqrt())
            }
            #[inline(always)]
            fn abs_impl(x: &Self) -> Self {
                $name(x.0.abs())
            }
            #[inline(always)]
            fn abs1_impl(x: &Self) -> Self {
                $name(x.0.abs())
            }
            #[inline(always)]
            fn abs2_impl(x: &Self) -> Self {
                $name(x.0 * x.0)
            }
            #[inline(always)]
            fn mul_real_impl(a: &Self, b: &Self) -> Self {
                $name(a.0 * b.0)
            }
            #[inline(always)]
            fn mul_pow2_impl(a: &Self, b: &Self) -> Self {
                $name(a.0 * b.0)
            }
            #[inline(always)]
            fn is_finite_impl(x: &Self) -> bool {
                x.0.is_finite()
            }
            #[inline(always)]
            fn simd_ctx<S: Simd>(simd: S) -> S {
                simd
            }
            #[inline(always)]
            fn ctx_from_simd<S: Simd>(ctx: &S) -> S {
                *ctx
            }
            #[inline(always)]
            fn simd_mask_between<S: Simd>(ctx: &S, start: $index, end: $index) -> Self::SimdMask<S> {
                <$t as ComplexField>::simd_mask_between::<S>(ctx, start, end)
            }
            #[inline(always)]
            fn simd_mem_mask_between<S: Simd>(ctx: &S, start: $index, end: $index) -> Self::SimdMemMask<S> {
                <$t as ComplexField>::simd_mem_mask_between::<S>(ctx, start, end)
            }
            #[inline(always)]
            unsafe fn simd_mask_load_raw<S: Simd>(
                ctx: &S,
                mask: Self::SimdMemMask<S>,
                ptr: *const Self::SimdVec<S>,
            ) -> Self::SimdVec<S> {
                // SAFETY: the same contract.
                unsafe { <$t as ComplexField>::simd_mask_load_raw::<S>(ctx, mask, ptr) }
            }
            #[inline(always)]
            unsafe fn simd_mask_store_raw<S: Simd>(
                ctx: &S,
                mask: Self::SimdMemMask<S>,
                ptr: *mut Self::SimdVec<S>,
                values: Self::SimdVec<S>,
            ) {
                // SAFETY: the same contract.
                unsafe { <$t as ComplexField>::simd_mask_store_raw::<S>(ctx, mask, ptr, values) }
            }
            #[inline(always)]
            fn simd_splat<S: Simd>(ctx: &S, x: &Self) -> Self::SimdVec<S> {
                <$t as ComplexField>::simd_splat::<S>(ctx, &x.0)
            }
            #[inline(always)]
            fn simd_splat_real<S: Simd>(ctx: &S, x: &Self) -> Self::SimdVec<S> {
                <$t as ComplexField>::simd_splat::<S>(ctx, &x.0)
            }
            #[inline(always)]
            fn simd_reduce_sum<S: Simd>(_: &S, v: Self::SimdVec<S>) -> Self {
                let mut v: [$t; $lanes] = pulp::cast(v);
                let mut half = $lanes / 2;
                while half > 0 {
                    for l in 0..half {
                        v[l] += v[l + half];
                    }
                    half /= 2;
                }
                $name(v[0])
            }
            #[inline(always)]
            fn simd_reduce_max<S: Simd>(_: &S, v: Self::SimdVec<S>) -> Self {
                let v: [$t; $lanes] = pulp::cast(v);
                $name(v.iter().fold(v[0], |a, &b| if b > a { b } else { a }))
            }
            #[inline(always)]
            fn simd_index_splat<S: Simd>(ctx: &S, value: $index) -> Self::SimdIndex<S> {
                <$t as ComplexField>::simd_index_splat::<S>(ctx, value)
            }
            #[inline(always)]
            fn simd_first_true_mask<S: Simd>(ctx: &S, mask: Self::SimdMask<S>) -> usize {
                <$t as ComplexField>::simd_first_true_mask::<S>(ctx, mask)
            }
            pass_on! { $t;
                simd_add(a: SimdVec, b: SimdVec) -> SimdVec;
                simd_sub(a: SimdVec, b: SimdVec) -> SimdVec;
                simd_neg(a: SimdVec) -> SimdVec;
                simd_conj(a: SimdVec) -> SimdVec;
                simd_abs1(a: SimdVec) -> SimdVec;
                simd_abs_max(a: SimdVec) -> SimdVec;
                simd_mul_real(a: SimdVec, b: SimdVec) -> SimdVec;
                simd_mul_pow2(a: SimdVec, b: SimdVec) -> SimdVec;
                simd_mul(a: SimdVec, b: SimdVec) -> SimdVec;
                simd_conj_mul(a: SimdVec, b: SimdVec) -> SimdVec;
                simd_mul_add(a: SimdVec, b: SimdVec, c: SimdVec) -> SimdVec;
                simd_conj_mul_add(a: SimdVec, b: SimdVec, c: SimdVec) -> SimdVec;
                simd_abs2(a: SimdVec) -> SimdVec;
                simd_abs2_add(a: SimdVec, b: SimdVec) -> SimdVec;
                simd_equal(a: SimdVec, b: SimdVec) -> SimdMask;
                simd_less_than(a: SimdVec, b: SimdVec) -> SimdMask;
                simd_less_than_or_equal(a: SimdVec, b: SimdVec) -> SimdMask;
                simd_greater_than(a: SimdVec, b: SimdVec) -> SimdMask;
                simd_greater_than_or_equal(a: SimdVec, b: SimdVec) -> SimdMask;
                simd_select(m: SimdMask, a: SimdVec, b: SimdVec) -> SimdVec;
                simd_index_select(m: SimdMask, a: SimdIndex, b: SimdIndex) -> SimdIndex;
                simd_index_add(a: SimdIndex, b: SimdIndex) -> SimdIndex;
                simd_index_less_than(a: SimdIndex, b: SimdIndex) -> SimdMask;
                simd_and_mask(a: SimdMask, b: SimdMask) -> SimdMask;
                simd_or_mask(a: SimdMask, b: SimdMask) -> SimdMask;
                simd_not_mask(a: SimdMask) -> SimdMask;
            }
        }

        impl RealField for $name {
            #[inline(always)]
            fn epsilon_impl() -> Self {
                $name(<$t>::EPSILON)
            }
            #[inline(always)]
            fn nbits_impl() -> usize {
                <$t>::MANTISSA_DIGITS as usize
            }
            #[inline(always)]
            fn min_positive_impl() -> Self {
                $name(<$t>::MIN_POSITIVE)
            }
            #[inline(always)]
            fn max_positive_impl() -> Self {
                $name(1.0 / <$t>::MIN_POSITIVE)
            }
            #[inline(always)]
            fn sqrt_min_positive_impl() -> Self {
                $name(<$t>::MIN_POSITIVE.sqrt())
            }
            #[inline(always)]
            fn sqrt_max_positive_impl() -> Self {
                $name((1.0 / <$t>::MIN_POSITIVE).sqrt())
            }
        }
    };
}

fixed!(Fixed64, f64, u64, 4, f64s, u64s, m64s);
fixed!(Fixed32, f32, u32, 8, f32s, u32s, m32s);
