//! Products of sixteen samples at once, one sample per lane.
//!
//! A matrix of the batch is a slice of [`Lane`]s with sixteen numbers per entry. Parameters are plain numbers, shared by all
//! samples. Every shape fills all lanes (rows of 10 or 20 numbers would fill 60 % of a register of 16), every stride costs
//! the same, and half of a symmetric result need not be computed.

use super::{LANES, Lane, LaneSum};
use crate::simd::dispatch::{Kernels, RawLaneSum, RawProduct};
use crate::simd::{Product, inside, used_strides};
use num_traits::Float;

/// What happens to the old contents of the result, and which half of it is computed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Store {
    /// C <- A B.
    Set,
    /// C <- C + A B.
    Add,
    /// C <- A B for the lower half of C; entries above the diagonal may be anything. See [`lane_mirror`].
    SetLower,
    /// C <- C + A B for the lower half of C.
    AddLower,
}

/// Copies the lower half of an (n, n) matrix to the upper one.
///
/// # Panics
/// If the slice is too short: a programming error.
pub fn lane_mirror<T: Copy>(n: usize, c: &mut [Lane<T>], (row, col): (usize, usize)) {
    for i in 1..n {
        for j in 0..i {
            c[j * row + i * col] = c[i * row + j * col];
        }
    }
}

/// Pointer and strides of a matrix of the batch in plain numbers; the shape must be [`inside`] the slice.
#[inline]
fn lanes<T>(from: &[Lane<T>], shape: (usize, usize), strides: (usize, usize)) -> (*const T, usize, usize) {
    let (row, col) = used_strides(shape, strides);
    (from.as_ptr().cast(), row * LANES, col * LANES)
}

/// C (+)= A B for all samples: A (m, k) is shared, B (k, n) and C (m, n) differ. Strides count entries.
///
/// # Panics
/// If a slice is too short for its shape and strides, or if half of a result is asked for that is not square: a programming error.
///
/// ```
/// use linalg::batch::{Store, lane_gemm};
/// let a = [1.0, 2.0, 3.0, 4.0];
/// let b = [[1.0; 16], [2.0; 16]]; // 2 x 1, the same in all samples
/// let mut c = [[0.0f64; 16]; 2];
/// lane_gemm((2, 1, 2), &a, (2, 1), &b, (1, 1), &mut c, (1, 1), Store::Set);
/// assert_eq!((c[0][7], c[1][7]), (5.0, 11.0));
/// ```
#[inline]
pub fn lane_gemm<T: Kernels>(
    (m, n, k): (usize, usize, usize),
    a: &[T],
    a_stride: (usize, usize),
    b: &[Lane<T>],
    b_stride: (usize, usize),
    c: &mut [Lane<T>],
    c_stride: (usize, usize),
    store: Store,
) {
    if m == 0 || n == 0 {
        return;
    }
    assert!(inside(a.len(), (m, k), a_stride), "lane_gemm: A is too short");
    assert!(inside(b.len(), (k, n), b_stride), "lane_gemm: B is too short");
    assert!(inside(c.len(), (m, n), c_stride), "lane_gemm: C is too short");
    let lower = matches!(store, Store::SetLower | Store::AddLower);
    assert!(!lower || m == n, "lane_gemm: only a square result has halves");
    let (a_row, a_col) = used_strides((m, k), a_stride);
    let (b, b_row, b_col) = lanes(b, (k, n), b_stride);
    let (_, c_row, c_col) = lanes(c, (m, n), c_stride);
    let (a, c) = (a.as_ptr(), c.as_mut_ptr().cast());
    let add = matches!(store, Store::Add | Store::AddLower);
    let g = Product { m, n, k, a, a_row, a_col, b, b_row, b_col, c, c_row, c_col, add, lower };
    // SAFETY: the asserts bound every offset; C is borrowed exclusively, so it overlaps neither A nor B.
    unsafe { T::lane_product(RawProduct(g)) }
}

