//! The register tiles of products over sixteen samples at once: every entry of a matrix is sixteen numbers, one a sample.
//!
//! Small matrices waste a vector unit: rows of 10 or 20 do not fill registers of 16. With one sample per lane every
//! multiply-add is full, whatever the shape, and any stride is as good as any other: a transpose costs nothing.

use crate::lanes::LANES;
use crate::simd::Simd;

/// C <- A B, with A (m, k) plain numbers shared by all samples, B (k, n) and C (m, n) of sixteen numbers per entry.
/// All strides count plain numbers.
#[derive(Clone, Copy)]
pub(crate) struct LaneProduct<T> {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub a: *const T,
    pub a_row: usize,
    pub a_col: usize,
    pub b: *const T,
    pub b_row: usize,
    pub b_col: usize,
    pub c: *mut T,
    pub c_row: usize,
    pub c_col: usize,
    /// C is known to be symmetric (m = n): its lower half is computed and mirrored.
    pub symmetric: bool,
}

/// One tile of C; with LOWER its upper half is left out.
///
/// # Safety
/// Pointers and strides must describe live matrices with at least MR rows and NV columns; the instruction set must be
/// present.
#[inline(always)]
unsafe fn tile<S: Simd, const MR: usize, const NV: usize, const LOWER: bool>(g: LaneProduct<S::Scalar>) {
    // SAFETY: all offsets stay inside the matrices described by `g`; the caller guarantees the rest.
    unsafe {
        let mut acc = [[S::zero(); NV]; MR];
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
            a = a.add(g.a_col);
            b = b.add(g.b_row);
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

/// `count` tiles below each other: most of a product runs in here, so that the shape of a tile is asked for rarely.
///
/// # Safety
/// As [`tile`], for `count` MR rows.
#[inline(always)]
unsafe fn strip<S: Simd, const MR: usize, const NV: usize>(mut g: LaneProduct<S::Scalar>, count: usize) {
    for _ in 0..count {
        // SAFETY: the caller vouches for all rows.
        unsafe {
            tile::<S, MR, NV, false>(g);
            g.a = g.a.add(MR * g.a_row);
            g.c = g.c.add(MR * g.c_row);
        }
    }
}

/// Whether a tile of this shape is compiled for the instruction set.
#[inline(always)]
fn fits<S: Simd>(rows: usize, cols: usize) -> bool {
    rows <= S::SIDE && cols <= S::SIDE
}

/// Calls a function of two constants by two numbers between 1 and S::SIDE.
macro_rules! by_shape {
    ($rows:expr, $cols:expr, |$m:ident, $n:ident| $call:expr, $(($a:literal, $b:literal)),*) => {
        match ($rows, $cols) {
            $(($a, $b) if fits::<S>($a, $b) => {
                const $m: usize = $a;
                const $n: usize = $b;
                $call
            })*
            _ => unreachable!("tiles are at most S::SIDE high and wide"),
        }
    };
}

/// Tiles of `rows` x `cols`, `count` of them below each other; or one on the diagonal, of which the lower half counts.
///
/// # Safety
/// As [`tile`].
#[inline(always)]
unsafe fn run<S: Simd>(rows: usize, cols: usize, count: usize, diagonal: bool, g: LaneProduct<S::Scalar>) {
    // SAFETY: passed on.
    unsafe {
        if diagonal {
            return by_shape!(rows, rows, |M, N| tile::<S, M, N, true>(g), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5));
        }
        by_shape!(
            rows,
            cols,
            |M, N| strip::<S, M, N>(g, count),
            (5, 5),
            (5, 4),
            (4, 5),
            (4, 4),
            (5, 3),
            (3, 5),
            (4, 3),
            (3, 4),
            (3, 3),
            (5, 2),
            (2, 5),
            (4, 2),
            (2, 4),
            (3, 2),
            (2, 3),
            (2, 2),
            (5, 1),
            (1, 5),
            (4, 1),
            (1, 4),
            (3, 1),
            (1, 3),
            (2, 1),
            (1, 2),
            (1, 1)
        );
    }
}

/// C <- A B over all tiles, in an order that depends on the shape alone.
///
/// # Safety
/// `g` must describe live matrices, C apart from A and B; the instruction set must be present.
#[inline(always)]
pub(crate) unsafe fn lane_product<S: Simd>(g: LaneProduct<S::Scalar>) {
    // Tiles differ by one row or column at most: the first `more` are larger.
    let split = |n: usize| (n.div_ceil(S::SIDE), n / n.div_ceil(S::SIDE), n % n.div_ceil(S::SIDE));
    let ((strips, height, more), (panels, width, wide)) = (split(g.m), split(g.n));
    let row_of = |strip: usize| strip * height + strip.min(more);
    for part in (0..LANES).step_by(S::LANES) {
        let mut col = 0;
        for panel in 0..panels {
            let cols = width + usize::from(panel < wide);
            let at = |strip: usize| {
                let row = row_of(strip);
                let mut t = g;
                // SAFETY: inside the matrices, since row < m and col < n; only used where the strip exists.
                unsafe {
                    t.a = g.a.add(row * g.a_row);
                    t.b = g.b.add(col * g.b_col + part);
                    t.c = g.c.add(row * g.c_row + col * g.c_col + part);
                }
                t
            };
            // SAFETY: tiles partition C (its lower half, if symmetric); their offsets stay inside by construction.
            unsafe {
                let mut first = 0;
                if g.symmetric {
                    run::<S>(cols, cols, 1, true, at(panel));
                    first = panel + 1;
                }
                if first < more {
                    run::<S>(height + 1, cols, more - first, false, at(first));
                    first = more;
                }
                if first < strips {
                    run::<S>(height, cols, strips - first, false, at(first));
                }
            }
            col += cols;
        }
        for i in 1..if g.symmetric { g.m } else { 0 } {
            for j in 0..i {
                // SAFETY: both entries lie inside C.
                unsafe {
                    let v = S::load(g.c.add(i * g.c_row + j * g.c_col + part));
                    S::store(g.c.add(j * g.c_row + i * g.c_col + part), v);
                }
            }
        }
    }
}

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
    pub g: *mut T,
    pub g_row: usize,
}

