//! One simulated subject, left against right hand, that comes with the project: means, distances, tangent vectors and MDM equal pyRiemann's
//! (golden/subject.py), with and without an average reference. Nothing has to be downloaded.

use ndarray::{Array1, Array2, Array3, ArrayView2, Axis, s};
use ndarray_npy::ReadNpyExt;
use spd::{Labels, Mdm, MeanParams, Metric, Reduction};
use std::io::Cursor;

#[derive(serde::Deserialize)]
struct Golden {
    made_by: String,
    mean: Vec<f64>,
    tangent: Vec<f64>,
    whole: Numbers,
    reduced: Numbers,
}

#[derive(serde::Deserialize)]
struct Numbers {
    distances: Vec<f64>,
    distance_sum: f64,
    distance_of_means: f64,
    to_means: Vec<f64>,
    probabilities: Vec<f64>,
    predicted: Vec<i64>,
    accuracy: f64,
    accuracy_logeuclid: f64,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("golden/subject.json")).unwrap()
}

/// One session of the embedded subject.
fn session(name: &str) -> (Array3<f64>, Labels) {
    let mut zip = zip::ZipArchive::new(Cursor::new(include_bytes!("golden/subject.npz"))).unwrap();
    let x = Array3::<f32>::read_npy(zip.by_name(&format!("{name}.npy")).unwrap()).unwrap();
    let labels = Array1::<i64>::read_npy(zip.by_name(&format!("{name}_labels.npy")).unwrap()).unwrap();
    (x.mapv(f64::from), Labels::new(&labels.to_vec()).unwrap())
}

fn exact() -> spd::CheckedMeanParams {
    MeanParams { tolerance: 1e-12, max_iterations: 500 }.check().unwrap()
}

#[track_caller]
fn close<'a>(what: &str, got: impl IntoIterator<Item = &'a f64>, want: &[f64], tolerance: f64) {
    let got: Vec<f64> = got.into_iter().copied().collect();
    assert_eq!(got.len(), want.len(), "{what}");
    let size = want.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let worst = got.iter().zip(want).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
    println!("{what}: largest difference {:.1e} of {size:.3e}", worst);
    assert!(worst < tolerance * size, "{what}: {worst:e} of {size:e}");
}

/// Distances, means and the classifier of two sessions against the numbers of pyRiemann.
fn agree(what: &str, (t, lt): (&Array3<f64>, &Labels), (e, le): (&Array3<f64>, &Labels), golden: &Numbers) {
    let metric = Metric::AffineInvariant;
    let d = spd::pairwise_distances(t.view(), e.view(), metric).unwrap();
    close(&format!("{what}: distances"), d.slice(s![..4, ..4]).iter(), &golden.distances, 1e-9);
    close(&format!("{what}: all distances"), [&d.sum()], &[golden.distance_sum], 1e-9);
    let mdm = Mdm::fit(t.view(), lt, metric, &exact()).unwrap();
    let apart = spd::distance(mdm.means()[0].matrix.view(), mdm.means()[1].matrix.view(), metric).unwrap();
    close(&format!("{what}: distance of the means"), [&apart], &[golden.distance_of_means], 1e-8);
    // pyRiemann's classifier stops its means at its default tolerance, so these agree to fewer digits.
    close(&format!("{what}: to the means"), mdm.distances(e.view()).unwrap().iter(), &golden.to_means, 1e-6);
    close(&format!("{what}: probabilities"), mdm.probabilities(e.view()).unwrap().iter(), &golden.probabilities, 1e-5);
    assert_eq!(mdm.predict(e.view()).unwrap(), golden.predicted, "{what}");
    assert_eq!(mdm.accuracy(e.view(), le).unwrap(), golden.accuracy, "{what}");
    let log = Mdm::fit(t.view(), lt, Metric::LogEuclidean, &exact()).unwrap();
    assert_eq!(log.accuracy(e.view(), le).unwrap(), golden.accuracy_logeuclid, "{what}");
}

#[test]
fn the_subject_as_it_is() {
    let (golden, (t, lt), (e, le)) = (golden(), session("T"), session("E"));
    println!("{}, {} and {} trials of {} channels", golden.made_by, lt.len(), le.len(), t.dim().1);
    agree("whole", (&t, &lt), (&e, &le), &golden.whole);
    let left: Vec<usize> = (0..lt.len()).filter(|&i| lt[i] == 1).collect();
    let mean = spd::mean(t.select(Axis(0), &left).view(), None, Metric::AffineInvariant, &exact()).unwrap();
    close("mean", mean.matrix.iter(), &golden.mean, 1e-9);
    let n = t.dim().1;
    let at = Array2::from_shape_vec((n, n), golden.mean.clone()).unwrap();
    let vectors = spd::tangent_space(e.slice(s![..2, .., ..]), at.view()).unwrap();
    close("tangent vectors", vectors.iter(), &golden.tangent, 1e-9);
}

/// With an average reference every matrix lacks one direction. It is refused by name; on the common range, in a basis that need not be
/// pyRiemann's, all distances and decisions are the same.
#[test]
fn the_subject_with_an_average_reference() {
    let (golden, (t, lt), (e, le)) = (golden(), session("T"), session("E"));
    let n = t.dim().1;
    let centre = Array2::from_shape_fn((n, n), |(i, j)| f64::from(u8::from(i == j)) - 1.0 / n as f64);
    let reference = |x: &Array3<f64>| {
        let one = |m: ArrayView2<'_, f64>| linalg::symmetrise(centre.dot(&m).dot(&centre).view());
        let all: Vec<Array2<f64>> = x.outer_iter().map(one).collect();
        Array3::from_shape_fn(x.dim(), |(k, i, j)| all[k][[i, j]])
    };
    let (t, e) = (reference(&t), reference(&e));
    let refused = Mdm::fit(t.view(), &lt, Metric::AffineInvariant, &exact()).unwrap_err().to_string();
    assert!(
        refused.contains("is not positive definite or of deficient rank (as after an average reference)"),
        "{refused}"
    );
    let reduction = Reduction::fit(&[t.view()]).unwrap();
    assert_eq!(reduction.rank(), n - 1);
    assert!(reduction.left_out(e.view()).unwrap() < 1e-12);
    let (t, e) = (reduction.apply(t.view()).unwrap(), reduction.apply(e.view()).unwrap());
    agree("reduced", (&t, &lt), (&e, &le), &golden.reduced);
    // A basis that was saved is the same reduction; one that is not orthonormal is refused.
    assert_eq!(Reduction::from_basis(reduction.basis().clone()).unwrap(), reduction);
    assert!(Reduction::from_basis(reduction.basis() * 2.0).is_err());
}