/// G <- G + sum over the samples of D B: D (m, k) and B (k, n) of any strides, G (m, n) plain.
///
/// # Panics
/// If a slice is too short for its shape and strides: a programming error.
#[inline]
pub fn lane_gradient<T: Kernels>(
    (m, n, k): (usize, usize, usize),
    d: &[Lane<T>],
    d_stride: (usize, usize),
    b: &[Lane<T>],
    b_stride: (usize, usize),
    g: &mut [T],
    g_row: usize,
) {
    if m == 0 || n == 0 {
        return;
    }
    assert!(inside(d.len(), (m, k), d_stride), "lane_gradient: D is too short");
    assert!(inside(b.len(), (k, n), b_stride), "lane_gradient: B is too short");
    assert!(inside(g.len(), (m, n), (g_row, 1)) && (m == 1 || n <= g_row), "lane_gradient: G is too short");
    let (d, d_row, d_col) = lanes(d, (m, k), d_stride);
    let (b, b_row, b_col) = lanes(b, (k, n), b_stride);
    let (g, g_row) = (g.as_mut_ptr(), used_strides((m, n), (g_row, 1)).0);
    let g = LaneSum { m, n, k, d, d_row, d_col, b, b_row, b_col, g, g_row };
    // SAFETY: the asserts bound every offset; G is borrowed exclusively, so it overlaps neither D nor B.
    unsafe { T::lane_sum(RawLaneSum(g)) }
}

/// Puts up to sixteen samples into lanes: `to[i][l] = sample(l)[i]`. Lanes beyond `count` become zero.
///
/// # Panics
/// If a sample is shorter than `to`, or `count` is not between 1 and 16: a programming error.
pub fn lane_put<'s, T: Kernels + Float + 's>(count: usize, sample: impl Fn(usize) -> &'s [T], to: &mut [Lane<T>]) {
    assert!((1..=LANES).contains(&count), "lane_put: 1 to 16 samples");
    let mut rows = [std::ptr::null(); LANES];
    for (l, row) in rows.iter_mut().enumerate() {
        // Idle lanes read the first sample and are cleared below.
        let s = sample(if l < count { l } else { 0 });
        assert!(s.len() >= to.len(), "lane_put: a sample is too short");
        *row = s.as_ptr();
    }
    // SAFETY: every row holds at least `to.len()` numbers, and `to` sixteen times as many.
    unsafe { T::lane_pack(&rows, to.len(), to.as_mut_ptr().cast()) }
    if count < LANES {
        to.iter_mut().for_each(|entry| entry[count..].fill(T::zero()));
    }
}

/// Sets out <- (out - y) mask, and returns the sum of its squares for each sample.
pub fn lane_residual<T: Kernels>(out: &mut [Lane<T>], y: &[Lane<T>], mask: Option<&[Lane<T>]>) -> Lane<T> {
    assert!(out.len() == y.len() && mask.is_none_or(|m| m.len() == y.len()), "lane_residual: lengths differ");
    T::lane_residual(out, y, mask)
}

#[inline(always)]
pub(crate) fn lane_residual_body<T: Float>(out: &mut [Lane<T>], y: &[Lane<T>], mask: Option<&[Lane<T>]>) -> Lane<T> {
    let flat = out.as_flattened_mut();
    flat.iter_mut().zip(y.as_flattened()).for_each(|(o, &y)| *o = *o - y);
    if let Some(mask) = mask {
        flat.iter_mut().zip(mask.as_flattened()).for_each(|(o, &m)| *o = *o * m);
    }
    // Four running sums in a fixed order, so that no addition waits for the one before it.
    let mut sums = [T::zero(); 4 * LANES];
    let (fours, rest) = flat.as_chunks::<{ 4 * LANES }>();
    for four in fours {
        for l in 0..4 * LANES {
            sums[l] = sums[l] + four[l] * four[l];
        }
    }
    sums.iter_mut().zip(rest).for_each(|(s, &x)| *s = *s + x * x);
    let mut total = [T::zero(); LANES];
    for sum in sums.chunks_exact(LANES) {
        for l in 0..LANES {
            total[l] = total[l] + sum[l];
        }
    }
    total
}
