//! Tensor-train and Tucker networks: recovery of their own models, the released data, refusals.

mod common;

use baselines::{Error, KeptEpoch, Regressor, TensorTrain, Training, Tucker};
use common::*;
use ndarray::{Array2, Array3, Array4};

fn gaussian(seed: u64, l: usize, p: usize) -> Array3<f64> {
    Array3::from_shape_vec((l, p, p), normal(&mut rng(seed), l, p * p).into_raw_vec_and_offset().0).unwrap()
}

fn outputs(x: &Array3<f64>, w: &Array2<f64>, q: usize) -> Array3<f64> {
    let l = x.dim().0;
    let y = x.to_shape((l, x.len() / l)).unwrap().dot(w);
    Array3::from_shape_vec((l, q, q), y.into_raw_vec_and_offset().0).unwrap()
}

/// W[(i, j), (k, l)] = sum_r A_r[i, k] B_r[j, l]: a tensor train of rank 2.
#[test]
fn tensor_train_recovers_its_own_model() {
    let (p, q) = (6, 4);
    let mut rng = rng(31);
    let (a, b) = (normal(&mut rng, 2 * p, q), normal(&mut rng, 2 * p, q));
    let w = Array2::from_shape_fn((p * p, q * q), |(x, y)| {
        (0..2).map(|r| a[[r * p + x / p, y / q]] * b[[r * p + x % p, y % q]]).sum()
    });
    let (x, xt) = (gaussian(32, 500, p), gaussian(33, 200, p));
    let (y, yt) = (outputs(&x, &w, q), outputs(&xt, &w, q));
    let training =
        Training { epochs: 500, batch: 32, learning_rate: 0.03, decay: 1e-4, seed: 1, ..Training::default() };
    let error = |ranks: Vec<usize>, inputs: Vec<usize>, outs: Vec<usize>| {
        let model = TensorTrain { inputs, outputs: outs, ranks, training };
        let fit = model.fit(x.view(), y.view()).unwrap();
        let relative = fit.mse(xt.view(), yt.view()).unwrap() / mean_square(&yt);
        println!("{:?}: {relative:.1e} of E[Y^2], {} parameters", model.ranks, fit.report.parameters);
        relative
    };
    assert!(error(vec![2], vec![p, p], vec![q, q]) < 1e-8);
    assert!(error(vec![1], vec![p, p], vec![q, q]) > 1e-2);
    // Four cores, ranks as large as the unfoldings: more local structure to find, still the same map.
    assert!(error(vec![4, 2, 6], vec![2, 3, 2, 3], vec![2, 2, 2, 2]) < 1e-3);
}

#[test]
fn tucker_recovers_its_own_model() {
    let (p, q) = (6, 4);
    let mut rng = rng(41);
    let core = normal(&mut rng, 4, 4);
    let u: Vec<Array2<f64>> = [p, p, q, q].iter().map(|&n| normal(&mut rng, n, 2)).collect();
    let w = Array4::from_shape_fn((p, p, q, q), |(i, j, k, l)| {
        let mut sum = 0.0;
        for (ab, cd) in (0..4).flat_map(|ab| (0..4).map(move |cd| (ab, cd))) {
            sum += core[[ab, cd]] * u[0][[i, ab / 2]] * u[1][[j, ab % 2]] * u[2][[k, cd / 2]] * u[3][[l, cd % 2]];
        }
        sum
    });
    let w = w.into_shape_with_order((p * p, q * q)).unwrap();
    let (x, xt) = (gaussian(42, 500, p), gaussian(43, 200, p));
    let (y, yt) = (outputs(&x, &w, q), outputs(&xt, &w, q));
    let training =
        Training { epochs: 500, batch: 32, learning_rate: 0.03, decay: 1e-4, seed: 1, ..Training::default() };
    let error = |ranks| {
        let fit = Tucker { ranks, training }.fit(x.view(), y.view()).unwrap();
        let relative = fit.mse(xt.view(), yt.view()).unwrap() / mean_square(&yt);
        println!("{ranks:?}: {relative:.1e} of E[Y^2], {} parameters", fit.report.parameters);
        relative
    };
    assert!(error([2, 2, 2, 2]) < 1e-8);
    assert!(error([1, 2, 2, 2]) > 1e-2);
}

/// A bias is learnt when there is one.
#[test]
fn a_bias_is_learnt() {
    let x = gaussian(51, 400, 3);
    let y = outputs(&x, &normal(&mut rng(52), 9, 4), 2) + 5.0;
    let training =
        Training { epochs: 300, batch: 32, learning_rate: 0.03, decay: 1e-3, bias: true, ..Training::default() };
    let full = |training| Tucker { ranks: [3, 3, 2, 2], training }.fit(x.view(), y.view()).unwrap();
    assert!(full(training).mse(x.view(), y.view()).unwrap() < 1e-8 * mean_square(&y));
    let without = full(Training { bias: false, ..training });
    assert!(without.mse(x.view(), y.view()).unwrap() > 0.1 * mean_square(&y));
}

