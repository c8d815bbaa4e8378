//! People's own arrays, end to end: what is recovered. (What is said and refused: own_messages.rs.)

mod common;
use common::Finished;
use common::folder::{Folder, classes, relative};
use kraus::simulate::{Recipe, Split};
use kraus::{KrausMap, load};
use ndarray::{Array1, Array2, Array3, s};
use ndarray_npy::read_npy;
use std::process::Command;

const RECIPE: Recipe = Recipe { p: 6, q: 4, rank: 3, noise: 0.0, seed: 5 };

#[test]
fn fit_and_predict_recover_the_map() {
    let f = Folder::new();
    f.samples(&RECIPE, 300);
    let new = RECIPE.samples::<f64>(Split::Test, 0..50);
    f.put("new.npy", &new.x);
    for how in ["", "--noise-free", "--rank 3", "--rank 3 --solver lbfgs", "--rank 3 --solver closed-form"] {
        let found = f.json(&format!("fit --x x.npy --y y.npy {how} -o model.npz"));
        assert_eq!(found["model"]["ranks"][0], 3, "{how}: {found}");
        f.0.ok("predict --model model.npz --x new.npy -o p.npy");
        let p: Array3<f64> = read_npy(f.0.path().join("p.npy")).unwrap();
        let error = relative(&p, &new.y);
        assert!(error < 1e-8, "{how}: {error:e}");
    }
    let truth = KrausMap::new(RECIPE.truth()).unwrap();
    let model = load::<f64>(f.0.path().join("model.npz")).unwrap().model;
    assert!(truth.distance_on_symmetric(&model.layers()[0]).unwrap() < 1e-8);
}

#[test]
fn the_true_rank_is_chosen_in_nine_of_ten_seeds() {
    let f = Folder::new();
    let mut right = 0;
    for seed in 0..10 {
        f.samples(&Recipe { p: 8, q: 5, rank: 3, noise: 0.1, seed }, 1000);
        let found = f.json("fit --x x.npy --y y.npy -o model.npz --ranks 1..8");
        right += usize::from(found["chosen_rank"]["rank"] == 3);
    }
    assert!(right >= 9, "{right} of 10");
}

#[test]
fn a_file_larger_than_memory_gives_the_same_bytes() {
    let f = Folder::new();
    f.samples(&Recipe { noise: 0.1, ..RECIPE }, 3000);
    let here = f.json("fit --x x.npy --y y.npy -o here.npz");
    // A quarter of 2 MiB is less than the 864 kB of x.npy.
    let pieces = f.json("fit --x x.npy --y y.npy -o pieces.npz --memory 0.002");
    assert_eq!((&here["samples"]["streamed"], &pieces["samples"]["streamed"]), (&false.into(), &true.into()));
    assert_eq!(f.bytes("here.npz"), f.bytes("pieces.npz"));
    let said = f.0.repro("fit --x x.npy --y y.npy -o no.npz --memory 0.002 --solver adam --rank 2");
    assert!(said.code == 2 && said.err.contains("adam needs all samples"), "{}", said.err);
}

#[test]
fn data_that_leave_the_map_open_are_said() {
    let f = Folder::new();
    f.samples(&RECIPE, 4);
    let said = f.0.repro("fit --x x.npy --y y.npy --rank 3 --folds 0 -o m.npz");
    assert!(said.code == 0 && said.err.contains("many maps fit equally well"), "{said:?}");
    f.samples(&RECIPE, 15);
    let said = f.0.repro("fit --x x.npy --y y.npy --rank 1 --folds 0 -o m.npz");
    assert!(said.code == 0 && said.err.contains("do not span all 21 directions"), "{said:?}");
}

