//! Copies rows of numbers into lanes.

use super::LANES;
use crate::simd::Simd;

/// Sixteen rows of `n` numbers become `n` entries of sixteen: `to[i * 16 + l] = rows[l][i]`.
///
/// # Safety
/// Each row must be valid for `n` reads, `to` for 16 n writes; the instruction set must be present.
#[inline(always)]
pub(crate) unsafe fn lane_pack<S: Simd>(rows: &[*const S::Scalar; LANES], n: usize, to: *mut S::Scalar) {
    // SAFETY: offsets are below n and 16 n.
    unsafe {
        let whole = n - n % S::PACK;
        for i in (0..whole).step_by(S::PACK) {
            S::transpose(rows, i, to.add(i * LANES));
        }
        for i in whole..n {
            for l in 0..LANES {
                *to.add(i * LANES + l) = *rows[l].add(i);
            }
        }
    }
}
