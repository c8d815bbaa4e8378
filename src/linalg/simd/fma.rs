//! Multiply-add with one rounding, a b + c, for processors without the instruction.
//!
//! The standard library calls the C library once per number, which costs a hundred cycles or more where that library has to
//! emulate the instruction. These versions have no branches in the usual range, so that the compiler can vectorise them.
//! All of them return what the instruction returns, to the last bit.

/// a b + c with one rounding.
///
/// The product of two f32 numbers is exact in f64. The sum is rounded to f64 towards an odd last digit, so that the second
/// rounding, to f32, gives the same number as one rounding would have given.
#[inline(always)]
pub(crate) fn fma_f32(a: f32, b: f32, c: f32) -> f32 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    odd_sum(product, c) as f32
}

/// a + b in f64, rounded towards an odd last digit where it is not exact.
#[inline(always)]
fn odd_sum(a: f64, b: f64) -> f64 {
    let (sum, error) = two_sum(a, b);
    let bits = sum.to_bits();
    // The error points away from zero if it has the sign of the sum.
    let outwards = (error.to_bits() ^ bits) >> 63 == 0;
    let odd = if outwards { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    // A sum that is infinite or not a number has an error that is not a number: it stays as it is.
    let inexact = error != 0.0 && error.is_finite() && bits & 1 == 0;
    f64::from_bits(if inexact { odd } else { bits })
}

/// a + b = sum + error, exactly.
#[inline(always)]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    (sum, (a - (sum - b_part)) + (b - b_part))
}

/// a b = product + error, exactly where neither overflows nor underflows.
#[inline(always)]
fn two_product(a: f64, b: f64) -> (f64, f64) {
    let split = |x: f64| {
        let scaled = x * 134_217_729.0; // 2^27 + 1
        let high = scaled - (scaled - x);
        (high, x - high)
    };
    let product = a * b;
    let ((ah, al), (bh, bl)) = (split(a), split(b));
    (product, ((ah * bh - product) + ah * bl + al * bh) + al * bl)
}

/// a b + c with one rounding.
///
/// The exact value is split into three parts, the smallest two are added with rounding to odd, and the last addition is the
/// only one that rounds (S. Boldo and G. Melquiond, Emulation of a FMA and correctly rounded sums, 2008). Very large and
/// very small numbers, for which the parts would not be exact, take the way through the C library.
#[inline(always)]
pub(crate) fn fma_f64(a: f64, b: f64, c: f64) -> f64 {
    let (high, low) = two_product(a, b);
    let (middle, rest) = two_sum(c, low);
    let (top, left) = two_sum(high, middle);
    let sum = top + odd_sum(rest, left);
    let safe = |x: f64| (1e-120..1e120).contains(&x.abs());
    if safe(a) && safe(b) && (safe(c) || c == 0.0) && sum != 0.0 {
        sum
    } else if a == 0.0 || b == 0.0 {
        a * b + c
    } else {
        a.mul_add(b, c)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits that fill the whole range, and bits near each other, where sums cancel.
    fn numbers(seed: u64) -> impl Iterator<Item = u64> {
        let mut state = seed;
        std::iter::from_fn(move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            Some((state ^ (state >> 29)).wrapping_mul(0x9E37_79B9_7F4A_7C15))
        })
    }

    #[test]
    fn emulated_multiply_add_equals_the_instruction_in_f32() {
        let mut n = numbers(1);
        let mut next = || n.next().unwrap_or(0);
        for round in 0..400_000 {
            let any = [next(), next(), next()].map(|b| f32::from_bits(b as u32));
            let near = [next(), next(), next()].map(|b| f32::from_bits((b as u32 & 0x81FF_FFFF) | 0x3E00_0000));
            let [a, b, c] = if round % 2 == 0 { any } else { near };
            for c in [c, -(a * b), c * 1e-7, c * 1e7, 0.0, -0.0] {
                let (got, want) = (fma_f32(a, b, c), a.mul_add(b, c));
                assert!(
                    got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
                    "{a:e} {b:e} {c:e}: {got:e} {want:e}"
                );
            }
        }
    }

    #[test]
    fn emulated_multiply_add_equals_the_instruction_in_f64() {
        let mut n = numbers(2);
        let mut next = || n.next().unwrap_or(0);
        for round in 0..400_000 {
            let any = [next(), next(), next()].map(f64::from_bits);
            let near =
                [next(), next(), next()].map(|b| f64::from_bits((b & 0x803F_FFFF_FFFF_FFFF) | 0x3FC0_0000_0000_0000));
            let [a, b, c] = if round % 2 == 0 { any } else { near };
            for c in [c, -(a * b), c * 1e-16, c * 1e16, c * 1e-32, 0.0, -0.0] {
                let (got, want) = (fma_f64(a, b, c), a.mul_add(b, c));
                assert!(
                    got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
                    "{a:e} {b:e} {c:e}: {got:e} {want:e}"
                );
            }
        }
    }
}
