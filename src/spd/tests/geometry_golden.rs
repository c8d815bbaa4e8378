//! Distances, means, functions, tangent space and MDM against pyRiemann 0.12 (numpy 2.4.6), to 1e-9.

use ndarray::{Array1, Array2, Array3, Axis, array, s};
use spd::{Labels, Mdm, MeanParams, Metric};

/// Five 4 x 4 matrices by formula: A A^T + I / 2 with A_ij = sin(1 + 3 i + 7 j + 11 t), 1.5 more on the diagonal.
fn matrices() -> Array3<f64> {
    let mut x = Array3::zeros((5, 4, 4));
    for (t, mut m) in x.axis_iter_mut(Axis(0)).enumerate() {
        let entry = |(i, j): (usize, usize)| {
            (1.0 + 3.0 * i as f64 + 7.0 * j as f64 + 11.0 * t as f64).sin() + if i == j { 1.5 } else { 0.0 }
        };
        let a = Array2::from_shape_fn((4, 4), entry);
        m.assign(&(a.dot(&a.t()) + Array2::<f64>::eye(4) * 0.5));
    }
    x
}

fn close(what: &str, got: &Array2<f64>, want: &[f64]) {
    let upper = (0..4).flat_map(|i| (i..4).map(move |j| (i, j)));
    for (at, w) in upper.zip(want) {
        assert!((got[at] - w).abs() < 1e-9, "{what} at {at:?}: {} instead of {w}", got[at]);
    }
}

#[test]
fn distances() {
    let x = matrices();
    let cases = [
        (
            Metric::AffineInvariant,
            array![
                [3.1274717034578656, 2.012018599633809, 0.027925555477959357],
                [2.856724347787436, 3.132451115495213, 2.584298027878699]
            ],
        ),
        (
            Metric::LogEuclidean,
            array![
                [2.8434091261896426, 1.846393856355366, 0.02570459891052619],
                [2.742836898320095, 2.931943515704287, 2.4543267228980836]
            ],
        ),
        (
            Metric::BuresWasserstein,
            array![
                [2.5616379167383885, 1.7208143516876948, 0.021099885920436778],
                [2.1725755366104638, 2.5807990861201633, 2.0265670094195727]
            ],
        ),
    ];
    for (metric, want) in cases {
        let d = spd::pairwise_distances(x.slice(s![..2, .., ..]), x.slice(s![2.., .., ..]), metric).unwrap();
        assert!((&d - &want).iter().all(|e| e.abs() < 1e-9), "{metric:?}: {d}");
        let all = spd::self_distances(x.view(), metric).unwrap();
        assert!((all[[0, 2]] - want[[0, 0]]).abs() < 1e-9 && all[[2, 0]] == all[[0, 2]] && all[[3, 3]] == 0.0);
    }
}

#[test]
fn weighted_means() {
    let x = matrices();
    let w = array![0.1, 0.3, 0.2, 0.25, 0.15];
    let params = MeanParams { tolerance: 1e-12, max_iterations: 500 }.check().unwrap();
    let of = |metric| {
        let m = spd::mean(x.view(), Some(w.view()), metric, &params).unwrap();
        assert!(m.converged, "{metric:?}: gradient {} after {}", m.gradient, m.iterations);
        m.matrix
    };
    close(
        "affine-invariant",
        &of(Metric::AffineInvariant),
        &[
            3.268551828517975,
            -1.1644973995229941,
            1.025773566775666,
            -0.4554164036594119,
            3.5069754051484527,
            -1.3935060454275996,
            0.79026118908579,
            3.815139207956982,
            -1.274655435824202,
            3.0367343619600797,
        ],
    );
    close(
        "log-Euclidean",
        &of(Metric::LogEuclidean),
        &[
            3.4859526009979334,
            -1.5483743210560799,
            1.367868939254427,
            -0.6756110711121756,
            3.765875746745396,
            -1.79810087828758,
            1.0918169265300746,
            4.094665804465373,
            -1.6812144586945053,
            3.2003165400784583,
        ],
    );
    close(
        "Bures-Wasserstein",
        &of(Metric::BuresWasserstein),
        &[
            4.28251101285133,
            -2.0551940823726476,
            1.936898763083256,
            -1.3695048074610612,
            4.257961696377262,
            -2.1820669902011356,
            1.6512161042929838,
            4.576447107733582,
            -2.199760653778381,
            3.954710708168366,
        ],
    );
}

