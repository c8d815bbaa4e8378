//! The support vector machine against scikit-learn, and its protocol.

mod common;

use baselines::Error;
use baselines::svm::{OneVsRest, Protocol, PsdKernel, Reported, SvmClassifier, SvmKernel};
use common::*;
use estimator::linfa::Dataset;
use estimator::linfa::traits::{Fit, Predict};
use estimator::{Classification, LabelModel, Labels, ParamGuard};
use ndarray::{Array1, Array2, s};

/// Thirty samples in three classes, made by a formula so that any language can make them.
fn waves() -> (Array2<f64>, Vec<usize>) {
    let labels: Vec<usize> = (0..30).map(|i| i % 3).collect();
    let x = Array2::from_shape_fn((30, 3), |(i, j)| {
        (1.3 * i as f64 + 0.5 * j as f64).sin() + if labels[i] == j { 0.6 } else { 0.0 }
    });
    (rbf(&x, 2.0), labels)
}

fn known(labels: &[usize]) -> Labels {
    Labels::new(&labels.iter().map(|&l| l as i64).collect::<Vec<_>>()).unwrap()
}

fn rbf(x: &Array2<f64>, width: f64) -> Array2<f64> {
    Array2::from_shape_fn((x.nrows(), x.nrows()), |(i, j)| {
        let d: f64 = x.row(i).iter().zip(x.row(j)).map(|(a, b)| (a - b) * (a - b)).sum();
        (-d / width).exp()
    })
}

/// SVC(kernel="precomputed", tol=1e-10) of scikit-learn 1.9.1, each class against the rest, decision values of samples
/// 0, 7, 14, 29 when trained on all; and of sample 20 when trained on the first twenty, with the accuracy on the rest.
#[test]
fn decision_values_agree_with_scikit_learn() {
    let (k, labels) = waves();
    let golden = [
        (
            1.0,
            [
                [-0.765335105, -1.000000015, -0.999999989, -0.999999961],
                [-1.01943181, 0.808507037, -0.99999996, -1.000883935],
                [-0.236956116, -1.204889405, 0.380508784, 0.728234754],
            ],
            [-0.845980973, -0.905599591, -0.658799645],
            0.8,
        ),
        (
            100.0,
            [
                [1.000004399, -3.190521285, -0.999999597, -0.999997488],
                [-1.028839385, 0.999999937, -0.99999999, -1.000000042],
                [-0.946301142, -1.000000087, 0.999999666, 0.999997728],
            ],
            [-0.710972373, -0.894058223, 0.693803358],
            0.9,
        ),
    ];
    let solvers = [OneVsRest::fit, OneVsRest::fit_linfa];
    for ((c, all, held, accuracy), fit) in golden.into_iter().flat_map(|g| solvers.map(|fit| (g, fit))) {
        let machine = fit(k.view(), &known(&labels), c, 1e-8).unwrap();
        let f = machine.decide(k.view()).unwrap();
        let mut worst = 0.0f64;
        for (class, expected) in all.iter().enumerate() {
            for (sample, e) in [0, 7, 14, 29].into_iter().zip(expected) {
                worst = worst.max((f[[sample, class]] - e).abs());
            }
        }
        let first = s![..20, ..20];
        let machine = fit(k.slice(first), &known(&labels[..20]), c, 1e-8).unwrap();
        let cross = k.slice(s![20.., ..20]);
        let f = machine.decide(cross).unwrap();
        for (class, e) in held.iter().enumerate() {
            worst = worst.max((f[[0, class]] - e).abs());
        }
        println!("C = {c}: largest difference {worst:.1e}");
        assert!(worst < 2e-5, "C = {c}: {worst}");
        let predicted = machine.predict(cross).unwrap();
        let right = predicted.iter().zip(&labels[20..]).filter(|(a, b)| a == b).count();
        assert!((right as f64 / 10.0 - accuracy).abs() < 1e-12);
    }
}

