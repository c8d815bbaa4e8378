//! CVKT and imputation on kernels of known origin.

mod common;

use baselines::cvkt::{Cvkt, centred_alignment};
use baselines::{Error, imputation};
use common::*;
use estimator::Mask;
use ndarray::{Array1, Array2, ArrayView2, Axis};

fn rbf(x: &Array2<f64>) -> Array2<f64> {
    Array2::from_shape_fn((x.nrows(), x.nrows()), |(i, j)| {
        let d: f64 = x.row(i).iter().zip(x.row(j)).map(|(a, b)| (a - b) * (a - b)).sum();
        (-d / (2.0 * x.ncols() as f64)).exp()
    })
}

fn views(n: usize) -> Vec<Array2<f64>> {
    let mut rng = rng(81);
    let shared = normal(&mut rng, n, 3);
    (0..3).map(|_| rbf(&(shared.dot(&normal(&mut rng, 3, 4)) + normal(&mut rng, n, 4) * 0.3))).collect()
}

fn as_views(k: &[Array2<f64>]) -> Vec<ArrayView2<'_, f64>> {
    k.iter().map(Array2::view).collect()
}

/// With everything available, a kernel that is a combination of the others' features is found.
#[test]
fn full_availability_reproduces_an_achievable_kernel() {
    let mut k = views(60);
    // K2 := a linear image of the other views' kernels: L L^T with L = [K0 K1] B.
    let l = k[0].dot(&normal(&mut rng(82), 60, 5)) + k[1].dot(&normal(&mut rng(83), 60, 5));
    k[2] = l.dot(&l.t());
    let observed = Mask::new(Array2::from_elem((60, 3), true));
    let cvkt = Cvkt { nystrom: vec![1.0], rank: vec![0.5], tolerance: 0.0, ..Cvkt::default() };
    let done = cvkt.complete(&as_views(&k), &observed, 2).unwrap();
    let reached = done.alignment[done.alignment.len() - 1];
    println!("alignment {reached:.6} after {} steps", done.alignment.len() - 1);
    assert!(done.alignment.windows(2).all(|a| a[1] >= a[0]));
    assert!(reached > 0.999);
    assert!((centred_alignment(done.predicted.view(), k[2].view()) - reached).abs() < 1e-9);
    assert_eq!(done.completed, k[2], "observed entries are kept");
}

/// Missing samples are filled better than by the mean; what stands in missing entries is never read.
#[test]
fn missing_samples_are_transferred() {
    let (n, k) = (80, views(80));
    let observed = Mask::new(Array2::from_shape_fn((n, 3), |(i, v)| i % 4 != v));
    let mut holes = k.clone();
    for (v, kernel) in holes.iter_mut().enumerate() {
        for ((i, j), e) in kernel.indexed_iter_mut() {
            if !(observed[[i, v]] && observed[[j, v]]) {
                *e = f64::NAN;
            }
        }
    }
    let start = std::time::Instant::now();
    let done = Cvkt::default().complete(&as_views(&holes), &observed, 0).unwrap();
    println!("levels {} {}, {:.2} s", done.nystrom, done.rank, start.elapsed().as_secs_f64());
    let error = |a: &Array2<f64>| (a - &k[0]).mapv(|v| v * v).sum().sqrt();
    let first = observed.at(Axis(1), 0);
    let mean = imputation::mean(holes[0].view(), &first).unwrap();
    let zero = imputation::zero(holes[0].view(), &first).unwrap();
    let errors = (error(&done.completed), error(&mean), error(&zero));
    println!("CVKT {:.2}, mean {:.2}, zero {:.2}", errors.0, errors.1, errors.2);
    assert!(errors.0 < errors.1 && errors.1 < errors.2);
    for filled in [&done.completed, &mean, &zero] {
        for ((i, j), &e) in filled.indexed_iter() {
            assert!(e.is_finite());
            assert!(!(first[i] && first[j]) || e == k[0][[i, j]]);
        }
    }
}

