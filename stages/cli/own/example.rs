//! `repro example`: arrays to try the own-data commands on, as the page EXAMPLES.md does.
//!
//! Everything is made by seed or embedded, so the page can be run anywhere and says what it will print.

use super::facts::Facts;
use super::output;
use anyhow::{Context, Result, ensure};
use kraus::simulate::{Recipe, Split};
use multiview::{FeatureKernel, Similarity, Width};
use ndarray::{Array1, Array2, Array3, Axis};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;
use std::path::PathBuf;

/// Write example arrays: what the page EXAMPLES.md works on
///
/// map_X, map_Y, map_new: pairs of matrices related by a completely positive map with noise. day1, day2, labels1, labels2: simulated covariances of two
/// classes on two days. digits, digits_test: features of embedded digits. K, K_other: two kernels of the same 200 digits, K with a third of its entries
/// missing. K_rows: K with 40 samples never seen.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:
  repro example -o try
  repro -C try fit --x map_X.npy --y map_Y.npy -o model.npz")]
pub struct Args {
    /// Folder to write to; it is made if it is not there
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Run the command.
pub fn run(args: &Args) -> Result<u8> {
    let folder = &args.output;
    ensure!(!folder.is_file(), "{} is a file; name a folder", folder.display());
    std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let mut written: Vec<String> = Vec::new();
    let mut matrices = |name: &str, a: &Array3<f64>| {
        written.push(name.to_string());
        output::npy(&folder.join(name), a, false)
    };
    let recipe = Recipe { p: 6, q: 4, rank: 3, noise: 0.05, seed: 1 };
    let (train, test) = (recipe.samples::<f64>(Split::Train, 0..300), recipe.samples::<f64>(Split::Test, 0..50));
    matrices("map_X.npy", &train.x)?;
    matrices("map_Y.npy", &train.y)?;
    matrices("map_new.npy", &test.x)?;
    let (day1, labels1) = session(60, 0.0, 2);
    let (day2, labels2) = session(60, 0.8, 3);
    matrices("day1.npy", &day1)?;
    matrices("day2.npy", &day2)?;
    for (name, labels) in [("labels1.npy", labels1), ("labels2.npy", labels2)] {
        output::labels(&folder.join(name), &labels)?;
        written.push(name.into());
    }
    let digits = datasets::mfeat::embedded()?;
    let (fou, kar) = (&digits.views[0], &digits.views[2]); // in the order of `VIEWS`, of which there are six
    let rows = |keep: bool| (0..kar.nrows()).filter(|i| (i % 5 != 4) == keep).collect::<Vec<_>>();
    let k = FeatureKernel::fit(Similarity::Rbf, Width::Mean, kar.view())?.train_matrix()?;
    let other = FeatureKernel::fit(Similarity::Rbf, Width::Mean, fou.view())?.train_matrix()?;
    let (entries, whole) = holes(&k);
    for (name, m) in [
        ("digits.npy", &kar.select(Axis(0), &rows(true))),
        ("digits_test.npy", &kar.select(Axis(0), &rows(false))),
        ("K.npy", &entries),
        ("K_rows.npy", &whole),
        ("K_true.npy", &k),
        ("K_other.npy", &other),
    ] {
        output::npy(&folder.join(name), m, false)?;
        written.push(name.into());
    }
    let mut facts = Facts::default();
    facts.say("wrote", format!("{} to {}", written.join(", "), folder.display()), json!(written));
    facts.print(args.json)?;
    Ok(0)
}

/// The same kernel with a third of its entries missing, and with 40 samples missing.
fn holes(k: &Array2<f64>) -> (Array2<f64>, Array2<f64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let (mut entries, mut whole) = (k.clone(), k.clone());
    for i in 0..k.nrows() {
        for j in 0..=i {
            if rng.random::<f64>() < 1.0 / 3.0 {
                (entries[[i, j]], entries[[j, i]]) = (f64::NAN, f64::NAN);
            }
        }
        if i % 5 == 2 {
            whole.row_mut(i).fill(f64::NAN);
            whole.column_mut(i).fill(f64::NAN);
        }
    }
    (entries, whole)
}

/// Covariances of two classes that differ in the power of one channel; `turn` mixes the channels, as another day does.
fn session(trials: usize, turn: f64, seed: u64) -> (Array3<f64>, Vec<i64>) {
    const CHANNELS: usize = 4;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = move || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
    let mut mix = Array2::<f64>::eye(CHANNELS);
    for i in 0..CHANNELS - 1 {
        mix[[i, i + 1]] = turn;
        mix[[i + 1, i]] = -turn / 2.0;
    }
    let mut out = Array3::zeros((trials, CHANNELS, CHANNELS));
    let labels: Vec<i64> = (0..trials).map(|t| 1 + (t % 2) as i64).collect();
    for (mut m, label) in out.outer_iter_mut().zip(&labels) {
        let mut signal = Array2::from_shape_simple_fn((CHANNELS, 60), &mut normal);
        let strong = (*label - 1) as usize;
        signal.row_mut(strong).mapv_inplace(|v| 1.6 * v);
        let mean: Array1<f64> = signal.sum_axis(Axis(1)) / 60.0;
        let mixed = linalg::matmul(mix.view(), (signal - &mean.insert_axis(Axis(1))).view());
        m.assign(&(linalg::matmul(mixed.view(), mixed.t()) / 60.0));
    }
    (out, labels)
}