/// Columns of G per pass: what is read of B stays in the first cache while all rows of D meet it.
const PASS: usize = 8;
/// Rows of D that meet them at once.
const HIGH: usize = 4;

/// MR rows and up to NV columns of G, with MR NV <= 16: sixteen sums over lanes are taken at once.
///
/// # Safety
/// As [`tile`].
#[inline(always)]
unsafe fn sum_tile<S: Simd, const MR: usize, const NV: usize>(g: LaneSum<S::Scalar>, cols: usize) {
    // SAFETY: all offsets stay inside the matrices; columns beyond the last read the last, and are not written.
    unsafe {
        let mut acc = [S::zero(); 16];
        let mut at = [0; NV];
        for j in 0..NV {
            at[j] = j.min(cols - 1) * LANES;
        }
        for part in (0..LANES).step_by(S::LANES) {
            let (mut d, mut b) = (g.d.add(part), g.b.add(part));
            for _ in 0..g.k {
                let mut x = [S::zero(); MR];
                for i in 0..MR {
                    x[i] = S::load(d.add(i * g.d_row));
                }
                for j in 0..NV {
                    let v = S::load(b.add(at[j]));
                    for i in 0..MR {
                        acc[i * NV + j] = S::fma(x[i], v, acc[i * NV + j]);
                    }
                }
                d = d.add(g.d_col);
                b = b.add(g.b_row);
            }
        }
        let sums = S::sums(&acc);
        for i in 0..MR {
            let row = g.g.add(i * g.g_row);
            for j in 0..cols {
                *row.add(j) = S::plus(*row.add(j), sums[i * NV + j]);
            }
        }
    }
}

/// The first MR rows of G.
///
/// # Safety
/// As [`tile`].
#[inline(always)]
unsafe fn sum_rows<S: Simd, const MR: usize, const NV: usize>(mut g: LaneSum<S::Scalar>) {
    // SAFETY: tiles partition the rows.
    unsafe {
        while g.n >= NV {
            sum_tile::<S, MR, NV>(g, NV);
            g.n -= NV;
            g.b = g.b.add(NV * LANES);
            g.g = g.g.add(NV);
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
    for col in (0..g.n).step_by(PASS) {
        for row in (0..g.m).step_by(HIGH) {
            // SAFETY: these parts partition G; their offsets stay inside by construction.
            unsafe {
                let mut t = g;
                t.n = (g.n - col).min(PASS);
                t.d = g.d.add(row * g.d_row);
                t.b = g.b.add(col * LANES);
                t.g = g.g.add(row * g.g_row + col);
                match g.m - row {
                    1 => sum_rows::<S, 1, 16>(t),
                    2 => sum_rows::<S, 2, 8>(t),
                    3 => sum_rows::<S, 3, 5>(t),
                    _ => sum_rows::<S, HIGH, 4>(t),
                }
            }
        }
    }
}

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
