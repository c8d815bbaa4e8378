//! What the own-data commands once got wrong or kept silent about. This file has `fit`, `kernel` and `mdm`; the table says where each finding is held.
//!
//! | finding | test |
//! |---|---|
//! | labels shift by a trial when the cue precedes the start | reading.rs `labels_are_right_when_the_cue_precedes_the_start` |
//! | pandas' header and index read as data | reading.rs `tables_as_pandas_writes_them` |
//! | a model lost because -o and --model are one file; an input overwritten | reading.rs `an_output_never_replaces_an_input` |
//! | chi^2's default width has the wrong dimension | `kernels_have_a_width_of_the_right_dimension_and_test_rows`; accuracies in own_goals.rs |
//! | no word for asymmetric or negative definite Y, --gamma at depth 1, a map with relative error 1 | `fit_says_what_it_once_kept_silent_about`, own_messages.rs `warnings` |
//! | no word for test labels outside the training classes | `mdm_gives_probabilities_a_confusion_matrix_and_a_model` |
//! | NaN in the upper triangle only | own_completion.rs `entries_missing_in_one_triangle_only_are_taken_from_the_other` |
//! | clipped samples and EOG channels dropped in silence | reading.rs `eog_channels_and_clipped_samples_are_told` |
//! | bandwidth and regularisation not printed | `kernels_have_...`, `the_regularisation_in_use_is_printed` |
//! | one truncated trial refuses the recording | reading.rs `a_trial_cut_by_the_end_of_the_recording_is_left_out_with_a_line` |
//! | channels of different rates called damaged | reading.rs `channels_of_different_rates_are_refused_by_their_name_and_can_be_chosen` |
//! | words as labels | reading.rs `words_are_labels_and_come_back_as_words` |
//! | `.mat` files | reading.rs `arrays_of_matlab_files` |
//! | one event code only; cues cannot start trials | reading.rs `several_codes_start_trials_and_cues_can` |
//! | a missing event does not list those in the file | reading.rs `a_missing_event_lists_those_that_are_there` |
//! | no progress in long runs | stages/cli/own/progress.rs `the_bar_fills` |
//! | no probabilities, confusion matrix, saved model; no test x train kernel | `mdm_gives_...`, `kernels_have_...` |
//! | pictures in two commands only | own_examples.rs |
//! | a vacuous bound, 1.00e-7 for a floor | `fit_says_...`, stages/cli/own/facts.rs `a_floor_is_called_rounding` |
//! | missing rows: worse than the mean, by the order without a word, no prime n, no rival printed | own_completion.rs |

mod common;
use common::folder::{Folder, normal, relative};
use ndarray::{Array1, Array2, Array3, s};
use ndarray_npy::read_npy;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// l positive definite n x n matrices.
fn covariances(l: usize, n: usize, seed: u64) -> Array3<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut out = Array3::zeros((l, n, n));
    for mut m in out.outer_iter_mut() {
        let g = Array2::from_shape_simple_fn((n, 3 * n), || normal(&mut rng));
        m.assign(&(g.dot(&g.t()) / (3 * n) as f64));
    }
    out
}

/// A map that is not completely positive (a difference of two), an intercept and noise: Y = X - 0.5 P X P + 0.3 I, P the first coordinate.
fn signed_pairs(f: &Folder, l: usize) -> (Array3<f64>, Array3<f64>) {
    let x = covariances(l, 4, 1);
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut y = x.clone();
    for mut m in y.outer_iter_mut() {
        m[[0, 0]] *= 0.5;
        for i in 0..4 {
            m[[i, i]] += 0.3;
            for j in 0..=i {
                let e = 0.05 * normal(&mut rng);
                m[[i, j]] += e;
                m[[j, i]] = m[[i, j]];
            }
        }
    }
    f.put("x.npy", &x);
    f.put("y.npy", &y);
    (x, y)
}

