//! The kernels of a training step, chosen by CPU features at run time: small products and fused vector loops.
//!
//! Results depend on the instruction set (the order of sums differs), never on the number of threads.

use crate::clamp::{Clamp, backward_body, forward_body};
use crate::dots::{Dots, dots};
use crate::lane_product::residual_body as lane_residual_body;
use crate::lane_tile::{LaneProduct, LaneSum, lane_pack, lane_product, lane_sum};
use crate::lanes::{LANES, Lane};
use crate::simd::Plain;
#[cfg(target_arch = "x86_64")]
use crate::simd_x86::{Avx2, Avx512};
use crate::tile::{Product, product};
use num_traits::Float;

/// The numbers of one Adam step, as Keras has it: w -= rate m / (sqrt(v) + epsilon).
#[derive(Debug, Clone, Copy)]
pub struct AdamStep<T> {
    /// lr sqrt(1 - beta2^t) / (1 - beta1^t).
    pub rate: T,
    /// Decay of the first moment.
    pub beta1: T,
    /// Decay of the second moment.
    pub beta2: T,
    /// Added outside the root.
    pub epsilon: T,
    /// The gradient is multiplied by this first.
    pub scale: T,
}

/// Kernels of a scalar type. Reach them through the functions of this module.
pub trait Kernels: Sized + Copy {
    #[doc(hidden)]
    unsafe fn product(g: RawProduct<Self>);
    #[doc(hidden)]
    unsafe fn dots(g: RawDots<Self>);
    #[doc(hidden)]
    fn adam(step: AdamStep<Self>, w: &mut [Self], m: &mut [Self], v: &mut [Self], g: &[Self]);
    #[doc(hidden)]
    fn residual(out: &mut [Self], y: &[Self], mask: Option<&[Self]>) -> Self;
    #[doc(hidden)]
    fn add_to(out: &mut [Self], x: &[Self]);
    #[doc(hidden)]
    fn clamp_forward(c: &mut Clamp<Self>);
    #[doc(hidden)]
    fn clamp_backward(c: &mut Clamp<Self>);
    #[doc(hidden)]
    unsafe fn lane_product(g: RawLaneProduct<Self>);
    #[doc(hidden)]
    unsafe fn lane_sum(g: RawLaneSum<Self>);
    #[doc(hidden)]
    unsafe fn lane_pack(rows: &[*const Self; LANES], n: usize, to: *mut Self);
    #[doc(hidden)]
    fn lane_residual(out: &mut [Lane<Self>], y: &[Lane<Self>], mask: Option<&[Lane<Self>]>) -> Lane<Self>;
}

#[doc(hidden)]
pub struct RawProduct<T>(Product<T>);
#[doc(hidden)]
pub struct RawDots<T>(Dots<T>);
#[doc(hidden)]
pub struct RawLaneProduct<T>(pub(crate) LaneProduct<T>);
#[doc(hidden)]
pub struct RawLaneSum<T>(pub(crate) LaneSum<T>);

/// C (+)= A B with A (m, k) of any strides, and B (k, n), C (m, n) with contiguous rows.
///
/// For the small matrices of a training step: no packing, no threads, no allocation. Larger or oddly strided products go
/// through [`crate::gemm`].
///
/// # Panics
/// If a slice is too short for its shape and strides: a programming error.
///
/// ```
/// let (a, b) = ([1.0, 2.0, 3.0, 4.0], [1.0, 0.0, 1.0, 1.0]);
/// let mut c = [0.0f64; 4];
/// linalg::kernels::small_gemm((2, 2, 2), &a, (2, 1), &b, 2, &mut c, 2, false);
/// assert_eq!(c, [3.0, 2.0, 7.0, 4.0]);
/// ```
#[inline]
pub fn small_gemm<T: Kernels>(
    (m, n, k): (usize, usize, usize),
    a: &[T],
    (a_row, a_col): (usize, usize),
    b: &[T],
    b_row: usize,
    c: &mut [T],
    c_row: usize,
    add: bool,
) {
    if m == 0 || n == 0 {
        return;
    }
    if k > 0 {
        assert!((m - 1) * a_row + (k - 1) * a_col < a.len(), "small_gemm: A is too short");
        assert!((k - 1) * b_row + n <= b.len(), "small_gemm: B is too short");
    }
    assert!((m - 1) * c_row + n <= c.len() && (m == 1 || n <= c_row), "small_gemm: C is too short");
    let g = Product { m, n, k, a: a.as_ptr(), a_row, a_col, b: b.as_ptr(), b_row, c: c.as_mut_ptr(), c_row, add };
    // SAFETY: the asserts bound every offset; C is borrowed exclusively, so it overlaps neither A nor B.
    unsafe { T::product(RawProduct(g)) }
}

