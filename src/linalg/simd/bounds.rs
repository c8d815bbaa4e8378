//! Checks that a strided matrix lies inside its slice, without arithmetic that wraps around.

/// Whether every entry of a (rows, cols) matrix with these strides lies inside a slice of `len` numbers.
#[inline]
pub(crate) fn inside(len: usize, (rows, cols): (usize, usize), (row, col): (usize, usize)) -> bool {
    if rows == 0 || cols == 0 {
        return true;
    }
    let last = |count: usize, stride: usize| (count - 1).checked_mul(stride);
    let end = last(rows, row).zip(last(cols, col)).and_then(|(r, c)| r.checked_add(c));
    end.is_some_and(|end| end < len)
}

/// The strides as the kernels take them: zero where a matrix has no second row (or column) and the stride is never used, so
/// that no product of it can wrap around.
#[inline]
pub(crate) fn used_strides((rows, cols): (usize, usize), (row, col): (usize, usize)) -> (usize, usize) {
    (if rows > 1 && cols > 0 { row } else { 0 }, if cols > 1 && rows > 0 { col } else { 0 })
}
