//! The register tile of the small products: C (+)= A B for MR rows and NV vectors of C, and the loops around it.
//!
//! A is read one scalar at a time, so it may have any strides; rows of B and C must be contiguous. Nothing is packed: the
//! matrices of a training step fit into the first two caches, and the training step stores them in this layout.

use crate::simd::{Product, Simd};

/// Computes one tile, whose corner is `g.c`. `last` masks the last of its NV vectors, unless the tile is FULL: a mask takes
/// a register, and AMD's cores store under a mask lane by lane, so only tiles at the edge use one.
///
/// # Safety
/// Pointers and strides must describe live matrices with at least MR rows; the instruction set must be present.
#[inline(always)]
unsafe fn tile<S: Simd, const MR: usize, const NV: usize, const FULL: bool>(g: Product<S::Scalar>, last: S::Mask) {
    // SAFETY: all offsets stay inside the matrices described by `g`; the caller guarantees the rest.
    unsafe {
        let mut acc = [[S::zero(); NV]; MR];
        if g.add {
            for i in 0..MR {
                for j in 0..NV {
                    let at = g.c.add(i * g.c_row + j * S::LANES);
                    acc[i][j] = if j + 1 == NV && !FULL { S::load_part(at, last) } else { S::load(at) };
                }
            }
        }
        let (mut a, mut b) = (g.a, g.b);
        for _ in 0..g.k {
            step::<S, MR, NV, FULL>(a, g.a_row, b, last, &mut acc);
            // The last step leaves the matrix; nothing is read there.
            a = a.wrapping_add(g.a_col);
            b = b.wrapping_add(g.b_row);
        }
        for i in 0..MR {
            let row = g.c.add(i * g.c_row);
            for j in 0..NV {
                let at = row.add(j * S::LANES);
                if j + 1 == NV && !FULL {
                    S::store_part(at, last, acc[i][j]);
                } else {
                    S::store(at, acc[i][j]);
                }
            }
        }
    }
}

/// Adds one column of A times one row of B to the tile.
///
/// # Safety
/// As [`tile`].
#[inline(always)]
unsafe fn step<S: Simd, const MR: usize, const NV: usize, const FULL: bool>(
    a: *const S::Scalar,
    a_row: usize,
    b: *const S::Scalar,
    last: S::Mask,
    acc: &mut [[S::Vector; NV]; MR],
) {
    // SAFETY: as `tile`.
    unsafe {
        let mut v = [S::zero(); NV];
        for j in 0..NV {
            let at = b.add(j * S::LANES);
            v[j] = if j + 1 == NV && !FULL { S::load_part(at, last) } else { S::load(at) };
        }
        for i in 0..MR {
            let x = S::splat(*a.add(i * a_row));
            for j in 0..NV {
                acc[i][j] = S::fma(x, v[j], acc[i][j]);
            }
        }
    }
}

/// Computes a tile of `rows` rows.
///
/// # Safety
/// As [`tile`], with 1 <= rows <= S::ROWS[NV - 1].
#[inline(always)]
unsafe fn rows<S: Simd, const NV: usize, const FULL: bool>(rows: usize, g: Product<S::Scalar>, last: S::Mask) {
    let most = S::ROWS[NV - 1];
    // SAFETY: passed on.
    unsafe {
        match rows {
            1 => tile::<S, 1, NV, FULL>(g, last),
            2 => tile::<S, 2, NV, FULL>(g, last),
            3 => tile::<S, 3, NV, FULL>(g, last),
            4 => tile::<S, 4, NV, FULL>(g, last),
            5 if most >= 5 => tile::<S, 5, NV, FULL>(g, last),
            6 if most >= 6 => tile::<S, 6, NV, FULL>(g, last),
            7 if most >= 7 => tile::<S, 7, NV, FULL>(g, last),
            8 if most >= 8 => tile::<S, 8, NV, FULL>(g, last),
            _ => unreachable!("tiles are at most S::ROWS high"),
        }
    }
}

/// Computes all rows of a panel of NV vectors, whose corner is `g.c`.
///
/// # Safety
/// As [`tile`].
#[inline(always)]
unsafe fn panel<S: Simd, const NV: usize>(g: Product<S::Scalar>, last: usize) {
    let full = last == S::LANES && !S::FREE_MASKS;
    // A mask that needs a register: six rows of two vectors leave none for it.
    let most = S::ROWS[NV - 1].min(if full || S::FREE_MASKS { usize::MAX } else { 5 });
    let strips = g.m.div_ceil(most);
    let mut row = 0;
    for strip in 0..strips {
        let end = g.m * (strip + 1) / strips;
        let mut t = g;
        // SAFETY: strips partition the rows; a panel whose last vector is full needs no mask.
        unsafe {
            t.a = g.a.add(row * g.a_row);
            t.c = g.c.add(row * g.c_row);
            let mask = S::mask(last);
            if full {
                rows::<S, NV, true>(end - row, t, mask);
            } else {
                rows::<S, NV, false>(end - row, t, mask);
            }
        }
        row = end;
    }
}

/// Computes C (+)= A B tile by tile, in an order that depends on the shape alone.
///
/// # Safety
/// `g` must describe live matrices, C apart from A and B; the instruction set must be present.
#[inline(always)]
pub(crate) unsafe fn product<S: Simd>(mut g: Product<S::Scalar>) {
    if g.m == 0 || g.n == 0 {
        return;
    }
    if g.m == 1 {
        // One row has one sum per vector: only a wide tile hides the latency of a multiply-add.
        const WIDE: usize = 8;
        while g.n >= WIDE * S::LANES {
            // SAFETY: the tile has whole vectors inside the row; what follows it stays inside by the same count.
            unsafe { tile::<S, 1, WIDE, true>(g, S::mask(S::LANES)) };
            g.b = g.b.wrapping_add(WIDE * S::LANES);
            g.c = g.c.wrapping_add(WIDE * S::LANES);
            g.n -= WIDE * S::LANES;
        }
        if g.n == 0 {
            return;
        }
    }
    let vectors = g.n.div_ceil(S::LANES);
    let panels = (vectors - S::MORE.min(vectors - 1)).div_ceil(S::COLS);
    let depth = g.k;
    let passes = depth.div_ceil(S::DEPTH).max(1);
    let mut from = 0;
    // SAFETY: tiles partition C; their offsets stay inside by construction.
    unsafe {
        for pass in 0..passes {
            g.k = depth * (pass + 1) / passes - from;
            let mut done = 0;
            for number in 0..panels {
                let next = vectors * (number + 1) / panels;
                let (first, nv) = (done * S::LANES, next - done);
                done = next;
                let last = (g.n - (next - 1) * S::LANES).min(S::LANES);
                let mut t = g;
                t.a = g.a.add(from * g.a_col);
                t.b = g.b.add(from * g.b_row + first);
                t.c = g.c.add(first);
                match nv {
                    1 => panel::<S, 1>(t, last),
                    2 if S::COLS + S::MORE >= 2 => panel::<S, 2>(t, last),
                    3 if S::COLS + S::MORE >= 3 => panel::<S, 3>(t, last),
                    _ => unreachable!("panels are at most S::COLS + S::MORE wide"),
                }
            }
            from += g.k;
            g.add = true;
        }
    }
}
