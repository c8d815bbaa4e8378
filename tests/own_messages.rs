//! What the own-data commands say: every refusal in one sentence, and the warnings that were once missing, as snapshots.

mod common;
use common::Finished;
use common::folder::{Folder, classes};
use datasets::gdf::{Event, GdfWriter};
use kraus::simulate::Recipe;
use ndarray::{Array2, Axis, array, s};

const RECIPE: Recipe = Recipe { p: 6, q: 4, rank: 3, noise: 0.0, seed: 5 };

/// A recording of two channels and an EOG channel, 100 samples per second, with one clipped sample.
fn recording(f: &Folder, name: &str, events: &[(u64, u16)]) {
    let mut signal = Array2::from_shape_fn((3, 500), |(c, t)| ((t * (7 + c)) as f64 * 0.618).sin() * 20.0);
    signal[(0, 30)] = 1e6;
    let events: Vec<Event> =
        events.iter().map(|&(position, code)| Event { position, code, channel: 0, duration: 0 }).collect();
    let mut bytes = Vec::new();
    GdfWriter::new(100, 400.0).write(&mut bytes, &["C3", "C4", "EOG-left"], signal.view(), &events).unwrap();
    std::fs::write(f.0.path().join(name), bytes).unwrap();
}

/// Every refusal: exit code 2, one sentence, no output, no new file.
#[test]
fn refusals() {
    let f = Folder::new();
    let good = f.samples(&RECIPE, 30);
    let mut bad = good.x.clone();
    bad[[7, 1, 2]] = f64::NAN;
    f.put("nan.npy", &bad);
    f.put("flat.npy", &good.x.index_axis(Axis(0), 0).to_owned());
    f.put("oblong.npy", &good.x.slice(s![.., ..4, ..]).to_owned());
    f.put("fewer.npy", &good.y.slice(s![..20, .., ..]).to_owned());
    f.put("none.npy", &good.x.slice(s![..0, .., ..]).to_owned());
    let whole = f.bytes("x.npy");
    std::fs::write(f.0.path().join("cut.npy"), &whole[..whole.len() - 100]).unwrap();
    std::fs::write(f.0.path().join("text.npy"), "hello").unwrap();
    std::fs::write(f.0.path().join("ragged.csv"), "1,2\n3\n").unwrap();
    std::fs::create_dir(f.0.path().join("folder.npz")).unwrap();
    let (x, y) = classes(10);
    f.put("spd.npy", &x);
    f.put("labels.npy", &y);
    f.put("half.npy", &y.mapv(|v| v + 0.5));
    f.put("far.npy", &y.mapv(|v| v * 1e12));
    f.put("one.npy", &y.mapv(|_| 1.0));
    let mut lopsided = x.clone();
    lopsided[[3, 0, 1]] = 0.9;
    f.put("lopsided.npy", &lopsided);
    f.put("singular.npy", &x.mapv(|_| 1.0));
    f.put("m_odd.npy", &array![[1.0, 0.5, f64::NAN], [0.4, 1.0, 0.1], [f64::NAN, 0.1, 1.0]]);
    f.put("m_negative.npy", &array![[1.0, f64::NAN], [f64::NAN, -1.0]]);
    f.put("m_full.npy", &Array2::<f64>::eye(4));
    f.put("m.npy", &array![[1.0, f64::NAN], [f64::NAN, 1.0]]);
    f.put("w.npy", &array![[1.0, 0.5], [0.5, 1.0]]);
    f.put("negative.npy", &array![[1.0, -2.0], [0.0, 1.0]]);
    f.0.ok("fit --x x.npy --y y.npy --rank 3 --folds 0 -o model.npz");
    let before = f.names();
    let lines = [
        "fit --x missing.npy --y y.npy -o m.npz",
        "fit --x flat.npy --y y.npy -o m.npz",
        "fit --x oblong.npy --y y.npy -o m.npz",
        "fit --x x.npy --y fewer.npy -o m.npz",
        "fit --x nan.npy --y y.npy -o m.npz",
        "fit --x none.npy --y y.npy -o m.npz",
        "fit --x cut.npy --y y.npy -o m.npz",
        "fit --x text.npy --y y.npy -o m.npz",
        "fit --x x.npy --y y.npy -o nowhere/m.npz",
        "fit --x x.npy --y y.npy -o folder.npz",
        "fit --x x.npy --y y.npy -o m.npy",
        "fit --x x.npy --y y.npy --rank 25 -o m.npz",
        "fit --x x.npy --y y.npy --folds 31 -o m.npz",
        "fit --x x.npy --y y.npy --folds 0 -o m.npz",
        "fit --x x.npy --y y.npy --solver closed-form --rank 4 -o m.npz",
        "fit --x x.npy --y y.npy --depth 2 --hidden 5,5 --rank 2 -o m.npz",
        "fit --x x.npy --y y.npy --depth 2 --hidden 1000000000 --rank 2 --memory 4 -o m.npz",
        "fit --x x.npy --y y.npy --noise-free --ranks 1..2 -o m.npz",
        "predict --model model.npz --x spd.npy -o p.npy",
        "predict --model x.npy --x x.npy -o p.npy",
        "predict --model model.npz --x nan.npy -o p.npy",
        "inspect missing.npz",
        "complete --matrix m_odd.npy -o c.npy",
        "complete --matrix m_negative.npy -o c.npy",
        "complete --matrix m_full.npy -o c.npy",
        "complete --matrix m.npy --mask w.npy -o c.npy",
        "complete --matrix m.npy --p 3 -o c.npy",
        "complete --matrix ragged.csv -o c.npy",
        "mdm --train spd.npy --labels half.npy --test spd.npy -o p.npy",
        "mdm --train spd.npy --labels far.npy --test spd.npy -o p.npy",
        "mdm --train spd.npy --labels one.npy --test spd.npy -o p.npy",
        "mdm --train x.npy --labels labels.npy --test spd.npy -o p.npy",
        "mdm --train lopsided.npy --labels labels.npy --test spd.npy -o p.npy",
        "mdm --train spd.npy --labels labels.npy --test singular.npy -o p.npy",
        "adapt --source spd.npy --target x.npy -o a.npz",
        "adapt --source spd.npy --target singular.npy -o a.npz",
        "adapt --source spd.npy --target spd.npy --target-labels one.npy -o a.npz",
        "covariances --signals flat.npy -o c.npz",
        "covariances --signals nan.npy -o c.npz",
        "covariances --gdf text.npy -o c.npz",
        "kernel chi2 --features negative.npy -o k.npy",
        "kernel rbf --features model.npz -o k.npy",
    ];
    let mut all = String::new();
    for line in lines {
        let Finished { code, out, err } = f.0.repro(line);
        assert_eq!(code, 2, "repro {line}\n{out}{err}");
        assert_eq!(out, "", "a refusal is no result: repro {line}");
        assert_eq!(err.trim_end().lines().count(), 1, "one sentence: repro {line}\n{err}");
        assert_eq!(f.names(), before, "repro {line} left a file");
        all += &format!("$ repro {line}\n{}\n", err.trim_end());
    }
    insta::assert_snapshot!(all);
}