/// Ten classes of twenty samples as in the digits: the protocol is accurate where classes are apart, at chance where
/// labels mean nothing, and the same for any thread count.
#[test]
fn protocol_on_clusters() {
    let mut rng = rng(91);
    let centres = normal(&mut rng, 10, 6) * 1.3;
    let labels: Vec<usize> = (0..200).map(|i| 3 + i / 20).collect();
    let mut x = normal(&mut rng, 200, 6);
    for (i, mut row) in x.rows_mut().into_iter().enumerate() {
        row += &centres.row(i / 20);
    }
    let k = rbf(&x, 24.0);
    let protocol = Protocol { splits: 6, ..Protocol::default() };
    let start = std::time::Instant::now();
    let report = protocol.evaluate(k.view(), &known(&labels)).unwrap();
    println!("{:.1} +- {:.1} %, C {:?}", 100.0 * report.mean, 100.0 * report.deviation, report.chosen);
    println!("{:.2} s for 6 splits", start.elapsed().as_secs_f64());
    // The best rule that knows the centres gets the same samples right by this share; a machine that learns from ten samples a class
    // must come close to it.
    let nearest = |i: usize| {
        let far = |c: usize| (&x.row(i) - &centres.row(c)).mapv(|d| d * d).sum();
        (0..10).fold(0, |b, c| if far(c) < far(b) { c } else { b })
    };
    let best = (0..200).filter(|&i| nearest(i) == i / 20).count() as f64 / 200.0;
    println!("the rule that knows the centres: {:.1} %", 100.0 * best);
    assert!(report.mean > best - 0.1 && report.negative == 0, "{} of {best}", report.mean);

    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let alone = one.install(|| protocol.evaluate(k.view(), &known(&labels))).unwrap();
    assert_eq!(alone.accuracies, report.accuracies);

    let shuffled: Vec<usize> = (0..200).map(|i| i % 10).collect();
    let chance = protocol.evaluate(k.view(), &known(&shuffled)).unwrap();
    assert!(chance.mean < 0.25, "{}", chance.mean);
}

/// The reported machine is linfa's unless ours is asked for, and both decide alike.
#[test]
fn the_reported_accuracy_is_linfas_and_ours_is_the_same() {
    let (k, labels) = waves();
    let protocol = Protocol { splits: 6, fixed_c: Some(100.0), ..Protocol::default() };
    assert_eq!(protocol.reported, Reported::Linfa);
    let linfa = protocol.evaluate(k.view(), &known(&labels)).unwrap();
    let ours = Protocol { reported: Reported::Smo, ..protocol.clone() }.evaluate(k.view(), &known(&labels)).unwrap();
    assert_eq!((&linfa.accuracies, &linfa.chosen), (&ours.accuracies, &ours.chosen));
    assert_eq!(linfa.fixed_mean, ours.fixed_mean);
    let fixed = Protocol { c: vec![100.0], fixed_c: None, ..protocol }.evaluate(k.view(), &known(&labels)).unwrap();
    assert_eq!((linfa.fixed_mean, fixed.fixed_mean), (Some(fixed.mean), None));
}

#[test]
fn indefinite_kernels_are_projected_and_counted() {
    let (k, labels) = waves();
    let e = linalg::eigh(k.view()).unwrap();
    let mut values = e.values.clone();
    values[0] = -0.5;
    let bent = (&e.vectors * &values).dot(&e.vectors.t());
    let psd = PsdKernel::project(bent.view()).unwrap();
    assert_eq!(psd.negative, 1);
    let total: f64 = values.iter().map(|w| w.abs()).sum();
    assert!((psd.negative_mass - 0.5 / total).abs() < 1e-12);
    assert!(linalg::eigh(psd.kernel.view()).unwrap().values[0] > -1e-12);
    let report = Protocol { splits: 2, ..Protocol::default() }.evaluate(bent.view(), &known(&labels)).unwrap();
    assert_eq!(report.negative, 1);
    // A singular kernel is no problem for the factor.
    let flat = Array2::from_elem((30, 30), 1.0);
    assert!(Protocol { splits: 1, ..Protocol::default() }.evaluate(flat.view(), &known(&labels)).is_ok());
}

#[test]
fn bad_input_is_refused() {
    let (mut k, labels) = waves();
    let p = Protocol::default();
    assert!(matches!(p.evaluate(k.view(), &known(&labels[..29])), Err(Error::Input(estimator::Error::Shape { .. }))));
    assert!(matches!(
        OneVsRest::fit(k.view(), &known(&labels[..29]), 1.0, 1e-3),
        Err(Error::Input(estimator::Error::Shape { .. }))
    ));
    let all = known(&labels);
    assert!(matches!(OneVsRest::fit(k.view(), &all, -1.0, 1e-3), Err(Error::Parameter { name: "c", .. })));
    assert!(matches!(OneVsRest::fit_linfa(k.view(), &all, -1.0, 1e-3), Err(Error::Svm(_))));
    assert!(matches!(p.evaluate(k.view(), &known(&[1; 30])), Err(Error::Parameter { name: "labels", .. })));
    let all = Protocol { train: 1.0, ..p.clone() };
    assert!(matches!(all.evaluate(k.view(), &known(&labels)), Err(Error::Parameter { name: "train", .. })));
    let none = Protocol { c: vec![], ..p.clone() };
    assert!(matches!(none.evaluate(k.view(), &known(&labels)), Err(Error::Parameter { name: "c", .. })));
    k[[3, 4]] = f64::NAN;
    assert!(matches!(
        p.evaluate(k.view(), &known(&labels)),
        Err(Error::Input(estimator::Error::NotFinite { sample: 3, .. }))
    ));
}

