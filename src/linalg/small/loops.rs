//! The vector loops of a training step, each fused into one pass: Adam's update, residuals, sums.

use crate::simd::dispatch::Kernels;
use num_traits::Float;

/// The parameters of one Adam step in the form that Keras uses: w -= rate m / (sqrt(v) + epsilon).
#[derive(Debug, Clone, Copy)]
pub struct AdamStep<T> {
    /// lr sqrt(1 - beta2^t) / (1 - beta1^t).
    pub rate: T,
    /// Decay of the first moment.
    pub beta1: T,
    /// Decay of the second moment.
    pub beta2: T,
    /// Added to the square root of the second moment.
    pub epsilon: T,
    /// The factor that the gradient is multiplied by first.
    pub scale: T,
}

/// Makes one Adam step: updates the moments and the weights in one pass.
pub fn adam_step<T: Kernels>(step: AdamStep<T>, w: &mut [T], m: &mut [T], v: &mut [T], g: &[T]) {
    assert!(w.len() == m.len() && w.len() == v.len() && w.len() == g.len(), "adam_step: lengths differ");
    T::adam(step, w, m, v, g);
}

/// Sets out <- (out - y) mask, and returns the sum of its squares.
pub fn residual<T: Kernels>(out: &mut [T], y: &[T], mask: Option<&[T]>) -> T {
    assert!(out.len() == y.len() && mask.is_none_or(|m| m.len() == y.len()), "residual: lengths differ");
    T::residual(out, y, mask)
}

/// Sets out <- out + x.
pub fn add_to<T: Kernels>(out: &mut [T], x: &[T]) {
    assert_eq!(out.len(), x.len(), "add_to: lengths differ");
    T::add_to(out, x);
}

/// Asks the processor to load the first 4 KiB of a slice into the second cache before it is used. It is a hint without
/// effect on results.
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
pub(crate) fn adam_body<T: Float>(s: AdamStep<T>, w: &mut [T], m: &mut [T], v: &mut [T], g: &[T]) {
    let (c1, c2) = (T::one() - s.beta1, T::one() - s.beta2);
    for (((w, m), v), &g) in w.iter_mut().zip(m).zip(v).zip(g) {
        let g = g * s.scale;
        *m = s.beta1 * *m + c1 * g;
        *v = s.beta2 * *v + c2 * g * g;
        *w = *w - s.rate * *m / (v.sqrt() + s.epsilon);
    }
}

#[inline(always)]
pub(crate) fn residual_body<T: Float>(out: &mut [T], y: &[T], mask: Option<&[T]>) -> T {
    match mask {
        None => out.iter_mut().zip(y).for_each(|(o, &y)| *o = *o - y),
        Some(mask) => out.iter_mut().zip(y).zip(mask).for_each(|((o, &y), &m)| *o = (*o - y) * m),
    }
    // Sixteen running sums have a fixed order and can be vectorised.
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
pub(crate) fn add_body<T: Float>(out: &mut [T], x: &[T]) {
    out.iter_mut().zip(x).for_each(|(o, &x)| *o = *o + x);
}
