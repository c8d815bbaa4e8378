//! The general map tr_m(A X B^T), and block coordinate descent.

use kraus::simulate::{Recipe, Samples, Split};
use kraus::{
    AdamParams, Architecture, BlockCoordinateParams, Gamma, GeneralMap, KrausMap, LbfgsParams, LossSource, Mask,
    Problem, Solver, Start, Stopping, tr_m,
};
use linalg::matmul;
use ndarray::{Array2, Array3};

fn noise(shape: (usize, usize, usize), k: f64) -> Array3<f64> {
    Array3::from_shape_fn(shape, |(s, i, j)| ((s * s * 13 + s * (i * 5 + j * 3) + i * i * 7 + j) as f64 * k).sin())
}

#[test]
fn apply_is_the_definition() {
    let map = GeneralMap::<f64>::glorot(3, 2, 4, 1).unwrap();
    let x = noise((5, 4, 4), 0.9);
    let y = map.apply_batch(x.view()).unwrap();
    for (x, y) in x.outer_iter().zip(y.outer_iter()) {
        let inner = matmul(matmul(map.a(), x).view(), map.b().t());
        let expected: Array2<f64> = tr_m(inner.view(), 3).unwrap();
        assert!((&expected - &y).iter().all(|e| e.abs() < 1e-13));
    }
}

#[test]
fn gradient_agrees_with_differences() {
    let (x, y) = (noise((70, 4, 4), 0.9), noise((70, 3, 3), 1.7));
    let mask = Mask::new(y.mapv(|v| v <= 0.3));
    let plain = Problem::matrices(x.view(), y.view()).unwrap();
    let masked = plain.clone().with_mask(&mask).unwrap();
    let pairs: Vec<_> = (0..16).map(|k| (k / 4, k % 4)).collect();
    let targets = noise((16, 3, 3), 0.4);
    let units = Problem::units(4, pairs, targets.view()).unwrap();
    for problem in [plain, masked, units] {
        let map = GeneralMap::<f64>::glorot(2, 3, 4, 3).unwrap();
        let at = map.to_vec();
        let mut g = vec![0.0; at.len()];
        let loss = map.loss_gradient(&problem, &mut g);
        assert!((loss - map.mse(&problem).unwrap()).abs() < 1e-14);
        let scale = g.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        for i in 0..at.len() {
            let value = |h: f64| {
                let (mut moved, mut v) = (map.clone(), at.clone());
                v[i] += h;
                moved.set(&v);
                moved.mse(&problem).unwrap()
            };
            let difference = (value(1e-5) - value(-1e-5)) / 2e-5;
            assert!((difference - g[i]).abs() < 1e-6 * scale, "{i}: {difference} {}", g[i]);
        }
    }
}

#[test]
fn a_general_map_that_is_not_completely_positive_is_recovered() {
    let truth = GeneralMap::<f64>::glorot(2, 3, 4, 5).unwrap();
    let x = noise((200, 4, 4), 0.77);
    let y = truth.apply_batch(x.view()).unwrap();
    let problem = Problem::matrices(x.view(), y.view()).unwrap();
    let fit = GeneralMap::glorot(2, 3, 4, 6).unwrap().fit(&problem, &LbfgsParams::default()).unwrap();
    let size = y.iter().map(|v| v * v).sum::<f64>() / y.len() as f64;
    let mse = fit.model.mse(&problem).unwrap();
    assert!(mse < 1e-16 * size, "{mse:e} {size:e}");
    let adam = AdamParams { stopping: Stopping::after(60), rate: 1e-2, ..AdamParams::default() };
    let fit = GeneralMap::glorot(2, 3, 4, 6).unwrap().fit_adam(&problem, &adam).unwrap();
    assert!(fit.history.loss[59] < 0.1 * fit.history.loss[0], "{:?}", fit.history.loss);
    assert!(truth.to_kraus().is_err());
    let kraus = KrausMap::<f64>::glorot(2, 3, 4, 5).unwrap();
    assert_eq!(GeneralMap::from(&kraus).to_kraus().unwrap(), kraus);
}

#[test]
fn wrong_shapes_are_refused() {
    let eye = Array2::<f64>::eye(4);
    assert!(GeneralMap::new(eye.clone(), Array2::eye(3), 2).is_err());
    assert!(GeneralMap::new(eye.clone(), eye.clone(), 3).is_err());
    assert!(GeneralMap::new(eye.mapv(|v| v * f64::NAN), eye.clone(), 2).is_err());
    let map = GeneralMap::new(eye.clone(), eye, 2).unwrap();
    assert!(map.apply_batch(noise((2, 3, 3), 1.0).view()).is_err());
}

