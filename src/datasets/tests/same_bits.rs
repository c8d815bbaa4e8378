//! The filter has the same bits at every instruction set of this machine, and the bits that are stored here on every machine.

use datasets::signal::{SignalParams, convolve_same};
use linalg::simd::{levels, set_level};
use ndarray::Array2;

fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = (state ^ (state >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11;
        (mixed as f64 / (1u64 << 53) as f64 - 0.5) * 10f64.powi((mixed % 7) as i32 - 3)
    }
}

fn digest(bits: impl Iterator<Item = u64>) -> u64 {
    bits.fold(0, |d, b| d.rotate_left(5).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ b)
}

#[test]
fn filtered_signals_have_the_same_bits_at_every_level_and_on_every_machine() {
    let mut seen = Vec::new();
    for level in levels() {
        assert!(set_level(level));
        let mut next = numbers(3);
        let mut all = Vec::new();
        for round in 0..40 {
            let (channels, samples) = (1 + round * 5 % 23, 2 + round * 97 % 1500);
            let mut signal = Array2::from_shape_simple_fn((channels, samples), &mut next);
            signal[[0, samples / 2]] = f64::NAN; // a lost sample
            let params = SignalParams { order: 2 + 4 * (round % 30), ..SignalParams::default() };
            let filtered = params.check(250.0).unwrap().filter(signal.view());
            assert!(filtered.iter().all(|v| v.is_finite()));
            all.extend(filtered.iter().map(|v| v.to_bits()));
            let taps: Vec<f64> = (0..1 + round % 17).map(|_| next()).collect();
            let row: Vec<f64> = (0..samples).map(|_| next()).collect();
            all.extend(convolve_same(&row, &taps).iter().map(|v| v.to_bits()));
        }
        seen.push((level, digest(all.into_iter())));
    }
    assert!(seen.iter().all(|(_, d)| *d == seen[0].1), "{seen:x?}");
    assert_eq!(format!("{:016x}", seen[0].1), "d61d46f0f2f04fdc");
}
