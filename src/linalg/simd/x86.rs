//! AVX-512 and AVX2 with FMA, as implementations of [`Simd`].

use super::{Simd, lane_sums, transpose};
use std::arch::x86_64::*;

#[derive(Clone, Copy)]
pub(crate) struct Avx512<T>(std::marker::PhantomData<T>);
#[derive(Clone, Copy)]
pub(crate) struct Avx2<T>(std::marker::PhantomData<T>);

/// Shapes of register tiles, see [`Simd`].
struct Shapes {
    cols: usize,
    more: usize,
    rows: [usize; 3],
    depth: usize,
    free_masks: bool,
    lane_tile: (usize, usize),
    sum_tile: (usize, usize),
}
/// AVX-512 has 32 vector registers, and masks have registers of their own.
const WIDE: Shapes =
    Shapes { cols: 3, more: 0, rows: [8; 3], depth: 256, free_masks: true, lane_tile: (5, 5), sum_tile: (4, 4) };
/// AVX2 has 16 vector registers, and a mask takes one of them. Ten or twelve sums hide the latency of a multiply-add and
/// leave registers for the factors. A tile that needs all sixteen registers keeps one of its sums in memory.
const NARROW: Shapes =
    Shapes { cols: 2, more: 1, rows: [6, 6, 3], depth: 128, free_masks: false, lane_tile: (6, 2), sum_tile: (6, 2) };

macro_rules! x86 {
    ($name:ident<$t:ty>, $v:ty, $m:ty, $lanes:expr, $shapes:expr, $pack:expr, $zero:ident, $splat:ident, $load:ident,
     $store:ident, $fma:ident, $add:ident, $sums:ident, $transpose:ident, |$n:ident| $mask:expr,
     |$lp:ident, $lm:ident| $load_part:expr, |$sp:ident, $sm:ident, $sv:ident| $store_part:expr) => {
        // SAFETY: each method is one instruction of the set the implementor names, which the caller guarantees.
        unsafe impl Simd for $name<$t> {
            type Scalar = $t;
            type Vector = $v;
            type Mask = $m;
            const LANES: usize = $lanes;
            const COLS: usize = $shapes.cols;
            const MORE: usize = $shapes.more;
            const ROWS: [usize; 3] = $shapes.rows;
            const DEPTH: usize = $shapes.depth;
            const FREE_MASKS: bool = $shapes.free_masks;
            const LANE_TILE: (usize, usize) = $shapes.lane_tile;
            const SUM_TILE: (usize, usize) = $shapes.sum_tile;
            const PACK: usize = $pack;
            #[inline(always)]
            unsafe fn zero() -> $v {
                unsafe { $zero() }
            }
            #[inline(always)]
            unsafe fn splat(x: $t) -> $v {
                unsafe { $splat(x) }
            }
            #[inline(always)]
            unsafe fn load(p: *const $t) -> $v {
                unsafe { $load(p) }
            }
            #[inline(always)]
            unsafe fn store(p: *mut $t, v: $v) {
                unsafe { $store(p, v) }
            }
            #[inline(always)]
            #[allow(unused_unsafe)] // a shift in one set, an instruction in the other
            unsafe fn mask($n: usize) -> $m {
                unsafe { $mask }
            }
            #[inline(always)]
            unsafe fn load_part($lp: *const $t, $lm: $m) -> $v {
                unsafe { $load_part }
            }
            #[inline(always)]
            unsafe fn store_part($sp: *mut $t, $sm: $m, $sv: $v) {
                unsafe { $store_part }
            }
            #[inline(always)]
            unsafe fn fma(a: $v, b: $v, c: $v) -> $v {
                unsafe { $fma(a, b, c) }
            }
            #[inline(always)]
            unsafe fn add(a: $v, b: $v) -> $v {
                unsafe { $add(a, b) }
            }
            #[inline(always)]
            fn plus(a: $t, b: $t) -> $t {
                a + b
            }
            #[inline(always)]
            unsafe fn sums(v: &[$v; 16]) -> [$t; 16] {
                unsafe { lane_sums::$sums(v) }
            }
            #[inline(always)]
            unsafe fn transpose(rows: &[*const $t; 16], i: usize, to: *mut $t) {
                unsafe { transpose::$transpose(rows, i, to) }
            }
        }
    };
}

x86!(
    Avx512<f32>,
    __m512,
    __mmask16,
    16,
    WIDE,
    4,
    _mm512_setzero_ps,
    _mm512_set1_ps,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_fmadd_ps,
    _mm512_add_ps,
    sums_f32x16,
    transpose_f32x16,
    |n| (u32::MAX >> (32 - n)) as u16,
    |p, m| _mm512_maskz_loadu_ps(m, p),
    |p, m, v| _mm512_mask_storeu_ps(p, m, v)
);
x86!(
    Avx512<f64>,
    __m512d,
    __mmask8,
    8,
    WIDE,
    2,
    _mm512_setzero_pd,
    _mm512_set1_pd,
    _mm512_loadu_pd,
    _mm512_storeu_pd,
    _mm512_fmadd_pd,
    _mm512_add_pd,
    sums_f64x8,
    transpose_f64x8,
    |n| (u32::MAX >> (32 - n)) as u8,
    |p, m| _mm512_maskz_loadu_pd(m, p),
    |p, m, v| _mm512_mask_storeu_pd(p, m, v)
);
x86!(
    Avx2<f32>,
    __m256,
    __m256i,
    8,
    NARROW,
    4,
    _mm256_setzero_ps,
    _mm256_set1_ps,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    _mm256_fmadd_ps,
    _mm256_add_ps,
    sums_f32x8,
    transpose_f32x8,
    |n| _mm256_cmpgt_epi32(_mm256_set1_epi32(n as i32), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)),
    |p, m| _mm256_maskload_ps(p, m),
    |p, m, v| transpose::store_f32x8(p, m, v)
);
x86!(
    Avx2<f64>,
    __m256d,
    __m256i,
    4,
    NARROW,
    2,
    _mm256_setzero_pd,
    _mm256_set1_pd,
    _mm256_loadu_pd,
    _mm256_storeu_pd,
    _mm256_fmadd_pd,
    _mm256_add_pd,
    sums_f64x4,
    transpose_f64x4,
    |n| _mm256_cmpgt_epi64(_mm256_set1_epi64x(n as i64), _mm256_setr_epi64x(0, 1, 2, 3)),
    |p, m| _mm256_maskload_pd(p, m),
    |p, m, v| transpose::store_f64x4(p, m, v)
);
