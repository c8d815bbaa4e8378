//! The small products against a plain triple loop, over every edge shape.
//!
//! Miri is slow, so it gets a few small sizes that lead through each path of the portable kernels once:
//! `MIRIFLAGS=-Zmiri-disable-isolation REPRO_SIMD=plain cargo +nightly miri test -p linalg --test small_products`.

use linalg::Real;
use linalg::small::{AdamStep, adam_step, residual, row_dots, small_gemm};

/// All sizes, or those for Miri.
fn sizes<T>(all: &'static [T], for_miri: &'static [T]) -> &'static [T] {
    if cfg!(miri) { for_miri } else { all }
}

fn check<T: Real>(tol: f64) {
    let value = |i: usize| T::of(((i * 7919 % 101) as f64 - 50.0) / 37.0);
    let all = &[
        (1, 1, 1),
        (1, 150, 3),
        (10, 10, 100),
        (50, 20, 20),
        (3, 15, 15),
        (9, 49, 7),
        (17, 33, 600),
        (40, 40, 300),
        (5, 100, 1),
        (13, 7, 4),
        (40, 100, 160),
        (12, 22, 3),
        (7, 29, 6),
        (6, 27, 5),
        (11, 12, 9),
        (2, 3, 0),
    ];
    // A wide tile and its rest, whole tiles, rests of rows and columns, a second pass over the depth, no depth.
    for &(m, n, k) in sizes(all, &[(1, 150, 3), (4, 8, 5), (7, 19, 6), (2, 3, 257), (2, 3, 0)]) {
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
fn row_dots_equals_the_triple_loop_and_leaves_gaps_alone() {
    fn check<T: Real>(tol: f64) {
        let value = |i: usize| T::of(((i * 7919 % 101) as f64 - 50.0) / 37.0);
        let all = &[(1, 1, 1), (4, 3, 16), (5, 4, 33), (16, 3, 210), (3, 7, 8), (9, 1, 1000), (2, 2, 0)];
        // Whole vectors; all four tiles with a rest; no depth.
        for &(m, n, k) in sizes(all, &[(4, 3, 16), (5, 4, 33), (2, 2, 0)]) {
            let a = (0..m * (k + 1)).map(value).collect::<Vec<_>>();
            let b = (0..n * (k + 2)).map(|i| value(i + 5)).collect::<Vec<_>>();
            let mut c = vec![T::one(); m * (n + 1)];
            row_dots((m, n, k), &a, k + 1, &b, k + 2, &mut c, n + 1);
            for (i, row) in c.chunks(n + 1).enumerate() {
                for j in 0..n {
                    let want: f64 = (0..k).map(|x| (a[i * (k + 1) + x] * b[j * (k + 2) + x]).as_f64()).sum();
                    assert!((row[j].as_f64() - want).abs() <= tol * (1.0 + k as f64), "{m} {n} {k}: {} {want}", row[j]);
                }
                assert!(row[n] == T::one());
            }
        }
    }
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

/// Products over lanes against the triple loop of each sample, over every tile shape.
fn check_lanes<T: Real>(tol: f64) {
    use linalg::batch::{Store, lane_gemm, lane_gradient, lane_mirror, lane_put, lane_residual};
    let value = |i: usize| T::of(((i * 7919 % 101) as f64 - 50.0) / 37.0);
    let lane = |i: usize| std::array::from_fn::<T, 16, _>(|l| value(3 * i + 5 * l));
    let near = |got: T, want: f64, k: usize, what: &str| {
        assert!((got.as_f64() - want).abs() <= tol * (1.0 + k as f64), "{what}: {got} {want}");
    };
    // Five rows are a tile of two and one of three; thirteen columns are two passes of the gradient.
    for &m in sizes(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 22], &[1, 2, 3, 4, 5]) {
        let all = &[(1, 1), (2, 7), (4, 3), (5, 20), (8, 2), (13, 9), (23, 4)];
        for &(n, k) in sizes(all, &[(1, 1), (3, 2), (13, 2)]) {
            let a = (0..m * k).map(value).collect::<Vec<_>>();
            let b = (0..k * n).map(lane).collect::<Vec<_>>();
            for transposed in [false, true] {
                let (a_s, b_s, c_s) = if transposed { ((1, m), (1, k), (1, m)) } else { ((k, 1), (n, 1), (n, 1)) };
                let mut c = vec![[T::of(0.0); 16]; m * n];
                lane_gemm((m, n, k), &a, a_s, &b, b_s, &mut c, c_s, Store::Set);
                for (i, j, l) in (0..m * n * 16).map(|x| (x / 16 / n, x / 16 % n, x % 16)) {
                    let term = |x: usize| (a[i * a_s.0 + x * a_s.1] * b[x * b_s.0 + j * b_s.1][l]).as_f64();
                    near(c[i * c_s.0 + j * c_s.1][l], (0..k).map(term).sum(), k, "lane_gemm");
                }
            }
            let d = (0..m * k).map(|i| lane(i + 1)).collect::<Vec<_>>();
            let mut g = (0..m * n).map(value).collect::<Vec<_>>();
            lane_gradient((m, n, k), &d, (k, 1), &b, (n, 1), &mut g, n);
            for (i, j) in (0..m * n).map(|x| (x / n, x % n)) {
                let terms = (0..k * 16).map(|x| (d[i * k + x / 16][x % 16] * b[x / 16 * n + j][x % 16]).as_f64());
                near(g[i * n + j], value(i * n + j).as_f64() + terms.sum::<f64>(), 16 * k, "lane_gradient");
            }
        }
        // B B^T is symmetric: half of it is computed, all of it is there.
        let a = (0..m * 3).map(value).collect::<Vec<_>>();
        let b = a.iter().map(|&x| [x; 16]).collect::<Vec<_>>();
        let mut c = vec![[T::of(7.0); 16]; m * m];
        for (times, store) in [(1.0, Store::SetLower), (2.0, Store::AddLower), (3.0, Store::Add)] {
            lane_gemm((m, m, 3), &a, (3, 1), &b, (1, 3), &mut c, (m, 1), store);
            lane_mirror(m, &mut c, (m, 1));
            for (i, j) in (0..m * m).map(|x| (x / m, x % m)) {
                let want = (0..3).map(|x| (a[i * 3 + x] * a[j * 3 + x]).as_f64()).sum::<f64>();
                c[i * m + j].iter().for_each(|&got| near(got, times * want, 9, "symmetric"));
            }
        }
        for count in [1, 5, 16] {
            let samples = (0..count).map(|l| (0..m).map(|i| value(i + 31 * l)).collect::<Vec<_>>()).collect::<Vec<_>>();
            let mut to = vec![[T::of(9.0); 16]; m];
            lane_put(count, |l| &samples[l], &mut to);
            for (i, l) in (0..m * 16).map(|x| (x / 16, x % 16)) {
                assert_eq!(to[i][l], if l < count { samples[l][i] } else { T::of(0.0) });
            }
            let (y, mask) =
                (vec![[T::of(1.0); 16]; m], (0..m).map(|i| [T::of((i % 2) as f64); 16]).collect::<Vec<_>>());
            let before = to.clone();
            let sums = lane_residual(&mut to, &y, Some(&mask));
            for l in 0..16 {
                let want = (0..m).filter(|i| i % 2 == 1).map(|i| (before[i][l].as_f64() - 1.0).powi(2)).sum();
                near(sums[l], want, m, "lane_residual");
            }
        }
    }
}

#[test]
fn lane_products_equal_the_triple_loop_in_both_precisions() {
    check_lanes::<f32>(1e-5);
    check_lanes::<f64>(1e-14);
}

/// Strides whose products wrap around must be refused, not read.
mod strides_that_wrap_around {
    use linalg::batch::{Store, lane_gemm, lane_gradient};
    use linalg::small::{row_dots, small_gemm};

    const HALF: usize = 1 << (usize::BITS - 1);

    #[test]
    #[should_panic(expected = "A is too short")]
    fn in_small_gemm() {
        small_gemm((3, 1, 1), &[1.0f32; 4], (HALF, 1), &[1.0; 4], 1, &mut [0.0; 4], 1, false);
    }

    #[test]
    #[should_panic(expected = "B is too short")]
    fn in_row_dots() {
        row_dots((1, 3, 1), &[1.0f32; 4], 1, &[1.0; 4], HALF, &mut [0.0; 4], 3);
    }

    #[test]
    #[should_panic(expected = "B is too short")]
    fn in_lane_gemm() {
        let mut c = [[0.0f32; 16]; 4];
        lane_gemm((1, 3, 1), &[1.0; 4], (1, 1), &[[1.0; 16]; 4], (1, HALF), &mut c, (1, 1), Store::Set);
    }

    #[test]
    #[should_panic(expected = "D is too short")]
    fn in_lane_gradient() {
        lane_gradient((3, 1, 1), &[[1.0f32; 16]; 4], (HALF, 1), &[[1.0; 16]; 4], (1, 1), &mut [0.0; 4], 1);
    }

    #[test]
    fn but_a_stride_that_is_never_used_may_be_anything() {
        let mut c = [0.0f32; 2];
        small_gemm((1, 2, 1), &[3.0], (HALF, HALF), &[1.0, 2.0], HALF, &mut c, HALF, false);
        assert_eq!(c, [3.0, 6.0]);
    }
}
