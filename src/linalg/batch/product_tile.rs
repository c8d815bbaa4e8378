//! The register tiles of the batched product C (+)= A B, and the loops around them.
//!
//! A (m, k) holds plain numbers that all samples share; every entry of B (k, n) and C (m, n) is sixteen numbers, one per sample.
//! Each multiply-add therefore uses whole vectors whatever the shape, and a transpose costs nothing, because every stride is as
//! good as any other.

use super::LANES;
use crate::simd::{Product, Simd};

/// Computes one tile of C. With LOWER, entries above its diagonal are left out.
///
/// # Safety
/// Pointers and strides must describe live matrices with at least MR rows and NV columns; the instruction set must be
/// present.
#[inline(always)]
unsafe fn tile<S: Simd, const MR: usize, const NV: usize, const LOWER: bool>(g: Product<S::Scalar>) {
    // SAFETY: all offsets stay inside the matrices described by `g`; the caller guarantees the rest.
    unsafe {
        let mut acc = [[S::zero(); NV]; MR];
        if g.add {
            for i in 0..MR {
                for j in 0..NV {
                    if !LOWER || i >= j {
                        acc[i][j] = S::load(g.c.add(i * g.c_row + j * g.c_col));
                    }
                }
            }
        }
        let (mut a, mut b) = (g.a, g.b);
        for _ in 0..g.k {
            let mut v = [S::zero(); NV];
            for j in 0..NV {
                v[j] = S::load(b.add(j * g.b_col));
            }
            for i in 0..MR {
                let x = S::splat(*a.add(i * g.a_row));
                for j in 0..NV {
                    if !LOWER || i >= j {
                        acc[i][j] = S::fma(x, v[j], acc[i][j]);
                    }
                }
            }
            // The last step leaves the matrix; nothing is read there.
            a = a.wrapping_add(g.a_col);
            b = b.wrapping_add(g.b_row);
        }
        for i in 0..MR {
            for j in 0..NV {
                if LOWER && i < j {
                    continue;
                }
                S::store(g.c.add(i * g.c_row + j * g.c_col), acc[i][j]);
            }
        }
    }
}

/// Computes `count` tiles below each other, so that the match on the shape of a tile happens rarely. If sixteen samples
/// take several vectors, these follow each other while their cache lines are in the first cache.
///
/// # Safety
/// As [`tile`], for `count` MR rows.
#[inline(always)]
unsafe fn strip<S: Simd, const MR: usize, const NV: usize, const LOWER: bool>(mut g: Product<S::Scalar>, count: usize) {
    for _ in 0..count {
        // SAFETY: the caller vouches for all rows and for sixteen numbers per entry.
        unsafe {
            for part in (0..LANES).step_by(S::LANES) {
                tile::<S, MR, NV, LOWER>(Product { b: g.b.add(part), c: g.c.add(part), ..g });
            }
            g.a = g.a.wrapping_add(MR * g.a_row);
            g.c = g.c.wrapping_add(MR * g.c_row);
        }
    }
}

/// Whether a tile of this shape is compiled for the instruction set.
#[inline(always)]
fn fits<S: Simd>(rows: usize, cols: usize) -> bool {
    rows <= S::LANE_TILE.0 && cols <= S::LANE_TILE.1
}

/// Calls a function of two constants by two numbers, at most those of S::LANE_TILE.
macro_rules! by_shape {
    ($rows:expr, $cols:expr, |$m:ident, $n:ident| $call:expr, $(($a:literal, $b:literal)),*) => {
        match ($rows, $cols) {
            $(($a, $b) if fits::<S>($a, $b) => {
                const $m: usize = $a;
                const $n: usize = $b;
                $call
            })*
            _ => unreachable!("tiles are at most as high and wide as S::LANE_TILE"),
        }
    };
}

/// Tiles of `rows` x `cols`, `count` of them below each other; or one on the diagonal, of which the lower half counts.
///
/// # Safety
/// As [`tile`].
#[inline(always)]
#[rustfmt::skip] // one height per line
unsafe fn run<S: Simd>(rows: usize, cols: usize, count: usize, diagonal: bool, g: Product<S::Scalar>) {
    // SAFETY: passed on.
    unsafe {
        if diagonal {
            return by_shape!(rows, rows, |M, N| strip::<S, M, N, true>(g, 1), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5));
        }
        by_shape!(
            rows, cols, |M, N| strip::<S, M, N, false>(g, count),
            (6, 2), (6, 1),
            (5, 5), (5, 4), (5, 3), (5, 2), (5, 1),
            (4, 5), (4, 4), (4, 3), (4, 2), (4, 1),
            (3, 5), (3, 4), (3, 3), (3, 2), (3, 1),
            (2, 5), (2, 4), (2, 3), (2, 2), (2, 1),
            (1, 5), (1, 4), (1, 3), (1, 2), (1, 1)
        );
    }
}

/// How `n` rows or columns are cut into parts of at most `most`: the number of parts, the size of the smaller ones, and
/// how many are larger by one; these come first.
#[inline(always)]
fn split(n: usize, most: usize) -> (usize, usize, usize) {
    let parts = n.div_ceil(most);
    (parts, n / parts.max(1), n % parts.max(1))
}

/// C (+)= A B over all tiles, in an order that depends on the shape alone.
///
/// # Safety
/// `g` must describe live matrices, C apart from A and B; the instruction set must be present.
#[inline(always)]
pub(crate) unsafe fn lane_product<S: Simd>(g: Product<S::Scalar>) {
    let (high, most) = S::LANE_TILE;
    let (panels, width, wide) = split(g.n, most);
    let mut col = 0;
    for panel in 0..panels {
        let cols = width + usize::from(panel < wide);
        let at = |row: usize| {
            let mut t = g;
            // SAFETY: inside the matrices, since row < m and col < n; only used where there are rows.
            unsafe {
                t.a = g.a.add(row * g.a_row);
                t.b = g.b.add(col * g.b_col);
                t.c = g.c.add(row * g.c_row + col * g.c_col);
            }
            t
        };
        // SAFETY: tiles partition C (or cover its lower half); their offsets stay inside by construction.
        unsafe {
            let mut row = if g.lower { col } else { 0 };
            // A narrow tile computes few entries above the diagonal; for a square one it pays to leave them out.
            if g.lower && high == most {
                run::<S>(cols, cols, 1, true, at(row));
                row += cols;
            }
            let (strips, height, more) = split(g.m - row, high);
            if more > 0 {
                run::<S>(height + 1, cols, more, false, at(row));
                row += more * (height + 1);
            }
            if row < g.m {
                run::<S>(height, cols, strips - more, false, at(row));
            }
        }
        col += cols;
    }
}