#[test]
fn fit_chooses_signs_where_a_completely_positive_map_does_not_do() {
    let f = Folder::new();
    let (x, y) = signed_pairs(&f, 80);
    let found = f.json("fit --x x.npy --y y.npy -o m.npz");
    assert_eq!(found["model"]["positivity"], "output", "{found}");
    assert!(found["chosen_because"].as_str().unwrap().contains("signs bring the relative error"), "{found}");
    f.0.ok("predict --model m.npz --x x.npy -o p.npy");
    let p: Array3<f64> = f.get("p.npy");
    let full = relative(&p, &y);
    let cp = f.json("fit --x x.npy --y y.npy --positivity complete -o c.npz");
    assert_eq!(cp["model"]["positivity"], "complete");
    assert!(cp["model"]["minus"] == 0 && cp["converged"]["converged"].is_boolean(), "{cp}");
    f.0.ok("predict --model c.npz --x x.npy -o c.npy");
    let complete = relative(&f.get::<ndarray::Ix3>("c.npy"), &y);
    assert!(full < complete, "{full} {complete}");
    // Outputs of positive definite inputs are positive semidefinite.
    assert!(p.outer_iter().all(|m| linalg::eigh(m).unwrap().values[0] >= -1e-12));
    let seen = f.json("inspect m.npz");
    assert!(seen["operators"]["minus"].as_u64().unwrap() > 0 && seen["intercept"]["most"].is_number(), "{seen}");
    // From Python the model is arrays: sum_k s_k A_k X A_k^T + B.
    let npz = |name: &str| {
        let file = std::fs::File::open(f.0.path().join("m.npz")).unwrap();
        let mut npz = npy::NpzReader::open("m.npz", file).unwrap();
        match npz.array(name).unwrap() {
            npy::Array::Numbers { values, .. } => values,
            npy::Array::Text { .. } => panic!("{name} is text"),
        }
    };
    let ops = npz("layer0").into_dimensionality::<ndarray::Ix3>().unwrap();
    let (signs, b) = (npz("signs"), npz("intercept").into_dimensionality::<ndarray::Ix2>().unwrap());
    let mut by_hand = b.clone();
    for (a, s) in ops.outer_iter().zip(&signs) {
        by_hand = by_hand + a.dot(&x.index_axis(ndarray::Axis(0), 3)).dot(&a.t()) * *s;
    }
    assert!(relative(&by_hand, &p.index_axis(ndarray::Axis(0), 3).to_owned()) < 1e-9);
}

#[test]
fn fit_says_what_it_once_kept_silent_about() {
    let f = Folder::new();
    let (x, y) = signed_pairs(&f, 60);
    f.warned("fit --x x.npy --y y.npy --rank 2 --gamma clamp:1e-4 -o m.npz", "--gamma acts between layers");
    let mut lopsided = y.clone();
    lopsided[[3, 0, 1]] += 1.0;
    f.put("lopsided.npy", &lopsided);
    f.warned("fit --x x.npy --y lopsided.npy --rank 2 -o m.npz", "1 matrix is not symmetric, matrix 3 first");
    f.put("negative.npy", &y.mapv(|v| -v));
    f.warned("fit --x x.npy --y negative.npy --rank 2 -o m.npz", "60 of 60 matrices are negative definite");
    f.warned("fit --x x.npy --y negative.npy --rank 2 -o m.npz", "the map explains nothing of Y");
    let none = f.json("fit --x x.npy --y negative.npy --positivity none -o m.npz");
    assert!(none["validation"]["relative"].as_f64().unwrap() < 0.2, "{none}");
    // Outputs that have nothing to do with the inputs.
    f.put("other.npy", &covariances(60, 4, 77));
    f.warned("fit --x x.npy --y other.npy -o m.npz", "hardly better than the mean of Y");
    // A limit that was reached is told, and a bound that says nothing is not printed.
    let said = f.0.ok("fit --x x.npy --y y.npy --rank 3 --solver lbfgs --epochs 3 -o m.npz");
    assert!(said.contains("converged") && said.contains("no: stopped after 3 iterations"), "{said}");
    assert!(!said.contains("bound"), "{said}");
    // Exact data: errors at the floor of the arithmetic are called rounding.
    let exact = &x.mapv(|v| 4.0 * v);
    f.put("exact.npy", exact);
    let said = f.0.ok("fit --x x.npy --y exact.npy -o m.npz");
    assert!(said.contains("(rounding)") && !said.contains("1.00e-7"), "{said}");
}

