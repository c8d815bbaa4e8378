//! HOPLS: equality with partial least squares on vectors, monotone residuals, recovery of its own model.

mod common;

use baselines::{Hopls, Regressor};
use common::*;
use ndarray::{Array2, Array3};

/// One latent vector on vectors is partial least squares: PLSRegression(n_components=1, scale=False, tol=1e-40)
/// of scikit-learn 1.9.1, predictions for samples 0, 5 and 11.
#[test]
fn one_latent_vector_on_vectors_is_scikit_learn_pls() {
    let (l, p, q) = (12, 4, 3);
    let x =
        Array2::from_shape_fn((l, p), |(i, j)| (1.3 * i as f64 + 0.7 * (i * (j + 1)) as f64 + (j * j) as f64).sin());
    let w = Array2::from_shape_fn((p, q), |(i, j)| (i as f64 * 1.1 + j as f64 * 0.6).cos());
    let noise = Array2::from_shape_fn((l, q), |(i, j)| 0.1 * (2.1 * i as f64 + j as f64 * 1.7).cos() + 0.5);
    let y = x.dot(&w) + noise;
    let golden: [(usize, &[f64]); 2] = [
        (1, &[0.702446182175665, 1.037908439730111, 1.188960931991136]),
        (
            3,
            &[
                0.595711838663548,
                0.601872655225042,
                0.57188325164091,
                0.051598283984933,
                -0.355264495274634,
                -0.42907210386296,
                1.19650658992011,
                1.65871634402548,
                1.677109759339423,
            ],
        ),
    ];
    for (outputs, expected) in golden {
        let xs = x.clone().into_shape_with_order((l, p, 1)).unwrap();
        let ys = y.slice(ndarray::s![.., ..outputs]).to_owned().into_shape_with_order((l, outputs, 1)).unwrap();
        // K = q leaves Y unprojected, as PLSRegression does.
        let fit = Hopls::fixed(1, 1, outputs).fit(xs.view(), ys.view()).unwrap();
        let predicted = fit.predict(xs.view()).unwrap();
        let found = [0, 5, 11].into_iter().flat_map(|i| (0..outputs).map(move |j| (i, j)));
        for ((i, j), e) in found.zip(expected) {
            assert!(
                (predicted[[i, j, 0]] - e).abs() < 1e-12,
                "sample {i}, output {j} of {outputs}: {} against {e}",
                predicted[[i, j, 0]]
            );
        }
    }
}

#[test]
fn residuals_fall_with_latent_vectors() {
    let mut rng = rng(21);
    let a = kraus(&mut rng, 3, 5, 8);
    let (x, xt) = (wishart(&mut rng, 300, 8), wishart(&mut rng, 200, 8));
    let (y, yt) = (apply(&a, &x), apply(&a, &xt));
    for (l, k) in [(2, 2), (4, 3), (8, 5)] {
        let fit = Hopls::fixed(30, l, k).fit(x.view(), y.view()).unwrap();
        let h = &fit.report.history;
        assert!(h.windows(2).all(|e| e[1] <= e[0] * (1.0 + 1e-12)), "{h:?}");
        // The history holds the training errors of the models with 1, 2, ... latent vectors.
        let direct = fit.mse(x.view(), y.view()).unwrap();
        assert!((direct / h[h.len() - 1] - 1.0).abs() < 1e-6, "{direct} against {:?}", h.last());
        let short = Hopls::fixed(4, l, k).fit(x.view(), y.view()).unwrap();
        assert!((short.mse(x.view(), y.view()).unwrap() / h[3] - 1.0).abs() < 1e-6);
    }
    let start = std::time::Instant::now();
    let model = Hopls::validated(40, vec![2, 4, 8], vec![2, 5]);
    let fit = model.fit(x.view(), y.view()).unwrap();
    let relative = fit.mse(xt.view(), yt.view()).unwrap() / mean_square(&yt);
    println!("chosen {:?}, {relative:.1e} of E[Y^2], {:.2} s", fit.report.chosen, start.elapsed().as_secs_f64());
    let plain = Hopls::fixed(4, 2, 2).fit(x.view(), y.view()).unwrap().mse(xt.view(), yt.view()).unwrap();
    assert!(relative * mean_square(&yt) <= plain);
}

/// Data made of three latent vectors with rank-2 loadings: three latent vectors explain it to rounding, and from
/// fewer samples than least squares has unknowns.
#[test]
fn recovers_data_of_its_own_model() {
    let mut rng = rng(22);
    let (l, p, q) = (60, 8, 5);
    let mut x = Array2::<f64>::zeros((l + 50, p * p));
    let mut y = Array2::<f64>::zeros((l + 50, q * q));
    let loading = |rng: &mut _, n: usize| {
        let m = normal(rng, n, 2).dot(&normal(rng, 2, n));
        Array2::from_shape_vec((1, n * n), m.into_raw_vec_and_offset().0).unwrap()
    };
    for scale in [4.0, 2.0, 1.0] {
        let t = normal(&mut rng, l + 50, 1) * scale;
        x += &t.dot(&loading(&mut rng, p));
        y += &t.dot(&loading(&mut rng, q));
    }
    let cube = |a: &Array2<f64>, n: usize| {
        let data = a.clone().into_raw_vec_and_offset().0;
        Array3::from_shape_vec((l + 50, n, n), data).unwrap()
    };
    let (x, y) = (cube(&x, p), cube(&y, q));
    let (train, test) = (ndarray::s![..l, .., ..], ndarray::s![l.., .., ..]);
    let three = Hopls::fixed(3, p, q).fit(x.slice(train), y.slice(train)).unwrap();
    let relative = three.mse(x.slice(test), y.slice(test)).unwrap() / mean_square(&y);
    println!("three latent vectors: {relative:.1e} of E[Y^2]");
    assert!(relative < 1e-12);
    let two = Hopls::fixed(2, p, q).fit(x.slice(train), y.slice(train)).unwrap();
    assert!(two.mse(x.slice(test), y.slice(test)).unwrap() > 1e-3 * mean_square(&y));
    let validated = Hopls::validated(10, vec![2, 4, 8], vec![2, 5]).fit(x.slice(train), y.slice(train)).unwrap();
    println!("validated {:?}", validated.report.chosen);
    assert!(validated.mse(x.slice(test), y.slice(test)).unwrap() < 1e-10 * mean_square(&y));
}
