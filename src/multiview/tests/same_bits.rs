//! Kernels have the same bits at every instruction set of this machine, and the bits that are stored here on every machine.

use linalg::simd::{levels, set_level};
use multiview::{FeatureKernel, Similarity, Width};
use ndarray::Array2;

/// Features that are not negative, of very different sizes, with zeros.
fn features(rows: usize, columns: usize, seed: u64) -> Array2<f64> {
    let mut state = seed;
    Array2::from_shape_simple_fn((rows, columns), || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = (state ^ (state >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11;
        let unit = mixed as f64 / (1u64 << 53) as f64;
        if mixed.is_multiple_of(9) { 0.0 } else { unit * 10f64.powi((mixed % 7) as i32 - 3) }
    })
}

fn all_kernels(rows: usize, columns: usize, seed: u64) -> Vec<f64> {
    let (x, other) = (features(rows, columns, seed), features(3, columns, seed + 1));
    let published = [multiview::rbf_kernel(x.view(), None).unwrap(), multiview::chi2_kernel(x.view(), None).unwrap()];
    let additive = multiview::chi2_additive_kernel(x.view()).unwrap();
    let kinds = [
        Similarity::Rbf,
        Similarity::Chi2,
        Similarity::Chi2Additive,
        Similarity::Linear,
        Similarity::Polynomial { degree: 3 },
    ];
    let own = kinds.map(|kind| FeatureKernel::fit(kind, Width::Mean, x.view()).unwrap().matrix(other.view()).unwrap());
    published.iter().chain([&additive]).chain(&own).flat_map(|k| k.iter().copied()).collect()
}

#[test]
fn kernels_have_the_same_bits_at_every_level_and_on_every_machine() {
    let mut digest = 0u64;
    for round in 0..60 {
        let (rows, columns) = (2 + round * 7 % 31, 1 + round * 11 % 47);
        let mut want: Option<Vec<u64>> = None;
        for level in levels() {
            assert!(set_level(level));
            let got: Vec<u64> = all_kernels(rows, columns, round as u64).iter().map(|v| v.to_bits()).collect();
            assert!(want.as_ref().is_none_or(|want| *want == got), "{rows} x {columns} {level:?}");
            want = Some(got);
        }
        let bits = want.unwrap();
        digest = bits.iter().fold(digest, |d, b| d.rotate_left(5).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ b);
    }
    assert_eq!(format!("{digest:016x}"), "babc170ffec793b8");
}
