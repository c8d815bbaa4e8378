//! Geometry, means and transport give the same bits at every instruction set of this machine, over random sizes.

use linalg::simd::{levels, set_level};
use ndarray::{Array1, Array2, Array3, Axis};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use spd::{Estimator, GroupLasso, Labels, Mdm, MeanParams, Metric, SinkhornParams};
use std::sync::{Mutex, MutexGuard};

/// The level belongs to the process, and tests run in threads.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(|e| e.into_inner())
}

/// Computes at every level and compares with the first. The machine must have two levels to compare; every x86-64 of the last ten years
/// has.
fn same(what: &str, compute: impl Fn() -> Vec<f64>) {
    let all = levels();
    assert!(set_level(all[0]));
    let want = compute();
    assert!(!want.is_empty() && want.iter().all(|v| v.is_finite()), "{what}: nothing to compare");
    for level in all {
        assert!(set_level(level));
        let got = compute();
        let differ = got.iter().zip(&want).filter(|(a, b)| a.to_bits() != b.to_bits()).count();
        assert!(got.len() == want.len() && differ == 0, "{what} {level:?}: {differ} of {} numbers differ", want.len());
    }
}

fn normal(rows: usize, cols: usize, rng: &mut ChaCha8Rng) -> Array2<f64> {
    Array2::from_shape_simple_fn((rows, cols), || StandardNormal.sample(rng))
}

/// Matrices of different scales and conditions.
fn random(k: usize, n: usize, rng: &mut ChaCha8Rng) -> Array3<f64> {
    let mut x = Array3::zeros((k, n, n));
    for (t, mut m) in x.axis_iter_mut(Axis(0)).enumerate() {
        let g = normal(n, n + 2, rng);
        let small = 10f64.powi(-((t % 5) as i32));
        m.assign(&linalg::symmetrise((g.dot(&g.t()) + Array2::<f64>::eye(n) * small).view()));
    }
    x
}

fn flat<D: ndarray::Dimension>(a: &ndarray::Array<f64, D>) -> Vec<f64> {
    a.iter().copied().collect()
}

const METRICS: [Metric; 3] = [Metric::AffineInvariant, Metric::LogEuclidean, Metric::BuresWasserstein];

#[test]
fn functions_distances_and_covariances() {
    let _alone = alone();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for round in 0..40 {
        let (k, n) = (1 + rng.random_range(0..19), 1 + rng.random_range(0..if round % 8 == 0 { 40 } else { 14 }));
        let (x, y) = (random(k, n, &mut rng), random(3, n, &mut rng));
        same(&format!("functions of {k} x {n}"), || {
            let all = [spd::logm, spd::expm, spd::sqrtm, spd::invsqrtm].map(|f| flat(&f(x.view()).unwrap()));
            [all.concat(), flat(&spd::powm(x.view(), 0.3).unwrap())].concat()
        });
        same(&format!("distances of {k} x {n}"), || {
            let pair = |m| flat(&spd::pairwise_distances(x.view(), y.view(), m).unwrap());
            METRICS.map(pair).concat()
        });
        same(&format!("tangent vectors of {k} x {n}"), || {
            let v = spd::tangent_space(x.view(), y.index_axis(Axis(0), 0)).unwrap();
            [flat(&v), flat(&spd::from_tangent_space(v.view(), y.index_axis(Axis(0), 0)).unwrap())].concat()
        });
        let signals = Array3::from_shape_simple_fn((3, n, 5 * n + 7), || StandardNormal.sample(&mut rng));
        same(&format!("covariances of {n} channels"), || {
            let by = |e| flat(&spd::covariances(signals.view(), e).unwrap());
            [Estimator::Sample, Estimator::Oas, Estimator::LedoitWolf].map(by).concat()
        });
    }
}

#[test]
fn means_and_the_classifier() {
    let _alone = alone();
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let params = MeanParams::default().check().unwrap();
    for _ in 0..15 {
        let (k, n) = (6 + rng.random_range(0..20), 1 + rng.random_range(0..14));
        let x = random(k, n, &mut rng);
        let weights = Array1::from_shape_simple_fn(k, || rng.random_range(0.1..2.0));
        same(&format!("means of {k} x {n}"), || {
            let of = |m| flat(&spd::mean(x.view(), Some(weights.view()), m, &params).unwrap().matrix);
            METRICS.map(of).concat()
        });
        let labels = Labels::new(&(0..k as i64).map(|i| i % 3).collect::<Vec<_>>()).unwrap();
        same(&format!("MDM of {k} x {n}"), || {
            let mdm = Mdm::fit(x.view(), &labels, Metric::AffineInvariant, &params).unwrap();
            [flat(&mdm.distances(x.view()).unwrap()), flat(&mdm.probabilities(x.view()).unwrap())].concat()
        });
    }
}

#[test]
fn transport() {
    let _alone = alone();
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for round in 0..30 {
        let most = if round % 6 == 0 { 90 } else { 20 };
        let (m, n) = (1 + rng.random_range(0..most), 1 + rng.random_range(0..most));
        let cost = normal(m, n, &mut rng).mapv(|v| v * v);
        let mut marginal = |len: usize| {
            let w = Array1::from_shape_simple_fn(len, || rng.random_range(0.1..1.0));
            let sum = w.sum();
            w / sum
        };
        let (a, b) = (marginal(m), marginal(n));
        let labels = Labels::new(&(0..m as i64).map(|i| i % 2).collect::<Vec<_>>()).unwrap();
        let params = SinkhornParams { regularisation: 0.5, iterations: 60, tolerance: 0.0 }.check().unwrap();
        same(&format!("Sinkhorn of {m} x {n}"), || {
            let plain = spd::sinkhorn(cost.view(), a.view(), b.view(), &params).unwrap();
            let log = spd::sinkhorn_log(cost.view(), a.view(), b.view(), &params).unwrap();
            let exact = spd::emd(cost.view(), a.view(), b.view()).unwrap();
            [flat(&plain.plan), flat(&log.plan), flat(&exact.plan), vec![plain.cost, log.cost, exact.cost]].concat()
        });
        same(&format!("Sinkhorn with groups of {m} x {n}"), || {
            let lasso = GroupLasso { eta: 0.05, rounds: 3 };
            flat(&spd::sinkhorn_group_lasso(cost.view(), a.view(), b.view(), &labels, lasso, &params).unwrap().plan)
        });
    }
}
