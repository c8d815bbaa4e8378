//! What decompositions promise, on random matrices of any shape, rank and scale, at every instruction set.

use linalg::simd::{levels, set_level};
use linalg::{cholesky, dot, eigh, lstsq, matmul, pivoted_cholesky, solve_spd, svd, symmetrise};
use ndarray::{Array2, ArrayView2};
use proptest::prelude::*;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// An (m, n) matrix of rank at most `rank`, with numbers of size `scale`.
fn low_rank(m: usize, n: usize, rank: usize, scale: f64, numbers: &[f64]) -> Array2<f64> {
    let at = |i: usize| numbers[i % numbers.len()] + 0.37 * numbers[(7 * i + 3) % numbers.len()];
    let a = Array2::from_shape_fn((m, rank), |(i, j)| at(i * rank + j));
    let b = Array2::from_shape_fn((rank, n), |(i, j)| at(1000 + 3 * (i * n + j)));
    matmul(a.view(), b.view()) * scale
}

fn largest(a: ArrayView2<'_, f64>) -> f64 {
    a.iter().fold(0.0, |m, v| m.max(v.abs()))
}

fn orthonormal(columns: ArrayView2<'_, f64>, tol: f64) -> bool {
    let gram = matmul(columns.t(), columns);
    largest((&gram - &Array2::<f64>::eye(gram.nrows())).view()) < tol
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn eigenvalues_rebuild_the_matrix_and_vectors_are_orthonormal(
        n in 1usize..40, rank in 1usize..40, scale in prop::sample::select(vec![1e-150, 1e-3, 1.0, 1e8, 1e150]),
        numbers in prop::collection::vec(-1.0..1.0f64, 97),
    ) {
        let half = low_rank(n, n, rank.min(n), scale, &numbers);
        let a = symmetrise(half.view());
        for level in levels() {
            set_level(level);
            let e = eigh(a.view()).unwrap();
            prop_assert!(e.values.windows(2).into_iter().all(|w| w[0] <= w[1]));
            prop_assert!(orthonormal(e.vectors.view(), 1e-12 * n as f64));
            let back = matmul((&e.vectors * &e.values).view(), e.vectors.t());
            prop_assert!(largest((&back - &a).view()) <= 1e-13 * n as f64 * largest(a.view()));
        }
    }

    #[test]
    fn singular_values_rebuild_the_matrix(
        m in 1usize..40, n in 1usize..40, rank in 1usize..40, scale in prop::sample::select(vec![1e-150, 1.0, 1e150]),
        numbers in prop::collection::vec(-1.0..1.0f64, 97),
    ) {
        let a = low_rank(m, n, rank.min(m).min(n), scale, &numbers);
        for level in levels() {
            set_level(level);
            let d = svd(a.view()).unwrap();
            prop_assert!(d.s.windows(2).into_iter().all(|w| w[0] >= w[1]) && d.s.iter().all(|s| *s >= 0.0));
            prop_assert!(orthonormal(d.u.view(), 1e-12 * m as f64) && orthonormal(d.vt.t(), 1e-12 * n as f64));
            let back = matmul((&d.u * &d.s).view(), d.vt.view());
            prop_assert!(largest((&back - &a).view()) <= 1e-13 * (m + n) as f64 * largest(a.view()));
        }
    }

    #[test]
    fn cholesky_rebuilds_and_solves(
        n in 1usize..50, columns in 1usize..6, numbers in prop::collection::vec(-1.0..1.0f64, 97),
    ) {
        let half = low_rank(n, n, n, 1.0, &numbers);
        let mut a = matmul(half.view(), half.t());
        let ridge = 1e-3 + largest(a.view()) * 1e-3;
        a.diag_mut().mapv_inplace(|x| x + ridge);
        let b = low_rank(n, columns, 1, 1.0, &numbers);
        for level in levels() {
            set_level(level);
            let l = cholesky(a.view()).unwrap();
            prop_assert!((0..n).all(|i| (i + 1..n).all(|j| l[[i, j]] == 0.0)));
            prop_assert!(largest((&matmul(l.view(), l.t()) - &a).view()) <= 1e-13 * n as f64 * largest(a.view()));
            let x = solve_spd(a.view(), b.view()).unwrap();
            prop_assert!(largest((&matmul(a.view(), x.view()) - &b).view()) <= 1e-9 * largest(b.view()).max(1e-300));
        }
    }

    #[test]
    fn pivoted_cholesky_rebuilds_a_matrix_of_any_rank(
        n in 1usize..50, rank in 0usize..50, scale in -8..8i32, numbers in prop::collection::vec(-1.0..1.0f64, 97),
    ) {
        let half = low_rank(n, n, rank.min(n), 10f64.powi(scale), &numbers);
        let a = matmul(half.view(), half.t());
        for level in levels() {
            set_level(level);
            let l = pivoted_cholesky(a.view()).unwrap();
            prop_assert!(l.ncols() <= n);
            prop_assert!(largest((&matmul(l.view(), l.t()) - &a).view()) <= 1e-13 * n as f64 * largest(a.view()));
        }
    }

    /// Against a sum in higher precision, at any length.
    #[test]
    fn dot_is_the_sum_of_products(x in prop::collection::vec(-1.0..1.0f64, 0..70)) {
        let y: Vec<f64> = x.iter().rev().map(|v| v * 1.5 + 0.1).collect();
        let (mut sum, mut lost) = (0.0f64, 0.0f64);
        for (a, b) in x.iter().zip(&y) {
            let product = a * b;
            let next = sum + product;
            lost += (sum - next) + product + a.mul_add(*b, -product);
            sum = next;
        }
        prop_assert!((dot(&x, &y) - (sum + lost)).abs() <= 1e-14 * x.len() as f64);
    }

    /// The residual is orthogonal to the columns, and no other solution is shorter: X lies in the row space of A.
    #[test]
    fn least_squares_of_any_rank_has_an_orthogonal_residual_and_least_norm(
        m in 1usize..30, n in 1usize..30, rank in 1usize..30, numbers in prop::collection::vec(-1.0..1.0f64, 97),
    ) {
        let a = low_rank(m, n, rank.min(m).min(n), 1.0, &numbers);
        let b = Array2::from_shape_fn((m, 2), |(i, j)| numbers[(5 * i + 11 * j) % 97]);
        prop_assume!(largest(a.view()) > 1e-3);
        for level in levels() {
            set_level(level);
            let d = svd(a.view()).unwrap();
            // A matrix between two ranks has no stable answer: leave such cases out.
            let clear = d.s.iter().all(|s| *s > 1e-4 * d.s[0] || *s < 1e-12 * d.s[0]);
            if !clear {
                continue;
            }
            let x = lstsq(a.view(), b.view(), 1e-10).unwrap();
            let residual = &matmul(a.view(), x.view()) - &b;
            prop_assert!(largest(matmul(a.t(), residual.view()).view()) <= 1e-8 * largest(a.view()) * (m + n) as f64);
            let inside = d.vt.select(ndarray::Axis(0), &(0..d.s.len()).filter(|i| d.s[*i] > 1e-8 * d.s[0]).collect::<Vec<_>>());
            let projected = matmul(inside.t(), matmul(inside.view(), x.view()).view());
            prop_assert!(largest((&projected - &x).view()) <= 1e-8 * largest(x.view()).max(1e-3));
        }
    }
}

