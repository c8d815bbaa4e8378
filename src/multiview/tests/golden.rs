//! Kernels and clustering against scikit-learn 1.9.1, numpy 2.4.6 and scipy 1.17.1, to 1e-12.

#[path = "../../linalg/tests/golden/mod.rs"]
mod golden;
use golden::{close, upper};
use ndarray::Array2;

#[test]
fn kernels() {
    let x = Array2::from_shape_fn((4, 4), |(i, j)| {
        if (i + j) % 4 == 0 { 0.0 } else { (1.0 + 5.0 * i as f64 + 2.0 * j as f64).sin().abs() }
    });
    let rbf = multiview::rbf_kernel(x.view(), Some(0.7)).unwrap();
    close(
        &upper(&rbf),
        &[
            1.0,
            0.2393193846188246,
            0.11851645307325136,
            0.5852531344956313,
            1.0,
            0.12177722989363722,
            0.3205099398119395,
            1.0,
            0.0842556773672754,
            1.0,
        ],
    );
    // scikit-learn's chi2_kernel with gamma = 1/2 / (2 s^2): its sum has no factor 1/2.
    let chi2 = multiview::chi2_kernel(x.view(), Some(0.7)).unwrap();
    close(
        &upper(&chi2),
        &[
            1.0,
            0.4227728340115691,
            0.33305750410701085,
            0.5819590905706854,
            1.0,
            0.33541066145088405,
            0.5729155401429062,
            1.0,
            0.2571329526951778,
            1.0,
        ],
    );
    // scikit-learn's additive_chi2_kernel is minus twice the general distance.
    let general = multiview::chi2_distances(x.view()).unwrap();
    let doubled: Vec<f64> = upper(&general).iter().map(|v| -2.0 * v).collect();
    close(
        &doubled,
        &[
            0.0,
            -1.6874037480643713,
            -2.1549026330518277,
            -1.0610560446803166,
            0.0,
            -2.141103299940262,
            -1.0917532661653002,
            0.0,
            -2.6619975242954084,
            0.0,
        ],
    );
    let additive = multiview::chi2_additive_kernel(x.view()).unwrap();
    let norm = x.sum_axis(ndarray::Axis(1));
    let identity = Array2::from_shape_fn((4, 4), |(i, j)| (norm[i] + norm[j]) / 2.0 - general[[i, j]]);
    close(&upper(&additive), &upper(&identity));
    let negative = multiview::chi2_kernel((&x - 0.5).view(), None);
    assert!(matches!(negative, Err(multiview::Error::NegativeFeature { row: 0, column: 0, .. })));
}

#[test]
fn linkage_and_leaf_order() {
    let d = Array2::from_shape_fn((14, 14), |(i, j)| {
        let (x, y) = (i as f64, j as f64);
        if i == j { 0.0 } else { (1.0 + 3.0 * (x + y) + 7.0 * x * y).sin().abs() + 0.05 * (x - y).abs() }
    });
    let merges = multiview::average_linkage(d.view()).unwrap();
    let want = [
        (9, 10, 0.058791022929352246, 2),
        (1, 4, 0.1677019251054136, 2),
        (3, 6, 0.21192033725605733, 2),
        (13, 14, 0.29839948630336477, 3),
        (0, 7, 0.35885130929040393, 2),
        (8, 17, 0.48612129770129736, 4),
        (5, 19, 0.6503061730937517, 5),
        (2, 18, 0.6684887121962855, 3),
        (12, 16, 0.6941142330861573, 3),
        (11, 20, 0.7122803367750219, 6),
        (15, 21, 0.8202566656787059, 5),
        (23, 24, 0.9240574787693095, 11),
        (22, 25, 0.9630614382014285, 14),
    ];
    for (m, (left, right, distance, size)) in merges.iter().zip(want) {
        assert_eq!((m.left, m.right, m.size), (left, right, size));
        assert!((m.distance - distance).abs() < 1e-12);
    }
    let mut order = multiview::optimal_leaf_order(d.view(), &merges).unwrap();
    let length: f64 = order.windows(2).map(|w| d[[w[0], w[1]]]).sum();
    // The least over all 2^12 flips, found by enumeration (numpy). scipy's own optimal_leaf_ordering stops at 5.678 here: the
    // same order with 9 and 10 exchanged.
    assert!((length - 5.062152173980933).abs() < 1e-12, "{length}");
    // An order and its reverse are equally good.
    if order[0] != 12 {
        order.reverse();
    }
    assert_eq!(order, [12, 6, 3, 1, 4, 2, 7, 0, 5, 8, 9, 10, 13, 11]);
}

#[test]
fn seriation_finds_hidden_groups_without_labels() {
    // Samples alternate between two groups; each view sees three quarters of them.
    let kernel = Array2::from_shape_fn((24, 24), |(i, j)| {
        let noise = ((i * j) as f64).cos() * 0.05;
        if i == j {
            1.0
        } else if i % 2 == j % 2 {
            0.8 + noise
        } else {
            0.2 + noise
        }
    });
    let mask = multiview::Mask::new(Array2::from_shape_fn((24, 2), |(i, v)| (i / 2 + v * 2) % 4 != 0));
    let order = multiview::order_seriated(&[kernel.view(), kernel.view()], &mask).unwrap();
    let changes = order.windows(2).filter(|w| w[0] % 2 != w[1] % 2).count();
    assert!(changes <= 3, "{order:?}");
    let mut sorted = order;
    sorted.sort_unstable();
    assert_eq!(sorted, (0..24).collect::<Vec<_>>());
    assert_eq!(multiview::order_by_class(&[1, 0, 1, 0]), [1, 3, 0, 2]);
    assert_eq!(multiview::order_shuffled(9, 4), multiview::order_shuffled(9, 4));
    assert_ne!(multiview::order_shuffled(9, 4), multiview::order_shuffled(9, 5));
}
