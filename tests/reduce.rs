//! Covariances after an average reference, which lack one direction, through `mdm`, `adapt` and `covariances`: one sentence without --reduce, and
//! with it pyRiemann's numbers on the reduced space (src/spd/tests/golden/subject.py, the embedded simulated subject).

mod common;
use common::{Project, SMALL};
use ndarray::{Array1, Array2, Array3, ArrayView2, Axis};
use ndarray_npy::{ReadNpyExt, read_npy, write_npy};
use serde_json::Value;

const SENTENCE: &str = "matrix 0 is not positive definite or of deficient rank";
const ADVICE: &str = "use a shrinkage covariance, --reduce (as after an average reference), or drop it";

/// One session of the embedded subject after an average reference, and its labels.
fn session(name: &str) -> (Array3<f64>, Array1<i64>) {
    let bytes = std::io::Cursor::new(include_bytes!("../src/spd/tests/golden/subject.npz"));
    let mut zip = zip::ZipArchive::new(bytes).unwrap();
    let x = Array3::<f32>::read_npy(zip.by_name(&format!("{name}.npy")).unwrap()).unwrap().mapv(f64::from);
    let labels = Array1::<i64>::read_npy(zip.by_name(&format!("{name}_labels.npy")).unwrap()).unwrap();
    let n = x.dim().1;
    let centre = Array2::from_shape_fn((n, n), |(i, j)| f64::from(u8::from(i == j)) - 1.0 / n as f64);
    let mut out = Array3::zeros(x.dim());
    for (mut to, from) in out.outer_iter_mut().zip(x.outer_iter()) {
        to.assign(&linalg::symmetrise(centre.dot(&from).dot(&centre).view()));
    }
    (out, labels)
}

fn folder() -> Project {
    let p = Project::new(SMALL);
    for name in ["T", "E"] {
        let (x, labels) = session(name);
        write_npy(p.path().join(format!("{name}.npy")), &x).unwrap();
        write_npy(p.path().join(format!("{name}-labels.npy")), &labels).unwrap();
    }
    p
}

#[test]
fn mdm_refuses_or_reduces_as_pyriemann_does() {
    let p = folder();
    let golden: Value = serde_json::from_str(include_str!("../src/spd/tests/golden/subject.json")).unwrap();
    let golden = &golden["reduced"];
    let line = "mdm --train T.npy --labels T-labels.npy --test E.npy --test-labels E-labels.npy";
    let said = p.repro(line);
    assert_ne!(said.code, 0);
    assert!(said.err.contains(SENTENCE) && said.err.contains(ADVICE) && said.err.lines().count() == 1, "{}", said.err);

    let found: Value =
        serde_json::from_str(&p.ok(&format!("{line} --reduce --proba P.npy --save m.npz --json"))).unwrap();
    assert_eq!(found["reduced"], serde_json::json!({"from": 22, "to": 21}), "{found}");
    assert_eq!(found["predicted"], golden["predicted"]);
    assert_eq!(found["accuracy"], golden["accuracy"]);
    let proba: Array2<f64> = read_npy(p.path().join("P.npy")).unwrap();
    let want = golden["probabilities"].as_array().unwrap();
    assert_eq!(proba.len(), want.len());
    let worst = proba.iter().zip(want).fold(0.0f64, |m, (a, b)| m.max((a - b.as_f64().unwrap()).abs()));
    println!("largest difference of a probability {worst:.1e}");
    assert!(worst < 1e-5, "{worst:e}");

    // A saved model keeps its basis.
    let later: Value =
        serde_json::from_str(&p.ok("mdm --model m.npz --test E.npy --test-labels E-labels.npy --json")).unwrap();
    assert_eq!((&later["predicted"], &later["accuracy"]), (&found["predicted"], &found["accuracy"]));

    // Test matrices with another reference have power that the training set lacks: said, not ignored.
    let (e, _) = session("E");
    let mut other = e.clone();
    other.outer_iter_mut().for_each(|mut m| m += 0.5);
    write_npy(p.path().join("other.npy"), &other).unwrap();
    let said = p.repro("mdm --model m.npz --test other.npy");
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert!(said.err.contains("outside the range of the training set"), "{}{}", said.out, said.err);
}

#[test]
fn adapt_refuses_or_reduces() {
    let p = folder();
    let line = "adapt --source T.npy --labels T-labels.npy --target E.npy -o out.npz";
    let said = p.repro(line);
    assert_ne!(said.code, 0);
    assert!(said.err.contains(SENTENCE) && said.err.contains(ADVICE), "{}", said.err);
    assert!(!p.path().join("out.npz").exists());
    let found: Value = serde_json::from_str(&p.ok(&format!("{line} --reduce --json"))).unwrap();
    assert_eq!(found["reduced"], serde_json::json!({"from": 22, "to": 21}), "{found}");
}

/// Epochs with an average reference: the covariances are singular, which is said; reduced ones are the congruence by the basis, and a
/// second file in the same basis can be compared with the first.
#[test]
fn covariances_warn_or_reduce() {
    let p = Project::new(SMALL);
    for (name, seed) in [("t", 1.0), ("e", 2.0)] {
        let mut x = Array3::from_shape_fn((6, 5, 80), |(k, c, t)| {
            ((seed + 3.0 * k as f64 + 7.0 * c as f64 + 11.0 * t as f64) * (1.0 + t as f64 / 9.0)).sin()
                * (1.0 + c as f64)
        });
        for mut trial in x.outer_iter_mut() {
            let mean = trial.mean_axis(Axis(0)).unwrap();
            trial -= &mean;
        }
        write_npy(p.path().join(format!("{name}.npy")), &x).unwrap();
    }
    let said = p.repro("covariances --signals t.npy -o t.npz");
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.err.contains("6 of 6 covariances are singular") && said.err.contains("--reduce"), "{}", said.err);
    for line in [
        "covariances --signals t.npy --reduce -o small.npz",
        "covariances --signals e.npy --reduce small.npz:basis -o other.npz",
    ] {
        let said = p.repro(line);
        assert_eq!(said.code, 0, "{}", said.err);
        assert!(
            !said.err.contains("singular") && said.out.contains("from 5 channels to a range of 4"),
            "{}{}",
            said.out,
            said.err
        );
    }
    let read3 = |file: &str| -> Array3<f64> {
        let mut zip = zip::ZipArchive::new(std::fs::File::open(p.path().join(file)).unwrap()).unwrap();
        Array3::read_npy(zip.by_name("covariances.npy").unwrap()).unwrap()
    };
    let basis = |file: &str| -> Array2<f64> {
        let mut zip = zip::ZipArchive::new(std::fs::File::open(p.path().join(file)).unwrap()).unwrap();
        Array2::read_npy(zip.by_name("basis.npy").unwrap()).unwrap()
    };
    let u = basis("small.npz");
    assert_eq!((basis("other.npz"), u.dim()), (u.clone(), (5, 4)));
    let (whole, small) = (read3("t.npz"), read3("small.npz"));
    for (w, s) in whole.outer_iter().zip(small.outer_iter()) {
        let expected = u.t().dot(&w).dot(&u);
        let close = |s: ArrayView2<'_, f64>| (&expected - &s).iter().all(|e| e.abs() < 1e-12);
        assert!(close(s));
    }
    let said = p.repro("covariances --signals e.npy --reduce t.npz:covariances -o x.npz");
    assert_ne!(said.code, 0);
    assert!(said.err.contains("a basis of --reduce is (channels, range)"), "{}", said.err);
}
