//! A band-pass filter of linear phase: a sinc function times a window.
//!
//! With edges f1, f2 as shares of half the sampling rate and m = n - order/2,
//! `h[n] = (f2 sinc(f2 m) - f1 sinc(f1 m)) w[n]`, w the Hamming window, then scaled so that the gain at the middle of the
//! band, (f1 + f2)/2, is exactly 1. Reference: Oppenheim & Schafer, "Discrete-Time Signal Processing", section 7.5.

use std::f64::consts::PI;

/// The taps of a band-pass between `low` and `high` Hz at `rate` samples per second.
///
/// ```
/// let h = datasets::signal::bandpass_taps(301, 8.0, 30.0, 250.0);
/// let gain = |f: f64| -> f64 {
///     h.iter().enumerate().map(|(n, h)| h * (2.0 * std::f64::consts::PI * f / 250.0 * (n as f64 - 150.0)).cos()).sum()
/// };
/// assert!((gain(19.0) - 1.0).abs() < 1e-12 && gain(2.0).abs() < 0.01 && gain(45.0).abs() < 0.01);
/// ```
pub fn bandpass_taps(taps: usize, low: f64, high: f64, rate: f64) -> Vec<f64> {
    let (f1, f2) = (low / (rate / 2.0), high / (rate / 2.0));
    let middle = (taps - 1) as f64 / 2.0;
    let mut h: Vec<f64> = (0..taps)
        .map(|n| {
            let m = n as f64 - middle;
            let window = 0.54 - 0.46 * linalg::math::cos(2.0 * PI * n as f64 / (taps - 1) as f64);
            (f2 * sinc(f2 * m) - f1 * sinc(f1 * m)) * window
        })
        .collect();
    let centre = 0.5 * (f1 + f2);
    let gain: f64 = h.iter().enumerate().map(|(n, h)| h * linalg::math::cos(PI * (n as f64 - middle) * centre)).sum();
    h.iter_mut().for_each(|h| *h /= gain);
    h
}

/// sin(pi x) / (pi x).
fn sinc(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { linalg::math::sin(PI * x) / (PI * x) }
}
