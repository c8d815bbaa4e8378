//! Plain arrays as an implementation of [`Simd`], for every machine without AVX2.
//!
//! The compiler vectorises these loops for the target that it builds for (SSE2, NEON).

use super::Simd;
#[cfg(not(any(target_feature = "fma", target_arch = "aarch64")))]
use super::fma::{fma_f32, fma_f64};

/// The instruction, where every machine of the target has it.
#[cfg(any(target_feature = "fma", target_arch = "aarch64"))]
#[inline(always)]
fn fma_f32(a: f32, b: f32, c: f32) -> f32 {
    a.mul_add(b, c)
}

/// The instruction, where every machine of the target has it.
#[cfg(any(target_feature = "fma", target_arch = "aarch64"))]
#[inline(always)]
fn fma_f64(a: f64, b: f64, c: f64) -> f64 {
    a.mul_add(b, c)
}

/// Arrays of eight: the compiler maps them to whatever the target has.
#[derive(Clone, Copy)]
pub(crate) struct Plain<T>(std::marker::PhantomData<T>);

macro_rules! plain {
    ($t:ty, $fma:ident) => {
        // SAFETY: plain arithmetic on arrays; pointer validity is the trait's contract.
        unsafe impl Simd for Plain<$t> {
            type Scalar = $t;
            type Vector = [$t; 8];
            type Mask = usize;
            const LANES: usize = 8;
            const COLS: usize = 1;
            const MORE: usize = 0;
            const ROWS: [usize; 3] = [4, 0, 0];
            const DEPTH: usize = 256;
            const FREE_MASKS: bool = false;
            const LANE_TILE: (usize, usize) = (2, 2);
            const SUM_TILE: (usize, usize) = (4, 4);
            #[inline(always)]
            fn plus(a: $t, b: $t) -> $t {
                a + b
            }
            #[inline(always)]
            unsafe fn sums(v: &[[$t; 8]; 16]) -> [$t; 16] {
                std::array::from_fn(|i| {
                    let v = v[i];
                    let four: [$t; 4] = std::array::from_fn(|l| v[l] + v[l + 4]);
                    (four[0] + four[2]) + (four[1] + four[3])
                })
            }
            const PACK: usize = 1;
            #[inline(always)]
            unsafe fn transpose(rows: &[*const $t; 16], i: usize, to: *mut $t) {
                for (l, row) in rows.iter().enumerate() {
                    // SAFETY: inside the rows and the result by contract.
                    unsafe { *to.add(l) = *row.add(i) }
                }
            }
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
                std::array::from_fn(|i| $fma(a[i], b[i], c[i]))
            }
            #[inline(always)]
            unsafe fn add(a: [$t; 8], b: [$t; 8]) -> [$t; 8] {
                std::array::from_fn(|i| a[i] + b[i])
            }
        }
    };
}
plain!(f32, fma_f32);
plain!(f64, fma_f64);
