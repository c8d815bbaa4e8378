//! The rivals of the learned map against pyRiemann 0.12 and POT 0.9.7.post1 on one small problem, and scores against
//! scikit-learn 1.9.1.

use ndarray::{Array2, Array3, ArrayView2, Axis, array, s};
use spd::{CommonChannels, Labels, Mdwm, MeanParams, Procrustes, Recentring, TangentTransport};

fn matrices(k: usize, shift: f64) -> Array3<f64> {
    Array3::from_shape_fn((k, 3, 3), |(t, i, j)| {
        let wave = |c: usize| ((1 + c) as f64 * (0.7 + 0.31 * t as f64 + shift)).sin();
        let diagonal = 1.0 + ((i + 2 * (t % 2)) % 3) as f64 * (1.0 + 0.3 * shift);
        0.6 * wave(i) * wave(j) + if i == j { diagonal } else { 0.0 }
    })
}

/// Source and target with their labels.
fn problem() -> (Array3<f64>, Labels, Array3<f64>, Labels) {
    let a = array![[1.0, 0.3, 0.0], [-0.2, 1.2, 0.1], [0.1, 0.0, 0.8]];
    let mut target = matrices(8, 0.5);
    for mut m in target.outer_iter_mut() {
        let moved = a.dot(&m).dot(&a.t());
        m.assign(&((&moved + &moved.t()) * 0.5));
    }
    let labels = |k: i64| Labels::new(&(0..k).map(|t| 1 + t % 2).collect::<Vec<_>>()).unwrap();
    (matrices(10, 0.0), labels(10), target, labels(8))
}

/// Eight matrices of one class.
fn one_class(label: i64) -> Labels {
    Labels::new(&[label; 8]).unwrap()
}

fn close(what: &str, got: ArrayView2<'_, f64>, want: [f64; 6], tolerance: f64) {
    let upper = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)].map(|at| got[at]);
    let worst = upper.iter().zip(want).fold(0.0f64, |m, (g, w)| m.max((g - w).abs()));
    assert!(worst < tolerance, "{what}: off by {worst:e}: {upper:?}");
}

#[test]
fn recentring_is_pyriemanns_tlcenter() {
    let (source, _, target, _) = problem();
    let params = MeanParams::default().check().unwrap();
    let found = Recentring::fit(source.view(), target.view(), &CommonChannels::all(3), &params).unwrap();
    // pyRiemann whitens both domains; the images here have the target's mean instead of the identity.
    let (_, mt) = found.means();
    let whiten = spd::invsqrtm(mt.insert_axis(Axis(0))).unwrap().index_axis_move(Axis(0), 0);
    let mapped = found.apply(source.view()).unwrap();
    let at = |x: &Array3<f64>, k: usize| whiten.dot(&x.index_axis(Axis(0), k)).dot(&whiten);
    let want = [
        1.7814711101570226,
        -0.027557462148163542,
        -0.2504813522757893,
        0.6017444157240189,
        0.06413883653273418,
        0.9559138524583525,
    ];
    close("source", at(&mapped, 3).view(), want, 1e-7);
    let want = [
        0.7234831870511929,
        0.030275093869449533,
        -0.133347370936531,
        1.402653166736349,
        0.1954435229159953,
        1.2064279694740234,
    ];
    close("target", at(&target, 2).view(), want, 1e-7);
}

/// pyRiemann's descent stops at a loss of 0.0047664986; the least of 60 random starts is 0.0047664891.
#[test]
fn procrustes_is_pyriemanns_center_scale_and_rotate() {
    let (source, ls, target, lt) = problem();
    let params = MeanParams::default().check().unwrap();
    let found = Procrustes::fit((source.view(), &ls), (target.view(), &lt), &params).unwrap();
    let want = [
        0.6399949656612418,
        0.03631164587169232,
        -0.18249226119586928,
        1.6196060810891164,
        0.3049401636759981,
        1.3169404564566252,
    ];
    close("scaled target", found.target(target.view()).unwrap().index_axis(Axis(0), 2), want, 1e-7);
    assert!(found.converged() && found.loss() <= 0.004766498641569597 + 1e-9, "{}", found.loss());
    let want = [
        2.233500514519727,
        -0.5209346857617888,
        -0.24860490977875366,
        0.6713345623957505,
        0.21100514466003337,
        0.8607998673393329,
    ];
    close("rotated source", found.source(source.view()).unwrap().index_axis(Axis(0), 3), want, 2e-3);
    let q = found.rotation();
    assert!((&q.dot(&q.t()) - &Array2::<f64>::eye(3)).iter().all(|e| e.abs() < 1e-12));
    assert!(Procrustes::fit((source.view(), &ls), (target.view(), &one_class(1)), &params).is_err());
}

#[test]
fn mdwm_is_pyriemanns() {
    let (source, ls, target, lt) = problem();
    let params = MeanParams::default().check().unwrap();
    let found = Mdwm::fit((source.view(), &ls), (target.view(), &lt), 0.3, &params).unwrap();
    let want = [
        [
            1.3073198760389646,
            0.1200756021039644,
            0.011482385487674574,
            2.5491904088069184,
            0.034300091673874274,
            2.8943675727173384,
        ],
        [
            3.3318947864421147,
            -0.15054325108832645,
            0.08924611896195095,
            1.4303681895100229,
            -0.10118838160534065,
            2.0361150649734023,
        ],
    ];
    for (mean, want) in found.mdm().means().iter().zip(want) {
        close("mean", mean.matrix.view(), want, 1e-7);
    }
    assert!(Mdwm::fit((source.view(), &ls), (target.view(), &lt), 1.5, &params).is_err());
    assert!(Mdwm::fit((source.view(), &ls), (target.view(), &one_class(3)), 0.5, &params).is_err());
}

#[test]
fn tangent_transport_is_pots_emd_transport() {
    let (source, _, target, _) = problem();
    let params = MeanParams::default().check().unwrap();
    let found = TangentTransport::fit(source.view(), target.view(), &params).unwrap();
    let eye = Array2::<f64>::eye(3);
    let vector = |x: Array3<f64>, k: usize| {
        spd::tangent_space(x.slice(s![k..k + 1, .., ..]), eye.view()).unwrap().row(0).to_vec()
    };
    let near = |what: &str, got: Vec<f64>, want: [f64; 6]| {
        let worst = got.iter().zip(want).fold(0.0f64, |m, (g, w)| m.max((g - w).abs()));
        assert!(worst < 1e-7, "{what}: off by {worst:e}: {got:?}");
    };
    let want = [
        0.5830762221355886,
        -0.25083291877119507,
        -0.13654894548285829,
        -0.4835396479276498,
        0.11077275116760625,
        -0.11028455247185355,
    ];
    near("itself", vector(found.images().unwrap(), 3), want);
    let want = [
        0.4919344660664492,
        -0.28913227027403327,
        -0.0058043230660371585,
        -0.4009838513773324,
        -0.12019156926684657,
        -0.1774257394131219,
    ];
    near("new", vector(found.apply(matrices(3, 0.1).view()).unwrap(), 1), want);
}

#[test]
fn scores_are_scikit_learns() {
    let found = spd::scores(&[1, 1, 2, 3, 3, 3, 2, 1, 1, 2], &[1, 2, 2, 3, 1, 3, 2, 1, 1, 3]).unwrap();
    assert!((found.accuracy - 0.7).abs() < 1e-15);
    assert!((found.balanced_accuracy - 0.6944444444444443).abs() < 1e-15);
    assert!((found.kappa - 0.5454545454545454).abs() < 1e-15);
}
