//! The register tile of the small products: C (+)= A B for MR rows and NV vectors of C, and the loops around it.
//!
//! A is read one scalar at a time, so any strides do; rows of B and C must be contiguous. Nothing is packed: the
//! matrices of a training step are small enough to sit in the first two caches, and its layouts are chosen to fit.

use crate::simd::Simd;

/// Columns of A per pass: a panel of B of this height stays in the first cache.
const DEPTH: usize = 256;

/// A product C (+)= A B: shapes, pointers and strides.
#[derive(Clone, Copy)]
pub(crate) struct Product<T> {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub a: *const T,
    pub a_row: usize,
    pub a_col: usize,
    pub b: *const T,
    pub b_row: usize,
    pub c: *mut T,
    pub c_row: usize,
    /// Add to C instead of overwriting it.
    pub add: bool,
}

/// One tile: `g.c` points at its corner, `last` masks the last of its NV vectors.
///
/// # Safety
/// Pointers and strides must describe live matrices with at least MR rows; the instruction set must be present.
#[inline(always)]
unsafe fn tile<S: Simd, const MR: usize, const NV: usize>(g: Product<S::Scalar>, last: S::Mask) {
    // SAFETY: all offsets stay inside the matrices described by `g`; the caller guarantees the rest.
    unsafe {
        let zero = S::zero();
        let mut acc = [[zero; NV]; MR];
        let mut odd = [[zero; NV]; MR];
        // A tile with few accumulators waits for the multiply-add's latency: it works on two depths at once.
        let two = MR * NV <= 6;
        let (mut a, mut b) = (g.a, g.b);
        let mut depth = g.k;
        while two && depth >= 2 {
            step::<S, MR, NV>(a, g.a_row, b, last, &mut acc);
            step::<S, MR, NV>(a.add(g.a_col), g.a_row, b.add(g.b_row), last, &mut odd);
            a = a.add(2 * g.a_col);
            b = b.add(2 * g.b_row);
            depth -= 2;
        }
        for _ in 0..depth {
            step::<S, MR, NV>(a, g.a_row, b, last, &mut acc);
            a = a.add(g.a_col);
            b = b.add(g.b_row);
        }
        for i in 0..MR {
            let row = g.c.add(i * g.c_row);
            for j in 0..NV {
                let at = row.add(j * S::LANES);
                let sum = if two { S::add(acc[i][j], odd[i][j]) } else { acc[i][j] };
                if j + 1 == NV {
                    let v = if g.add { S::add(S::load_part(at, last), sum) } else { sum };
                    S::store_part(at, last, v);
                } else {
                    let v = if g.add { S::add(S::load(at), sum) } else { sum };
                    S::store(at, v);
                }
            }
        }
    }
}

/// One depth of a tile.
///
/// # Safety
/// As [`tile`].
#[inline(always)]
unsafe fn step<S: Simd, const MR: usize, const NV: usize>(
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
            v[j] = if j + 1 == NV { S::load_part(at, last) } else { S::load(at) };
        }
        for i in 0..MR {
            let x = S::splat(*a.add(i * a_row));
            for j in 0..NV {
                acc[i][j] = S::fma(x, v[j], acc[i][j]);
            }
        }
    }
}

/// Dispatches a tile of `rows` rows.
///
/// # Safety
/// As [`tile`], with 1 <= rows <= 8.
#[inline(always)]
unsafe fn rows<S: Simd, const NV: usize>(rows: usize, g: Product<S::Scalar>, last: S::Mask) {
    // SAFETY: passed on.
    unsafe {
        match rows {
            1 => tile::<S, 1, NV>(g, last),
            2 => tile::<S, 2, NV>(g, last),
            3 => tile::<S, 3, NV>(g, last),
            4 => tile::<S, 4, NV>(g, last),
            5 if S::ROWS >= 8 => tile::<S, 5, NV>(g, last),
            6 if S::ROWS >= 8 => tile::<S, 6, NV>(g, last),
            7 if S::ROWS >= 8 => tile::<S, 7, NV>(g, last),
            _ if S::ROWS >= 8 => tile::<S, 8, NV>(g, last),
            _ => unreachable!("tiles are at most S::ROWS high"),
        }
    }
}

/// C (+)= A B over all tiles, in an order that depends on the shape alone.
///
/// # Safety
/// `g` must describe live matrices, C apart from A and B; the instruction set must be present.
#[inline(always)]
pub(crate) unsafe fn product<S: Simd>(mut g: Product<S::Scalar>) {
    if g.m == 0 || g.n == 0 {
        return;
    }
    let vectors = g.n.div_ceil(S::LANES);
    let panels = vectors.div_ceil(S::COLS);
    let strips = g.m.div_ceil(S::ROWS);
    let depth = g.k;
    let mut from = 0;
    // SAFETY: tiles partition C; their offsets stay inside by construction.
    unsafe {
        loop {
            g.k = (depth - from).min(DEPTH);
            let mut done = 0;
            for panel in 0..panels {
                let next = vectors * (panel + 1) / panels;
                let (first, nv) = (done * S::LANES, next - done);
                done = next;
                let last = S::mask((g.n - (next - 1) * S::LANES).min(S::LANES));
                let mut row = 0;
                for strip in 0..strips {
                    let end = g.m * (strip + 1) / strips;
                    let mut t = g;
                    t.a = g.a.add(row * g.a_row + from * g.a_col);
                    t.b = g.b.add(from * g.b_row + first);
                    t.c = g.c.add(row * g.c_row + first);
                    match nv {
                        1 => rows::<S, 1>(end - row, t, last),
                        2 if S::COLS >= 2 => rows::<S, 2>(end - row, t, last),
                        _ if S::COLS >= 3 => rows::<S, 3>(end - row, t, last),
                        _ => unreachable!("panels are at most S::COLS wide"),
                    }
                    row = end;
                }
            }
            from += g.k;
            if from >= depth {
                break;
            }
            g.add = true;
        }
    }
}
