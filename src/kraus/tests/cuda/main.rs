//! The CUDA backend on a stand-in driver: the real Rust code and the real kernels, without a GPU. See CUDA.md.
#![cfg(feature = "cuda")]

mod agreement;
mod faults;
mod ptx;
#[path = "../standin/mod.rs"]
#[allow(dead_code)]
mod standin;

use kraus::backend::{Job, Trial};
use kraus::{AdamParams, KrausMap, Problem, Start, Stopping};
use linalg::Real;
use ndarray::Array3;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A dataset and the models of a sweep.
#[derive(Clone)]
struct Case {
    p: usize,
    q: usize,
    l: usize,
    batch: usize,
    /// Rank and shuffling seed of each model.
    models: Vec<(usize, u64)>,
    masked: bool,
    held: bool,
    keep_best: bool,
    /// Steps of Adam at least.
    steps: usize,
}

impl Case {
    fn new((p, q): (usize, usize), l: usize, batch: usize, models: &[(usize, u64)]) -> Self {
        Self { p, q, l, batch, models: models.to_vec(), masked: false, held: false, keep_best: false, steps: 50 }
    }
}

fn symmetric<T: Real>(rng: &mut ChaCha8Rng, l: usize, n: usize) -> Array3<T> {
    let mut a = Array3::from_shape_simple_fn((l, n, n), || T::of(rng.random_range(-1.0..1.0)));
    for s in 0..l {
        for i in 0..n {
            for j in 0..i {
                a[(s, i, j)] = a[(s, j, i)];
            }
        }
    }
    a
}

/// The job of a case, given to `then`.
fn with_job<T: Real, R>(case: &Case, then: impl FnOnce(&Job<'_, T>) -> R) -> R {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let truth = KrausMap::<T>::glorot(2, case.q, case.p, 3).unwrap();
    let mut set = |l: usize| {
        let x = symmetric(&mut rng, l, case.p);
        let noise = symmetric(&mut rng, l, case.q).mapv(|e: T| e * T::of(0.1));
        let mut y = truth.apply_batch(x.view()).unwrap() + noise;
        for s in 0..l {
            // Rounding leaves y symmetric to rounding only, which is enough; the mask must be exactly so.
            y[(s, 0, 0)] += T::of(0.01);
        }
        let mask = symmetric::<T>(&mut rng, l, case.q).mapv(|m| T::of(if m.as_f64() > -0.3 { 1.0 } else { 0.0 }));
        (x, y, mask)
    };
    let (train, held) = (set(case.l), set(case.l / 2 + 1));
    let problem = |(x, y, mask): &(Array3<T>, Array3<T>, Array3<T>)| -> Problem<'static, T> {
        // Leaked: a test's data are small, and a borrow could not leave this closure.
        let (x, y, mask) =
            (Box::leak(Box::new(x.clone())), Box::leak(Box::new(y.clone())), Box::leak(Box::new(mask.clone())));
        let problem = Problem::matrices(x.view(), y.view()).unwrap();
        if case.masked { problem.with_mask(mask.view()).unwrap() } else { problem }
    };
    let (train, held) = (problem(&train), problem(&held));
    let epochs = case.steps.div_ceil(case.l.div_ceil(case.batch));
    let trial = |(index, &(rank, seed)): (usize, &(usize, u64))| {
        let adam = AdamParams {
            stopping: Stopping::after(epochs),
            batch: case.batch,
            rate: 1e-3 * (index + 1) as f64,
            seed,
            keep_best: case.keep_best,
            ..AdamParams::default()
        };
        Trial { adam: adam.check().unwrap(), start: Start::single(case.p, case.q, rank, 11 + index as u64) }
    };
    let trials = case.models.iter().enumerate().map(trial).collect();
    then(&Job { problem: &train, validation: case.held.then_some(&held), trials })
}
