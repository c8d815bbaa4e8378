//! The shared interface: a loop over methods of several kinds, linfa's cross-validation, refusals in one shape.

use estimator::linfa::traits::{Fit, PredictInplace};
use estimator::linfa::{Dataset, ParamGuard};
use estimator::{Error, MatrixModel, Outcome, Regression, Regressor, to_rows};
use kraus::estimators::{General, GeneralMethod, Ptr, PtrMethod};
use kraus::simulate::{Recipe, Samples, Split};
use kraus::{AdamParams, BlockCoordinateParams, Gamma, LbfgsParams, Stopping};
use ndarray::{Array3, Zip};

fn data(l: usize) -> Samples<f64> {
    Recipe { p: 4, q: 3, rank: 2, noise: 0.0, seed: 5 }.samples(Split::Train, 0..l)
}

#[test]
fn a_loop_over_estimators_of_every_kind() {
    let (train, scale) = (data(200), 1e-6);
    let adam = AdamParams { stopping: Stopping::after(300), rate: 0.01, ..Default::default() };
    let methods: Vec<Box<dyn Regressor>> = vec![
        Box::new(Ptr::params(2).check().unwrap()),
        Box::new(Ptr::params(2).method(PtrMethod::ClosedForm).check().unwrap()),
        Box::new(Ptr::params(2).method(PtrMethod::Adam(adam.clone())).check().unwrap()),
        Box::new(Ptr::params(2).method(PtrMethod::BlockCoordinate(BlockCoordinateParams::default())).check().unwrap()),
        Box::new(Ptr::params(3).hidden(&[4]).seed(1).check().unwrap()),
        Box::new(General::params(3).check().unwrap()),
        Box::new(General::params(3).method(GeneralMethod::Adam(adam)).check().unwrap()),
    ];
    let size = train.y.iter().map(|v| v * v).sum::<f64>() / train.y.len() as f64;
    for (i, method) in methods.iter().enumerate() {
        let model = method.fit_boxed(train.x.view(), train.y.view()).unwrap();
        let mse = model.mean_squared_error(train.x.view(), train.y.view()).unwrap();
        println!("{i} {}: {mse:.1e} of {size:.1e}, {:?}", method.name(), model.convergence().map(|c| c.to_string()));
        assert!(mse < scale * size, "{i} {}: {mse:e} of {size:e}", method.name());
        assert_eq!(model.sizes(), ((4, 4), (3, 3)));
        // The closed form alone does not iterate; Adam without a tolerance is stopped by its epochs.
        assert_eq!(model.convergence().is_none(), i == 1);
        if let (2 | 6, Some(ended)) = (i, model.convergence()) {
            assert_eq!((ended.outcome, ended.iterations), (Outcome::Stopped, 300));
        }
    }
}

/// linfa splits the rows, fits each parameter set on each fold and averages what the closure returns.
#[test]
fn linfa_cross_validates_the_rank() {
    let train = data(120);
    let mut dataset = Dataset::new(to_rows(train.x.clone()), to_rows(train.y.clone()));
    let ranks: Vec<_> = [1, 2].map(Ptr::params).into_iter().collect();
    let errors = dataset
        .cross_validate(4, &ranks, |predicted, truth| {
            let mut columns = ndarray::Array1::zeros(truth.ncols());
            Zip::from(&mut columns).and(predicted.columns()).and(truth.columns()).for_each(|e, p, t| {
                *e = (&p - &t).mapv(|v| v * v).mean().unwrap();
            });
            Ok(columns)
        })
        .map_err(|e: Error| e.to_string())
        .unwrap();
    let of = |row: usize| errors.row(row).sum();
    println!("rank 1: {:e}, rank 2: {:e}", of(0), of(1));
    assert!(of(1) < 1e-12 * of(0), "{errors}");
    // The same model through both interfaces.
    let checked = Ptr::params(2).check().unwrap();
    let by_rows = Fit::fit(&checked, &dataset).unwrap();
    let by_matrices = checked.fit_matrices(train.x.view(), train.y.view()).unwrap();
    assert_eq!(by_rows.stack(), by_matrices.stack());
    let mut rows = by_rows.default_target(&dataset.records);
    by_rows.predict_inplace(&dataset.records, &mut rows);
    assert_eq!(rows, to_rows(by_matrices.predict_matrices(train.x.view()).unwrap()));
}

#[test]
fn refusals_have_one_shape() {
    let wrong = |e: Error| e.to_string();
    assert!(wrong(Ptr::params(0).check().unwrap_err()).contains("rank >= 1"));
    let gamma = Ptr::params(1).hidden(&[2]).gamma(Gamma::Clamp(-1.0)).check().unwrap_err();
    assert!(matches!(gamma, Error::Parameter { name: "clamp", .. }), "{gamma}");
    let deep = Ptr::params(1).hidden(&[2]).method(PtrMethod::ClosedForm).check().unwrap_err();
    assert!(matches!(deep, Error::Parameter { name: "hidden", .. }), "{deep}");
    let none = LbfgsParams { restarts: 0, ..Default::default() };
    let restarts = General::params(1).method(GeneralMethod::Lbfgs(none)).check().unwrap_err();
    assert!(matches!(restarts, Error::Parameter { name: "restarts", .. }), "{restarts}");
    let checked = Ptr::params(1).check().unwrap();
    let train = data(10);
    let model = checked.fit_matrices(train.x.view(), train.y.view()).unwrap();
    assert!(matches!(model.predict_matrices(Array3::zeros((1, 9, 9)).view()), Err(Error::Shape { .. })));
    let mut bad = train.x.clone();
    bad[[3, 0, 0]] = f64::NAN;
    let nan = checked.fit_matrices(bad.view(), train.y.view()).unwrap_err();
    assert!(matches!(nan, Error::NotFinite { what: "inputs", sample: 3 }), "{nan}");
}
