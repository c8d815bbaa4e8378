//! Dot products of long rows: C = A B^T, where the rows of both A and B are contiguous.

use crate::simd::Simd;

/// C (m, n) = A (m, k) B (n, k)^T: shapes, pointers and strides. A stride counts numbers.
#[derive(Clone, Copy)]
pub(crate) struct Dots<T> {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub a: *const T,
    pub a_row: usize,
    pub b: *const T,
    pub b_row: usize,
    pub c: *mut T,
    pub c_row: usize,
}

/// Multiplies MR rows of A with NR rows of B. MR NR <= 16, so that all sums over lanes are taken at once.
///
/// # Safety
/// `g` must describe live matrices of at least MR and NR rows, C apart from A and B; the instruction set must be present.
#[inline(always)]
unsafe fn tile<S: Simd, const MR: usize, const NR: usize>(g: Dots<S::Scalar>) {
    // SAFETY: all offsets stay inside the rows; the caller guarantees the rest.
    unsafe {
        let mut acc = [[S::zero(); NR]; MR];
        let whole = g.k - g.k % S::LANES;
        for at in (0..whole).step_by(S::LANES) {
            let mut v = [S::zero(); NR];
            for j in 0..NR {
                v[j] = S::load(g.b.add(j * g.b_row + at));
            }
            for i in 0..MR {
                let x = S::load(g.a.add(i * g.a_row + at));
                for j in 0..NR {
                    acc[i][j] = S::fma(x, v[j], acc[i][j]);
                }
            }
        }
        if whole < g.k {
            let mask = S::mask(g.k - whole);
            for i in 0..MR {
                let x = S::load_part(g.a.add(i * g.a_row + whole), mask);
                for j in 0..NR {
                    acc[i][j] = S::fma(x, S::load_part(g.b.add(j * g.b_row + whole), mask), acc[i][j]);
                }
            }
        }
        let mut all = [S::zero(); 16];
        for i in 0..MR {
            all[i * NR..(i + 1) * NR].copy_from_slice(&acc[i]);
        }
        let sums = S::sums(&all);
        for i in 0..MR {
            for j in 0..NR {
                *g.c.add(i * g.c_row + j) = sums[i * NR + j];
            }
        }
    }
}

/// Computes all of C, in an order that depends on the shape alone.
///
/// # Safety
/// `g` must describe live matrices, C apart from A and B; the instruction set must be present.
#[inline(always)]
pub(crate) unsafe fn dots<S: Simd>(g: Dots<S::Scalar>) {
    const ROWS: usize = 4;
    const COLS: usize = 3;
    let mut row = 0;
    while row < g.m {
        let rows = if g.m - row >= ROWS { ROWS } else { 1 };
        let mut col = 0;
        while col < g.n {
            let cols = if g.n - col >= COLS { COLS } else { 1 };
            // SAFETY: tiles partition C; their offsets stay inside by construction.
            unsafe {
                let mut t = g;
                t.a = g.a.add(row * g.a_row);
                t.b = g.b.add(col * g.b_row);
                t.c = g.c.add(row * g.c_row + col);
                match (rows, cols) {
                    (ROWS, COLS) => tile::<S, ROWS, COLS>(t),
                    (ROWS, _) => tile::<S, ROWS, 1>(t),
                    (_, COLS) => tile::<S, 1, COLS>(t),
                    _ => tile::<S, 1, 1>(t),
                }
            }
            col += cols;
        }
        row += rows;
    }
}
