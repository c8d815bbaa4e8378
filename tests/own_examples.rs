//! The page "Which command for which question" and the pictures that commands draw.

mod common;
use common::folder::{Folder, relative};
use ndarray::Array2;

/// Every command of the page "Which command for which question" runs, in its order, and says what the page tells the reader to look at.
#[test]
fn the_page_of_examples_runs() {
    let f = Folder::new();
    let page = include_str!("../stages/cli/own/EXAMPLES.md");
    let (mut folder, mut said) = (String::new(), std::collections::BTreeMap::new());
    let mut inside = false;
    for line in page.lines() {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            _ if inside && line.starts_with("cd ") => folder = format!("-C {} ", &line[3..]),
            _ if inside => {
                let words = line.strip_prefix("repro ").unwrap_or_else(|| panic!("no command of ours: {line}"));
                said.insert(words.to_string(), f.0.ok(&format!("{folder}{words}")));
            }
            _ => {}
        }
    }
    assert_eq!(said.len(), 13, "{:?}", said.keys());
    let of = |start: &str| said.iter().find(|(k, _)| k.starts_with(start)).map(|(_, v)| v.as_str()).unwrap();
    assert!(
        ["chosen because", "validation", "mean of Y", "converged", "rank 3"].iter().all(|w| of("fit").contains(w)),
        "{}",
        of("fit")
    );
    assert!(["softImpute", "mean", "zero", "psd"].iter().all(|w| of("complete --matrix K.npy").contains(w)));
    assert!(of("complete --matrix K_rows.npy --order ignore -o").contains("mean of the other rows"));
    assert!(of("complete --matrix K_rows.npy -o").contains("neighbours in the order of the samples"));
    assert!(of("complete --matrix K_rows.npy --order ignore --view").contains("regression on the other views"));
    assert!(of("kernel").contains("width"));
    // What the page is for: the numbers are good.
    let (full, truth): (Array2<f64>, Array2<f64>) = (f.get("try/K_full.npy"), f.get("try/K_true.npy"));
    assert!(relative(&full, &truth) < 0.03, "{}", relative(&full, &truth));
    let error = |name: &str| relative(&f.get::<ndarray::Ix2>(name), &truth);
    let [mean, near, view] = ["mean", "neighbours", "view"].map(|n| error(&format!("try/K_rows_{n}.npy")));
    assert!(view < mean && near < mean, "{mean} {near} {view}");
    // The pictures of the page are those that the commands draw, to the byte.
    let shown: Vec<&str> = page.split("](../../../").skip(1).map(|rest| rest.split(')').next().unwrap()).collect();
    assert_eq!(shown.len(), 5, "{shown:?}");
    for path in shown {
        let drawn = std::fs::read(f.0.path().join("try").join(path.rsplit('/').next().unwrap())).unwrap();
        assert!(drawn.starts_with(b"<svg"), "{path}");
        let kept = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        if std::env::var_os("REPRO_EXAMPLES").is_some_and(|v| v == "update") {
            std::fs::write(&kept, &drawn).unwrap();
        }
        assert!(
            std::fs::read(&kept).is_ok_and(|k| k == drawn),
            "{path} is not what the page's command draws; look at it, then run this test with REPRO_EXAMPLES=update"
        );
    }
}

#[test]
fn pictures_are_svg_or_png_and_refused_otherwise() {
    let f = Folder::new();
    let x = Array2::from_shape_fn((12, 3), |(i, j)| ((i * (j + 2)) as f64).sin());
    f.put("x.npy", &x);
    for (name, start) in [("k.svg", b"<svg".as_slice()), ("k.png", b"\x89PNG".as_slice())] {
        f.0.ok(&format!("kernel rbf --features x.npy -o k.npy --plot {name}"));
        assert!(std::fs::read(f.0.path().join(name)).unwrap().starts_with(start), "{name}");
    }
    let said = f.0.repro("kernel rbf --features x.npy -o k.npy --plot k.pdf");
    assert!(said.code == 2 && said.err.contains("k.pdf does not end in .svg or .png"), "{}", said.err);
    let said = f.0.repro("fit --x x.npy --y x.npy --rank 1 --folds 0 --plot=e.svg -o m.npz");
    assert!(said.code == 2 && said.err.contains("draws the cross-validation and there is none"), "{}", said.err);
    let said = f.0.repro("fit --x x.npy --y x.npy --plot --json -o m.npz");
    assert!(said.code == 2 && said.err.contains("--plot=FILE"), "{}", said.err);
}
