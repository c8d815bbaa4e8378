//! Moving numbers between lanes on x86: sums over the lanes of many vectors at once, and transposes of sixteen rows.
//!
//! Both halve the work at each step by merging two vectors into one, instead of treating each vector alone. Steps are
//! macros, because a closure would not be compiled for the instruction set of the kernel that it ends up in.

use std::arch::x86_64::*;

/// Lane i of the result is the sum over the lanes of v[i].
///
/// # Safety
/// Needs AVX-512F.
#[inline(always)]
pub(crate) unsafe fn sums_f32x16(v: &[__m512; 16]) -> [f32; 16] {
    // SAFETY: one instruction each of the set that the caller guarantees; both types are 64 bytes of numbers.
    unsafe {
        // Halves of two vectors, then quarters of four: block b of `quarter!(t)` is what is left of v[4 b + t].
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
        // Horizontal additions would say the same, in twice the time on AMD's cores.
        macro_rules! two {
            ($i:expr) => {
                _mm256_add_ps(_mm256_unpacklo_ps(v[$i], v[$i + 1]), _mm256_unpackhi_ps(v[$i], v[$i + 1]))
            };
        }
        macro_rules! four {
            ($i:expr) => {{
                let (a, b) = (two!($i), two!($i + 2));
                _mm256_add_ps(_mm256_shuffle_ps::<0x44>(a, b), _mm256_shuffle_ps::<0xEE>(a, b))
            }};
        }
        macro_rules! eight {
            ($from:literal) => {{
                let (a, b) = (four!($from), four!($from + 4));
                _mm256_add_ps(_mm256_permute2f128_ps::<0x20>(a, b), _mm256_permute2f128_ps::<0x31>(a, b))
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
                let (a, b) = (_mm256_hadd_pd(v[$i], v[$i + 1]), _mm256_hadd_pd(v[$i + 2], v[$i + 3]));
                _mm256_add_pd(_mm256_permute2f128_pd::<0x20>(a, b), _mm256_permute2f128_pd::<0x31>(a, b))
            }};
        }
        let all = [four!(0), four!(4), four!(8), four!(12)];
        std::mem::transmute::<[__m256d; 4], [f64; 16]>(all)
    }
}

/// Stores the lanes of a mask of the first ones. The instruction for it takes AMD's cores a dozen cycles.
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
        // Block b of `t` is taken from row 4 b + t; what remains is a transpose inside each block.
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
