//! The register tiles of the batched gradient: G <- G + sum over the samples of D B.

use crate::simd::{Simd, Tile, add_tiles, tile_sums};

/// G <- G + sum over samples of D B, with D (m, k) and B (k, n) of sixteen numbers per entry and G (m, n) plain.
#[derive(Clone, Copy)]
pub(crate) struct LaneSum<T> {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub d: *const T,
    pub d_row: usize,
    pub d_col: usize,
    pub b: *const T,
    pub b_row: usize,
    pub b_col: usize,
    pub g: *mut T,
    pub g_row: usize,
}

/// Columns of G per pass. The columns of B in use stay in the first cache while all rows of D pass over them.
const PASS: usize = 12;

/// Computes MR rows and up to NV columns of G. MR NV <= 16, so that all sums over lanes are taken at once.
///
/// # Safety
/// Pointers and strides must describe live matrices with at least MR rows and `cols` columns, 1 <= cols <= NV; the
/// instruction set must be present.
#[inline(always)]
unsafe fn sum_tile<S: Simd, const MR: usize, const NV: usize>(g: LaneSum<S::Scalar>, cols: usize) {
    // SAFETY: passed on; columns beyond the last are not written.
    unsafe {
        let part = |i| running_sums::<S, MR, NV>(g, cols, i * S::LANES);
        let tile = match S::PARTS {
            1 => part(0),
            2 => add_tiles::<S, MR, NV>(part(0), part(1)),
            _ => {
                let even = add_tiles::<S, MR, NV>(part(0), part(2));
                add_tiles::<S, MR, NV>(even, add_tiles::<S, MR, NV>(part(1), part(3)))
            }
        };
        let sums = tile_sums::<S, MR, NV>(tile);
        for i in 0..MR {
            let row = g.g.add(i * g.g_row);
            for j in 0..cols {
                *row.add(j) = S::plus(*row.add(j), sums[i * NV + j]);
            }
        }
    }
}

/// The sums over k for samples `first` .. `first + LANES`.
///
/// # Safety
/// As [`sum_tile`].
#[inline(always)]
unsafe fn running_sums<S: Simd, const MR: usize, const NV: usize>(
    g: LaneSum<S::Scalar>,
    cols: usize,
    first: usize,
) -> Tile<S, MR, NV> {
    // SAFETY: all offsets stay inside the matrices; columns beyond the last read the last.
    unsafe {
        let mut acc = [[S::zero(); NV]; MR];
        let mut at = [0; NV];
        for j in 0..NV {
            at[j] = j.min(cols - 1) * g.b_col;
        }
        let (mut d, mut b) = (g.d.wrapping_add(first), g.b.wrapping_add(first));
        for _ in 0..g.k {
            let mut v = [S::zero(); NV];
            for j in 0..NV {
                v[j] = S::load(b.add(at[j]));
            }
            for i in 0..MR {
                let x = S::load(d.add(i * g.d_row));
                for j in 0..NV {
                    acc[i][j] = S::fma(x, v[j], acc[i][j]);
                }
            }
            // The last step leaves the matrix; nothing is read there.
            d = d.wrapping_add(g.d_col);
            b = b.wrapping_add(g.b_row);
        }
        acc
    }
}

/// The first MR rows of G.
///
/// # Safety
/// As [`sum_tile`].
#[inline(always)]
unsafe fn sum_rows<S: Simd, const MR: usize, const NV: usize>(mut g: LaneSum<S::Scalar>) {
    // SAFETY: tiles partition the rows.
    unsafe {
        while g.n >= NV {
            sum_tile::<S, MR, NV>(g, NV);
            g.n -= NV;
            g.b = g.b.wrapping_add(NV * g.b_col);
            g.g = g.g.wrapping_add(NV);
        }
        if g.n > 0 {
            sum_tile::<S, MR, NV>(g, g.n);
        }
    }
}

/// G <- G + sum over samples of D B, in an order that depends on the shape alone.
///
/// # Safety
/// `g` must describe live matrices, G apart from D and B; the instruction set must be present.
#[inline(always)]
pub(crate) unsafe fn lane_sum<S: Simd>(g: LaneSum<S::Scalar>) {
    let (high, wide) = S::SUM_TILE;
    let strips = g.m.div_ceil(high);
    for col in (0..g.n).step_by(PASS) {
        let mut row = 0;
        for strip in 0..strips {
            let end = g.m * (strip + 1) / strips;
            // SAFETY: these parts partition G; their offsets stay inside by construction.
            unsafe {
                let mut t = g;
                t.n = (g.n - col).min(PASS);
                t.d = g.d.add(row * g.d_row);
                t.b = g.b.add(col * g.b_col);
                t.g = g.g.add(row * g.g_row + col);
                match end - row {
                    1 => sum_rows::<S, 1, 12>(t),
                    2 => sum_rows::<S, 2, 6>(t),
                    3 => sum_rows::<S, 3, 4>(t),
                    4 if wide == 4 => sum_rows::<S, 4, 4>(t),
                    4 if wide == 2 => sum_rows::<S, 4, 2>(t),
                    5 if high >= 5 => sum_rows::<S, 5, 2>(t),
                    6 if high >= 6 => sum_rows::<S, 6, 2>(t),
                    _ => unreachable!("tiles are as S::SUM_TILE says"),
                }
            }
            row = end;
        }
    }
}
