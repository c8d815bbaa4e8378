//! Vectors of a fixed width: AVX-512, AVX2 with FMA, and plain arrays for every other machine.
//!
//! Kernels are written once over [`Simd`] and compiled for each instruction set; which one runs is decided at run time
//! (see [`crate::kernels`]). NEON machines take the array version, which the compiler vectorises itself.

/// The few vector operations that the kernels need. `LANES` scalars per vector.
///
/// # Safety
/// Methods may only run on a machine with the instruction set of the implementor; pointers must be valid for the lanes
/// read or written (all of them, or the first `n` for the partial forms).
pub(crate) unsafe trait Simd: Copy {
    type Scalar: Copy;
    type Vector: Copy;
    type Mask: Copy;
    const LANES: usize;
    /// Vectors per row of a register tile, how many more it may have to avoid a tile of one, and the rows of tiles that are 1, 2 and 3 wide: as many sums as hide
    /// the latency of a multiply-add, and as the registers hold beside what is multiplied.
    const COLS: usize;
    const MORE: usize;
    const ROWS: [usize; 3];
    /// Columns of A per pass: a panel of B of this height stays in the first cache, beside what is read of A.
    const DEPTH: usize;
    /// Whether loads and stores under a mask cost no more than others.
    const FREE_MASKS: bool;
    unsafe fn zero() -> Self::Vector;
    unsafe fn splat(x: Self::Scalar) -> Self::Vector;
    unsafe fn load(p: *const Self::Scalar) -> Self::Vector;
    unsafe fn store(p: *mut Self::Scalar, v: Self::Vector);
    /// The first `n` lanes, 1 <= n <= LANES.
    unsafe fn mask(n: usize) -> Self::Mask;
    /// Lanes outside the mask are zero.
    unsafe fn load_part(p: *const Self::Scalar, m: Self::Mask) -> Self::Vector;
    unsafe fn store_part(p: *mut Self::Scalar, m: Self::Mask, v: Self::Vector);
    /// a b + c.
    unsafe fn fma(a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
    unsafe fn add(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Height and width of a register tile of products over samples, and of the sums over them (see `lane_tile`).
    const LANE_TILE: (usize, usize);
    const SUM_TILE: (usize, usize);
    fn plus(a: Self::Scalar, b: Self::Scalar) -> Self::Scalar;
    /// The sum over the lanes of each vector.
    unsafe fn sums(v: &[Self::Vector; 16]) -> [Self::Scalar; 16];
    /// Numbers per row that `transpose` takes at once.
    const PACK: usize;
    /// PACK numbers of each of sixteen rows, transposed: `to[16 j + l] = rows[l][i + j]`.
    unsafe fn transpose(rows: &[*const Self::Scalar; 16], i: usize, to: *mut Self::Scalar);
}

/// Arrays of eight: the compiler maps them to whatever the target has.
#[derive(Clone, Copy)]
pub(crate) struct Plain<T>(std::marker::PhantomData<T>);

macro_rules! plain {
    ($t:ty) => {
        // SAFETY: plain arithmetic on arrays; pointer validity is the trait's contract.
        unsafe impl Simd for Plain<$t> {
            type Scalar = $t;
            type Vector = [$t; 8];
            type Mask = usize;
            const LANES: usize = 8;
            const COLS: usize = 1;
            const MORE: usize = 0;
            const ROWS: [usize; 3] = [4, 0, 0];
            const DEPTH: usize = 256;
            const FREE_MASKS: bool = false;
            const LANE_TILE: (usize, usize) = (2, 2);
            const SUM_TILE: (usize, usize) = (4, 4);
            #[inline(always)]
            fn plus(a: $t, b: $t) -> $t {
                a + b
            }
            #[inline(always)]
            unsafe fn sums(v: &[[$t; 8]; 16]) -> [$t; 16] {
                std::array::from_fn(|i| v[i].iter().sum())
            }
            const PACK: usize = 1;
            #[inline(always)]
            unsafe fn transpose(rows: &[*const $t; 16], i: usize, to: *mut $t) {
                for (l, row) in rows.iter().enumerate() {
                    // SAFETY: inside the rows and the result by contract.
                    unsafe { *to.add(l) = *row.add(i) }
                }
            }
            #[inline(always)]
            unsafe fn zero() -> [$t; 8] {
                [0.0; 8]
            }
            #[inline(always)]
            unsafe fn splat(x: $t) -> [$t; 8] {
                [x; 8]
            }
            #[inline(always)]
            unsafe fn load(p: *const $t) -> [$t; 8] {
                // SAFETY: valid for 8 lanes by contract; arrays have the alignment of their element.
                unsafe { *p.cast() }
            }
            #[inline(always)]
            unsafe fn store(p: *mut $t, v: [$t; 8]) {
                // SAFETY: as `load`.
                unsafe { *p.cast() = v }
            }
            #[inline(always)]
            unsafe fn mask(n: usize) -> usize {
                n
            }
            #[inline(always)]
            unsafe fn load_part(p: *const $t, m: usize) -> [$t; 8] {
                // SAFETY: only the first m lanes are read, valid by contract.
                std::array::from_fn(|i| if i < m { unsafe { *p.add(i) } } else { 0.0 })
            }
            #[inline(always)]
            unsafe fn store_part(p: *mut $t, m: usize, v: [$t; 8]) {
                for (i, x) in v.into_iter().enumerate().take(m) {
                    // SAFETY: only the first m lanes are written, valid by contract.
                    unsafe { *p.add(i) = x }
                }
            }
            #[inline(always)]
            unsafe fn fma(a: [$t; 8], b: [$t; 8], c: [$t; 8]) -> [$t; 8] {
                std::array::from_fn(|i| a[i] * b[i] + c[i])
            }
            #[inline(always)]
            unsafe fn add(a: [$t; 8], b: [$t; 8]) -> [$t; 8] {
                std::array::from_fn(|i| a[i] + b[i])
            }
        }
    };
}
plain!(f32);
plain!(f64);
