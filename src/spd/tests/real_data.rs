//! Real data beside the project (skipped with a line when it is not there): BCI Competition IV 2a covariances, left against
//! right hand.

use ndarray::{Array1, Array3};
use ndarray_npy::ReadNpyExt;
use spd::{Labels, Mdm, MeanParams, Metric, SinkhornParams};
use std::path::PathBuf;

fn shared(path: &str) -> Option<PathBuf> {
    let at = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(path);
    if at.exists() {
        return Some(at);
    }
    println!("skipped: ../shared/data/{path} is not there");
    None
}

fn session(name: &str) -> Option<(Array3<f64>, Labels)> {
    let file = std::fs::File::open(shared(&format!("bci/{name}.npz"))?).unwrap();
    let mut zip = zip::ZipArchive::new(file).unwrap();
    let x = Array3::<f64>::read_npy(zip.by_name("covariances.npy").unwrap()).unwrap();
    let y = Array1::<i32>::read_npy(zip.by_name("labels.npy").unwrap()).unwrap();
    Some((x, Labels::new(&y.iter().map(|v| i64::from(*v)).collect::<Vec<_>>()).unwrap()))
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
