//! A folder with arrays in it, for the commands on people's own data, and data that several of their tests use.

use super::{Finished, Project, SMALL};
use kraus::simulate::{Recipe, Samples, Split};
use ndarray::{Array, Array1, Array3, Dimension};
use ndarray_npy::{read_npy, write_npy};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeSet;

/// A folder with arrays. (The project in it is not used: these commands need none.)
pub struct Folder(pub Project);

impl Folder {
    pub fn new() -> Folder {
        Folder(Project::new(SMALL))
    }

    pub fn put<D: Dimension>(&self, name: &str, array: &Array<f64, D>) {
        write_npy(self.0.path().join(name), array).unwrap();
    }

    pub fn get<D: Dimension>(&self, name: &str) -> Array<f64, D> {
        read_npy(self.0.path().join(name)).unwrap()
    }

    /// l samples of a recipe, as x.npy and y.npy.
    pub fn samples(&self, recipe: &Recipe, l: usize) -> Samples<f64> {
        let s = recipe.samples::<f64>(Split::Train, 0..l);
        self.put("x.npy", &s.x);
        self.put("y.npy", &s.y);
        s
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.path().join(name)).unwrap()
    }

    /// The names of all files.
    pub fn names(&self) -> BTreeSet<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// What a command that succeeds prints with --json.
    pub fn json(&self, line: &str) -> serde_json::Value {
        serde_json::from_str(&self.0.ok(&format!("{line} --json"))).unwrap()
    }

    /// A command that succeeds and says these words on stderr.
    pub fn warned(&self, line: &str, words: &str) -> Finished {
        let said = self.0.repro(line);
        assert!(
            said.code == 0 && said.err.contains(words),
            "repro {line}: expected `{words}`\n{}{}",
            said.out,
            said.err
        );
        said
    }
}

/// A nearly normal number, the same on every machine.
pub fn normal(rng: &mut ChaCha8Rng) -> f64 {
    (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0
}

/// ||A - B|| / ||B||.
pub fn relative<D: Dimension>(a: &Array<f64, D>, b: &Array<f64, D>) -> f64 {
    let norm = |it: &mut dyn Iterator<Item = f64>| it.map(|v| v * v).sum::<f64>().sqrt();
    norm(&mut a.iter().zip(b).map(|(a, b)| a - b)) / norm(&mut b.iter().copied())
}

/// Two classes of SPD matrices, told apart by the diagonal.
pub fn classes(k: usize) -> (Array3<f64>, Array1<f64>) {
    let x = Array3::from_shape_fn((k, 3, 3), |(s, i, j)| match (i == j, s % 2 == i) {
        (true, true) => 4.0 + 0.01 * s as f64,
        (true, false) => 1.0 + 0.02 * (s * s % 7) as f64,
        _ => 0.1 + 0.001 * (s % 5) as f64,
    });
    (x, (0..k).map(|s| (s % 2) as f64).collect())
}
