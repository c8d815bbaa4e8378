//! Least squares, ridge and reduced-rank regression: accuracy on the paper's data, identities, refusals.

mod common;

use baselines::{Error, Multivariate, RankPath, ReducedRank, Regressor};
use common::*;
use ndarray::{Array2, Array3, s};

fn released(l: usize) -> (Array3<f64>, Array3<f64>, Array3<f64>, Array3<f64>) {
    let mut rng = rng(7);
    let a = kraus(&mut rng, 5, 10, 20);
    let (x, xt) = (wishart(&mut rng, l, 20), wishart(&mut rng, 1000, 20));
    let (y, yt) = (apply(&a, &x), apply(&a, &xt));
    (x, y, xt, yt)
}

#[test]
fn least_squares_on_released_data() {
    let (x, y, xt, yt) = released(10_000);
    let clean = Multivariate::least_squares().fit(x.view(), y.view()).unwrap();
    let relative = clean.mse(xt.view(), yt.view()).unwrap() / mean_square(&yt);
    println!("noise 0: mse / E[Y^2] = {relative:.2e}");
    assert!(relative < 1e-18);

    let noisy = noisy(&mut rng(8), &y, 0.1);
    let fit = Multivariate::least_squares().fit(x.view(), noisy.view()).unwrap();
    let mse = fit.mse(xt.view(), yt.view()).unwrap();
    println!("noise 0.1: mse = {mse:.3e}");
    assert!((mse / 2.4e-4 - 1.0).abs() < 0.2, "{mse}");
}

#[test]
fn full_rank_is_least_squares_and_rank_is_bounded() {
    let (x, y, xt, yt) = released(400);
    let y = noisy(&mut rng(9), &y, 0.1);
    let ls = Multivariate::least_squares().fit(x.view(), y.view()).unwrap().predict(xt.view()).unwrap();
    let path = RankPath::fit(x.view(), y.view()).unwrap();
    let full = path.rank(100).unwrap().predict(xt.view()).unwrap();
    let scale = mean_square(&yt).sqrt();
    assert!((&ls - &full).iter().all(|d| d.abs() < 1e-10 * scale));
    for rank in [1, 3, 10] {
        let w = path.rank(rank).unwrap();
        let sv = linalg::svd(w.coefficients()).unwrap().s;
        assert!(sv[rank] < 1e-12 * sv[0] && sv[rank - 1] > 1e-9 * sv[0], "rank {rank}");
    }
    // The training error can only fall with the rank.
    let errors: Vec<f64> = (1..=55).map(|r| path.rank(r).unwrap().mse(x.view(), y.view()).unwrap()).collect();
    assert!(errors.windows(2).all(|e| e[1] <= e[0] * (1.0 + 1e-12)), "{errors:?}");
}

/// Rank-3 data of its own model: with noise, the right rank beats least squares by about its share of parameters.
#[test]
fn reduced_rank_recovers_its_own_model() {
    let mut rng = rng(10);
    let (l, p, q) = (600, 6, 5);
    let x = Array3::from_shape_vec((l, p, p), normal(&mut rng, l, p * p).into_raw_vec_and_offset().0).unwrap();
    let w = normal(&mut rng, p * p, 3).dot(&normal(&mut rng, 3, q * q));
    let flat = x.to_shape((l, p * p)).unwrap().dot(&w);
    let clean = Array3::from_shape_vec((l, q, q), flat.into_raw_vec_and_offset().0).unwrap();
    let exact = ReducedRank { rank: 3 }.fit(x.view(), clean.view()).unwrap();
    assert!(exact.mse(x.view(), clean.view()).unwrap() < 1e-24 * mean_square(&clean));

    let noise = Array3::from_shape_vec((l, q, q), normal(&mut rng, l, q * q).into_raw_vec_and_offset().0).unwrap();
    let y = &clean + &(noise * 0.1);
    let error = |fit: &dyn Regressor| fit.fit(x.view(), y.view()).unwrap().mse(x.view(), clean.view()).unwrap();
    let (reduced, full) = (error(&ReducedRank { rank: 3 }), error(&Multivariate::least_squares()));
    let expected = 3.0 * (36.0 + 25.0 - 3.0) / (36.0 * 25.0);
    println!("reduced / full = {:.3}, parameters {expected:.3}", reduced / full);
    assert!((reduced / full / expected - 1.0).abs() < 0.3);
    assert!(error(&ReducedRank { rank: 2 }) > 10.0 * reduced);
}

#[test]
fn least_norm_when_samples_are_few() {
    let (x, y, ..) = released(100);
    let fit = Multivariate::least_squares().fit(x.view(), y.view()).unwrap();
    assert!(fit.mse(x.view(), y.view()).unwrap() < 1e-20 * mean_square(&y));
    // Least norm: W lies in the span of the samples, so ridge tends to it.
    let ridge = Multivariate::ridge(1e-7).fit(x.view(), y.view()).unwrap();
    let gap = &fit.coefficients() - &ridge.coefficients();
    assert!(gap.iter().all(|d| d.abs() < 1e-6));
}

#[test]
fn ridge_solves_its_normal_equations_on_both_sides() {
    for l in [30, 300] {
        let (x, y, ..) = released(l);
        let fit = Multivariate::ridge(5.0).fit(x.view(), y.view()).unwrap();
        let (input, output) = fit.layouts();
        let (z, t) = (input.encode(x.view()), output.encode(y.view()));
        let w = fit.coefficients();
        let gradient: Array2<f64> = z.t().dot(&(z.dot(&w) - &t)) + &w * 5.0;
        let scale = z.t().dot(&t).iter().fold(0.0f64, |m, v| m.max(v.abs()));
        assert!(gradient.iter().all(|g| g.abs() < 1e-10 * scale));
    }
}

#[test]
fn bad_input_is_refused() {
    let (x, y, ..) = released(5);
    let fit = |x: &Array3<f64>, y: &Array3<f64>| Multivariate::least_squares().fit(x.view(), y.view());
    assert!(matches!(
        fit(&x, &y.slice(s![..4, .., ..]).to_owned()),
        Err(Error::Input(estimator::Error::Shape { what: "Y", .. }))
    ));
    assert!(matches!(
        fit(&Array3::zeros((0, 2, 2)), &Array3::zeros((0, 1, 1))),
        Err(Error::Input(estimator::Error::Empty { what: "X" }))
    ));
    let mut nan = y.clone();
    nan[[3, 0, 0]] = f64::NAN;
    assert!(matches!(fit(&x, &nan), Err(Error::Input(estimator::Error::NotFinite { what: "Y", sample: 3 }))));
    let fitted = fit(&x, &y).unwrap();
    assert!(matches!(
        fitted.predict(Array3::zeros((1, 3, 3)).view()),
        Err(Error::Input(estimator::Error::Shape { what: "X", .. }))
    ));
    assert!(matches!(Multivariate::ridge(-1.0).fit(x.view(), y.view()), Err(Error::Parameter { name: "lambda", .. })));
    assert!(matches!(ReducedRank { rank: 0 }.fit(x.view(), y.view()), Err(Error::Parameter { name: "rank", .. })));
}
