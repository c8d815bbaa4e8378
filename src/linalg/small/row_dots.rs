//! Dot products of long rows: C = A B^T, where the rows of both A and B are contiguous.

use crate::batch::LANES;
use crate::simd::{Simd, Tile, add_tiles, tile_sums};

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
    // SAFETY: passed on.
    unsafe {
        let part = |i| running_sums::<S, MR, NR>(g, i * S::LANES);
        let tile = match S::PARTS {
            1 => part(0),
            2 => add_tiles::<S, MR, NR>(part(0), part(1)),
            _ => {
                let even = add_tiles::<S, MR, NR>(part(0), part(2));
                add_tiles::<S, MR, NR>(even, add_tiles::<S, MR, NR>(part(1), part(3)))
            }
        };
        let sums = tile_sums::<S, MR, NR>(tile);
        for i in 0..MR {
            for j in 0..NR {
                *g.c.add(i * g.c_row + j) = sums[i * NR + j];
            }
        }
    }
}

/// Running sums `first` .. `first + LANES` of the sixteen of each dot product.
///
/// # Safety
/// As [`tile`].
#[inline(always)]
unsafe fn running_sums<S: Simd, const MR: usize, const NR: usize>(g: Dots<S::Scalar>, first: usize) -> Tile<S, MR, NR> {
    // SAFETY: all offsets stay inside the rows; the caller guarantees the rest.
    unsafe {
        let mut acc = [[S::zero(); NR]; MR];
        let whole = g.k - g.k % LANES;
        for at in (first..whole).step_by(LANES) {
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
        let at = whole + first;
        if at < g.k {
            let mask = S::mask((g.k - at).min(S::LANES));
            for i in 0..MR {
                let x = S::load_part(g.a.add(i * g.a_row + at), mask);
                for j in 0..NR {
                    acc[i][j] = S::fma(x, S::load_part(g.b.add(j * g.b_row + at), mask), acc[i][j]);
                }
            }
        } else if whole < g.k {
            // A wider vector adds zeros here, which turns a sum of -0 into +0.
            for i in 0..MR {
                for j in 0..NR {
                    acc[i][j] = S::add(acc[i][j], S::zero());
                }
            }
        }
        acc
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
