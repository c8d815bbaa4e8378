//! Every refusal, once: typed, before any work is done.

use kraus::{
    AdamParams, Architecture, Error, FitError, Flow, Gamma, InputError, KrausMap, Mask, Problem, Progress, Session,
    Solver, Stack, Start, Stop, Stopping,
};
use ndarray::{Array2, Array3, s};

fn ones(l: usize, n: usize) -> Array3<f64> {
    Array3::ones((l, n, n))
}

#[test]
fn wrong_shapes() {
    let (x, y) = (ones(4, 3), ones(5, 2));
    let e = Problem::matrices(x.view(), y.view()).unwrap_err();
    assert_eq!(e, Error::Input(InputError::Shape { what: "targets", expected: vec![4, 2, 2], got: vec![5, 2, 2] }));
    let e = Problem::matrices(x.slice(s![.., .., ..2]), x.view()).unwrap_err();
    assert!(matches!(e, Error::Input(InputError::Shape { what: "inputs", .. })));
    let y = ones(4, 2);
    let problem = Problem::matrices(x.view(), y.view()).unwrap();
    let mask = Mask::from_nan(x.view());
    assert!(matches!(problem.clone().with_mask(&mask), Err(Error::Input(InputError::Shape { what: "mask", .. }))));
    let adam = AdamParams::default().check().unwrap();
    let e = adam.fit(&problem, Start::single(3, 3, 1, 0)).unwrap_err();
    assert!(matches!(e, FitError::Input(Error::Input(InputError::Shape { .. }))), "{e}");
    let map = KrausMap::<f64>::identity(3).unwrap();
    assert!(matches!(map.apply(Array2::ones((2, 2)).view()), Err(Error::Input(InputError::Shape { .. }))));
    assert!(matches!(map.compose(&KrausMap::identity(2).unwrap()), Err(Error::Input(InputError::Shape { .. }))));
    let layers = vec![KrausMap::<f64>::identity(2).unwrap(), map];
    assert!(matches!(Stack::new(layers, Gamma::None), Err(Error::Input(InputError::Shape { .. }))));
}

#[test]
fn empty_sets() {
    let (x, y) = (ones(0, 3), ones(0, 2));
    assert!(matches!(
        Problem::matrices(x.view(), y.view()),
        Err(Error::Input(InputError::Empty { what: "inputs", .. }))
    ));
    assert!(matches!(Problem::units(3, vec![], y.view()), Err(Error::Input(InputError::Empty { .. }))));
    assert!(matches!(Stack::<f64>::new(vec![], Gamma::None), Err(Error::Input(InputError::Empty { .. }))));
}

#[test]
fn rank_zero() {
    assert_eq!(KrausMap::<f64>::glorot(0, 2, 3, 0).unwrap_err(), Error::RankZero);
    assert_eq!(Stack::<f64>::glorot(&Architecture::single(3, 2, 0), 0).unwrap_err(), Error::RankZero);
}

#[test]
fn not_finite() {
    let (mut x, y) = (ones(4, 3), ones(4, 2));
    x[[2, 0, 1]] = f64::NAN;
    let e = Problem::matrices(x.view(), y.view()).unwrap_err();
    assert_eq!(e, Error::Input(InputError::NotFinite { what: "inputs", index: 2 }));
    assert_eq!(e.to_string(), "inputs: element 2 holds NaN or infinite values; remove or repair it");
    x[[2, 0, 1]] = f64::INFINITY;
    assert!(matches!(
        Problem::matrices(y.view(), x.view()),
        Err(Error::Input(InputError::NotFinite { what: "targets", index: 2 }))
    ));
}

#[test]
fn asymmetric_where_symmetric_is_required() {
    let (x, mut y) = (ones(4, 3), ones(4, 2));
    y[[3, 0, 1]] = 2.0;
    let e = Problem::matrices(x.view(), y.view()).unwrap().require_symmetric().unwrap_err();
    assert_eq!(e, Error::Input(InputError::NotSymmetric { what: "targets", index: 3 }));
}

#[test]
fn masks_and_units() {
    let y = ones(2, 2);
    let mut half = ones(2, 2);
    half[[1, 0, 1]] = 0.5;
    let wrong = "mask: sample 1 has the value 0.5; only 0 (missing) and 1 (observed) are allowed";
    assert_eq!(Mask::from_zeros_and_ones(half.view()).unwrap_err().to_string(), wrong);
    let e = Problem::units(3, vec![(0, 1), (3, 2)], y.view()).unwrap_err();
    assert_eq!(e, Error::Unit { index: 1, row: 3, col: 2, p: 3 });
}

#[test]
fn parameters() {
    for params in [
        AdamParams { batch: 0, ..Default::default() },
        AdamParams { rate: f64::NAN, ..Default::default() },
        AdamParams { beta1: 1.0, ..Default::default() },
        AdamParams { stopping: Stopping::after(0), ..Default::default() },
    ] {
        assert!(matches!(params.check(), Err(Error::Input(InputError::Parameter { .. }))));
    }
    let arch = Architecture::deep(&[3, 3, 3], 1, Gamma::Clamp(-1.0));
    assert!(matches!(arch.check(), Err(Error::Input(InputError::Parameter { name: "clamp", .. }))));
}

#[test]
fn divergence_names_the_epoch() {
    let (x, y) = (ones(32, 3), ones(32, 2));
    let problem = Problem::matrices(x.view(), y.view()).unwrap();
    let adam = AdamParams { rate: 1e150, ..Default::default() }.check().unwrap();
    let e = adam.fit(&problem, Start::single(3, 2, 2, 0)).unwrap_err();
    assert!(matches!(e, FitError::Diverged { solver: "adam", epoch: 1..=2, .. }), "{e}");
}

#[test]
fn a_watcher_can_cancel_and_keeps_the_model_so_far() {
    let (x, y) = (ones(32, 3), ones(32, 2));
    let problem = Problem::matrices(x.view(), y.view()).unwrap();
    let mut watch = |p: &Progress| if p.epoch == 3 { Flow::Cancel } else { Flow::Continue };
    let mut session = Session { validation: Some(&problem), watch: None };
    session.watch = Some(&mut watch);
    let adam = AdamParams::default().check().unwrap();
    let fit = adam.fit_with(&problem, Start::single(3, 2, 2, 0), &mut session).unwrap();
    assert_eq!((fit.history.stop, fit.history.loss.len(), fit.history.validation.len()), (Stop::Cancelled, 3, 3));
    assert!((fit.model.mse(&problem).unwrap() - fit.history.validation[2]).abs() < 1e-12);
}
