//! How fast this machine is, against the one that the costs of `kinds::cost` were measured on.
//!
//! Products of two matrices, on as many threads as units will use, for the better part of a second. They are ndarray's and not ours: a faster kernel of our own
//! shows in the costs, not in the speed of the machine. Processor time is measured, not time on the wall: what else runs just now may be gone in a minute.

use ndarray::Array2;
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// Seconds for [`BATCH`] products of two 128 x 128 matrices on the machine of the costs, all cores at work.
const REFERENCE: f64 = 1.2e-3;
const SIZE: usize = 128;
const BATCH: usize = 20;
/// How long is measured.
const FOR: Duration = Duration::from_millis(700);

/// Seconds for each second of cost on so many threads.
pub fn measure(threads: usize) -> f64 {
    let times: Vec<f64> = std::thread::scope(|scope| {
        let start = |_| std::thread::Builder::new().name("speed".into()).spawn_scoped(scope, median);
        // A machine that refuses threads measures with fewer.
        let started: Vec<_> = (0..threads.max(1)).filter_map(|i| start(i).ok()).collect();
        started.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    if times.is_empty() { 1.0 } else { times.iter().sum::<f64>() / times.len() as f64 / REFERENCE }
}

/// Seconds of processor time of this thread.
fn processor() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + 1e-9 * now.tv_nsec as f64
}

/// The median time of a batch.
fn median() -> f64 {
    let entry = |(i, j): (usize, usize)| ((i * 31 + j * 17) % 97) as f32 / 97.0;
    let (a, mut b) = (Array2::from_shape_fn((SIZE, SIZE), entry), Array2::from_shape_fn((SIZE, SIZE), entry));
    let (begun, mut times) = (Instant::now(), Vec::new());
    while begun.elapsed() < FOR || times.is_empty() {
        let start = processor();
        for _ in 0..BATCH {
            b = a.dot(&b);
            // Keeps the numbers finite and the products from being left out.
            b /= b[[0, 0]].abs().max(1e-3);
        }
        times.push(processor() - start);
    }
    times.sort_by(f64::total_cmp);
    std::hint::black_box(&b);
    times[times.len() / 2]
}
