//! Trace regression: optimality, speed of the path, recovery of its own model.

mod common;

use baselines::{Lambda, Multivariate, Penalty, Regressor, TraceRegression};
use common::*;
use ndarray::{Array2, Array3, Axis};

fn gaussian(seed: u64, l: usize, p: usize) -> Array3<f64> {
    Array3::from_shape_vec((l, p, p), normal(&mut rng(seed), l, p * p).into_raw_vec_and_offset().0).unwrap()
}

fn traces(b: &Array2<f64>, x: &Array3<f64>) -> Array3<f64> {
    let y: Vec<f64> = x.outer_iter().map(|m| (&m * b).sum()).collect();
    Array3::from_shape_vec((y.len(), 1, 1), y).unwrap()
}

/// On the released data: certificates below 1e-6 for every output, lambda by validation.
#[test]
fn released_data_are_solved_to_optimality() {
    let mut rng = rng(3);
    let a = kraus(&mut rng, 5, 10, 20);
    for l in [100, 10_000] {
        let (x, xt) = (wishart(&mut rng, l, 20), wishart(&mut rng, 500, 20));
        let (y, yt) = (noisy(&mut rng, &apply(&a, &x), 0.1), apply(&a, &xt));
        for model in [TraceRegression::nuclear(), TraceRegression::psd()] {
            let start = std::time::Instant::now();
            let fit = model.fit(x.view(), y.view()).unwrap();
            let r = &fit.report;
            println!(
                "l {l} {}: mse {:.3e} kkt {:.1e} gap {:?} iterations {} chosen {:?} {:.2} s",
                model.name(),
                fit.mse(xt.view(), yt.view()).unwrap(),
                r.kkt.unwrap(),
                r.gap,
                r.iterations,
                r.chosen,
                start.elapsed().as_secs_f64()
            );
            assert!(r.kkt.unwrap() < 1e-6);
            assert!(r.gap.is_none_or(|g| g < 1e-6));
        }
    }
}

/// A rank-1 matrix from fewer samples than unknowns: the nuclear norm finds it, least squares cannot.
#[test]
fn nuclear_norm_recovers_a_low_rank_matrix() {
    let mut rng = rng(4);
    let p = 12;
    let b = normal(&mut rng, p, 1).dot(&normal(&mut rng, 1, p));
    let (x, xt) = (gaussian(5, 100, p), gaussian(6, 200, p));
    let (y, yt) = (traces(&b, &x), traces(&b, &xt));
    let model = TraceRegression::with(Penalty::Nuclear(Lambda::Ratio(1e-6)));
    let fit = model.fit(x.view(), y.view()).unwrap();
    let relative = fit.mse(xt.view(), yt.view()).unwrap() / mean_square(&yt);
    let ls = Multivariate::least_squares().fit(x.view(), y.view()).unwrap();
    let blind = ls.mse(xt.view(), yt.view()).unwrap() / mean_square(&yt);
    println!("nuclear {relative:.1e}, least norm {blind:.2}, {:?}", fit.report);
    assert!(relative < 1e-9 && blind > 0.05);
}

/// The matrix of a PSD-constrained fit is PSD and, when the truth is, recovered from fewer samples than unknowns.
#[test]
fn psd_constraint_recovers_a_psd_matrix() {
    let mut rng = rng(11);
    let p = 12;
    let g = normal(&mut rng, p, 1);
    let b = g.dot(&g.t());
    let (x, xt) = (wishart(&mut rng, 60, p), wishart(&mut rng, 200, p));
    let (y, yt) = (traces(&b, &x), traces(&b, &xt));
    let fit = TraceRegression::psd().fit(x.view(), y.view()).unwrap();
    let relative = fit.mse(xt.view(), yt.view()).unwrap() / mean_square(&yt);
    println!("psd {relative:.1e} {:?}", fit.report);
    let found = linalg::smat(fit.coefficients().index_axis(Axis(1), 0), p).unwrap();
    assert!(linalg::eigh(found.view()).unwrap().values[0] > -1e-9);
    assert!(relative < 1e-6, "{relative}");
}

