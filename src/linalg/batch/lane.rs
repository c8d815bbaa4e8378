//! The layout of a batch: entry (i, j) of all matrices of the batch is one array, one matrix per lane.
//!
//! A batch has sixteen lanes, or four where there are at most four matrices: square roots and quotients of short vectors
//! are faster. Rows are always read as vectors of sixteen numbers.

use num_traits::Float;

/// Lanes of a full batch: sixteen matrices.
pub const LANES: usize = 16;
/// Lanes of a batch of at most four matrices.
pub(crate) const FEW: usize = 4;
/// One entry of all matrices of a batch.
pub type Lane<T> = [T; LANES];

/// Applies a function of two numbers in every lane.
#[inline(always)]
pub(crate) fn zip<T: Float, const L: usize>(a: &[T; L], b: &[T; L], f: impl Fn(T, T) -> T) -> [T; L] {
    let mut out = [T::zero(); L];
    for l in 0..L {
        out[l] = f(a[l], b[l]);
    }
    out
}

/// Entries from one row of a matrix to the next: rows are filled up with zeros to whole vectors of sixteen numbers.
pub(crate) fn stride(n: usize, lanes: usize) -> usize {
    n.next_multiple_of(LANES / lanes)
}

/// L numbers repeated to sixteen, so that they can be combined with the vectors of a row.
#[inline(always)]
pub(crate) fn tiled<T: Float, const L: usize>(x: &[T; L]) -> Lane<T> {
    let mut out = [T::zero(); LANES];
    for l in 0..LANES {
        out[l] = x[l % L];
    }
    out
}

/// Adds sixteen numbers up to L: number i goes to lane i mod L.
#[inline(always)]
pub(crate) fn folded<T: Float, const L: usize>(x: &Lane<T>) -> [T; L] {
    let mut out = [T::zero(); L];
    for part in x.chunks_exact(L) {
        for l in 0..L {
            out[l] = out[l] + part[l];
        }
    }
    out
}

/// Row i as vectors of sixteen numbers.
#[inline(always)]
pub(crate) fn row<T, const L: usize>(m: &[[T; L]], i: usize, stride: usize) -> &[Lane<T>] {
    m[i * stride..(i + 1) * stride].as_flattened().as_chunks().0
}

/// Row i as vectors of sixteen numbers, to be changed.
#[inline(always)]
pub(crate) fn row_mut<T, const L: usize>(m: &mut [[T; L]], i: usize, stride: usize) -> &mut [Lane<T>] {
    m[i * stride..(i + 1) * stride].as_flattened_mut().as_chunks_mut().0
}

/// The dot product of two rows in every lane.
#[inline(always)]
pub(crate) fn dot<T: Float, const L: usize>(x: &[Lane<T>], y: &[Lane<T>]) -> [T; L] {
    let mut sum = [T::zero(); LANES];
    for (x, y) in x.iter().zip(y) {
        for l in 0..LANES {
            sum[l] = sum[l] + x[l] * y[l];
        }
    }
    folded(&sum)
}
