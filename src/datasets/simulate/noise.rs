//! Random signals: 1/f background and narrow-band rhythms, each from its own stream of the generator.

use std::f64::consts::PI;

use linalg::random::StandardNormal;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::Distribution;

/// The random generator of stream `stream` of a seed. Each source has its own stream, so the sources can be computed in any order.
pub(super) fn stream(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    rng
}

pub(super) fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// Noise with power close to 1/f from about 0.1 Hz to half the rate, of unit deviation: one white input through first-order
/// low-passes whose corners are spread over the decades.
pub(super) fn pink(rng: &mut ChaCha8Rng, n: usize) -> Vec<f64> {
    const POLES: [f64; 5] = [0.998, 0.99, 0.95, 0.8, 0.3];
    // Amplitude of each low-pass: its corner times 1/sqrt(corner), so that the powers add up to about 1/f.
    let gains = POLES.map(|p| (1.0 - p).sqrt());
    let mut state = [0.0; POLES.len()];
    let mut out: Vec<f64> = (0..n)
        .map(|_| {
            let w = normal(rng);
            for i in 0..POLES.len() {
                state[i] = POLES[i] * state[i] + gains[i] * w;
            }
            state.iter().sum()
        })
        .collect();
    unit(&mut out);
    out
}

/// A rhythm around `frequency` Hz whose amplitude rises and falls: white noise through a two-pole resonator, of unit deviation.
pub(super) fn rhythm(rng: &mut ChaCha8Rng, n: usize, frequency: f64, width: f64, rate: f64) -> Vec<f64> {
    let r = linalg::math::exp(-PI * width / rate);
    let (a1, a2) = (2.0 * r * linalg::math::cos(2.0 * PI * frequency / rate), -r * r);
    let (mut y1, mut y2) = (0.0, 0.0);
    let mut out: Vec<f64> = (0..n)
        .map(|_| {
            let y = a1 * y1 + a2 * y2 + normal(rng);
            (y2, y1) = (y1, y);
            y
        })
        .collect();
    unit(&mut out);
    out
}

/// Scales to unit root mean square.
fn unit(x: &mut [f64]) {
    let rms = (x.iter().map(|v| v * v).sum::<f64>() / x.len().max(1) as f64).sqrt();
    if rms > 0.0 {
        x.iter_mut().for_each(|v| *v /= rms);
    }
}
