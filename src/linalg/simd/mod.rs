//! Vectors of each instruction set, and the choice between them at run time.
//!
//! Kernels are written once over the trait `Simd` and compiled for each instruction set. All versions give the same bits,
//! because the order of operations is defined without reference to the width of a vector:
//!
//! | operation | its definition |
//! |---|---|
//! | products, C (+)= A B | each entry starts from what is there (C, or zero) and adds its terms in the order of k, each with one fused multiply-add; so blocks of any size give the same bits |
//! | sums over a long row, and over sixteen samples | sixteen running sums: number i goes to sum i mod 16, each in order with fused multiply-adds; numbers beyond the end count as zero |
//! | the sum of sixteen numbers | a tree: sum l and sum l + 8 are added, then l and l + 4, l and l + 2, l and l + 1 |
//! | loops (Adam, residuals, rotations) | one rounding per multiplication and per addition, never fused |
//! | eight matrices side by side (`batch::F64x8`) | every operation in each lane by itself; `fma` rounds once, other products and sums once each |
//!
//! A processor without fused multiply-add computes it in software, see `fma`. There is nothing to choose for accuracy; the
//! environment variable `REPRO_SIMD` = `avx512`, `avx2` or `plain` exists to compare the versions.
//!
//! | file | what it holds |
//! |---|---|
//! | `plain` | `Simd` as plain arrays, for every machine |
//! | `x86` | `Simd` as AVX-512 and as AVX2 with FMA |
//! | `lane_sums` | x86: sums over the lanes of sixteen vectors at once |
//! | `transpose` | x86: transposes of sixteen rows, and stores of a part of a vector |
//! | `fma` | fused multiply-add in software |
//! | `level` | which instruction set this machine offers, and which one is in use |
//! | `bounds` | whether a strided matrix lies inside its slice |
//! | `dispatch` | every kernel, and any closure ([`vectorised`]), compiled for each instruction set; one of them is chosen at run time |

mod bounds;
pub(crate) mod dispatch;
mod fma;
#[cfg(target_arch = "x86_64")]
mod lane_sums;
mod level;
mod plain;
#[cfg(target_arch = "x86_64")]
mod transpose;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(crate) use bounds::{inside, used_strides};
pub use dispatch::vectorised;
pub use level::{CLASS, Level, has_fma, level, levels, requested_level, set_level};

/// The vector operations that the kernels need. A vector holds `LANES` scalars.
///
/// # Safety
/// Methods may only run on a machine with the instruction set of the implementor; pointers must be valid for the lanes
/// read or written (all of them, or the first `n` for the partial forms).
pub(crate) unsafe trait Simd: Copy {
    type Scalar: Copy;
    type Vector: Copy;
    type Mask: Copy;
    const LANES: usize;
    /// Vectors per row of a register tile of the small products.
    const COLS: usize;
    /// How many vectors a tile may have beyond `COLS`, so that no tile of one vector is left over.
    const MORE: usize;
    /// Rows of tiles that are 1, 2 and 3 vectors wide. There are enough sums to hide the latency of a multiply-add, and few
    /// enough to stay in registers together with the factors.
    const ROWS: [usize; 3];
    /// Columns of A per pass. A panel of B of this height stays in the first cache together with the part of A in use.
    const DEPTH: usize;
    /// Whether loads and stores under a mask cost the same as plain ones.
    const FREE_MASKS: bool;
    unsafe fn zero() -> Self::Vector;
    unsafe fn splat(x: Self::Scalar) -> Self::Vector;
    unsafe fn load(p: *const Self::Scalar) -> Self::Vector;
    unsafe fn store(p: *mut Self::Scalar, v: Self::Vector);
    /// A mask of the first `n` lanes, 1 <= n <= LANES.
    unsafe fn mask(n: usize) -> Self::Mask;
    /// Lanes outside the mask are zero.
    unsafe fn load_part(p: *const Self::Scalar, m: Self::Mask) -> Self::Vector;
    unsafe fn store_part(p: *mut Self::Scalar, m: Self::Mask, v: Self::Vector);
    /// a b + c.
    unsafe fn fma(a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
    unsafe fn add(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Height and width of a register tile of the batched product (see `batch::product_tile`).
    const LANE_TILE: (usize, usize);
    /// Height and width of a register tile of the batched gradient (see `batch::gradient_tile`).
    const SUM_TILE: (usize, usize);
    /// a + b for scalars.
    fn plus(a: Self::Scalar, b: Self::Scalar) -> Self::Scalar;
    /// Vectors that hold sixteen numbers: 1, 2 or 4.
    const PARTS: usize = 16 / Self::LANES;
    /// The sum over the lanes of each vector, by the tree: l and l + LANES / 2 first, neighbours last.
    unsafe fn sums(v: &[Self::Vector; 16]) -> [Self::Scalar; 16];
    /// How many numbers of each row one call of `transpose` reads.
    const PACK: usize;
    /// Transposes PACK numbers of each of sixteen rows: `to[16 j + l] = rows[l][i + j]`.
    unsafe fn transpose(rows: &[*const Self::Scalar; 16], i: usize, to: *mut Self::Scalar);
}

/// A product C (+)= A B with A (m, k), B (k, n) and C (m, n): shapes, pointers and strides. All strides count plain numbers.
///
/// The small products need contiguous rows of B and C: there `b_col` and `c_col` are 1, and `lower` is not used.
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
    pub b_col: usize,
    pub c: *mut T,
    pub c_row: usize,
    pub c_col: usize,
    /// Add to C instead of overwriting it.
    pub add: bool,
    /// Only the lower half of C is wanted (m = n). Entries above the diagonal may hold anything afterwards.
    pub lower: bool,
}

/// One register tile of sums.
pub(crate) type Tile<S, const M: usize, const N: usize> = [[<S as Simd>::Vector; N]; M];

/// a + b for tiles.
///
/// # Safety
/// The instruction set must be present.
#[inline(always)]
pub(crate) unsafe fn add_tiles<S: Simd, const M: usize, const N: usize>(
    mut a: Tile<S, M, N>,
    b: Tile<S, M, N>,
) -> Tile<S, M, N> {
    for i in 0..M {
        for j in 0..N {
            // SAFETY: passed on.
            a[i][j] = unsafe { S::add(a[i][j], b[i][j]) };
        }
    }
    a
}

/// The sums over the lanes of a tile with M N <= 16, row by row.
///
/// # Safety
/// The instruction set must be present.
#[inline(always)]
pub(crate) unsafe fn tile_sums<S: Simd, const M: usize, const N: usize>(tile: Tile<S, M, N>) -> [S::Scalar; 16] {
    // SAFETY: passed on.
    unsafe {
        let mut all = [S::zero(); 16];
        for i in 0..M {
            all[i * N..(i + 1) * N].copy_from_slice(&tile[i]);
        }
        S::sums(&all)
    }
}