/// A label beyond the classes would have no machine, so such labels cannot be made. A class without samples has one, which decides -1 for
/// all.
#[test]
fn every_label_has_its_machine() {
    let error = Labels::from_indices(&[0, 1, 5, 1], 3).unwrap_err().to_string();
    assert_eq!(error, "labels: sample 2 has label 5, and the 3 classes are 0 to 2");
    let k = ndarray::Array2::<f64>::eye(4);
    for fit in [OneVsRest::fit, OneVsRest::fit_linfa] {
        let machine = fit(k.view(), &Labels::from_indices(&[0, 1, 0, 1], 3).unwrap(), 10.0, 1e-3).unwrap();
        assert_eq!(machine.predict(k.view()).unwrap(), [0, 1, 0, 1]);
        assert!(machine.decide(k.view()).unwrap().column(2).iter().all(|v| *v == -1.0));
    }
}

/// The machine as an estimator: scikit-learn's decision values on the kernel, the same labels from features, linfa's folds.
#[test]
fn the_estimator_is_the_machine_and_linfa_cross_validates_it() {
    let (k, labels) = waves();
    let names: Vec<i64> = labels.iter().map(|&l| [-3, 0, 40][l]).collect();
    let classes = Labels::new(&names).unwrap();
    let machine = OneVsRest::fit(k.view(), &classes, 100.0, 1e-8).unwrap();
    let fitted =
        SvmClassifier::params().c(100.0).tolerance(1e-8).check().unwrap().fit_labels(k.view(), &classes).unwrap();
    assert_eq!(fitted.decision_values(k.view()).unwrap(), machine.decide(k.view()).unwrap());
    assert_eq!(fitted.classes(), [-3, 0, 40]);
    let predicted: Vec<i64> = machine.predict(k.view()).unwrap().into_iter().map(|c| [-3, 0, 40][c]).collect();
    assert_eq!(fitted.predict_labels(k.view()).unwrap(), predicted);
    assert_eq!(fitted.accuracy(k.view(), &classes).unwrap(), 29.0 / 30.0);
    let ended = fitted.convergence().unwrap();
    assert!(ended.converged() && ended.value <= 1e-8 && ended.iterations > 0, "{ended}");

    // The same kernel from the features: exp(-d / 2).
    let x = Array2::from_shape_fn((30, 3), |(i, j)| {
        (1.3 * i as f64 + 0.5 * j as f64).sin() + if labels[i] == j { 0.6 } else { 0.0 }
    });
    let params = SvmClassifier::params().kernel(SvmKernel::Gaussian { gamma: 0.5 }).c(100.0).tolerance(1e-8);
    let from_rows = params.clone().check().unwrap().fit_labels(x.view(), &classes).unwrap();
    let apart = from_rows.decision_values(x.view()).unwrap() - fitted.decision_values(k.view()).unwrap();
    assert!(apart.iter().all(|e| e.abs() < 1e-6));

    // linfa's traits and folds: trained on twenty, the rest is predicted as the golden machine predicts it (90 %).
    let dataset = Dataset::new(x, Array1::from(names.clone()));
    let (train, test) = dataset.clone().split_with_ratio(20.0 / 30.0);
    let model = params.fit(&train).unwrap();
    let predicted: Array1<i64> = model.predict(test.records());
    let hits = predicted.iter().zip(&names[20..]).filter(|(a, b)| a == b).count();
    assert_eq!(hits, 9);
    let (mut seen, mut all) = (0, dataset);
    for (model, held) in all.iter_fold(3, |fold| params.fit(fold).unwrap()) {
        let predicted: Array1<i64> = model.predict(held.records());
        seen += predicted.len();
    }
    assert_eq!(seen, 30);
}

/// What the estimator refuses, in the one shape of errors.
#[test]
fn the_estimator_refuses_in_one_shape() {
    let (mut k, labels) = waves();
    let classes = Labels::from_indices(&labels, 3).unwrap();
    let machine = SvmClassifier::params().check().unwrap();
    let said = |k: &Array2<f64>, l: &Labels| machine.fit_labels(k.view(), l).unwrap_err().to_string();
    assert!(said(&k, &Labels::new(&[1; 30]).unwrap()).contains("a classifier needs two classes"));
    assert!(said(&k.slice(s![.., ..29]).to_owned(), &classes).contains("expected"));
    k[[3, 4]] = 7.0;
    assert!(said(&k, &classes).contains("not symmetric"));
    k[[3, 4]] = f64::NAN;
    assert!(said(&k, &classes).contains("sample 3 contains NaN"));
    for (params, name) in [
        (SvmClassifier::params().c(-1.0), "`c` = -1"),
        (SvmClassifier::params().tolerance(f64::NAN), "`tolerance` = NaN"),
        (SvmClassifier::params().kernel(SvmKernel::Gaussian { gamma: 0.0 }), "`gamma` = 0"),
    ] {
        let error = params.check().unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
}
