//! The small products against a plain triple loop, over every edge shape.

use crate::Real;
use crate::kernels::{AdamStep, adam_step, residual, small_gemm};

fn check<T: Real>(tol: f64) {
    let value = |i: usize| T::of(((i * 7919 % 101) as f64 - 50.0) / 37.0);
    for &(m, n, k) in &[
        (1, 1, 1),
        (10, 10, 100),
        (50, 20, 20),
        (3, 15, 15),
        (9, 49, 7),
        (17, 33, 600),
        (40, 40, 300),
        (5, 100, 1),
        (2, 3, 0),
    ] {
        for transposed in [false, true] {
            for add in [false, true] {
                let a = (0..m * k).map(value).collect::<Vec<_>>();
                let b = (0..k * (n + 3)).map(|i| value(i + 5)).collect::<Vec<_>>();
                let mut c = (0..m * (n + 2)).map(|i| value(i + 11)).collect::<Vec<_>>();
                let mut want = c.clone();
                let (row, col) = if transposed { (1, m) } else { (k, 1) };
                for i in 0..m {
                    for j in 0..n {
                        let dot: f64 = (0..k).map(|x| (a[i * row + x * col] * b[x * (n + 3) + j]).as_f64()).sum();
                        let before = if add { want[i * (n + 2) + j].as_f64() } else { 0.0 };
                        want[i * (n + 2) + j] = T::of(before + dot);
                    }
                }
                small_gemm((m, n, k), &a, (row, col), &b, n + 3, &mut c, n + 2, add);
                for (got, want) in c.iter().zip(&want) {
                    assert!(
                        (got.as_f64() - want.as_f64()).abs() <= tol * (1.0 + k as f64),
                        "{m} {n} {k}: {got} {want}"
                    );
                }
            }
        }
    }
}

#[test]
fn small_gemm_equals_the_triple_loop_in_both_precisions() {
    check::<f32>(1e-5);
    check::<f64>(1e-14);
}

#[test]
fn adam_step_is_keras_formula() {
    let step = AdamStep { rate: 0.1, beta1: 0.9, beta2: 0.999, epsilon: 1e-7, scale: 2.0 };
    let (mut w, mut m, mut v) = (vec![1.0f64; 19], vec![0.5; 19], vec![0.25; 19]);
    let g = (0..19).map(|i| i as f64 - 9.0).collect::<Vec<_>>();
    adam_step(step, &mut w, &mut m, &mut v, &g);
    for i in 0..19 {
        let g = 2.0 * g[i];
        let (mi, vi) = (0.9 * 0.5 + 0.1 * g, 0.999 * 0.25 + 0.001 * g * g);
        assert!((m[i] - mi).abs() < 1e-14 && (v[i] - vi).abs() < 1e-14);
        assert!((w[i] - (1.0 - 0.1 * mi / (vi.sqrt() + 1e-7))).abs() < 1e-14);
    }
}

#[test]
fn residual_masks_and_sums_squares() {
    let mut out = (0..37).map(f64::from).collect::<Vec<_>>();
    let mask = (0..37).map(|i| f64::from(i % 2)).collect::<Vec<_>>();
    let sum = residual(&mut out, &[1.0; 37], Some(&mask));
    let want = (0..37).filter(|i| i % 2 == 1).map(|i| f64::from((i - 1) * (i - 1))).sum::<f64>();
    assert_eq!(sum, want);
    assert_eq!(out[4], 0.0);
}