/// C = A B^T with A (m, k), B (n, k) and C (m, n), all with contiguous rows: few dot products of long rows.
///
/// # Panics
/// If a slice is too short for its shape: a programming error.
///
/// ```
/// let (a, b) = ([1.0, 2.0, 3.0, 4.0], [1.0, 1.0]);
/// let mut c = [0.0f64; 2];
/// linalg::kernels::row_dots((2, 1, 2), &a, 2, &b, 2, &mut c, 1);
/// assert_eq!(c, [3.0, 7.0]);
/// ```
pub fn row_dots<T: Kernels>(
    (m, n, k): (usize, usize, usize),
    a: &[T],
    a_row: usize,
    b: &[T],
    b_row: usize,
    c: &mut [T],
    c_row: usize,
) {
    if m == 0 || n == 0 {
        return;
    }
    assert!((m - 1) * a_row + k <= a.len(), "row_dots: A is too short");
    assert!((n - 1) * b_row + k <= b.len(), "row_dots: B is too short");
    assert!((m - 1) * c_row + n <= c.len() && (m == 1 || n <= c_row), "row_dots: C is too short");
    let g = Dots { m, n, k, a: a.as_ptr(), a_row, b: b.as_ptr(), b_row, c: c.as_mut_ptr(), c_row };
    // SAFETY: the asserts bound every offset; C is borrowed exclusively, so it overlaps neither A nor B.
    unsafe { T::dots(RawDots(g)) }
}

/// One Adam step over all parameters: moments and weights updated in one pass.
pub fn adam_step<T: Kernels>(step: AdamStep<T>, w: &mut [T], m: &mut [T], v: &mut [T], g: &[T]) {
    assert!(w.len() == m.len() && w.len() == v.len() && w.len() == g.len(), "adam_step: lengths differ");
    T::adam(step, w, m, v, g);
}

/// out <- (out - y) mask, and the sum of its squares.
pub fn residual<T: Kernels>(out: &mut [T], y: &[T], mask: Option<&[T]>) -> T {
    assert!(out.len() == y.len() && mask.is_none_or(|m| m.len() == y.len()), "residual: lengths differ");
    T::residual(out, y, mask)
}

/// out <- out + x.
pub fn add_to<T: Kernels>(out: &mut [T], x: &[T]) {
    assert_eq!(out.len(), x.len(), "add_to: lengths differ");
    T::add_to(out, x);
}

/// Asks for the first 4 KiB of a slice into the second cache ahead of its use; a hint without effect on results.
#[inline]
pub fn prefetch<T>(data: &[T]) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..size_of_val(data).min(4096)).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: the address lies inside the slice, and a prefetch reads nothing architecturally.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(data.as_ptr().cast::<i8>().add(line)) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = data;
}

#[inline(always)]
fn adam_body<T: Float>(s: AdamStep<T>, w: &mut [T], m: &mut [T], v: &mut [T], g: &[T]) {
    let (c1, c2) = (T::one() - s.beta1, T::one() - s.beta2);
    for (((w, m), v), &g) in w.iter_mut().zip(m).zip(v).zip(g) {
        let g = g * s.scale;
        *m = s.beta1 * *m + c1 * g;
        *v = s.beta2 * *v + c2 * g * g;
        *w = *w - s.rate * *m / (v.sqrt() + s.epsilon);
    }
}

#[inline(always)]
fn residual_body<T: Float>(out: &mut [T], y: &[T], mask: Option<&[T]>) -> T {
    match mask {
        None => out.iter_mut().zip(y).for_each(|(o, &y)| *o = *o - y),
        Some(mask) => out.iter_mut().zip(y).zip(mask).for_each(|((o, &y), &m)| *o = (*o - y) * m),
    }
    // Sixteen running sums: a fixed order that the compiler can vectorise.
    let mut sums = [T::zero(); 16];
    let chunks = out.chunks_exact(16);
    let rest = chunks.remainder().iter().fold(T::zero(), |s, &x| s + x * x);
    for c in chunks {
        for i in 0..16 {
            sums[i] = sums[i] + c[i] * c[i];
        }
    }
    sums.iter().fold(rest, |s, &x| s + x)
}

#[inline(always)]
fn add_body<T: Float>(out: &mut [T], x: &[T]) {
    out.iter_mut().zip(x).for_each(|(o, &x)| *o = *o + x);
}

#[cfg(target_arch = "x86_64")]
mod level {
    /// What the machine offers, asked once.
    #[derive(Clone, Copy, PartialEq)]
    pub enum Level {
        Avx512,
        Avx2,
        Plain,
    }