#[test]
fn functions() {
    let x = matrices();
    let first = x.slice(s![..1, .., ..]);
    let of = |r: spd::Result<Array3<f64>>| r.unwrap().index_axis_move(Axis(0), 0);
    close(
        "log",
        &of(spd::logm(first)),
        &[
            1.7101339019008326,
            -0.4008524732622386,
            0.4771500206049112,
            -0.484058851186997,
            0.3485794811365517,
            -0.4207008577948974,
            -0.14556136411202827,
            1.6747866262445281,
            -0.5889779478193815,
            0.9297251280920826,
        ],
    );
    close(
        "exp of a tenth",
        &of(spd::expm((&first * 0.1).view())),
        &[
            2.407305844323379,
            -0.3846939019004426,
            1.0210975241737343,
            -0.6624885269179742,
            1.269136376111573,
            -0.39134004504859954,
            0.1629395339516554,
            2.439848280155684,
            -0.7097110654674467,
            1.631454173526656,
        ],
    );
    close(
        "square root",
        &of(spd::sqrtm(first)),
        &[
            2.537418001351319,
            -0.3915285800327651,
            0.6950396068059543,
            -0.556240897451961,
            1.2607083677134538,
            -0.40195336873123416,
            -0.0034515181557903426,
            2.527397275896075,
            -0.6433508276389052,
            1.7372776469781146,
        ],
    );
    close(
        "inverse square root",
        &of(spd::invsqrtm(first)),
        &[
            0.4595837393471151,
            0.11839960169454056,
            -0.07732902263061713,
            0.1187479961263426,
            0.8710698584242755,
            0.12814328538129735,
            0.08709390989140542,
            0.47593601673212416,
            0.15174463025828314,
            0.6700012134722857,
        ],
    );
    close(
        "power 0.7",
        &of(spd::powm(first, 0.7)),
        &[
            3.83310698805009,
            -0.7463804725543031,
            1.488679245758641,
            -1.1183848490062314,
            1.4458258274938427,
            -0.7620251541614317,
            0.08388364130160386,
            3.832923812021026,
            -1.2699156225039447,
            2.295675144868395,
        ],
    );
}

#[test]
fn geodesic_and_tangent_space() {
    let x = matrices();
    let at = |k| x.index_axis(Axis(0), k);
    close(
        "geodesic",
        &spd::geodesic(at(0), at(1), 0.3).unwrap(),
        &[
            4.779253155864929,
            -1.2708418059484845,
            2.698172718368133,
            -0.8503181818735308,
            2.3615264980762376,
            -1.8893665083938425,
            0.27447084322720405,
            6.595138231724434,
            -1.9822578406313405,
            2.547288688021636,
        ],
    );
    let v = spd::tangent_space(x.slice(s![..1, .., ..]), at(1)).unwrap();
    let want: Array1<f64> = array![
        0.8776458043778272,
        -0.40105364168173147,
        -0.2792657657586754,
        -1.8583226016844172,
        -0.9604480917099719,
        0.41802596648452933,
        -0.48332962099808274,
        0.08999726234495653,
        -0.0712398191067827,
        0.8997016345074004
    ];
    assert!((&v.row(0) - &want).iter().all(|e| e.abs() < 1e-9), "{v}");
    let back = spd::from_tangent_space(v.view(), at(1)).unwrap();
    assert!((&back.index_axis(Axis(0), 0) - &at(0)).iter().all(|e| e.abs() < 1e-10));
}

#[test]
fn mdm_probabilities_and_refusals() {
    let x = matrices();
    let params = MeanParams { tolerance: 1e-12, max_iterations: 200 }.check().unwrap();
    let fit = |labels: &[i64]| Mdm::fit(x.view(), &Labels::new(labels).unwrap(), Metric::AffineInvariant, &params);
    let mdm = fit(&[0, 0, 1, 1, 0]).unwrap();
    let p = mdm.probabilities(x.view()).unwrap();
    let want =
        [0.007184053065864632, 0.010571787818238206, 0.9977156876984402, 0.9574079889055954, 0.007756231110389545];
    // pyRiemann's means stop at a gradient of 1e-9, which leaves about 1e-9 in the probabilities.
    for (k, w) in want.into_iter().enumerate() {
        assert!((p[[k, 1]] - w).abs() < 1e-8, "{} instead of {w}", p[[k, 1]]);
    }
    assert!(matches!(fit(&[0, 1]), Err(spd::Error::Input(linalg::InputError::Shape { .. }))));
    assert!(matches!(fit(&[3; 5]), Err(spd::Error::Input(linalg::InputError::Parameter { .. }))));
    let mut bad = x.clone();
    bad.slice_mut(s![3, .., ..]).assign(&(Array2::<f64>::eye(4) * -1.0));
    assert_eq!(mdm.predict(bad.view()), Err(spd::Error::NotPositiveDefinite { what: "pairwise_distances", index: 3 }));
    bad[[1, 0, 1]] = f64::NAN;
    assert_eq!(
        mdm.predict(bad.view()),
        Err(spd::Error::Input(linalg::InputError::NotFinite { what: "pairwise_distances", index: 1 }))
    );
    assert!(matches!(mdm.predict(x.slice(s![.., ..3, ..3])), Err(spd::Error::Input(linalg::InputError::Shape { .. }))));
    bad.assign(&x);
    bad[[2, 0, 1]] += 1.0;
    assert_eq!(
        mdm.predict(bad.view()),
        Err(spd::Error::Input(linalg::InputError::NotSymmetric { what: "pairwise_distances", index: 2 }))
    );
}
