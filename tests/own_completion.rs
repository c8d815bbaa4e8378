//! What `complete` once got wrong or kept silent about, one test for each finding.

mod common;
use common::folder::{Folder, normal, relative};
use ndarray::Array2;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A kernel: low rank plus a diagonal of its own, with some entries missing.
fn kernel(n: usize, share: f64, seed: u64) -> (Array2<f64>, Array2<f64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let x = Array2::from_shape_simple_fn((n, 3), || normal(&mut rng));
    let k = Array2::from_shape_fn((n, n), |(i, j)| {
        let d: f64 = (0..3).map(|a| (x[[i, a]] - x[[j, a]]).powi(2)).sum();
        0.8 * (-d / 6.0).exp() + if i == j { 0.2 } else { 0.0 }
    });
    let mut m = k.clone();
    for i in 0..n {
        for j in 0..=i {
            if rng.random::<f64>() < share {
                (m[[i, j]], m[[j, i]]) = (f64::NAN, f64::NAN);
            }
        }
    }
    (k, m)
}

fn missing_error(full: &Array2<f64>, k: &Array2<f64>, m: &Array2<f64>) -> f64 {
    let (mut wrong, mut total) = (0.0, 0.0);
    for (at, v) in m.indexed_iter().filter(|(_, v)| v.is_nan()) {
        let _ = v;
        wrong += (full[at] - k[at]).powi(2);
        total += k[at] * k[at];
    }
    (wrong / total).sqrt()
}

#[test]
fn completion_beats_its_rivals_and_stays_in_the_cone() {
    let f = Folder::new();
    let (k, m) = kernel(61, 0.3, 5); // a prime number of rows
    f.put("m.npy", &m);
    let found = f.json("complete --matrix m.npy -o full.npy");
    let full: Array2<f64> = f.get("full.npy");
    let error = missing_error(&full, &k, &m);
    let scores = found["chosen"]["scores"].as_array().unwrap();
    let of = |name: &str| scores.iter().find(|s| s["filled_by"] == name).unwrap()["error"].as_f64().unwrap();
    assert!(error < 1.05 * of("softImpute") && error < 0.3 * of("mean") && of("zero") == 1.0, "{error} {found}");
    let said = found["chosen"]["error"].as_f64().unwrap();
    assert!((said / error - 1.0).abs() < 0.4, "reported {said}, true {error}");
    assert_eq!(found["psd"]["psd"], true, "{found}");
    assert!(linalg::eigh(full.view()).unwrap().values[0] > -1e-9);
    // Observed entries to the bit; with --denoise the model's values.
    assert!(m.indexed_iter().filter(|(_, v)| !v.is_nan()).all(|(at, v)| full[at].to_bits() == v.to_bits()));
    f.0.ok("complete --matrix m.npy --denoise -o denoised.npy");
    let denoised: Array2<f64> = f.get("denoised.npy");
    assert!(denoised != full && linalg::eigh(denoised.view()).unwrap().values[0] > -1e-9);
    let text = f.0.ok("complete --matrix m.npy -o full.npy");
    assert!(["softImpute", "mean", "zero", "<- chosen"].iter().all(|w| text.contains(w)), "{text}");
    // The paper's block model takes any number of rows.
    assert!(f.0.ok("complete --matrix m.npy --depth 2 --rank 2 -o deep.npy").contains("to make whole blocks"));
}

#[test]
fn observed_entries_outside_the_cone_are_said_and_moved_on_demand() {
    let f = Folder::new();
    let (_, mut m) = kernel(30, 0.2, 9);
    (m[[0, 0]], m[[1, 1]]) = (1.0, 1.0);
    (m[[0, 1]], m[[1, 0]]) = (1.5, 1.5);
    f.put("m.npy", &m);
    let found = f.json("complete --matrix m.npy -o full.npy");
    assert_eq!(found["psd"]["psd"], false, "{found}");
    let text = f.0.ok("complete --matrix m.npy -o full.npy");
    assert!(text.contains("the observed entries do not allow it"), "{text}");
    let found = f.json("complete --matrix m.npy --psd -o full.npy");
    assert!(found["psd"]["psd"] == true && found["observed_entries"].as_f64().unwrap() > 0.0, "{found}");
    let full: Array2<f64> = f.get("full.npy");
    assert!(linalg::eigh(full.view()).unwrap().values[0] > -1e-8);
}

