//! Products of small matrices and vector loops: what one training step needs.
//!
//! Nothing here packs, allocates or starts threads. The instruction set is chosen at run time, in `simd`.
//!
//! | file | what it holds |
//! |---|---|
//! | `product_tile` | C (+)= A B, one register tile at a time |
//! | `row_dots` | C = A B^T as dot products of long rows |
//! | `loops` | Adam's update, residuals and sums in one pass over the data |

mod loops;
mod product_tile;
mod row_dots;

use crate::simd::dispatch::{RawDots, RawProduct};
use crate::simd::{Product, inside, used_strides};
pub use loops::{AdamStep, adam_step, add_to, prefetch, residual};
pub(crate) use loops::{adam_body, add_body, residual_body};
pub(crate) use product_tile::product;
pub(crate) use row_dots::{Dots, dots};

pub use crate::simd::dispatch::Kernels;

/// C (+)= A B with A (m, k) of any strides, and B (k, n), C (m, n) with contiguous rows.
///
/// For the small matrices of a training step: it packs nothing and allocates nothing. Large products, and products with
/// other strides, go through [`crate::gemm`].
///
/// # Panics
/// If a slice is too short for its shape and strides: a programming error.
///
/// ```
/// let (a, b) = ([1.0, 2.0, 3.0, 4.0], [1.0, 0.0, 1.0, 1.0]);
/// let mut c = [0.0f64; 4];
/// linalg::small::small_gemm((2, 2, 2), &a, (2, 1), &b, 2, &mut c, 2, false);
/// assert_eq!(c, [3.0, 2.0, 7.0, 4.0]);
/// ```
#[inline]
pub fn small_gemm<T: Kernels>(
    (m, n, k): (usize, usize, usize),
    a: &[T],
    (a_row, a_col): (usize, usize),
    b: &[T],
    b_row: usize,
    c: &mut [T],
    c_row: usize,
    add: bool,
) {
    if m == 0 || n == 0 {
        return;
    }
    assert!(inside(a.len(), (m, k), (a_row, a_col)), "small_gemm: A is too short");
    assert!(inside(b.len(), (k, n), (b_row, 1)), "small_gemm: B is too short");
    assert!(inside(c.len(), (m, n), (c_row, 1)) && (m == 1 || n <= c_row), "small_gemm: C is too short");
    let (a_row, a_col) = used_strides((m, k), (a_row, a_col));
    let (b_row, c_row) = (used_strides((k, n), (b_row, 1)).0, used_strides((m, n), (c_row, 1)).0);
    let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
    let g = Product { m, n, k, a, a_row, a_col, b, b_row, b_col: 1, c, c_row, c_col: 1, add, lower: false };
    // SAFETY: the asserts bound every offset; C is borrowed exclusively, so it overlaps neither A nor B.
    unsafe { T::product(RawProduct(g)) }
}

/// C = A B^T with A (m, k), B (n, k) and C (m, n), all with contiguous rows: few dot products of long rows.
///
/// # Panics
/// If a slice is too short for its shape: a programming error.
///
/// ```
/// let (a, b) = ([1.0, 2.0, 3.0, 4.0], [1.0, 1.0]);
/// let mut c = [0.0f64; 2];
/// linalg::small::row_dots((2, 1, 2), &a, 2, &b, 2, &mut c, 1);
/// assert_eq!(c, [3.0, 7.0]);
/// ```
pub fn row_dots<T: Kernels>(
    (m, n, k): (usize, usize, usize),
    a: &[T],
    a_row: usize,
    b: &[T],
    b_row: usize,
    c: &mut [T],
    c_row: usize,
) {
    if m == 0 || n == 0 {
        return;
    }
    assert!(inside(a.len(), (m, k), (a_row, 1)), "row_dots: A is too short");
    assert!(inside(b.len(), (n, k), (b_row, 1)), "row_dots: B is too short");
    assert!(inside(c.len(), (m, n), (c_row, 1)) && (m == 1 || n <= c_row), "row_dots: C is too short");
    let (a_row, b_row) = (used_strides((m, k), (a_row, 1)).0, used_strides((n, k), (b_row, 1)).0);
    let c_row = used_strides((m, n), (c_row, 1)).0;
    let g = Dots { m, n, k, a: a.as_ptr(), a_row, b: b.as_ptr(), b_row, c: c.as_mut_ptr(), c_row };
    // SAFETY: the asserts bound every offset; C is borrowed exclusively, so it overlaps neither A nor B.
    unsafe { T::dots(RawDots(g)) }
}
