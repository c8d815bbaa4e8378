//! Times of the hot paths at the sizes of the paper's table 3, as JSON lines: best of several runs, wall time and the
//! CPU time of all threads (the one to compare on a shared machine).
//!
//! `cargo bench -p spd --bench geometry`; for one core set RAYON_NUM_THREADS=1. Ratios against peers are made by running the
//! same matrices through them on the same machine: with REPRO_BENCH_DATA=folder the matrices are written there as raw doubles.

use ndarray::{Array2, Array3, Axis};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use spd::{Labels, Mdm, MeanParams, Metric, Selection, SinkhornParams};
use std::time::Instant;

const N: usize = 22;
const TRIALS: usize = 288;

/// Covariances of 60 normal samples: squared distances near 12, as between the trials of one recording.
fn trials(seed: u64) -> Array3<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut out = Array3::zeros((TRIALS, N, N));
    for mut c in out.axis_iter_mut(Axis(0)) {
        let g = Array2::from_shape_fn((N, 60), |_| StandardNormal.sample(&mut rng)) as Array2<f64>;
        c.assign(&(g.dot(&g.t()) / 60.0));
    }
    out
}

/// CPU seconds of this process, all threads.
fn cpu_seconds() -> f64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
}

fn time(name: &str, runs: usize, mut f: impl FnMut() -> f64) {
    let (mut wall, mut cpu, mut check) = (f64::INFINITY, f64::INFINITY, 0.0);
    for _ in 0..runs {
        let (start, before) = (Instant::now(), cpu_seconds());
        check = f();
        wall = wall.min(start.elapsed().as_secs_f64());
        cpu = cpu.min(cpu_seconds() - before);
    }
    let threads = rayon_threads();
    println!(
        "{{\"name\": \"{name}\", \"wall\": {wall:.6}, \"cpu\": {cpu:.6}, \"threads\": {threads}, \"check\": {check}}}"
    );
}

fn rayon_threads() -> usize {
    std::env::var("RAYON_NUM_THREADS")
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (x, y) = (trials(1), trials(2));
    // Peers are timed on these matrices.
    if let Some(folder) = std::env::var_os("REPRO_BENCH_DATA") {
        for (name, data) in [("x.bin", &x), ("y.bin", &y)] {
            let bytes = data.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>();
            std::fs::write(std::path::Path::new(&folder).join(name), bytes)?;
        }
    }
    let params = MeanParams { tolerance: 1e-8, max_iterations: 50 }.check()?;
    let metric = Metric::AffineInvariant;
    let labels = Labels::new(&(0..TRIALS as i64).map(|i| i % 4).collect::<Vec<_>>())?;

    let cost = spd::pairwise_distances(x.view(), y.view(), metric)?.mapv(|d| d * d);
    time("pairwise 288 x 288 of 22 x 22", 5, || {
        spd::pairwise_distances(x.view(), y.view(), metric).map_or(f64::NAN, |d| d.sum())
    });
    let rows: Vec<Selection> =
        (0..TRIALS).map(|i| (0..20).map(|k| ((i * 7 + k * 13) % TRIALS, 1.0 + k as f64)).collect()).collect();
    time("288 weighted means of 20 (check: iterations)", 3, || {
        spd::means(x.view(), &rows, metric, &params).map_or(f64::NAN, |m| m.iter().map(|m| m.iterations as f64).sum())
    });
    time("one mean of 288", 3, || spd::mean(x.view(), None, metric, &params).map_or(f64::NAN, |m| m.matrix.sum()));
    time("logm 288", 5, || spd::logm(x.view()).map_or(f64::NAN, |m| m.sum()));
    time("mdm fit and predict, 4 classes", 5, || {
        let run = || Mdm::fit(x.view(), &labels, metric, &params)?.accuracy(y.view(), &labels);
        run().unwrap_or(f64::NAN)
    });
    let uniform = ndarray::Array1::from_elem(TRIALS, 1.0 / TRIALS as f64);
    let regularisation = spd::regularisation_from_median(cost.view())?;
    let plan = SinkhornParams { regularisation, iterations: 1000, tolerance: 0.0 }.check()?;
    time("sinkhorn 288 x 288, 1000 iterations", 5, || {
        spd::sinkhorn(cost.view(), uniform.view(), uniform.view(), &plan).map_or(f64::NAN, |p| p.cost)
    });
    time("log-domain sinkhorn 288 x 288, 100 iterations", 2, || {
        let run = || {
            let plan = SinkhornParams { regularisation, iterations: 100, tolerance: 0.0 }.check()?;
            spd::sinkhorn_log(cost.view(), uniform.view(), uniform.view(), &plan)
        };
        run().map_or(f64::NAN, |p| p.cost)
    });
    Ok(())
}
