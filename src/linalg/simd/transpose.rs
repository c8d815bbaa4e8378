//! Transposes of sixteen rows, and stores of the first lanes of a vector, on x86.
//!
//! The steps are macros, because a closure would not be compiled for the instruction set of the kernel that uses it.

use std::arch::x86_64::*;

/// Stores the first lanes of a vector, as many as the mask has. AMD's cores take a dozen cycles for the masked store
/// instruction, so this splits the store into at most three plain ones.
///
/// # Safety
/// Needs AVX2; `to` must be valid for the lanes of the mask.
#[inline(always)]
pub(crate) unsafe fn store_f32x8(to: *mut f32, mask: __m256i, v: __m256) {
    // SAFETY: as above; each of the four branches adds up to no more than the lanes of the mask.
    unsafe {
        let n = _mm256_movemask_ps(_mm256_castsi256_ps(mask)).trailing_ones() as usize;
        if n == 8 {
            return _mm256_storeu_ps(to, v);
        }
        let (mut to, mut half) = (to, _mm256_castps256_ps128(v));
        if n & 4 != 0 {
            _mm_storeu_ps(to, half);
            (to, half) = (to.add(4), _mm256_extractf128_ps::<1>(v));
        }
        if n & 2 != 0 {
            _mm_store_sd(to.cast(), _mm_castps_pd(half));
            (to, half) = (to.add(2), _mm_movehl_ps(half, half));
        }
        if n & 1 != 0 {
            _mm_store_ss(to, half);
        }
    }
}

/// As [`store_f32x8`].
///
/// # Safety
/// Needs AVX2; `to` must be valid for the lanes of the mask.
#[inline(always)]
pub(crate) unsafe fn store_f64x4(to: *mut f64, mask: __m256i, v: __m256d) {
    // SAFETY: as above.
    unsafe {
        let n = _mm256_movemask_pd(_mm256_castsi256_pd(mask)).trailing_ones() as usize;
        if n == 4 {
            return _mm256_storeu_pd(to, v);
        }
        let (mut to, mut half) = (to, _mm256_castpd256_pd128(v));
        if n & 2 != 0 {
            _mm_storeu_pd(to, half);
            (to, half) = (to.add(2), _mm256_extractf128_pd::<1>(v));
        }
        if n & 1 != 0 {
            _mm_store_sd(to, half);
        }
    }
}

/// Four numbers of sixteen rows: `to[16 j + l] = rows[l][i + j]`.
///
/// # Safety
/// Needs AVX-512F; rows must hold i + 4 numbers and `to` 64.
#[inline(always)]
pub(crate) unsafe fn transpose_f32x16(rows: &[*const f32; 16], i: usize, to: *mut f32) {
    // SAFETY: as above, and reads and writes stay inside rows and result.
    unsafe {
        // Block b of `load!(t)` comes from row 4 b + t; what remains is a transpose inside each block.
        macro_rules! load {
            ($t:literal) => {{
                let v = _mm512_castps128_ps512(_mm_loadu_ps(rows[$t].add(i)));
                let v = _mm512_insertf32x4::<1>(v, _mm_loadu_ps(rows[4 + $t].add(i)));
                let v = _mm512_insertf32x4::<2>(v, _mm_loadu_ps(rows[8 + $t].add(i)));
                _mm512_insertf32x4::<3>(v, _mm_loadu_ps(rows[12 + $t].add(i)))
            }};
        }
        let (a, b, c, d) = (load!(0), load!(1), load!(2), load!(3));
        let (ab, cd) = (_mm512_unpacklo_ps(a, b), _mm512_unpacklo_ps(c, d));
        _mm512_storeu_ps(to, _mm512_shuffle_ps::<0x44>(ab, cd));
        _mm512_storeu_ps(to.add(16), _mm512_shuffle_ps::<0xEE>(ab, cd));
        let (ab, cd) = (_mm512_unpackhi_ps(a, b), _mm512_unpackhi_ps(c, d));
        _mm512_storeu_ps(to.add(32), _mm512_shuffle_ps::<0x44>(ab, cd));
        _mm512_storeu_ps(to.add(48), _mm512_shuffle_ps::<0xEE>(ab, cd));
    }
}

/// Two numbers of sixteen rows.
///
/// # Safety
/// Needs AVX-512F; rows must hold i + 2 numbers and `to` 32.
#[inline(always)]
pub(crate) unsafe fn transpose_f64x8(rows: &[*const f64; 16], i: usize, to: *mut f64) {
    // SAFETY: as above.
    unsafe {
        for half in 0..2 {
            macro_rules! load {
                ($t:expr) => {
                    _mm256_insertf128_pd::<1>(
                        _mm256_castpd128_pd256(_mm_loadu_pd(rows[8 * half + $t].add(i))),
                        _mm_loadu_pd(rows[8 * half + 2 + $t].add(i)),
                    )
                };
            }
            let a = _mm512_insertf64x4::<1>(_mm512_castpd256_pd512(load!(0)), load!(4));
            let b = _mm512_insertf64x4::<1>(_mm512_castpd256_pd512(load!(1)), load!(5));
            _mm512_storeu_pd(to.add(8 * half), _mm512_unpacklo_pd(a, b));
            _mm512_storeu_pd(to.add(16 + 8 * half), _mm512_unpackhi_pd(a, b));
        }
    }
}

/// Four numbers of sixteen rows.
///
/// # Safety
/// Needs AVX2; rows must hold i + 4 numbers and `to` 64.
#[inline(always)]
pub(crate) unsafe fn transpose_f32x8(rows: &[*const f32; 16], i: usize, to: *mut f32) {
    // SAFETY: as above.
    unsafe {
        for half in 0..2 {
            macro_rules! load {
                ($t:literal) => {
                    _mm256_insertf128_ps::<1>(
                        _mm256_castps128_ps256(_mm_loadu_ps(rows[8 * half + $t].add(i))),
                        _mm_loadu_ps(rows[8 * half + 4 + $t].add(i)),
                    )
                };
            }
            let (a, b, c, d) = (load!(0), load!(1), load!(2), load!(3));
            let to = to.add(8 * half);
            let (ab, cd) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
            _mm256_storeu_ps(to, _mm256_shuffle_ps::<0x44>(ab, cd));
            _mm256_storeu_ps(to.add(16), _mm256_shuffle_ps::<0xEE>(ab, cd));
            let (ab, cd) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
            _mm256_storeu_ps(to.add(32), _mm256_shuffle_ps::<0x44>(ab, cd));
            _mm256_storeu_ps(to.add(48), _mm256_shuffle_ps::<0xEE>(ab, cd));
        }
    }
}

/// Two numbers of sixteen rows.
///
/// # Safety
/// Needs AVX2; rows must hold i + 2 numbers and `to` 32.
#[inline(always)]
pub(crate) unsafe fn transpose_f64x4(rows: &[*const f64; 16], i: usize, to: *mut f64) {
    // SAFETY: as above.
    unsafe {
        for quarter in 0..4 {
            macro_rules! load {
                ($t:literal) => {
                    _mm256_insertf128_pd::<1>(
                        _mm256_castpd128_pd256(_mm_loadu_pd(rows[4 * quarter + $t].add(i))),
                        _mm_loadu_pd(rows[4 * quarter + 2 + $t].add(i)),
                    )
                };
            }
            let (a, b) = (load!(0), load!(1));
            _mm256_storeu_pd(to.add(4 * quarter), _mm256_unpacklo_pd(a, b));
            _mm256_storeu_pd(to.add(16 + 4 * quarter), _mm256_unpackhi_pd(a, b));
        }
    }
}