#[test]
fn deep_and_other_solvers_run() {
    let f = Folder::new();
    f.samples(&RECIPE, 60);
    for how in [
        "--depth 2 --gamma clamp:1e-4 --epochs 20",
        "--depth 2 --hidden 5 --epochs 10",
        "--solver adam --epochs 3",
        "--solver block-coordinate --epochs 3",
    ] {
        let found = f.json(&format!("fit --x x.npy --y y.npy --rank 2 --folds 2 {how} -o model.npz"));
        assert!(found["validation"]["mse"].as_f64().unwrap() > 0.0, "{how}");
        f.0.ok("predict --model model.npz --x x.npy -o p.npy");
    }
    let seen = f.json("inspect model.npz");
    assert_eq!(seen["choi_spectrum"].as_array().unwrap().len(), 2);
    let text = f.0.ok("inspect model.npz --plot");
    assert!(text.contains("trace") && text.contains("training loss") && text.contains('┤'), "{text}");
}

#[test]
fn completion_recovers_and_keeps_what_was_seen() {
    let f = Folder::new();
    let n = 80;
    let w = Recipe { p: n, q: 1, rank: 8, noise: 0.0, seed: 1 }.truth().into_shape_with_order((8, n)).unwrap();
    let truth = w.t().dot(&w);
    // 40 % of the pairs are missing, by a fixed shuffle.
    let mut pairs: Vec<(usize, usize)> = (0..n).flat_map(|i| (0..=i).map(move |j| (i, j))).collect();
    use rand::{SeedableRng, seq::SliceRandom};
    pairs.shuffle(&mut rand_chacha::ChaCha8Rng::seed_from_u64(3));
    let mut m = truth.clone();
    for &(i, j) in &pairs[..pairs.len() * 2 / 5] {
        (m[[i, j]], m[[j, i]]) = (f64::NAN, f64::NAN);
    }
    f.put("m.npy", &m);
    let found = f.json("complete --matrix m.npy -o full.npy");
    assert_eq!(found["model"]["rank"], 8, "{found}");
    let full: Array2<f64> = read_npy(f.0.path().join("full.npy")).unwrap();
    let seen = |keep: bool| -> (Array1<f64>, Array1<f64>) {
        m.indexed_iter()
            .filter(|(_, v)| v.is_nan() != keep)
            .map(|(at, _)| (full[at], truth[at]))
            .unzip::<_, _, Vec<_>, Vec<_>>()
            .into_arrays()
    };
    let ((here, was), (guess, is)) = (seen(true), seen(false));
    assert!(here.iter().zip(&was).all(|(a, b)| a.to_bits() == b.to_bits()));
    assert!(relative(&guess, &is) < 1e-3, "{:e}", relative(&guess, &is));
    assert_eq!(found["undetermined_rows"]["empty"].as_array().unwrap().len(), 0);

    let small = 12;
    let mut m = truth.slice(s![..small, ..small]).to_owned();
    m.row_mut(4).fill(f64::NAN);
    m.column_mut(4).fill(f64::NAN);
    f.put("rows.npy", &m);
    let said = f.0.repro("complete --matrix rows.npy --depth 1 --rank 2 -o r.npy");
    assert!(said.code == 0 && said.err.contains("row 4 has no observed entry"), "{said:?}");
    let said = f.0.repro("complete --matrix rows.npy --rank 2 --p 4 --q 3 -o r.csv");
    assert!(said.code == 0 && said.err.contains("row 4 has no observed entry"), "{said:?}");
    assert_eq!(String::from_utf8(f.bytes("r.csv")).unwrap().lines().count(), small);
}

trait IntoArrays {
    fn into_arrays(self) -> (Array1<f64>, Array1<f64>);
}

impl IntoArrays for (Vec<f64>, Vec<f64>) {
    fn into_arrays(self) -> (Array1<f64>, Array1<f64>) {
        (self.0.into(), self.1.into())
    }
}