/// The help of each command says all that is needed, with an example that names the command.
#[test]
fn help_has_examples() {
    let f = Folder::new();
    for command in ["fit", "predict", "inspect", "complete", "adapt", "mdm", "covariances", "kernel"] {
        let text = f.0.ok(&format!("{command} --help"));
        assert!(text.contains("Example") && text.contains(&format!("\n  repro {command} ")), "{text}");
    }
}

/// Sentences of the second look at people's own data: silent before, or a refusal without need.
#[test]
fn warnings() {
    let f = Folder::new();
    let good = f.samples(&RECIPE, 60);
    let mut lopsided = good.y.clone();
    lopsided[[3, 0, 1]] += 1.0;
    f.put("lopsided.npy", &lopsided);
    f.put("negative.npy", &good.y.mapv(|v| -v));
    let (x, labels) = classes(20);
    f.put("spd.npy", &x);
    f.put("labels.npy", &labels);
    let mut odd = labels.clone();
    odd[5] = 7.0;
    f.put("odd.npy", &odd);
    let kernel = Array2::from_shape_fn((12, 12), |(i, j)| (-((i as f64 - j as f64) / 3.0).powi(2)).exp());
    let mut rows = kernel;
    rows.row_mut(5).fill(f64::NAN);
    rows.column_mut(5).fill(f64::NAN);
    f.put("rows.npy", &rows);
    std::fs::write(f.0.path().join("pandas.csv"), ",a,b\n0,0.5,1.5\n1,2.5,0.1\n2,0.3,0.4\n").unwrap();
    recording(&f, "trials.gdf", &[(0, 768), (10, 769), (200, 768), (450, 768), (455, 769)]);
    recording(&f, "other.gdf", &[(0, 781), (10, 769)]);
    let cut = "--start 0 --end 1 --order 30 --low 8 --high 30 --estimator oas";
    let lines = [
        "fit --x x.npy --y lopsided.npy --rank 2 -o m.npz".to_owned(),
        "fit --x x.npy --y negative.npy --rank 2 -o m.npz".into(),
        "fit --x x.npy --y y.npy --rank 2 --gamma clamp:1e-4 -o m.npz".into(),
        "mdm --train spd.npy --labels labels.npy --test spd.npy --test-labels odd.npy".into(),
        "complete --matrix rows.npy --order ignore -o full.npy".into(),
        "complete --matrix rows.npy --depth 2 --rank 2 --p 4 --q 3 -o full.npy".into(),
        "kernel rbf --features pandas.csv -o k.npy".into(),
        format!("covariances --gdf trials.gdf {cut} -o c.npz"),
        format!("covariances --gdf other.gdf {cut} -o c.npz"),
        "predict --model m.npz --x x.npy -o x.npy".into(),
        "adapt --source spd.npy --target spd.npy --new spd.npy -o z.npz --model z.npz".into(),
    ];
    let mut all = String::new();
    for line in lines {
        let Finished { code, err, .. } = f.0.repro(&line);
        all += &format!("$ repro {line}\n{}\nexit code {code}\n\n", err.trim_end());
    }
    insta::assert_snapshot!(all);
}