/// Ones on the diagonal and -1 above it: R of the QR decomposition without pivoting is the matrix itself, with a diagonal of
/// ones, while its condition number is near 2^n.
#[test]
fn least_squares_sees_a_singular_matrix_behind_a_harmless_diagonal() {
    let n = 60;
    let a = Array2::from_shape_fn((n, n), |(i, j)| {
        if i == j {
            1.0
        } else if i < j {
            -1.0
        } else {
            0.0
        }
    });
    let b = Array2::<f64>::ones((n, 1));
    let x = lstsq(a.view(), b.view(), 1e-12).unwrap();
    // Through the inverse entries of the solution reach 2^59; the solution of least norm has none above a few.
    assert!(largest(x.view()) < 100.0, "{}", largest(x.view()));
}

/// A tall system of condition 1e4 with a known solution: the error is that of its condition, not of its square.
#[test]
fn least_squares_of_a_tall_matrix_is_as_accurate_as_its_condition_allows() {
    let (m, n) = (900, 60);
    let a = Array2::from_shape_fn((m, n), |(i, j)| {
        let x = (i as f64 - 450.0) / 450.0;
        ((j as f64 + 1.0) * x * 1.7 + j as f64).cos() + if j == 0 { 30.0 } else { 0.0 }
    });
    let s = svd(a.view()).unwrap().s;
    let condition = s[0] / s[n - 1];
    let want = Array2::from_shape_fn((n, 3), |(i, j)| ((1 + i + 7 * j) as f64).sin());
    let b = matmul(a.view(), want.view());
    let x = lstsq(a.view(), b.view(), 1e-13).unwrap();
    let error = largest((&x - &want).view());
    println!("condition {condition:.1e}, error {error:.1e}");
    assert!(condition > 1e3 && error < 20.0 * condition * f64::EPSILON, "{condition:e} {error:e}");
}

/// A reversed axis of length one has a negative stride that a copy keeps: the product once copied for ever.
#[test]
fn a_reversed_axis_of_length_one_is_multiplied() {
    let mut a = ndarray::array![[2.0], [3.0]];
    a.invert_axis(ndarray::Axis(1));
    let product = linalg::matmul(a.t(), ndarray::array![[1.0, 0.0], [0.0, 1.0]].view());
    assert_eq!(product, ndarray::array![[2.0, 3.0]]);
}

/// faer finds no singular values of this matrix, Q (I + S) with S skew: a descent on rotations stopped there with "svd did not converge".
#[test]
fn singular_values_in_equal_pairs() {
    let n = 50;
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    rng.set_word_pos(72_958_400);
    let g = Array2::from_shape_fn((n, n), |_| rng.random::<f64>() - 0.5);
    let t = Array2::from_shape_fn((n, n), |_| 1e4 * (rng.random::<f64>() - 0.5));
    let d = svd(g.view()).unwrap();
    let q = d.u.dot(&d.vt);
    let a = &q + &q.dot(&(&t - &t.t()));
    let d = svd(a.view()).unwrap();
    let back = d.u.dot(&Array2::from_diag(&d.s)).dot(&d.vt);
    assert!((back - &a).iter().all(|v| v.abs() <= 1e-13 * d.s[0]));
    for pair in 0..n / 2 {
        assert!((d.s[2 * pair] - d.s[2 * pair + 1]).abs() <= 1e-12 * d.s[0], "{}", d.s);
    }
}

/// Beyond 2048 columns faer's product of our scalars panics: a sentence instead.
#[test]
fn matrices_that_are_too_large_are_refused() {
    let large = Array2::<f64>::eye(2049);
    for said in [eigh(large.view()).map(drop), svd(large.view()).map(drop), pivoted_cholesky(large.view()).map(drop)] {
        assert!(
            said.unwrap_err()
                .to_string()
                .ends_with("a matrix of 2049 x 2049 is too large; 2048 rows or columns are the limit")
        );
    }
}