#[test]
fn missing_rows_come_from_other_views_and_not_from_the_order() {
    let f = Folder::new();
    let (k, _) = kernel(50, 0.0, 3);
    let view = k.mapv(|v| v * v + 0.1);
    let mut m = k.clone();
    for i in [4, 17, 18, 30, 41] {
        m.row_mut(i).fill(f64::NAN);
        m.column_mut(i).fill(f64::NAN);
    }
    f.put("m.npy", &m);
    f.put("view.npy", &view);
    f.warned("complete --matrix m.npy -o mean.npy", "The order of the samples plays no part");
    let found = f.json("complete --matrix m.npy -o mean.npy");
    assert_eq!(found["chosen"]["name"], "mean of the other rows", "{found}");
    f.0.ok("complete --matrix m.npy --view view.npy -o full.npy");
    let (mean, full): (Array2<f64>, Array2<f64>) = (f.get("mean.npy"), f.get("full.npy"));
    let (a, b) = (missing_error(&mean, &k, &m), missing_error(&full, &k, &m));
    assert!(b < 0.6 * a, "{b} with a view, {a} without");
    // The same samples in another order give the same numbers.
    let order: Vec<usize> = (0..50).map(|i| (i * 7) % 50).collect();
    let turn = |m: &Array2<f64>| Array2::from_shape_fn((50, 50), |(i, j)| m[[order[i], order[j]]]);
    f.put("turned.npy", &turn(&m));
    f.0.ok("complete --matrix turned.npy -o again.npy");
    assert!(relative(&f.get::<ndarray::Ix2>("again.npy"), &turn(&mean)) < 1e-12);
}

#[test]
fn entries_missing_in_one_triangle_only_are_taken_from_the_other() {
    let f = Folder::new();
    let (k, _) = kernel(12, 0.0, 3);
    let mut m = k.clone();
    (m[[2, 7]], m[[1, 9]]) = (f64::NAN, f64::NAN);
    f.put("m.npy", &m);
    let text = f.0.ok("complete --matrix m.npy -o full.npy");
    assert!(text.contains("2 entries are missing on one side of the diagonal"), "{text}");
    assert_eq!(f.get::<ndarray::Ix2>("full.npy"), k);
}

/// Samples along a curve, in this order: each is like its neighbours in the file.
fn sorted_kernel(n: usize) -> Array2<f64> {
    Array2::from_shape_fn((n, n), |(i, j)| {
        let d = (i as f64 - j as f64) / 8.0;
        (-d * d).exp() + if i == j { 0.1 } else { 0.0 }
    })
}

#[test]
fn the_order_of_the_samples_is_used_where_it_helps_and_said() {
    let f = Folder::new();
    let (n, k) = (61, sorted_kernel(61));
    let mut m = k.clone();
    for i in (3..n).step_by(5) {
        m.row_mut(i).fill(f64::NAN);
        m.column_mut(i).fill(f64::NAN);
    }
    f.put("m.npy", &m);
    let said = f.warned("complete --matrix m.npy -o full.npy", "in another order would give another result");
    for word in ["neighbours in the order of the samples", "mean of the other rows", "softImpute", "zero", "<- chosen"]
    {
        assert!(said.out.contains(word), "{word}: {}", said.out);
    }
    assert_eq!(f.json("complete --matrix m.npy -o full.npy")["chosen"]["by_order"], true);
    f.warned("complete --matrix m.npy --order ignore -o mean.npy", "The order of the samples plays no part");
    let (full, mean): (Array2<f64>, Array2<f64>) = (f.get("full.npy"), f.get("mean.npy"));
    let (a, b) = (missing_error(&full, &k, &m), missing_error(&mean, &k, &m));
    assert!(a < 0.5 * b, "{a} by the order, {b} by the mean");
    assert!(linalg::eigh(full.view()).unwrap().values[0] > -1e-9);
}

/// The block model depends on the order of the samples; other views put similar samples side by side first.
#[test]
fn views_give_the_block_model_its_order() {
    let f = Folder::new();
    let k = sorted_kernel(40);
    let order: Vec<usize> = (0..40).map(|i| (i * 17) % 40).collect();
    let turned = Array2::from_shape_fn((40, 40), |(i, j)| k[[order[i], order[j]]]);
    let mut m = turned.clone();
    for i in [4, 17, 31] {
        m.row_mut(i).fill(f64::NAN);
        m.column_mut(i).fill(f64::NAN);
    }
    f.put("m.npy", &m);
    f.put("view.npy", &turned.mapv(f64::sqrt));
    let line = "complete --matrix m.npy --p 8 --q 5 --rank 6 --depth 2";
    f.warned(&format!("{line} -o plain.npy"), "depends on the order of the samples");
    let said = f.0.ok(&format!("{line} --view view.npy -o sorted.npy"));
    assert!(said.contains("similar samples side by side"), "{said}");
    let (plain, sorted): (Array2<f64>, Array2<f64>) = (f.get("plain.npy"), f.get("sorted.npy"));
    let (a, b) = (missing_error(&plain, &turned, &m), missing_error(&sorted, &turned, &m));
    assert!(b < 0.8 * a, "{b} with the order of the view, {a} with that of the file");
}
