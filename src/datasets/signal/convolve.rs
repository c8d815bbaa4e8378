//! 'Same' convolution by FFT, block by block (overlap-add), so that long recordings need little memory.

use realfft::RealFftPlanner;

/// The middle of the full convolution: as long as `signal`, aligned so that symmetric `taps` shift nothing.
///
/// `y[i] = sum_k taps[k] signal[i + (taps.len() - 1)/2 - k]`, zero beyond the ends.
pub fn convolve_same(signal: &[f64], taps: &[f64]) -> Vec<f64> {
    let (n, k) = (signal.len(), taps.len());
    if n == 0 || k == 0 {
        return vec![0.0; n];
    }
    // A block of eight times the taps keeps the overlap small and the transform in cache.
    let size = (8 * k).next_power_of_two().min((n + k - 1).next_power_of_two()).max(2);
    let block = size - k + 1;
    let mut planner = RealFftPlanner::<f64>::new();
    let (forward, backward) = (planner.plan_fft_forward(size), planner.plan_fft_inverse(size));
    let mut time = forward.make_input_vec();
    let mut response = forward.make_output_vec();
    time[..k].copy_from_slice(taps);
    // The transforms fail only on buffers of the wrong length; these come from the plans themselves.
    forward.process(&mut time, &mut response).expect("buffers made by the plan");
    let mut full = vec![0.0; n + k - 1];
    let mut spectrum = forward.make_output_vec();
    for start in (0..n).step_by(block) {
        let take = block.min(n - start);
        time[..take].copy_from_slice(&signal[start..start + take]);
        time[take..].fill(0.0);
        forward.process(&mut time, &mut spectrum).expect("buffers made by the plan");
        for (s, r) in spectrum.iter_mut().zip(&response) {
            *s = *s * r / size as f64;
        }
        // A real signal has real first and last coefficients; rounding may leave traces.
        spectrum[0].im = 0.0;
        spectrum[size / 2].im = 0.0;
        backward.process(&mut spectrum, &mut time).expect("buffers made by the plan");
        for (to, from) in full[start..].iter_mut().zip(&time[..take + k - 1]) {
            *to += from;
        }
    }
    let skip = (k - 1) / 2;
    full.drain(..skip);
    full.truncate(n);
    full
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