    pub fn level() -> Level {
        static LEVEL: std::sync::OnceLock<Level> = std::sync::OnceLock::new();
        *LEVEL.get_or_init(|| {
            let fma = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            let wide = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl");
            match std::env::var("REPRO_SIMD").as_deref() {
                Ok("plain") => Level::Plain,
                Ok("avx2") if fma => Level::Avx2,
                _ if fma && wide => Level::Avx512,
                _ if fma => Level::Avx2,
                _ => Level::Plain,
            }
        })
    }
}

/// Compiles a body for each instruction set and picks one at run time.
macro_rules! versions {
    ($t:ty, $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty, $wide:expr, $fma:expr, $plain:expr) => {
        #[cfg(target_arch = "x86_64")]
        fn $name($($arg: $ty),*) -> $ret {
            #[target_feature(enable = "avx512f,avx512vl,avx2,fma")]
            fn wide($($arg: $ty),*) -> $ret {
                $wide
            }
            #[target_feature(enable = "avx2,fma")]
            fn fma($($arg: $ty),*) -> $ret {
                $fma
            }
            match level::level() {
                // SAFETY: `level` has found these features on this machine.
                level::Level::Avx512 => unsafe { wide($($arg),*) },
                // SAFETY: as above.
                level::Level::Avx2 => unsafe { fma($($arg),*) },
                level::Level::Plain => $plain,
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        fn $name($($arg: $ty),*) -> $ret {
            $plain
        }
    };
}

macro_rules! kernels {
    ($t:ty) => {
        impl Kernels for $t {
            unsafe fn product(g: RawProduct<Self>) {
                // SAFETY (of the three calls): the caller vouches for the pointers, `versions!` for the features.
                versions!($t, run(g: Product<$t>) -> (),
                    unsafe { product::<Avx512<$t>>(g) }, unsafe { product::<Avx2<$t>>(g) }, unsafe { product::<Plain<$t>>(g) });
                run(g.0);
            }
            unsafe fn dots(g: RawDots<Self>) {
                // SAFETY (of the three calls): as for `product`.
                versions!($t, run(g: Dots<$t>) -> (),
                    unsafe { dots::<Avx512<$t>>(g) }, unsafe { dots::<Avx2<$t>>(g) }, unsafe { dots::<Plain<$t>>(g) });
                run(g.0);
            }
            unsafe fn lane_product(g: RawLaneProduct<Self>) {
                // SAFETY (of the three calls, here and below): as for `product`.
                versions!($t, run(g: LaneProduct<$t>) -> (), unsafe { lane_product::<Avx512<$t>>(g) },
                    unsafe { lane_product::<Avx2<$t>>(g) }, unsafe { lane_product::<Plain<$t>>(g) });
                run(g.0);
            }
            unsafe fn lane_sum(g: RawLaneSum<Self>) {
                versions!($t, run(g: LaneSum<$t>) -> (), unsafe { lane_sum::<Avx512<$t>>(g) },
                    unsafe { lane_sum::<Avx2<$t>>(g) }, unsafe { lane_sum::<Plain<$t>>(g) });
                run(g.0);
            }
            unsafe fn lane_pack(rows: &[*const $t; LANES], n: usize, to: *mut $t) {
                versions!($t, run(rows: &[*const $t; LANES], n: usize, to: *mut $t) -> (),
                    unsafe { lane_pack::<Avx512<$t>>(rows, n, to) }, unsafe { lane_pack::<Avx2<$t>>(rows, n, to) },
                    unsafe { lane_pack::<Plain<$t>>(rows, n, to) });
                run(rows, n, to);
            }
            versions!($t, lane_residual(out: &mut [Lane<$t>], y: &[Lane<$t>], mask: Option<&[Lane<$t>]>) -> Lane<$t>,
                lane_residual_body(out, y, mask), lane_residual_body(out, y, mask), lane_residual_body(out, y, mask));
            versions!($t, adam(step: AdamStep<$t>, w: &mut [$t], m: &mut [$t], v: &mut [$t], g: &[$t]) -> (),
                adam_body(step, w, m, v, g), adam_body(step, w, m, v, g), adam_body(step, w, m, v, g));
            versions!($t, residual(out: &mut [$t], y: &[$t], mask: Option<&[$t]>) -> $t,
                residual_body(out, y, mask), residual_body(out, y, mask), residual_body(out, y, mask));
            versions!($t, add_to(out: &mut [$t], x: &[$t]) -> (), add_body(out, x), add_body(out, x), add_body(out, x));
            versions!($t, clamp_forward(c: &mut Clamp<$t>) -> (), forward_body(c), forward_body(c), forward_body(c));
            versions!($t, clamp_backward(c: &mut Clamp<$t>) -> (), backward_body(c), backward_body(c), backward_body(c));
        }
    };
}
kernels!(f32);
kernels!(f64);