#[test]
fn block_coordinate_never_rises_and_gets_there() {
    let recipe = Recipe { p: 6, q: 3, rank: 2, noise: 0.0, seed: 8 };
    let train: Samples<f64> = recipe.samples(Split::Train, 0..60);
    let problem = Problem::matrices(train.x.view(), train.y.view()).unwrap();
    let size = train.y.iter().map(|v| v * v).sum::<f64>() / train.y.len() as f64;
    for source in [LossSource::Moments, LossSource::Samples] {
        let params = BlockCoordinateParams { source, stopping: Stopping::after(150), ..Default::default() };
        let fit = params.check().unwrap().fit(&problem, Start::single(6, 3, 2, 1)).unwrap();
        let loss = &fit.history.loss;
        println!("{source:?}: {:e} -> {:e} of {size:e}", loss[0], loss[loss.len() - 1]);
        assert!(loss.windows(2).all(|w| w[1] <= w[0] * (1.0 + 1e-9) + 1e-28 * size), "{loss:?}");
        assert!(loss[loss.len() - 1] < 1e-8 * size);
        assert!((fit.model.mse(&problem).unwrap() - loss[loss.len() - 1]).abs() <= 1e-6 * loss[0]);
    }
    assert!(BlockCoordinateParams { steps: 0, ..Default::default() }.check().is_err());
}

#[test]
fn lbfgs_fits_a_deep_stack() {
    let recipe = Recipe { p: 5, q: 3, rank: 2, noise: 0.0, seed: 4 };
    let train: Samples<f64> = recipe.samples(Split::Train, 0..60);
    let problem = Problem::matrices(train.x.view(), train.y.view()).unwrap();
    for gamma in [Gamma::None, Gamma::Clamp(1e-3)] {
        let start = Start::Random { arch: Architecture::deep(&[5, 4, 3], 2, gamma), seed: 3 };
        let fit = LbfgsParams { stopping: Stopping::after(300), ..Default::default() }
            .check()
            .unwrap()
            .fit(&problem, start)
            .unwrap();
        let (first, last) = (fit.history.loss[0], fit.history.loss[fit.history.loss.len() - 1]);
        println!("{gamma:?}: {first:e} -> {last:e}");
        assert!(last < 1e-2 * first);
        assert!((fit.model.mse(&problem).unwrap() / last - 1.0).abs() < 1e-6);
    }
}

#[test]
fn lbfgs_with_mask_and_units() {
    // Every block of a rank-2 Choi matrix with single entries missing.
    let truth = KrausMap::<f64>::glorot(2, 3, 5, 2).unwrap();
    let pairs: Vec<_> = (0..25).map(|k| (k / 5, k % 5)).collect();
    let y = truth.apply_units(&pairs).unwrap();
    let mask = Mask::new(Array3::from_shape_fn(y.dim(), |(k, i, j)| (i, j) != (k % 3, (k / 3) % 3)));
    let problem = Problem::units(5, pairs, y.view()).unwrap().with_mask(&mask).unwrap();
    let fit = LbfgsParams::default().check().unwrap().fit(&problem, Start::single(5, 3, 2, 4)).unwrap();
    assert!(truth.distance(&fit.model.layers()[0]).unwrap() < 1e-6);
    assert!(fit.history.notes.iter().any(|n| n == "on the samples"));
    let moments = LbfgsParams { source: LossSource::Moments, ..LbfgsParams::default() }.check().unwrap();
    assert!(moments.fit(&problem, Start::single(5, 3, 2, 4)).unwrap_err().to_string().contains("moments describe"));
}

/// Options that the general map cannot honour are refused, or the history says so; none is ignored without a word.
#[test]
fn the_general_map_ignores_no_option_silently() {
    let (x, y) = (noise((30, 4, 4), 1.0), noise((30, 3, 3), 1.0));
    let problem = Problem::matrices(x.view(), y.view()).unwrap();
    let fit = |params: LbfgsParams| GeneralMap::glorot(2, 3, 4, 6).unwrap().fit(&problem, &params);
    let short = LbfgsParams { stopping: Stopping::after(3), ..Default::default() };
    let restarts = fit(LbfgsParams { restarts: 3, ..short }).unwrap_err().to_string();
    assert!(restarts.contains("restarts do nothing"), "{restarts}");
    let moments = fit(LbfgsParams { source: LossSource::Moments, ..short }).unwrap_err().to_string();
    assert!(moments.contains("no moments"), "{moments}");
    let notes = fit(short).unwrap().history.notes;
    assert!(notes.iter().any(|n| n.contains("no warm start")), "{notes:?}");
    assert!(!fit(LbfgsParams { warm_up: false, ..short }).unwrap().history.notes.iter().any(|n| n.contains("warm")));
}

