//! Laws of the geometry and of transport on random matrices.

use ndarray::{Array1, Array2, Array3, ArrayView2, Axis, s};
use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use spd::{MeanParams, Metric, SinkhornParams};

fn normal(rows: usize, cols: usize, rng: &mut ChaCha8Rng) -> Array2<f64> {
    Array2::from_shape_simple_fn((rows, cols), || StandardNormal.sample(rng))
}

fn random(k: usize, n: usize, seed: u64) -> Array3<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut x = Array3::zeros((k, n, n));
    for mut m in x.axis_iter_mut(Axis(0)) {
        let g = normal(n, n + 3, &mut rng);
        m.assign(&linalg::symmetrise((g.dot(&g.t()) + Array2::<f64>::eye(n) * 0.1).view()));
    }
    x
}

fn transform(x: &Array3<f64>, w: ArrayView2<'_, f64>) -> Array3<f64> {
    let mut out = Array3::zeros(x.dim());
    for (mut o, m) in out.axis_iter_mut(Axis(0)).zip(x.axis_iter(Axis(0))) {
        o.assign(&linalg::symmetrise(w.dot(&m).dot(&w.t()).view()));
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn eigenvalues_agree_with_linalg(k in 1usize..12, n in 1usize..26, seed: u64) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut x = Array3::zeros((k, n, n));
        for (t, mut m) in x.axis_iter_mut(Axis(0)).enumerate() {
            let g = linalg::symmetrise(normal(n, n, &mut rng).view());
            // Some matrices diagonal, some of low rank, some with clusters: where QL has to split.
            m.assign(&match t % 4 {
                0 => g,
                1 => Array2::from_diag(&g.diag()),
                2 => { let c = g.slice(s![.., ..1]).to_owned(); linalg::symmetrise(c.dot(&c.t()).view()) }
                _ => Array2::eye(n) * 2.0,
            });
        }
        let f = |v: f64| v.tanh() + 0.3 * v;
        let got = spd::map_eigenvalues(x.view(), f).unwrap();
        for (m, g) in x.axis_iter(Axis(0)).zip(got.axis_iter(Axis(0))) {
            let want = linalg::sym_fn(m, f).unwrap();
            prop_assert!((&g - &want).iter().all(|e| e.abs() < 1e-12 * (n as f64 + 1.0)), "{}", &g - &want);
        }
    }

    #[test]
    fn congruence_inversion_symmetry_triangle(n in 1usize..9, seed: u64) {
        let x = random(3, n, seed);
        let w = normal(n, n, &mut ChaCha8Rng::seed_from_u64(!seed)) + Array2::<f64>::eye(n) * 3.0;
        let inverse = spd::map_eigenvalues(x.view(), |v| 1.0 / v).unwrap();
        let d = spd::pairwise_distances(x.view(), x.view(), Metric::AffineInvariant).unwrap();
        let moved = spd::self_distances(transform(&x, w.view()).view(), Metric::AffineInvariant).unwrap();
        let inverted = spd::self_distances(inverse.view(), Metric::AffineInvariant).unwrap();
        for metric in [Metric::AffineInvariant, Metric::LogEuclidean, Metric::BuresWasserstein] {
            let d = spd::pairwise_distances(x.view(), x.view(), metric).unwrap();
            // The Bures-Wasserstein distance is the root of a difference, so it keeps half of the digits near zero.
            let rounding = if metric == Metric::BuresWasserstein { 1e-6 } else { 1e-10 };
            for i in 0..3 {
                prop_assert!(d[[i, i]] < rounding);
                for j in 0..3 {
                    prop_assert!((d[[i, j]] - d[[j, i]]).abs() < rounding);
                    prop_assert!((0..3).all(|k| d[[i, j]] <= d[[i, k]] + d[[k, j]] + rounding));
                }
            }
        }
        for i in 0..3 {
            for j in 0..i {
                prop_assert!((d[[i, j]] - moved[[i, j]]).abs() < 1e-6 * (1.0 + d[[i, j]]));
                prop_assert!((d[[i, j]] - inverted[[i, j]]).abs() < 1e-8 * (1.0 + d[[i, j]]));
            }
        }
    }

    #[test]
    fn the_mean_of_two_is_the_midpoint(n in 1usize..9, seed: u64, t in 0.05f64..0.95) {
        let x = random(2, n, seed);
        let params = MeanParams { tolerance: 1e-11, max_iterations: 500 }.check().unwrap();
        let w = Array1::from(vec![1.0 - t, t]);
        let m = spd::mean(x.view(), Some(w.view()), Metric::AffineInvariant, &params).unwrap();
        let point = spd::geodesic(x.index_axis(Axis(0), 0), x.index_axis(Axis(0), 1), t).unwrap();
        prop_assert!(m.converged);
        prop_assert!(spd::distance(m.matrix.view(), point.view(), Metric::AffineInvariant).unwrap() < 1e-7);
        // Log-Euclidean and affine-invariant agree on commuting matrices: A and A^2.
        let a = x.slice(s![..1, .., ..]);
        let both = ndarray::concatenate![Axis(0), a, spd::powm(a, 2.0).unwrap()];
        let flat = spd::mean(both.view(), None, Metric::LogEuclidean, &params).unwrap();
        let curved = spd::mean(both.view(), None, Metric::AffineInvariant, &params).unwrap();
        prop_assert!((&flat.matrix - &curved.matrix).iter().all(|e| e.abs() < 1e-6 * flat.matrix.diag().sum()));
    }

    #[test]
    fn a_mean_does_not_depend_on_its_company(seed: u64) {
        let x = random(20, 5, seed);
        let params = MeanParams::default().check().unwrap();
        let pick = |s: usize| (0..7).map(|i| ((s * 3 + i * 2) % 20, 1.0 + i as f64)).collect::<Vec<_>>();
        let rows: Vec<_> = (0..19).map(pick).collect();
        let together = spd::means(x.view(), &rows, Metric::AffineInvariant, &params).unwrap();
        for (row, m) in rows.iter().zip(&together) {
            prop_assert_eq!(&spd::means(x.view(), std::slice::from_ref(row), Metric::AffineInvariant, &params).unwrap()[0], m);
        }
    }

    #[test]
    fn transport_meets_its_marginals_and_tends_to_the_exact_plan(m in 1usize..9, n in 1usize..9, seed: u64) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let cost = normal(m, n, &mut rng).mapv(|v| v * v);
        let marginal = |len: usize, rng: &mut ChaCha8Rng| {
            let w = normal(1, len, rng).row(0).mapv(|v| v.abs() + 0.05);
            let sum = w.sum();
            w / sum
        };
        let (a, b) = (marginal(m, &mut rng), marginal(n, &mut rng));
        let exact = spd::emd(cost.view(), a.view(), b.view()).unwrap();
        prop_assert!((exact.plan.sum_axis(Axis(1)) - &a).iter().all(|e| e.abs() < 1e-12));
        prop_assert!((exact.plan.sum_axis(Axis(0)) - &b).iter().all(|e| e.abs() < 1e-12));
        // A plan that misses its marginals by e is optimal or worse for other marginals, whose cost is nearby: dual potentials are at most
        // the largest cost, and there are m + n of them.
        let largest = cost.iter().fold(0.0f64, |m, c| m.max(*c));
        let slack = |p: &spd::TransportPlan| largest * (m + n) as f64 * p.marginal_error + 1e-12;
        let (mut before, mut missed) = (f64::INFINITY, 0.0);
        for regularisation in [1.0, 0.1, 0.01] {
            let params = SinkhornParams { regularisation, iterations: 20_000, tolerance: 1e-10 }.check().unwrap();
            let p = spd::sinkhorn_log(cost.view(), a.view(), b.view(), &params).unwrap();
            prop_assert!(p.cost >= exact.cost - slack(&p));
            prop_assert!(p.cost <= before + missed + slack(&p));
            (before, missed) = (p.cost, slack(&p));
            if regularisation > 0.05 {
                prop_assert!(p.marginal_error < 1e-6, "{}", p.marginal_error);
                let plain = spd::sinkhorn(cost.view(), a.view(), b.view(), &params).unwrap();
                prop_assert!((&plain.plan - &p.plan).iter().all(|e| e.abs() < 1e-8));
            }
        }
        // The entropy of a plan is at most log(m n): that is how far the regularised cost can lie above.
        prop_assert!(before <= exact.cost + 0.01 * ((m * n) as f64).ln() + missed);
    }

    #[test]
    fn identical_sessions_map_to_themselves_as_the_regularisation_falls(seed: u64) {
        let x = random(6, 4, seed);
        let cost = spd::self_distances(x.view(), Metric::AffineInvariant).unwrap().mapv(|d| d * d);
        let uniform = Array1::from_elem(6, 1.0 / 6.0);
        let on_diagonal = |regularisation: f64| {
            let params = SinkhornParams { regularisation, iterations: 3000, tolerance: 0.0 }.check().unwrap();
            spd::sinkhorn_log(cost.view(), uniform.view(), uniform.view(), &params).unwrap().plan.diag().sum()
        };
        let (rough, fine) = (on_diagonal(1.0), on_diagonal(0.02));
        prop_assert!(fine > 0.999 && fine >= rough, "{rough} then {fine}");
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let x = random(70, 7, 5);
    let params = MeanParams::default().check().unwrap();
    let rows: Vec<_> = (0..40).map(|s| (0..9).map(|i| ((s + i * 7) % 70, 1.0 + i as f64)).collect()).collect();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let d = spd::self_distances(x.view(), Metric::AffineInvariant).unwrap();
            let uniform = Array1::from_elem(70, 1.0 / 70.0);
            let params_s = SinkhornParams { regularisation: 0.01, iterations: 50, tolerance: 0.0 }.check().unwrap();
            let plan = spd::sinkhorn_log(d.view(), uniform.view(), uniform.view(), &params_s).unwrap();
            (
                d,
                plan,
                spd::means(x.view(), &rows, Metric::AffineInvariant, &params).unwrap(),
                spd::logm(x.view()).unwrap(),
            )
        })
    };
    assert!(run(1) == run(3));
}
