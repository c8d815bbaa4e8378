//! The original files of Multiple Features beside the project (skipped with a line when they are not there).

use multiview::KernelPreset;
use ndarray::{Array2, s};
use std::io::Read;
use std::path::PathBuf;

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
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/mfeat.zip");
    if !path.exists() {
        println!("skipped: ../shared/data/mfeat.zip is not there");
        return;
    }
    let mut zip = zip::ZipArchive::new(std::fs::File::open(path).unwrap()).unwrap();
    let raw: Vec<(&str, Array2<f64>)> = multiview::VIEWS.into_iter().map(|name| (name, view(&mut zip, name))).collect();
    let views: Vec<_> = raw.iter().map(|(name, x)| (*name, x.view())).collect();
    let published = multiview::multiple_features_kernels(&views, KernelPreset::Published).unwrap();
    let text = multiview::multiple_features_kernels(&views, KernelPreset::PaperText).unwrap();
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
    assert!(multiview::multiple_features_kernels(&views[1..], KernelPreset::Published).is_err());
}
