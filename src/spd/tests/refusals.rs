//! Bad input: the error names what is wrong, where, and what to do. Matrices of deficient rank are refused or reduced.

use ndarray::{Array1, Array2, Array3, ArrayView3, array, s};
use spd::{Error, Estimator, Labels, Mdm, MeanParams, Metric, Reduction};

/// Well-conditioned covariances of n channels, two classes.
fn matrices(k: usize, n: usize) -> Array3<f64> {
    Array3::from_shape_fn((k, n, n), |(t, i, j)| {
        let wave = |c: usize| ((1 + c) as f64 * (0.7 + 0.13 * t as f64)).sin();
        0.4 * wave(i) * wave(j) + if i == j { 1.0 + ((i + 2 * (t % 2)) % n) as f64 } else { 0.0 }
    })
}

/// The same after an average reference: P X P with P = I - 1/n 1 1^T.
fn average_reference(x: &Array3<f64>) -> Array3<f64> {
    let n = x.dim().1;
    let p = Array2::<f64>::eye(n) - 1.0 / n as f64;
    let mut out = Array3::zeros(x.dim());
    for (mut to, from) in out.outer_iter_mut().zip(x.outer_iter()) {
        let y = p.dot(&from).dot(&p);
        to.assign(&((&y + &y.t()) * 0.5));
    }
    out
}

#[test]
fn covariances_of_an_average_reference_are_refused_everywhere() {
    let x = average_reference(&matrices(12, 6));
    let params = MeanParams::default().check().unwrap();
    let labels = Labels::new(&(0..12).map(|i| i % 2).collect::<Vec<_>>()).unwrap();
    let metric = Metric::AffineInvariant;
    let refused = |what: &str, result: Result<(), Error>| match result {
        Err(Error::NotPositiveDefinite { index, .. }) => assert!(index < 12, "{what}: matrix {index}"),
        other => panic!("{what}: {other:?}"),
    };
    refused("logm", spd::logm(x.view()).map(drop));
    refused("invsqrtm", spd::invsqrtm(x.view()).map(drop));
    refused("distances", spd::self_distances(x.view(), metric).map(drop));
    refused("distances from good ones", spd::pairwise_distances(matrices(3, 6).view(), x.view(), metric).map(drop));
    refused("distances to good ones", spd::pairwise_distances(x.view(), matrices(3, 6).view(), metric).map(drop));
    refused("mean", spd::mean(x.view(), None, metric, &params).map(drop));
    refused("mdm", Mdm::fit(x.view(), &labels, metric, &params).map(drop));
    let text = spd::logm(x.view()).unwrap_err().to_string();
    assert!(
        text.contains("average reference") && text.contains("shrinkage") && text.contains("common range"),
        "{text}"
    );
}

/// U of the reduction is orthonormal, distances on the reduced space do not depend on its choice, and MDM works there.
#[test]
fn the_reduced_space_has_the_geometry_of_the_common_range() {
    let x = average_reference(&matrices(12, 6));
    let reduction = Reduction::fit(&[x.slice(s![..6, .., ..]), x.slice(s![6.., .., ..])]).unwrap();
    assert_eq!(reduction.rank(), 5);
    let u = reduction.basis();
    assert!((&u.t().dot(u) - &Array2::<f64>::eye(5)).iter().all(|e| e.abs() < 1e-13));
    let small = reduction.apply(x.view()).unwrap();
    assert!((&reduction.restore(small.view()).unwrap() - &x).iter().all(|e| e.abs() < 1e-13));
    // Another basis of the same range: the first five columns of Helmert's matrix.
    let helmert = Array2::from_shape_fn((6, 5), |(i, j)| {
        let norm = (((j + 1) * (j + 2)) as f64).sqrt();
        if i <= j {
            1.0 / norm
        } else if i == j + 1 {
            -((j + 1) as f64) / norm
        } else {
            0.0
        }
    });
    let other = project(&helmert, x.view());
    let (a, b) = (
        spd::self_distances(small.view(), Metric::AffineInvariant).unwrap(),
        spd::self_distances(other.view(), Metric::AffineInvariant).unwrap(),
    );
    assert!((&a - &b).iter().all(|e| e.abs() < 1e-10));
    let labels = Labels::new(&(0..12).map(|i| i % 2).collect::<Vec<_>>()).unwrap();
    let params = MeanParams::default().check().unwrap();
    let mdm = Mdm::fit(small.view(), &labels, Metric::AffineInvariant, &params).unwrap();
    assert_eq!(mdm.accuracy(small.view(), &labels).unwrap(), 1.0);
}

