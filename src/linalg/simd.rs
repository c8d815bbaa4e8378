//! Vectors of a fixed width: AVX-512, AVX2 with FMA, and plain arrays for every other machine.
//!
//! Kernels are written once over [`Simd`] and compiled for each instruction set; which one runs is decided at run time
//! (see [`crate::kernels`]). NEON machines take the array version, which the compiler vectorises itself.

/// The few vector operations that the kernels need. `LANES` scalars per vector.
///
/// # Safety
/// Methods may only run on a machine with the instruction set of the implementor; pointers must be valid for the lanes
/// read or written (all of them, or the first `n` for the partial forms).
pub(crate) unsafe trait Simd: Copy {
    type Scalar: Copy;
    type Vector: Copy;
    type Mask: Copy;
    const LANES: usize;
    /// Rows and vectors per register tile.
    const ROWS: usize;
    const COLS: usize;
    unsafe fn zero() -> Self::Vector;
    unsafe fn splat(x: Self::Scalar) -> Self::Vector;
    unsafe fn load(p: *const Self::Scalar) -> Self::Vector;
    unsafe fn store(p: *mut Self::Scalar, v: Self::Vector);
    /// The first `n` lanes, 1 <= n <= LANES.
    unsafe fn mask(n: usize) -> Self::Mask;
    /// Lanes outside the mask are zero.
    unsafe fn load_part(p: *const Self::Scalar, m: Self::Mask) -> Self::Vector;
    unsafe fn store_part(p: *mut Self::Scalar, m: Self::Mask, v: Self::Vector);
    /// a b + c.
    unsafe fn fma(a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
    unsafe fn add(a: Self::Vector, b: Self::Vector) -> Self::Vector;
}

/// Arrays of eight: the compiler maps them to whatever the target has.
#[derive(Clone, Copy)]
pub(crate) struct Plain<T>(std::marker::PhantomData<T>);

macro_rules! plain {
    ($t:ty) => {
        // SAFETY: plain arithmetic on arrays; pointer validity is the trait's contract.
        unsafe impl Simd for Plain<$t> {
            type Scalar = $t;
            type Vector = [$t; 8];
            type Mask = usize;
            const LANES: usize = 8;
            const ROWS: usize = 4;
            const COLS: usize = 1;
            #[inline(always)]
            unsafe fn zero() -> [$t; 8] {
                [0.0; 8]
            }
            #[inline(always)]
            unsafe fn splat(x: $t) -> [$t; 8] {
                [x; 8]
            }
            #[inline(always)]
            unsafe fn load(p: *const $t) -> [$t; 8] {
                // SAFETY: valid for 8 lanes by contract; arrays have the alignment of their element.
                unsafe { *p.cast() }
            }
            #[inline(always)]
            unsafe fn store(p: *mut $t, v: [$t; 8]) {
                // SAFETY: as `load`.
                unsafe { *p.cast() = v }
            }
            #[inline(always)]
            unsafe fn mask(n: usize) -> usize {
                n
            }
            #[inline(always)]
            unsafe fn load_part(p: *const $t, m: usize) -> [$t; 8] {
                // SAFETY: only the first m lanes are read, valid by contract.
                std::array::from_fn(|i| if i < m { unsafe { *p.add(i) } } else { 0.0 })
            }
            #[inline(always)]
            unsafe fn store_part(p: *mut $t, m: usize, v: [$t; 8]) {
                for (i, x) in v.into_iter().enumerate().take(m) {
                    // SAFETY: only the first m lanes are written, valid by contract.
                    unsafe { *p.add(i) = x }
                }
            }
            #[inline(always)]
            unsafe fn fma(a: [$t; 8], b: [$t; 8], c: [$t; 8]) -> [$t; 8] {
                std::array::from_fn(|i| a[i] * b[i] + c[i])
            }
            #[inline(always)]
            unsafe fn add(a: [$t; 8], b: [$t; 8]) -> [$t; 8] {
                std::array::from_fn(|i| a[i] + b[i])
            }
        }
    };
}
plain!(f32);
plain!(f64);

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Simd;
    use std::arch::x86_64::*;

    #[derive(Clone, Copy)]
    pub(crate) struct Avx512<T>(std::marker::PhantomData<T>);
    #[derive(Clone, Copy)]
    pub(crate) struct Avx2<T>(std::marker::PhantomData<T>);

    macro_rules! x86 {
        ($name:ident<$t:ty>, $v:ty, $m:ty, $lanes:expr, $rows:expr, $cols:expr, $zero:ident, $splat:ident, $load:ident,
         $store:ident, $fma:ident, $add:ident, |$n:ident| $mask:expr,
         |$lp:ident, $lm:ident| $load_part:expr, |$sp:ident, $sm:ident, $sv:ident| $store_part:expr) => {
            // SAFETY: each method is one instruction of the set the implementor names, which the caller guarantees.
            unsafe impl Simd for $name<$t> {
                type Scalar = $t;
                type Vector = $v;
                type Mask = $m;
                const LANES: usize = $lanes;
                const ROWS: usize = $rows;
                const COLS: usize = $cols;
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
            }
        };
    }

    x86!(
        Avx512<f32>,
        __m512,
        __mmask16,
        16,
        8,
        3,
        _mm512_setzero_ps,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_fmadd_ps,
        _mm512_add_ps,
        |n| (u32::MAX >> (32 - n)) as u16,
        |p, m| _mm512_maskz_loadu_ps(m, p),
        |p, m, v| _mm512_mask_storeu_ps(p, m, v)
    );
    x86!(
        Avx512<f64>,
        __m512d,
        __mmask8,
        8,
        8,
        3,
        _mm512_setzero_pd,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_fmadd_pd,
        _mm512_add_pd,
        |n| (u32::MAX >> (32 - n)) as u8,
        |p, m| _mm512_maskz_loadu_pd(m, p),
        |p, m, v| _mm512_mask_storeu_pd(p, m, v)
    );
    x86!(
        Avx2<f32>,
        __m256,
        __m256i,
        8,
        4,
        3,
        _mm256_setzero_ps,
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_fmadd_ps,
        _mm256_add_ps,
        |n| _mm256_cmpgt_epi32(_mm256_set1_epi32(n as i32), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)),
        |p, m| _mm256_maskload_ps(p, m),
        |p, m, v| _mm256_maskstore_ps(p, m, v)
    );
    x86!(
        Avx2<f64>,
        __m256d,
        __m256i,
        4,
        4,
        3,
        _mm256_setzero_pd,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_fmadd_pd,
        _mm256_add_pd,
        |n| _mm256_cmpgt_epi64(_mm256_set1_epi64x(n as i64), _mm256_setr_epi64x(0, 1, 2, 3)),
        |p, m| _mm256_maskload_pd(p, m),
        |p, m, v| _mm256_maskstore_pd(p, m, v)
    );
}
#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};
