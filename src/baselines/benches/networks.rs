//! Milliseconds per epoch of the tensor-train and Tucker networks under Adam, as JSON lines: ten thousand samples of 20 x 20 -> 10 x 10,
//! batches of 16.
//!
//! `cargo bench --workspace --bench networks -- [tensor-train-5 ...]`; `benches/networks.py` times PyTorch on the same layers. The time
//! of an epoch is that of a fit of six epochs minus that of a fit of one epoch, divided by five; each is the shortest of five fits.
//! Everything runs on one thread.

use baselines::{Regressor, TensorTrain, Training, Tucker};
use ndarray::Array3;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use std::time::Instant;

const SAMPLES: usize = 10000;
const P: usize = 20;
const Q: usize = 10;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let mut normal = |shape| Array3::<f64>::from_shape_simple_fn(shape, || StandardNormal.sample(&mut rng));
    let (mut x, truth) = (normal((SAMPLES, P, P)), kraus::KrausMap::new(normal((5, Q, P)))?);
    for mut x in x.outer_iter_mut() {
        let square = linalg::symmetrise(x.t().dot(&x).view());
        x.assign(&square);
    }
    let y = truth.apply_batch(x.view())?;
    for (name, rank) in ["tensor-train", "tucker"].iter().flat_map(|n| [5, 10, 20, 50, 100].map(|r| (*n, r))) {
        if (*name == *"tucker" && rank > P) || !(wanted.is_empty() || wanted.contains(&format!("{name}-{rank}"))) {
            continue;
        }
        let fit = |epochs: usize| -> Result<f64, baselines::Error> {
            let training = Training { epochs, batch: 16, ..Training::default() };
            let begun = Instant::now();
            match name {
                "tucker" => Tucker { ranks: [rank; 4], training }.fit(x.view(), y.view())?,
                _ => TensorTrain::by_sides(P, Q, rank, training).fit(x.view(), y.view())?,
            };
            Ok(begun.elapsed().as_secs_f64() * 1e3)
        };
        let (mut few, mut more) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..5 {
            (few, more) = (few.min(fit(1)?), more.min(fit(6)?));
        }
        let (case, ms) = (format!("{}, rank {rank}", name.replace('-', " ")), (more - few) / 5.0);
        println!(
            "{{\"group\":\"networks\",\"case\":\"{case}\",\"who\":\"ours\",\"threads\":1,\"milliseconds\":{ms:.4}}}"
        );
    }
    Ok(())
}
