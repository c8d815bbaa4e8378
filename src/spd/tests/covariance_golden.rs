//! Covariances against scikit-learn 1.9.1 and numpy 2.4.6, to 1e-12.

#[path = "../../linalg/tests/golden/mod.rs"]
mod golden;
use golden::{close, upper};
use ndarray::{Array2, s};
use spd::Estimator;

#[test]
fn covariance_estimators() {
    let x = Array2::from_shape_fn((3, 12), |(i, t)| {
        let (i, t) = (i as f64, t as f64);
        (0.3 * (i + 1.0) * t + i).sin() + 0.2 * (1.7 * t * (i + 2.0)).cos()
    });
    let sample = spd::covariance(x.view(), Estimator::Sample).unwrap();
    close(
        &upper(&sample.matrix),
        &[
            0.15185897561667625,
            -0.2598889297676801,
            0.021042465675743752,
            0.6321105800694641,
            -0.11275741282320446,
            0.5041080626886112,
        ],
    );
    let oas = spd::covariance(x.view(), Estimator::Oas).unwrap();
    close(&[oas.shrinkage], &[0.673795570313084]);
    close(
        &upper(&oas.matrix),
        &[
            0.31060095155282297,
            -0.07771217677374163,
            0.0062921333887156206,
            0.4542061355615087,
            -0.03371680358105176,
            0.41593072972919054,
        ],
    );
    let lw = spd::covariance(x.view(), Estimator::LedoitWolf).unwrap();
    close(&[lw.shrinkage], &[0.3780641899861633]);
    close(
        &upper(&lw.matrix),
        &[
            0.2353742191943523,
            -0.1481647127113003,
            0.011996474356837707,
            0.5091694172679926,
            -0.06428388347265888,
            0.43619418038117747,
        ],
    );
    let batch = x.view().insert_axis(ndarray::Axis(0));
    assert_eq!(spd::covariances(batch, Estimator::Oas).unwrap().index_axis_move(ndarray::Axis(0), 0), oas.matrix);
    assert!(spd::covariance(x.slice(s![.., ..1]), Estimator::Oas).is_err());
}
