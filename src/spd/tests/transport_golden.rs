//! Transport against POT 0.9.7.post1, to 1e-9.

use ndarray::{Array1, Array2, array};
use spd::{Error, GroupLasso, InputError, Labels, SinkhornParams};

fn problem() -> (Array2<f64>, Array1<f64>, Array1<f64>) {
    let entry = |(i, j): (usize, usize)| {
        let (i, j) = (i as f64, j as f64);
        ((2.0 * i).sin() - (3.0 * j).cos()).powi(2) + 0.1 * (i - j).abs()
    };
    let cost = Array2::from_shape_fn((5, 6), entry);
    (cost, array![0.1, 0.2, 0.3, 0.25, 0.15], array![0.2, 0.1, 0.15, 0.15, 0.25, 0.15])
}

fn params(regularisation: f64, iterations: usize) -> spd::CheckedSinkhornParams {
    SinkhornParams { regularisation, iterations, tolerance: 0.0 }.check().unwrap()
}

fn close(got: ndarray::ArrayView1<'_, f64>, want: &[f64]) {
    assert!(got.iter().zip(want).all(|(g, w)| (g - w).abs() < 1e-9), "{got} instead of {want:?}");
}

#[test]
fn sinkhorn_plain_and_log() {
    let (c, a, b) = problem();
    let p = spd::sinkhorn(c.view(), a.view(), b.view(), &params(0.05, 1000)).unwrap();
    close(
        p.plan.row(0),
        &[0.09301653406295375, 4.8e-13, 0.006426262480884308, 1.33e-13, 0.0005572034498048595, 5.7e-12],
    );
    close(
        p.plan.row(3),
        &[
            2.5397922650524654e-05,
            3.2685005243686835e-05,
            0.008163634855873075,
            0.011172570584193312,
            0.14181096722782685,
            0.08879474440421255,
        ],
    );
    assert!((p.cost - 0.4332136309416032).abs() < 1e-9);
    // Far from convergence too: the same iteration, not only the same limit.
    let p3 = spd::sinkhorn(c.view(), a.view(), b.view(), &params(0.05, 3)).unwrap();
    let want = [
        0.053636205390235746,
        0.007305943715353618,
        0.0035676201945742717,
        0.0018124699033609294,
        0.0019465025085901057,
        0.03173125828788534,
    ];
    close(p3.plan.row(0), &want);
    assert!(p3.marginal_error > p.marginal_error);
    for iterations in [3, 1000] {
        let plain = spd::sinkhorn(c.view(), a.view(), b.view(), &params(0.05, iterations)).unwrap();
        let log = spd::sinkhorn_log(c.view(), a.view(), b.view(), &params(0.05, iterations)).unwrap();
        assert_eq!(log.iterations, iterations);
        assert!((&log.plan - &plain.plan).iter().all(|e| e.abs() < 1e-12), "{}", &log.plan - &plain.plan);
    }
}

#[test]
fn small_regularisation_underflows_plainly_and_not_in_the_log_domain() {
    let (c, a, b) = problem();
    let exact = spd::emd(c.view(), a.view(), b.view()).unwrap();
    assert!((exact.cost - 0.4295782801366141).abs() < 1e-12, "POT's emd");
    let far = &c + 1.0;
    let tight = params(1e-3, 5000);
    assert!(matches!(spd::sinkhorn(far.view(), a.view(), b.view(), &tight), Err(Error::Underflow { .. })));
    let log = spd::sinkhorn_log(far.view(), a.view(), b.view(), &tight).unwrap();
    assert!((log.cost - 1.0 - exact.cost).abs() < 1e-4, "{}", log.cost);
    assert!(log.marginal_error < 1e-6);
}

#[test]
fn group_lasso() {
    let (c, a, b) = problem();
    let labels = Labels::new(&[0, 0, 1, 1, 0]).unwrap();
    let p =
        spd::sinkhorn_group_lasso(c.view(), a.view(), b.view(), &labels, GroupLasso::default(), &params(0.05, 1000))
            .unwrap();
    close(p.plan.row(0), &[0.09309958840933236, 0.0, 0.006464410676478787, 0.0, 0.0004360009141888461, 0.0]);
    close(p.plan.row(2), &[0.0, 0.0999673149947541, 0.0, 0.13882742941514314, 0.0, 0.06120525559009752]);
    assert!((p.cost - 0.43242040896256134).abs() < 1e-9);
}

#[test]
fn refusals() {
    let (c, a, b) = problem();
    let ok = params(0.1, 10);
    let bad = SinkhornParams { regularisation: 0.0, iterations: 1, tolerance: 0.0 }.check();
    assert!(matches!(bad, Err(Error::Input(InputError::Parameter { name: "regularisation", .. }))));
    assert!(matches!(spd::sinkhorn(c.view(), b.view(), a.view(), &ok), Err(Error::Input(InputError::Shape { .. }))));
    let mut negative = a.clone();
    negative[0] = -0.1;
    assert!(matches!(spd::emd(c.view(), negative.view(), b.view()), Err(Error::Weights { .. })));
    assert!(matches!(spd::emd(c.view(), (&a * 2.0).view(), b.view()), Err(Error::Input(InputError::Parameter { .. }))));
    let mut nan = c.clone();
    nan[[2, 2]] = f64::NAN;
    assert_eq!(
        spd::sinkhorn_log(nan.view(), a.view(), b.view(), &ok),
        Err(Error::Input(InputError::NotFinite { what: "sinkhorn_log", index: 2 }))
    );
}