/// The kept epoch is the best of all on the held-out samples. A training on the other samples that ends after k epochs has the weights
/// of epoch k (the step size is constant and nothing is scaled), so the test knows the error of every epoch.
#[test]
fn the_kept_epoch_is_the_best_of_all() {
    let noise = normal(&mut rng(53), 60, 4).into_shape_with_order((60, 2, 2)).unwrap();
    let x = gaussian(51, 60, 3);
    let y = outputs(&x, &normal(&mut rng(52), 9, 4), 2) + noise;
    let how =
        Training { epochs: 40, batch: 8, learning_rate: 0.05, decay: 1.0, standardise: false, ..Training::default() };
    let (train, held) = (ndarray::s![..45, .., ..], ndarray::s![45.., .., ..]);
    let tucker = |training| Tucker { ranks: [3, 3, 2, 2], training };
    let error = |fit: baselines::Fitted| fit.mse(x.slice(held), y.slice(held)).unwrap();
    let best = tucker(Training { keep: KeptEpoch::Best { holdout: 0.25 }, ..how }).fit(x.view(), y.view()).unwrap();
    let ends_at = |epochs: usize| tucker(Training { epochs, ..how }).fit(x.slice(train), y.slice(train)).unwrap();
    let errors: Vec<f64> = (1..=40).map(|epochs| error(ends_at(epochs))).collect();
    let least = (0..40).fold(0, |b, e| if errors[e] < errors[b] { e } else { b });
    println!("epoch {} of 40: {:.4}, the last {:.4}", least + 1, errors[least], errors[39]);
    assert_eq!(best.report.chosen, [("best epoch", (least + 1) as f64)]);
    assert_eq!((error(best), least < 39), (errors[least], true));
}

/// The released data, 20 -> 10 with Kraus rank 5: middle rank 5 suffices for the tensor train.
#[test]
fn released_data() {
    let mut rng = rng(61);
    let a = kraus(&mut rng, 5, 10, 20);
    let (x, xt) = (wishart(&mut rng, 2000, 20), wishart(&mut rng, 300, 20));
    let (y, yt) = (apply(&a, &x), apply(&a, &xt));
    let training = Training { epochs: 25, batch: 16, ..Training::default() };
    let models: [Box<dyn Regressor>; 3] = [
        Box::new(TensorTrain { ranks: vec![5], inputs: vec![20, 20], outputs: vec![10, 10], training }),
        Box::new(TensorTrain { ranks: vec![3], inputs: vec![20, 20], outputs: vec![10, 10], training }),
        Box::new(Tucker { ranks: [10, 10, 10, 10], training }),
    ];
    let mut errors = Vec::new();
    for model in models {
        let start = std::time::Instant::now();
        let fit = model.fit(x.view(), y.view()).unwrap();
        let relative = fit.mse(xt.view(), yt.view()).unwrap() / mean_square(&yt);
        let seconds = start.elapsed().as_secs_f64();
        println!("{}: {relative:.1e} of E[Y^2] = {:.0}, {seconds:.2} s", model.name(), mean_square(&yt));
        errors.push(relative);
    }
    assert!(errors[0] < 1e-6 && errors[1] > 1e-3 && errors[2] < 0.1);
}

#[test]
fn bad_parameters_are_refused() {
    let (x, y) = (gaussian(71, 4, 4), gaussian(72, 4, 2));
    let training = Training::default();
    let tt = |inputs, outputs, ranks, training| {
        TensorTrain { inputs, outputs, ranks, training }.fit(x.view(), y.view()).map(|_| ())
    };
    assert!(matches!(tt(vec![4, 3], vec![2, 2], vec![2], training), Err(Error::Parameter { name: "inputs", .. })));
    assert!(matches!(tt(vec![4, 4], vec![2, 2], vec![], training), Err(Error::Parameter { name: "inputs", .. })));
    assert!(matches!(tt(vec![4, 4], vec![2, 2], vec![0], training), Err(Error::Parameter { name: "ranks", .. })));
    let lazy = Training { epochs: 0, ..training };
    assert!(matches!(tt(vec![4, 4], vec![2, 2], vec![2], lazy), Err(Error::Parameter { name: "epochs", .. })));
    let all = Training { keep: KeptEpoch::Best { holdout: 1.0 }, ..training };
    assert!(matches!(tt(vec![4, 4], vec![2, 2], vec![2], all), Err(Error::Parameter { name: "holdout", .. })));
}
