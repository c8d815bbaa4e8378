//! The number of threads never shows in a result: every solver, every way of splitting a step, bit for bit.

use kraus::simulate::{Recipe, Split};
use kraus::{
    AdamParams, Architecture, BlockCoordinateParams, Gamma, LbfgsParams, LossSource, Problem, Solver, Start, Stopping,
};
use linalg::Real;

/// The parameters fitted in pools of one, two and three threads.
fn fits<T: Real>(solver: &(dyn Solver<T> + Sync), problem: &Problem<'_, T>, start: &Start<T>) -> [Vec<T>; 3] {
    [1, 2, 3].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| solver.fit(problem, start.clone()).unwrap().model.to_vec())
    })
}

fn check<T: Real>(name: &str, solver: &(dyn Solver<T> + Sync), problem: &Problem<'_, T>, start: &Start<T>) {
    let [one, two, three] = fits(solver, problem, start);
    assert!(one == two && one == three, "{name}: the result depends on the number of threads");
}

fn adam(batch: usize) -> kraus::Adam {
    AdamParams { stopping: Stopping::after(2), batch, ..Default::default() }.check().unwrap()
}

#[test]
fn adam_on_one_and_on_several_blocks() {
    for (p, q, rank, batch) in [(60, 30, 10, 16), (22, 22, 20, 64), (20, 10, 5, 16), (20, 10, 5, 7), (20, 10, 50, 16)] {
        let recipe = Recipe { p, q, rank, noise: 0.1, seed: 3 };
        let data = recipe.samples::<f32>(Split::Train, 0..90);
        let problem = Problem::matrices(data.x.view(), data.y.view()).unwrap();
        check(&format!("adam {p} {q} {batch}"), &adam(batch), &problem, &Start::single(p, q, rank, 4));
    }
}

#[test]
fn adam_on_stacks_and_units() {
    let recipe = Recipe { p: 40, q: 20, rank: 10, noise: 0.1, seed: 3 };
    let data = recipe.samples::<f64>(Split::Train, 0..96);
    let problem = Problem::matrices(data.x.view(), data.y.view()).unwrap();
    let arch = Architecture::deep(&[40, 30, 20], 10, Gamma::Clamp(0.1));
    check("stack", &adam(32), &problem, &Start::Random { arch, seed: 5 });
    let pairs = (0..144).map(|n| (n / 12, n % 12)).collect::<Vec<_>>();
    let y = ndarray::Array3::from_shape_fn((144, 20, 20), |(s, i, j)| ((s * 7 + i * 3 + j) % 11) as f64 / 11.0);
    let problem = Problem::units(12, pairs, y.view()).unwrap();
    let arch = Architecture::deep(&[12, 16, 20], 20, Gamma::None);
    check("units", &adam(32), &problem, &Start::Random { arch, seed: 5 });
}

#[test]
fn exact_solvers() {
    let recipe = Recipe { p: 24, q: 12, rank: 5, noise: 0.1, seed: 8 };
    let data = recipe.samples::<f64>(Split::Train, 0..700);
    let problem = Problem::matrices(data.x.view(), data.y.view()).unwrap();
    let start = Start::single(24, 12, 5, 2);
    for source in [LossSource::Samples, LossSource::Moments] {
        let lbfgs = LbfgsParams { stopping: Stopping::after(8), source, restarts: 2, ..Default::default() };
        check("lbfgs", &lbfgs.check().unwrap(), &problem, &start);
    }
    // A high rank on many samples goes through the Choi matrix, in several blocks.
    let lbfgs = LbfgsParams { stopping: Stopping::after(4), source: LossSource::Samples, ..Default::default() };
    check("lbfgs, rank 40", &lbfgs.check().unwrap(), &problem, &Start::single(24, 12, 40, 2));
    let blocks = BlockCoordinateParams { stopping: Stopping::after(2), ..Default::default() };
    check("block coordinate", &blocks.check().unwrap(), &problem, &start);
    check("closed form", &kraus::ClosedForm, &problem, &start);
}
