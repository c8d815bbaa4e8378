//! Adam allocates once per fit: nothing inside an epoch after the first, and little beside the data.

use kraus::{AdamParams, Architecture, Flow, Gamma, Mask, Problem, Progress, Session, Solver, Start, Stopping};
use ndarray::Array3;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

struct Counting;
thread_local! {
    /// Calls of this thread alone: the test harness allocates on its own threads whenever it likes, and these fits are
    /// small enough to stay on the thread that asked for them.
    static CALLS: Cell<usize> = const { Cell::new(0) };
}
static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
/// The counters are shared, so the tests of this file run one at a time.
static ALONE: Mutex<()> = Mutex::new(());

// SAFETY: passes everything on to the system allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.with(|c| c.set(c.get() + 1));
        let live = LIVE.fetch_add(layout.size(), SeqCst) + layout.size();
        PEAK.fetch_max(live, SeqCst);
        // SAFETY: as the caller's.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), SeqCst);
        // SAFETY: as the caller's.
        unsafe { System.dealloc(p, layout) }
    }
}
#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn symmetric(l: usize, n: usize) -> Array3<f32> {
    Array3::from_shape_fn((l, n, n), |(s, i, j)| ((s * 31 + (i + 1) * (j + 1) * 7) % 13) as f32 / 130.0)
}

/// A step large enough to be split over cores allocates nothing either. The pool has one thread, which all is counted on.
#[test]
fn no_allocation_inside_an_epoch_over_several_blocks() {
    let _alone = ALONE.lock();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for (p, q, rank, batch) in [(60, 30, 10, 16), (22, 22, 20, 64)] {
        let (x, y) = (symmetric(128, p), symmetric(128, q));
        let problem = Problem::matrices(x.view(), y.view()).unwrap();
        let arch = Architecture::single(p, q, rank);
        let stack = kraus::Stack::glorot(&arch, 1).unwrap();
        assert!(kraus::Engine::new(&problem, &stack, batch).unwrap().is_parallel());
        let counts = pool.install(|| per_epoch_in_batches(&problem, arch, batch));
        assert_eq!(counts, [0; 5], "{p} -> {q}, batches of {batch}");
    }
}

fn per_epoch(problem: &Problem<'_, f32>, arch: Architecture) -> Vec<usize> {
    per_epoch_in_batches(problem, arch, 16)
}

/// Allocations of each epoch, as seen between two calls of the watcher.
fn per_epoch_in_batches(problem: &Problem<'_, f32>, arch: Architecture, batch: usize) -> Vec<usize> {
    let mut seen = Vec::with_capacity(8);
    let mut watch = |_: &Progress| {
        seen.push(CALLS.with(Cell::get));
        Flow::Continue
    };
    let mut session = Session { validation: Some(problem), watch: None };
    session.watch = Some(&mut watch);
    let params = AdamParams { stopping: Stopping::after(6), keep_best: true, batch, rate: 1e-4, ..Default::default() };
    params.check().unwrap().fit_with(problem, Start::Random { arch, seed: 1 }, &mut session).unwrap();
    seen.windows(2).map(|w| w[1] - w[0]).collect()
}

#[test]
fn no_allocation_inside_an_epoch() {
    let _alone = ALONE.lock();
    let (x, y) = (symmetric(100, 8), symmetric(100, 4));
    let general = Array3::from_shape_fn((100, 8, 8), |(s, i, j)| ((s + 3 * i + j) % 7) as f32 / 70.0);
    let pairs = (0..64).map(|n| (n / 8, n % 8)).collect::<Vec<_>>();
    let y64 = symmetric(64, 4);
    let units = Problem::units(8, pairs, y64.view()).unwrap();
    for problem in [
        Problem::matrices(x.view(), y.view()).unwrap(),
        Problem::matrices(general.view(), y.view()).unwrap(),
        units.clone().with_mask(&Mask::new(Array3::from_elem((64, 4, 4), true))).unwrap(),
    ] {
        for (dims, gamma) in [(&[8, 4][..], Gamma::None), (&[8, 6, 4], Gamma::None), (&[8, 6, 4], Gamma::Clamp(0.1))] {
            let counts = per_epoch(&problem, Architecture::deep(dims, 7, gamma));
            assert_eq!(counts, [0; 5], "{dims:?} {gamma:?}");
        }
    }
}

#[test]
fn a_fit_needs_little_memory_beside_its_data() {
    let _alone = ALONE.lock();
    let (x, y) = (symmetric(800, 100), symmetric(800, 40));
    let problem = Problem::matrices(x.view(), y.view()).unwrap();
    let data = 4 * (x.len() + y.len() + 20 * 40 * 100);
    PEAK.store(LIVE.load(SeqCst), SeqCst);
    let adam = AdamParams { stopping: Stopping::after(1), rate: 1e-4, ..Default::default() }.check().unwrap();
    adam.fit(&problem, Start::single(100, 40, 20, 1)).unwrap();
    let peak = PEAK.load(SeqCst);
    assert!(peak as f64 <= 1.3 * data as f64, "peak {peak} bytes, data and parameters {data}");
}