/// The last step of Adam can overflow after the last loss was computed: an error, not a model of NaN.
#[test]
fn the_general_map_never_returns_nan() {
    let (x, y) = (noise((16, 2, 2), 1.0), noise((16, 2, 2), 1.0));
    let (x, y) = (x.mapv(|v| v as f32), y.mapv(|v| v as f32));
    let problem = Problem::matrices(x.view(), y.view()).unwrap();
    let wild = AdamParams { stopping: Stopping::after(1), batch: 16, rate: 1e39, ..Default::default() };
    let fit = GeneralMap::<f32>::glorot(1, 2, 2, 6).unwrap().fit_adam(&problem, &wild);
    assert!(matches!(fit, Err(kraus::FitError::Diverged { .. })), "{fit:?}");
}

/// An evaluation for one operator costs that of a map of one operator: r times less than the whole gradient. The sweeps
/// themselves are those of the objective of all parameters.
#[test]
fn one_operator_at_a_time_is_the_same_descent() {
    for (masked, rank) in [(false, 4), (true, 4), (false, 1), (true, 1)] {
        let recipe = Recipe { p: 6, q: 3, rank: 3, noise: 0.1, seed: 8 };
        let train: Samples<f64> = recipe.samples(Split::Train, 0..50);
        let mask = Mask::new(noise((50, 3, 3), 1.0).mapv(|v| v > -0.5));
        let problem = Problem::matrices(train.x.view(), train.y.view()).unwrap();
        let problem = if masked { problem.with_mask(&mask).unwrap() } else { problem };
        let params = BlockCoordinateParams { source: LossSource::Samples, stopping: Stopping::after(4), steps: 3 };
        let fit = params.check().unwrap().fit(&problem, Start::single(6, 3, rank, 1)).unwrap();
        // By the definition: L-BFGS on one block of the loss of the whole stack.
        let mut stack = Start::single(6, 3, rank, 1).stack(&problem).unwrap();
        for loss in &fit.history.loss {
            let mut last = f64::NAN;
            for k in 0..rank {
                let at = k * 18..(k + 1) * 18;
                let mut all = stack.to_vec();
                let start = all[at.clone()].to_vec();
                let inner = |part: &[f64], g: &mut [f64]| {
                    all[at.clone()].copy_from_slice(part);
                    stack.set(&all);
                    let (f, gradient) = kraus::loss_and_gradient(&stack, &problem).unwrap();
                    g.copy_from_slice(&gradient[at.clone()]);
                    f
                };
                let limits = kraus::MinimiseParams { memory: 3, max_iterations: 3, ..Default::default() };
                let found = kraus::minimise(inner, start, &limits);
                all[at.clone()].copy_from_slice(&found.x);
                stack.set(&all);
                last = found.f;
            }
            assert!((loss - last).abs() <= 1e-6 * last, "{loss:e} {last:e}");
        }
        assert!((fit.model.mse(&problem).unwrap() / fit.history.loss[3] - 1.0).abs() < 1e-9);
    }
}

/// CPU seconds of three sweeps on the samples, for a map of rank 1, 5 and 20: prints figures.
#[test]
#[ignore = "prints figures: run by hand"]
fn cpu_seconds_of_three_sweeps() {
    for rank in [1, 5, 20] {
        let recipe = Recipe { p: 20, q: 10, rank, noise: 0.1, seed: 8 };
        let train: Samples<f64> = recipe.samples(Split::Train, 0..2000);
        let problem = Problem::matrices(train.x.view(), train.y.view()).unwrap();
        let params =
            BlockCoordinateParams { source: LossSource::Samples, stopping: Stopping::after(3), ..Default::default() };
        let mut least = f64::INFINITY;
        for _ in 0..3 {
            let cpu = || {
                let t = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
                t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
            };
            let begun = cpu();
            params.check().unwrap().fit(&problem, Start::single(20, 10, rank, 1)).unwrap();
            least = least.min(cpu() - begun);
        }
        println!("rank {rank}: {least:.3} s");
    }
}
