//! Real data beside the project (skipped with a line when it is not there): BCI Competition IV 2a covariances, left against
//! right hand, and the original files of Multiple Features.

use ndarray::{Array1, Array2, Array3, s};
use ndarray_npy::ReadNpyExt;
use spd::{KernelPreset, Mdm, MeanParams, Metric, SinkhornParams};
use std::io::Read;
use std::path::PathBuf;

fn shared(path: &str) -> Option<PathBuf> {
    let at = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(path);
    if at.exists() {
        return Some(at);
    }
    println!("skipped: ../shared/data/{path} is not there");
    None
}

fn session(name: &str) -> Option<(Array3<f64>, Vec<i64>)> {
    let file = std::fs::File::open(shared(&format!("bci/{name}.npz"))?).unwrap();
    let mut zip = zip::ZipArchive::new(file).unwrap();
    let x = Array3::<f64>::read_npy(zip.by_name("covariances.npy").unwrap()).unwrap();
    let y = Array1::<i32>::read_npy(zip.by_name("labels.npy").unwrap()).unwrap();
    Some((x, y.iter().map(|v| i64::from(*v)).collect()))
}

/// Goldens: pyRiemann 0.12 MDM and POT's Sinkhorn, from the README of the data.
#[test]
fn bci_no_adaptation_and_full_adaptation() {
    let goldens = [
        (1, 86.11, 86.11, 8.1336),
        (3, 88.19, 95.14, 12.3594),
        (7, 53.47, 63.89, 10.1788),
        (8, 97.22, 96.53, 11.114),
        (9, 90.28, 88.89, 15.678),
    ];
    let params = MeanParams::default().check().unwrap();
    let metric = Metric::AffineInvariant;
    for (subject, no_adapt, full_adapt, median) in goldens {
        let (Some((x, lx)), Some((y, ly))) = (session(&format!("A0{subject}T")), session(&format!("A0{subject}E")))
        else {
            return;
        };
        let plain = Mdm::fit(x.view(), &lx, metric, &params).unwrap().accuracy(y.view(), &ly).unwrap() * 100.0;
        let cost = spd::pairwise_distances(x.view(), y.view(), metric).unwrap().mapv(|d| d * d);
        let regularisation = spd::regularisation_from_median(cost.view()).unwrap();
        let middle = (regularisation / 2.0).sqrt() / 0.05;
        let sinkhorn = SinkhornParams { regularisation, iterations: 1000, tolerance: 0.0 }.check().unwrap();
        let uniform = |n: usize| Array1::from_elem(n, 1.0 / n as f64);
        let (a, b) = (uniform(lx.len()), uniform(ly.len()));
        let plan = spd::sinkhorn(cost.view(), a.view(), b.view(), &sinkhorn).unwrap();
        let log = spd::sinkhorn_log(cost.view(), a.view(), b.view(), &sinkhorn).unwrap();
        assert!((&plan.plan - &log.plan).iter().all(|e| e.abs() < 1e-8), "subject {subject}");
        let mapped = spd::barycentric_map(plan.plan.view(), y.view(), 20, &params).unwrap();
        assert!(mapped.iter().all(|m| m.converged));
        let most = mapped.iter().map(|m| m.iterations).max().unwrap();
        let moved = Array3::from_shape_fn(x.dim(), |(k, i, j)| mapped[k].matrix[[i, j]]);
        let adapted = Mdm::fit(moved.view(), &lx, metric, &params).unwrap().accuracy(y.view(), &ly).unwrap() * 100.0;
        println!(
            "S{subject}: {plain:.2} {adapted:.2} {middle:.4}; marginal error {:.1e}, means {most} iterations at most",
            plan.marginal_error
        );
        assert!((plain - no_adapt).abs() < 0.01, "subject {subject}: {plain} instead of {no_adapt}");
        assert!((adapted - full_adapt).abs() < 0.01, "subject {subject}: {adapted} instead of {full_adapt}");
        assert!((middle - median).abs() < 0.01, "subject {subject}: {middle} instead of {median}");
    }
}

/// The first 20 rows of each class of one original file.
fn view(zip: &mut zip::ZipArchive<std::fs::File>, name: &str) -> Array2<f64> {
    let mut text = String::new();
    zip.by_name(&format!("mfeat-{name}")).unwrap().read_to_string(&mut text).unwrap();
    let rows: Vec<Vec<f64>> =
        text.lines().map(|l| l.split_whitespace().map(|v| v.parse().unwrap()).collect()).collect();
    assert_eq!(rows.len(), 2000);
    Array2::from_shape_fn((200, rows[0].len()), |(i, j)| rows[i / 20 * 200 + i % 20][j])
}

/// exp(-q_ij / (2 s^2)) with s the mean of `r`, written out a second time.
fn second(q: impl Fn(usize, usize) -> f64, r: impl Fn(usize, usize) -> f64) -> Array2<f64> {
    let s = (0..200).flat_map(|i| (0..200).map(move |j| (i, j))).map(|(i, j)| r(i, j)).sum::<f64>() / 40_000.0;
    Array2::from_shape_fn((200, 200), |(i, j)| (-q(i, j) / (2.0 * s * s)).exp())
}

fn second_rbf(x: Array2<f64>) -> Array2<f64> {
    // Squared distances through the Gram matrix, not through differences.
    let gram = x.dot(&x.t());
    let square = |i: usize, j: usize| (gram[[i, i]] + gram[[j, j]] - 2.0 * gram[[i, j]]).max(0.0);
    second(square, |i, j| if i == j { 0.0 } else { square(i, j).sqrt() })
}

#[test]
fn multiple_features_follow_the_formulas() {
    let Some(path) = shared("mfeat.zip") else { return };
    let mut zip = zip::ZipArchive::new(std::fs::File::open(path).unwrap()).unwrap();
    let raw: Vec<(&str, Array2<f64>)> = spd::VIEWS.into_iter().map(|name| (name, view(&mut zip, name))).collect();
    let views: Vec<_> = raw.iter().map(|(name, x)| (*name, x.view())).collect();
    let published = spd::multiple_features_kernels(&views, KernelPreset::Published).unwrap();
    let text = spd::multiple_features_kernels(&views, KernelPreset::PaperText).unwrap();
    for (v, (name, x)) in raw.iter().enumerate() {
        let near = |a: &Array2<f64>, b: &Array2<f64>| {
            let worst = (a - b).iter().fold(0.0f64, |m, e| m.max(e.abs()));
            assert!(worst < 1e-12, "{name}: {worst}");
        };
        if *name == "mor" {
            let count = |i: usize, j: usize| (0..3).filter(|&k| x[[i, k]] != x[[j, k]]).count() as f64;
            let want = second_rbf(x.slice(s![.., 3..]).to_owned()) + second(count, count);
            near(&published[v], &want);
            near(&text[v], &want);
            assert!(published[v].diag().iter().all(|d| (d - 2.0).abs() < 1e-15));
        } else {
            near(&published[v], &second_rbf(x.clone()));
            if matches!(*name, "fac" | "pix") {
                let half_sum = |i: usize, j: usize| {
                    let terms = x.row(i).into_iter().zip(x.row(j)).map(|(u, v)| (u - v).powi(2) / (u + v).max(1e-300));
                    terms.collect::<Vec<_>>().iter().rev().sum::<f64>() / 2.0
                };
                near(&text[v], &second(half_sum, half_sum));
            } else {
                near(&text[v], &published[v]);
            }
        }
    }
    assert!(spd::multiple_features_kernels(&views[1..], KernelPreset::Published).is_err());
}
