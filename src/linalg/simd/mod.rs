//! Vectors of a fixed width, and the choice of an instruction set at run time.
//!
//! Kernels are written once over the trait [`Simd`] and compiled for each instruction set.
//!
//! | file | what it holds |
//! |---|---|
//! | `plain` | `Simd` as plain arrays, for every machine |
//! | `x86` | `Simd` as AVX-512 and as AVX2 with FMA |
//! | `lane_sums` | x86: sums over the lanes of sixteen vectors at once |
//! | `transpose` | x86: transposes of sixteen rows, and stores of a part of a vector |
//! | `level` | which instruction set this machine offers |
//! | `dispatch` | every kernel compiled for each instruction set, one of them chosen at run time |

pub(crate) mod dispatch;
#[cfg(target_arch = "x86_64")]
mod lane_sums;
mod level;
mod plain;
#[cfg(target_arch = "x86_64")]
mod transpose;
#[cfg(target_arch = "x86_64")]
mod x86;

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
    /// The sum over the lanes of each vector.
    unsafe fn sums(v: &[Self::Vector; 16]) -> [Self::Scalar; 16];
    /// How many numbers of each row one call of `transpose` reads.
    const PACK: usize;
    /// Transposes PACK numbers of each of sixteen rows: `to[16 j + l] = rows[l][i + j]`.
    unsafe fn transpose(rows: &[*const Self::Scalar; 16], i: usize, to: *mut Self::Scalar);
}
