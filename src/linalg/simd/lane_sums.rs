//! Sums over the lanes of sixteen vectors at once, on x86.
//!
//! Each step merges two vectors into one, so that the next step has half the work. The steps are macros, because a closure
//! would not be compiled for the instruction set of the kernel that uses it.

use std::arch::x86_64::*;

/// Lane i of the result is the sum over the lanes of v[i].
///
/// # Safety
/// Needs AVX-512F.
#[inline(always)]
pub(crate) unsafe fn sums_f32x16(v: &[__m512; 16]) -> [f32; 16] {
    // SAFETY: one instruction each of the set that the caller guarantees; both types are 64 bytes of numbers.
    unsafe {
        // `halves!` adds the halves of two vectors, `quarter!` then those of four: block b of `quarter!(t)` holds v[4 b + t].
        macro_rules! halves {
            ($a:expr, $b:expr) => {
                _mm512_add_ps(_mm512_shuffle_f32x4::<0x44>($a, $b), _mm512_shuffle_f32x4::<0xEE>($a, $b))
            };
        }
        macro_rules! quarter {
            ($t:literal) => {{
                let (a, b) = (halves!(v[$t], v[4 + $t]), halves!(v[8 + $t], v[12 + $t]));
                _mm512_add_ps(_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0xDD>(a, b))
            }};
        }
        macro_rules! pairs {
            ($a:expr, $b:expr) => {{
                let (a, b) = ($a, $b);
                _mm512_add_ps(_mm512_shuffle_ps::<0x44>(a, b), _mm512_shuffle_ps::<0xEE>(a, b))
            }};
        }
        let (a, b) = (pairs!(quarter!(0), quarter!(1)), pairs!(quarter!(2), quarter!(3)));
        let sums = _mm512_add_ps(_mm512_shuffle_ps::<0x88>(a, b), _mm512_shuffle_ps::<0xDD>(a, b));
        std::mem::transmute::<__m512, [f32; 16]>(sums)
    }
}

/// As [`sums_f32x16`].
///
/// # Safety
/// Needs AVX-512F.
#[inline(always)]
pub(crate) unsafe fn sums_f64x8(v: &[__m512d; 16]) -> [f64; 16] {
    // SAFETY: as above.
    unsafe {
        macro_rules! halves {
            ($a:expr, $b:expr) => {
                _mm512_add_pd(_mm512_shuffle_f64x2::<0x44>($a, $b), _mm512_shuffle_f64x2::<0xEE>($a, $b))
            };
        }
        macro_rules! quarter {
            ($t:expr) => {{
                let (a, b) = (halves!(v[$t], v[2 + $t]), halves!(v[4 + $t], v[6 + $t]));
                _mm512_add_pd(_mm512_shuffle_f64x2::<0x88>(a, b), _mm512_shuffle_f64x2::<0xDD>(a, b))
            }};
        }
        macro_rules! eight {
            ($from:literal) => {{
                let (a, b) = (quarter!($from), quarter!($from + 1));
                _mm512_add_pd(_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b))
            }};
        }
        std::mem::transmute::<[__m512d; 2], [f64; 16]>([eight!(0), eight!(8)])
    }
}

/// As [`sums_f32x16`].
///
/// # Safety
/// Needs AVX2.
#[inline(always)]
pub(crate) unsafe fn sums_f32x8(v: &[__m256; 16]) -> [f32; 16] {
    // SAFETY: as above.
    unsafe {
        // `halves!` puts what is left of v[i] into its lower half and what is left of v[i + 4] into its upper half. Its
        // upper half adds high to low; the order of two numbers does not change their sum, and a blend is cheaper.
        macro_rules! halves {
            ($i:expr) => {
                _mm256_add_ps(
                    _mm256_blend_ps::<0xF0>(v[$i], v[$i + 4]),
                    _mm256_permute2f128_ps::<0x21>(v[$i], v[$i + 4]),
                )
            };
        }
        macro_rules! pairs {
            ($i:expr) => {{
                let (a, b) = (halves!($i), halves!($i + 1));
                _mm256_add_ps(_mm256_shuffle_ps::<0x44>(a, b), _mm256_shuffle_ps::<0xEE>(a, b))
            }};
        }
        macro_rules! eight {
            ($from:literal) => {{
                let (a, b) = (pairs!($from), pairs!($from + 2));
                _mm256_add_ps(_mm256_shuffle_ps::<0x88>(a, b), _mm256_shuffle_ps::<0xDD>(a, b))
            }};
        }
        std::mem::transmute::<[__m256; 2], [f32; 16]>([eight!(0), eight!(8)])
    }
}

/// As [`sums_f32x16`].
///
/// # Safety
/// Needs AVX2.
#[inline(always)]
pub(crate) unsafe fn sums_f64x4(v: &[__m256d; 16]) -> [f64; 16] {
    // SAFETY: as above.
    unsafe {
        macro_rules! four {
            ($i:literal) => {{
                // Upper halves add high to low, as in `sums_f32x8`.
                let a = _mm256_add_pd(
                    _mm256_blend_pd::<0b1100>(v[$i], v[$i + 2]),
                    _mm256_permute2f128_pd::<0x21>(v[$i], v[$i + 2]),
                );
                let b = _mm256_add_pd(
                    _mm256_blend_pd::<0b1100>(v[$i + 1], v[$i + 3]),
                    _mm256_permute2f128_pd::<0x21>(v[$i + 1], v[$i + 3]),
                );
                _mm256_add_pd(_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b))
            }};
        }
        let all = [four!(0), four!(4), four!(8), four!(12)];
        std::mem::transmute::<[__m256d; 4], [f64; 16]>(all)
    }
}