#[test]
fn spd_commands_work_together() {
    let f = Folder::new();
    let (x, y) = classes(30);
    f.put("s.npy", &x);
    f.put("l.npy", &y);
    f.put("t.npy", &x.mapv(|v| 3.0 * v));
    let adapted = f.json("adapt --source s.npy --target t.npy --labels l.npy --new s.npy --model map.npz --epochs 20 --rank 3 -o out.npz");
    assert!(adapted["distance"]["after"].as_f64() < adapted["distance"]["before"].as_f64());
    f.0.ok("adapt --source s.npy --target t.npy -o out.npz --neighbours 5");
    let found = f.json("mdm --train out.npz:mapped --labels l.npy --test t.npy --test-labels l.npy -o p.npy");
    assert_eq!(found["accuracy"], 1.0);
    let p: Array1<i64> = read_npy(f.0.path().join("p.npy")).unwrap();
    assert!(p.iter().zip(&y).all(|(a, b)| *a as f64 == *b));
    f.0.ok("predict --model map.npz --x s.npy -o images.npy");

    let signals = Array3::from_shape_fn((5, 3, 50), |(k, c, t)| ((k * 7 + c * 3 + t * t) as f64).sin());
    f.put("e.npy", &signals);
    f.0.ok("covariances --signals e.npy --estimator oas -o c.npz");
    assert_eq!(f.json("covariances --signals e.npy -o c.npz")["covariances"], serde_json::json!([5, 3, 3]));
    std::fs::write(f.0.path().join("f.csv"), "a,b\n0,0\n3,4\n0,1\n").unwrap();
    f.0.ok("kernel rbf --features f.csv --bandwidth 2.5 -o k.npy");
    let k: Array2<f64> = read_npy(f.0.path().join("k.npy")).unwrap();
    assert!((k[[0, 1]] - (-2.0f64).exp()).abs() < 1e-15);
}

#[test]
fn recordings_become_covariances() {
    let f = Folder::new();
    let sim = datasets::simulate::SimParams::default();
    let (recording, _) = datasets::bci::simulated(&sim.check().unwrap(), 1, datasets::bci::Session::T).unwrap();
    let signal = recording.signal.slice(s![..4, ..20_000]).to_owned();
    let event = |position: u64, code: u16| datasets::gdf::Event { position, code, channel: 0, duration: 0 };
    let events = [
        event(1000, 768),
        event(1500, 770),
        event(5000, 768),
        event(5000, 1023),
        event(5500, 769),
        event(9000, 768),
        event(9500, 783),
    ];
    let mut file = std::fs::File::create(f.0.path().join("a.gdf")).unwrap();
    let writer = datasets::gdf::GdfWriter::new(250, 1000.0);
    writer.write(&mut file, &["EEG-1", "EEG-2", "EEG-3", "EOG-1"], signal.view(), &events).unwrap();
    let found = f.json("covariances --gdf a.gdf a.gdf -o c.npz");
    assert_eq!(found["covariances"], serde_json::json!([4, 3, 3]));
    assert_eq!(found["labels"], serde_json::json!([2, 0, 2, 0]));
}

/// The interpreter with numpy, if there is one.
fn python() -> Option<String> {
    let program = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
    let found = Command::new(&program).args(["-c", "import numpy"]).output().is_ok_and(|o| o.status.success());
    if !found {
        println!("skipped: {program} has no numpy; set PYTHON to an interpreter that has");
    }
    found.then_some(program)
}

#[test]
fn numpy_arrays_of_every_layout_give_the_map() {
    let Some(python) = python() else { return };
    let f = Folder::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/own_data/layouts.py");
    let done = f.0.same_env(&python).args([script, env!("CARGO_BIN_EXE_repro")]).output().unwrap();
    let said = Finished::from(done);
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    println!("{}", said.out);
}

#[test]
fn the_python_page_runs() {
    let Some(python) = python() else { return };
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/src/kraus/PYTHON.md")).unwrap();
    let blocks: Vec<&str> = page.split("```python\n").skip(1).filter_map(|b| b.split("```").next()).collect();
    assert!(blocks.len() >= 4);
    let f = Folder::new();
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_repro")).parent().unwrap();
    let path = std::env::join_paths(
        [folder.to_path_buf()].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    )
    .unwrap();
    let done = f.0.same_env(&python).args(["-c", &blocks.concat()]).env("PATH", path).output().unwrap();
    let said = Finished::from(done);
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
}