/// lambda = 0 is least squares; an absolute lambda is that of eq. 2 entry by entry, whatever the vectorisation.
#[test]
fn limits_and_scales_of_lambda() {
    let mut rng = rng(12);
    let x = wishart(&mut rng, 80, 4);
    let a = kraus(&mut rng, 2, 3, 4);
    let y = noisy(&mut rng, &apply(&a, &x), 0.5);
    let nuclear = |lambda| TraceRegression::with(Penalty::Nuclear(lambda));
    let ls = Multivariate::least_squares().fit(x.view(), y.view()).unwrap();
    let zero = nuclear(Lambda::Fixed(0.0)).fit(x.view(), y.view()).unwrap();
    assert!((&ls.coefficients() - &zero.coefficients()).iter().all(|d| d.abs() < 1e-5));

    let whole = nuclear(Lambda::Fixed(40.0)).fit(x.view(), y.view()).unwrap().predict(x.view()).unwrap();
    for (i, j) in [(0, 0), (0, 2)] {
        let entry = y.slice(ndarray::s![.., i..=i, j..=j]);
        let one = nuclear(Lambda::Fixed(40.0)).fit(x.view(), entry).unwrap().predict(x.view()).unwrap();
        let gap = &whole.slice(ndarray::s![.., i, j]) - &one.slice(ndarray::s![.., 0, 0]);
        assert!(gap.iter().all(|d| d.abs() < 1e-4), "entry ({i}, {j})");
    }
}

/// ADMM that runs out of iterations says that it did not converge.
#[test]
fn running_out_of_iterations_is_visible() {
    let x = ndarray::Array3::from_shape_fn((30, 4, 4), |(s, i, j)| ((1 + s * 16 + i * 4 + j) as f64 * 1.3).sin());
    let y = ndarray::Array3::from_shape_fn((30, 2, 2), |(s, i, j)| ((1 + s * 4 + i * 2 + j) as f64 * 0.7).sin());
    let mut method = TraceRegression::with(Penalty::Nuclear(Lambda::Ratio(0.05)));
    assert!(method.fit(x.view(), y.view()).unwrap().report.convergence.unwrap().converged());
    method.max_iterations = 2;
    let report = method.fit(x.view(), y.view()).unwrap().report;
    assert_eq!((report.convergence.unwrap().converged(), report.kkt.unwrap() > method.tolerance), (false, true));
}

/// Without noise the smallest penalty validates best. Solved from zero it would leave every unseen entry at zero; along the path of
/// penalties it does not.
#[test]
fn the_model_that_is_refitted_is_the_one_that_was_validated() {
    let n = 20;
    let truth = Array2::from_shape_fn((n, n), |(i, j)| ((1 + i % 7) * (2 + j % 5)) as f64 / 10.0);
    let seen = |i: usize, j: usize| (7 * i + 11 * j + i * j) % 10 >= 3;
    let mut pairs: Vec<(usize, usize)> = (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).collect();
    pairs.sort_by_key(|(i, j)| (i * 83 + j * 57) % 101);
    let units = |keep: bool| {
        let pairs: Vec<_> = pairs.iter().filter(|(i, j)| seen(*i, *j) == keep).collect();
        let mut x = Array3::<f64>::zeros((pairs.len(), n, n));
        for (k, &&(i, j)) in pairs.iter().enumerate() {
            x[[k, i, j]] = 1.0;
        }
        x
    };
    let (x, new) = (units(true), units(false));
    let method = TraceRegression { tolerance: 1e-5, ..TraceRegression::nuclear() };
    let fit = method.fit(x.view(), traces(&truth, &x).view()).unwrap();
    let want = traces(&truth, &new);
    let share = fit.mse(new.view(), want.view()).unwrap() / want.iter().map(|v| v * v).sum::<f64>() * want.len() as f64;
    println!("{:?}, unseen entries {share:.1e} of their mean square", fit.report.chosen);
    assert!(share < 1e-2, "{share}");
}