/// The completed kernel of golden/cvkt.py, where the optimum is found in closed form.
#[test]
fn completed_kernels_are_those_of_an_independent_implementation() {
    #[derive(serde::Deserialize)]
    struct Golden {
        made_by: String,
        cases: Vec<Case>,
    }
    #[derive(serde::Deserialize)]
    struct Case {
        alignment: f64,
        cut: usize,
        predicted: Vec<f64>,
    }
    let golden: Golden = serde_json::from_str(include_str!("golden/cvkt.json")).unwrap();
    println!("{}", golden.made_by);
    let wave = |i: usize, j: usize, [a, b, c, d]: [f64; 4]| a + b * i as f64 + c * j as f64 + d * (i * j) as f64;
    let one = Array2::from_shape_fn((18, 3), |(i, j)| wave(i, j, [1.0, 3.0, 7.0, 0.7]).sin());
    let two = Array2::from_shape_fn((18, 2), |(i, j)| wave(i, j, [2.0, 5.0, 3.0, 0.9]).cos());
    let three = Array2::from_shape_fn((18, 3), |(i, j)| {
        let x = i as f64;
        match j {
            0 => one[[i, 0]] + 0.5 * two[[i, 1]] + 0.3 * (11.0 + 2.0 * x).sin(),
            1 => one[[i, 1]] - one[[i, 2]] + 0.4 * (1.3 * x * x).cos(),
            _ => two[[i, 0]] + 0.2 * (x * x).sin(),
        }
    });
    let kernels: Vec<Array2<f64>> = [one, two, three].iter().map(|f| f.dot(&f.t())).collect();
    let second: [fn(usize) -> bool; 2] = [|_| true, |i| i % 5 != 2];
    let cvkt = Cvkt { nystrom: vec![1.0], rank: vec![1.0], iterations: 20_000, tolerance: 0.0, ..Cvkt::default() };
    for (case, second) in golden.cases.iter().zip(second) {
        let seen: [fn(usize) -> bool; 3] = [|_| true, second, |i| i % 3 != 1];
        let observed = Mask::new(Array2::from_shape_fn((18, 3), |(i, v)| seen[v](i)));
        let done = cvkt.complete(&as_views(&kernels), &observed, 2).unwrap();
        let reached = done.alignment[done.alignment.len() - 1];
        let size = case.predicted.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let worst = done.predicted.iter().zip(&case.predicted).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
        println!(
            "alignment {reached:.12} of {:.12}, {} eigenvalues cut, largest difference {:.1e} of {size:.1} after {} steps",
            case.alignment,
            case.cut,
            worst,
            done.alignment.len() - 1
        );
        assert!((reached - case.alignment).abs() < 1e-10);
        assert!(worst < 1e-5 * size);
    }
}

#[test]
fn bad_input_is_refused() {
    let k = views(10);
    let every = |n: usize| Mask::new(Array1::from_elem(n, true));
    let none = Mask::new(Array1::from_elem(10, false));
    assert!(matches!(imputation::mean(k[0].view(), &none), Err(Error::Input(estimator::Error::Empty { .. }))));
    assert!(matches!(imputation::zero(k[0].view(), &every(9)), Err(Error::Input(estimator::Error::Shape { .. }))));
    let mut nan = k[0].clone();
    nan[[4, 4]] = f64::NAN;
    assert!(matches!(
        imputation::mean(nan.view(), &every(10)),
        Err(Error::Input(estimator::Error::NotFinite { sample: 4, .. }))
    ));
    let whole = |n: usize, views: usize| Mask::new(Array2::from_elem((n, views), true));
    let one = Cvkt::default().complete(&as_views(&k[..1]), &whole(10, 1), 0);
    assert!(matches!(one, Err(Error::Parameter { name: "view", .. })));
    let short = Cvkt::default().complete(&as_views(&k), &whole(9, 3), 0);
    assert!(matches!(short, Err(Error::Input(estimator::Error::Shape { .. }))));
    let narrow = Cvkt::default().complete(&as_views(&k), &whole(10, 2), 0);
    assert!(matches!(narrow, Err(Error::Parameter { name: "view", .. })));
    let level = Cvkt { rank: vec![0.0], ..Cvkt::default() };
    assert!(matches!(level.complete(&as_views(&k), &whole(10, 3), 0), Err(Error::Parameter { name: "rank", .. })));
}