#[test]
fn kernels_have_a_width_of_the_right_dimension_and_test_rows() {
    let f = Folder::new();
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let x = Array2::from_shape_simple_fn((20, 5), || 100.0 * rng.random::<f64>());
    f.put("x.npy", &x);
    f.put("small.npy", &(&x / 1000.0));
    f.put("t.npy", &x.slice(s![..4, ..]).to_owned());
    for kind in ["chi2", "rbf", "polynomial", "linear"] {
        f.0.ok(&format!("kernel {kind} --features x.npy --test t.npy --test-output kt.npy -o k.npy"));
        let (k, kt): (Array2<f64>, Array2<f64>) = (f.get("k.npy"), f.get("kt.npy"));
        assert_eq!(kt.dim(), (4, 20));
        assert!(relative(&kt, &k.slice(s![..4, ..]).to_owned()) < 1e-14, "{kind}");
        if kind != "linear" {
            f.0.ok(&format!("kernel {kind} --features small.npy -o ks.npy"));
            assert!(relative(&f.get::<ndarray::Ix2>("ks.npy"), &k) < 1e-9, "{kind}: another unit");
        }
    }
    let published = f.json("kernel chi2 --features x.npy --preset published -o k.npy");
    let h = multiview::chi2_distances(x.view()).unwrap();
    let w = 2.0 * (h.sum() / 400.0).powi(2);
    assert!((published["width"]["w"].as_f64().unwrap() / w - 1.0).abs() < 1e-12);
    f.warned("kernel chi2 --features x.npy --preset published -o k.npy", "can hardly be told apart");
    let median = f.json("kernel rbf --features x.npy --bandwidth median -o k.npy");
    assert!(median["width"]["rule"] == "median of the training rows", "{median}");
}

#[test]
fn mdm_gives_probabilities_a_confusion_matrix_and_a_model() {
    let f = Folder::new();
    let mut x = covariances(40, 3, 8);
    let labels: Array1<f64> = (0..40).map(|i| (i % 2) as f64).collect();
    for (i, mut m) in x.outer_iter_mut().enumerate() {
        m[[i % 2, i % 2]] *= 3.0;
    }
    f.put("x.npy", &x);
    f.put("y.npy", &labels);
    let mut odd = labels.clone();
    odd[5] = 7.0;
    f.put("odd.npy", &odd);
    let said = f.warned(
        "mdm --train x.npy --labels y.npy --test x.npy --test-labels odd.npy --confusion --proba p.npy --save m.npz -o a.npy",
        "1 of 40 labels are 7, which the training set does not have",
    );
    assert!(said.out.contains("true class") && said.out.contains("as 0"), "{}", said.out);
    let p: Array2<f64> = f.get("p.npy");
    assert!(p.dim() == (40, 2) && p.rows().into_iter().all(|r| (r.sum() - 1.0).abs() < 1e-12));
    f.0.ok("mdm --model m.npz --test x.npy --proba q.npy -o b.npy");
    let (a, b): (Array1<i64>, Array1<i64>) =
        (read_npy(f.0.path().join("a.npy")).unwrap(), read_npy(f.0.path().join("b.npy")).unwrap());
    assert_eq!(a, b);
    assert!(relative(&f.get::<ndarray::Ix2>("q.npy"), &p) < 1e-9);
    let bad = f.0.repro("mdm --model x.npy --test x.npy -o b.npy");
    assert!(bad.code == 2 && bad.err.contains("no model of `repro mdm --save`"), "{}", bad.err);
}

#[test]
fn the_regularisation_in_use_is_printed() {
    let f = Folder::new();
    f.put("a.npy", &covariances(20, 3, 1));
    f.put("b.npy", &covariances(20, 3, 2));
    let said = f.0.ok("adapt --source a.npy --target b.npy -o z.npz");
    assert!(said.lines().any(|l| l.contains("entropy") && l.contains("of the median cost")), "{said}");
}
