//! Convolution with an output as long as the signal ('same'), as a direct sum in the arithmetic of `linalg`: the same bits on every machine.
//!
//! A Fourier transform would need fewer operations, but the results of FFT libraries depend on the processor and on the sine of the C
//! library. The direct sum is the product of one row (the taps) with a matrix whose rows are the signal, each shifted by one sample.
//! It runs close to the top speed of the vector unit, and small results stay exact, where a transform spreads rounding errors.

use linalg::small::small_gemm;

/// The middle of the full convolution. It is as long as `signal`, and symmetric `taps` cause no shift in time.
///
/// `y[i] = sum_k taps[k] signal[i + (taps.len() - 1)/2 - k]`, zero beyond the ends.
pub fn convolve_same(signal: &[f64], taps: &[f64]) -> Vec<f64> {
    let (n, k) = (signal.len(), taps.len());
    let mut out = vec![0.0; n];
    if n == 0 || k == 0 {
        return out;
    }
    let reversed: Vec<f64> = taps.iter().rev().copied().collect();
    let before = k - 1 - (k - 1) / 2;
    let mut padded = vec![0.0; n + k - 1];
    padded[before..before + n].copy_from_slice(signal);
    // Row j of the matrix is padded[j..j + n], so consecutive rows begin one number apart in memory.
    small_gemm((1, n, k), &reversed, (k, 1), &padded, 1, &mut out, n, false);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn direct(signal: &[f64], taps: &[f64]) -> Vec<f64> {
        let skip = (taps.len() - 1) / 2;
        (0..signal.len())
            .map(|i| {
                let at = |j: usize| (i + skip).checked_sub(j).and_then(|x| signal.get(x)).copied().unwrap_or(0.0);
                taps.iter().enumerate().map(|(j, t)| t * at(j)).sum()
            })
            .collect()
    }

    proptest! {
        #[test]
        fn equals_the_direct_sum(
            signal in prop::collection::vec(-10.0..10.0f64, 1..400),
            taps in prop::collection::vec(-1.0..1.0f64, 1..40),
        ) {
            let (a, b) = (convolve_same(&signal, &taps), direct(&signal, &taps));
            prop_assert_eq!(a.len(), b.len());
            for (x, y) in a.iter().zip(&b) {
                prop_assert!((x - y).abs() < 1e-11);
            }
        }
    }
}
