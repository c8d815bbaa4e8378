//! Products of strided views: C = alpha A B + beta C, in the one arithmetic of [`crate::simd`].
//!
//! Blocks of B (and of A and C, where their strides do not suit) are copied into contiguous buffers, and the register tiles
//! of the small products do the rest. Sums start from what is there and go in the order of k, so the sizes of the blocks
//! change the speed and no bit.

use crate::Real;
use crate::simd::Product;
use crate::simd::dispatch::RawProduct;
use ndarray::{Array2, ArrayView2, ArrayViewMut2, s};

/// Rows of A, columns of B and the depth of a block. A block of B (256 x 96 numbers) stays in the second cache while all
/// rows of A pass over it.
const ROWS: usize = 96;
const COLS: usize = 96;
const DEPTH: usize = 256;
/// With so few rows of A a copy of B does not pay.
const FEW_ROWS: usize = 8;

/// The sum of x_i y_i, in eight running sums, because a single one makes every addition wait for the one before. The order of the
/// sums is fixed, so the bits are the same on every machine.
///
/// # Panics
/// If the lengths differ: a programming error.
///
/// ```
/// assert_eq!(linalg::dot(&[1.0, 2.0], &[3.0, 4.0]), 11.0);
/// ```
pub fn dot<T: Real>(x: &[T], y: &[T]) -> T {
    assert_eq!(x.len(), y.len(), "dot: lengths");
    let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<8>(), y.as_chunks::<8>());
    let mut sums = [T::of(0.0); 8];
    for (x, y) in x.iter().zip(y) {
        for i in 0..8 {
            sums[i] += x[i] * y[i];
        }
    }
    sums.into_iter().sum::<T>() + x_rest.iter().zip(y_rest).map(|(x, y)| *x * *y).sum::<T>()
}

/// C <- alpha A B + beta C on the calling thread. `beta = 0` overwrites C without reading it.
///
/// A is multiplied by alpha first. Results do not depend on the strides of the views.
///
/// # Panics
/// If the shapes do not fit: a programming error, since public entry points check shapes before they get here.
///
/// ```
/// use ndarray::{array, Array2};
/// let a = array![[1.0, 2.0], [3.0, 4.0]];
/// let mut c = Array2::<f64>::zeros((2, 2));
/// linalg::gemm(1.0, a.view(), a.t(), 0.0, c.view_mut());
/// assert_eq!(c, array![[5.0, 11.0], [11.0, 25.0]]);
/// ```
pub fn gemm<T: Real>(alpha: T, a: ArrayView2<'_, T>, b: ArrayView2<'_, T>, beta: T, mut c: ArrayViewMut2<'_, T>) {
    assert_eq!((a.nrows(), b.ncols()), c.dim(), "gemm: result shape");
    assert_eq!(a.ncols(), b.nrows(), "gemm: inner dimension");
    let add = beta != T::of(0.0);
    if add && beta != T::of(1.0) {
        c.mapv_inplace(|v| v * beta);
    }
    if alpha != T::of(1.0) {
        let scaled = a.mapv(|v| v * alpha);
        return product(scaled.view(), b, c, add);
    }
    product(a, b, c, add);
}

/// A B as a new array.
pub fn matmul<T: Real>(a: ArrayView2<'_, T>, b: ArrayView2<'_, T>) -> Array2<T> {
    let mut c = Array2::zeros((a.nrows(), b.ncols()));
    gemm(T::of(1.0), a, b, T::of(0.0), c.view_mut());
    c
}

/// Whether the rows of a matrix are contiguous and follow each other forwards.
fn by_rows<T>(m: &ArrayView2<'_, T>) -> bool {
    let (rows, cols) = m.dim();
    (cols <= 1 || m.strides()[1] == 1) && (rows <= 1 || m.strides()[0] >= cols as isize)
}

/// C (+)= A B.
pub(super) fn product<T: Real>(a: ArrayView2<'_, T>, b: ArrayView2<'_, T>, mut c: ArrayViewMut2<'_, T>, add: bool) {
    if c.is_empty() {
        return;
    }
    if a.ncols() == 0 {
        return if !add {
            c.fill(T::of(0.0))
        };
    }
    if by_rows(&c.view()) {
        return blocks(a, b, c, add);
    }
    if by_rows(&c.view().reversed_axes()) {
        // C^T (+)= B^T A^T has the same terms in the same order.
        return blocks(b.reversed_axes(), a.reversed_axes(), c.reversed_axes(), add);
    }
    let mut copy = c.as_standard_layout().into_owned();
    blocks(a, b, copy.view_mut(), add);
    c.assign(&copy);
}

/// C (+)= A B, where the rows of C are contiguous and no matrix is empty.
fn blocks<T: Real>(a: ArrayView2<'_, T>, b: ArrayView2<'_, T>, mut c: ArrayViewMut2<'_, T>, add: bool) {
    let ((m, k), n) = (a.dim(), b.ncols());
    // The stride of an axis of length one means nothing, and a copy may keep it.
    if a.shape().iter().zip(a.strides()).any(|(length, stride)| *length > 1 && *stride < 0) {
        return blocks(a.as_standard_layout().view(), b, c, add);
    }
    if by_rows(&b) && (n <= COLS || m <= FEW_ROWS) {
        return tiles(a, b, c, add);
    }
    let mut buffer = vec![T::of(0.0); DEPTH.min(k) * COLS.min(n)];
    for col in (0..n).step_by(COLS) {
        let cols = col..(col + COLS).min(n);
        for from in (0..k).step_by(DEPTH) {
            let depth = from..(from + DEPTH).min(k);
            let shape = (depth.len(), cols.len());
            let mut block = ArrayViewMut2::from_shape(shape, &mut buffer[..shape.0 * shape.1])
                .expect("the buffer holds the largest block, and this slice of it has the length of the shape");
            block.assign(&b.slice(s![depth.clone(), cols.clone()]));
            for row in (0..m).step_by(ROWS) {
                let rows = row..(row + ROWS).min(m);
                let part = c.slice_mut(s![rows.clone(), cols.clone()]);
                tiles(a.slice(s![rows, depth.clone()]), block.view(), part, add || from > 0);
            }
        }
    }
}

/// C (+)= A B by register tiles: A has strides that are not negative, and the rows of B and C are contiguous.
fn tiles<T: Real>(a: ArrayView2<'_, T>, b: ArrayView2<'_, T>, mut c: ArrayViewMut2<'_, T>, add: bool) {
    let ((m, k), n) = (a.dim(), b.ncols());
    let used = |count: usize, stride: isize| if count > 1 { stride as usize } else { 0 };
    let g = Product {
        m,
        n,
        k,
        a: a.as_ptr(),
        a_row: used(m, a.strides()[0]),
        a_col: used(k, a.strides()[1]),
        b: b.as_ptr(),
        b_row: used(k, b.strides()[0]),
        b_col: 1,
        c: c.as_mut_ptr(),
        c_row: used(m, c.strides()[0]),
        c_col: 1,
        add,
        lower: false,
    };
    // SAFETY: shapes and strides are those of live views, with rows as the kernel needs them; C is borrowed exclusively.
    unsafe { T::product(RawProduct(g)) }
}