fn project(u: &Array2<f64>, x: ArrayView3<'_, f64>) -> Array3<f64> {
    let mut out = Array3::zeros((x.dim().0, u.ncols(), u.ncols()));
    for (mut to, from) in out.outer_iter_mut().zip(x.outer_iter()) {
        let y = u.t().dot(&from).dot(u);
        to.assign(&((&y + &y.t()) * 0.5));
    }
    out
}

/// A condition number of 1e12 is legal in f64; one beyond 1 / (n eps) is not.
#[test]
fn the_bound_on_the_spread_is_n_eps() {
    let spread = |least: f64| ndarray::arr3(&[[[1.0, 0.0], [0.0, least]]]);
    assert!(spd::logm(spread(1e-14).view()).is_ok());
    assert!(matches!(spd::logm(spread(3e-16).view()), Err(Error::NotPositiveDefinite { index: 0, .. })));
    assert!(matches!(spd::sqrtm(spread(3e-16).view()), Err(Error::NotPositiveDefinite { index: 0, .. })));
}

/// Squares of entries of 1e200 leave the range of f64, and those of 1e-200 vanish in it.
#[test]
fn the_scale_of_the_matrices_does_not_matter() {
    let x = matrices(10, 5);
    let (reference, logs) =
        (spd::self_distances(x.view(), Metric::AffineInvariant).unwrap(), spd::logm(x.view()).unwrap());
    for exponent in [-900, -500, 500, 900] {
        let scale = 2f64.powi(exponent);
        let scaled = &x * scale;
        let d = spd::self_distances(scaled.view(), Metric::AffineInvariant).unwrap();
        assert!((&d - &reference).iter().all(|e| e.abs() < 1e-11), "2^{exponent}");
        let mut shifted = spd::logm(scaled.view()).unwrap();
        for mut m in shifted.outer_iter_mut() {
            m.diag_mut().iter_mut().for_each(|v| *v -= scale.ln());
        }
        assert!((&shifted - &logs).iter().all(|e| e.abs() < 1e-11), "2^{exponent}");
        let back = spd::map_eigenvalues(scaled.view(), |v| v).unwrap();
        assert!(back.iter().zip(&scaled).all(|(a, b)| (a - b).abs() < 1e-13 * scale * 10.0), "2^{exponent}");
    }
}

#[test]
fn a_bad_sample_is_named_by_trial_and_channel() {
    let mut x = Array3::from_shape_fn((5, 3, 20), |(k, c, t)| ((1 + k + 3 * c + 7 * t) as f64).sin());
    x[[4, 0, 0]] = f64::INFINITY;
    x[[3, 2, 7]] = f64::NAN;
    let error = spd::covariances(x.view(), Estimator::Oas).unwrap_err();
    assert_eq!(error, Error::Signal { trial: Some(3), channel: 2 });
    assert_eq!(
        error.to_string(),
        "trial 3, channel 2 holds NaN or infinite values; repair the channel or remove the trial"
    );
    let one = spd::covariance(x.slice(s![3, .., ..]), Estimator::Oas).unwrap_err();
    assert!(one.to_string().starts_with("channel 2 holds NaN"), "{one}");
}

/// The 18th mean is the second of the second block of sixteen; its number used to be given as 0.
#[test]
fn a_failed_mean_is_named_by_its_number() {
    let mut x = matrices(20, 3);
    let mut bad = x.slice_mut(s![18.., .., ..]);
    bad.mapv_inplace(|v| -v);
    let mut rows: Vec<spd::Selection> = (0..18).map(|i| vec![(i, 1.0)]).collect();
    rows[17] = vec![(18, 1.0), (19, 1.0)];
    let params = MeanParams::default().check().unwrap();
    let failed = spd::means(x.view(), &rows, Metric::BuresWasserstein, &params).map(|means| means.len());
    assert_eq!(failed, Err(Error::MeanFailed { number: 17 }));
}

/// The reduced costs of the first row overflow, so no path is found: that is a stall, not a fault of the weights.
#[test]
fn a_stall_of_the_exact_solver_is_no_fault_of_the_weights() {
    let cost = array![[1e308, 1e308], [-1e308, -1e308]];
    let half = Array1::from_elem(2, 0.5);
    let error = spd::emd(cost.view(), half.view(), half.view()).unwrap_err();
    assert_eq!(error, Error::Stalled { row: 0, left: 0.5 });
    assert!(error.to_string().contains("rounding stopped the exact solver"), "{error}");
}
