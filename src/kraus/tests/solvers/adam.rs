//! Adam as the paper ran it, and the promise that threads do not change a bit.

use kraus::simulate::{Recipe, Split};
use kraus::{AdamParams, Problem, Session, Solver, Start, Stopping};

/// The released setting, 20 -> 10, true rank 5, l = 10000, no noise: test MSE below 1e-6 by epoch 20.
#[test]
fn the_released_setting_is_learned_within_twenty_epochs() {
    let recipe = Recipe { p: 20, q: 10, rank: 5, noise: 0.0, seed: 1 };
    let (train, test) = (recipe.samples::<f32>(Split::Train, 0..10000), recipe.samples::<f32>(Split::Test, 0..1000));
    let problem = Problem::matrices(train.x.view(), train.y.view()).unwrap();
    let validation = Problem::matrices(test.x.view(), test.y.view()).unwrap();
    assert!(problem.is_symmetric());
    let adam = AdamParams { stopping: Stopping::after(20), ..Default::default() }.check().unwrap();
    let mut session = Session { validation: Some(&validation), watch: None };
    let fit = adam.fit_with(&problem, Start::single(20, 10, 5, 0), &mut session).unwrap();
    let best = fit.history.validation.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(best < 1e-6, "best test MSE {best:e}");
}

/// The same to the end of the released protocol; prints the figures of the report. Some 4 s of CPU.
#[test]
#[ignore = "prints figures: run by hand"]
fn the_released_setting_over_two_hundred_epochs() {
    for seed in 1..4 {
        let recipe = Recipe { p: 20, q: 10, rank: 5, noise: 0.0, seed };
        let (train, test) = (recipe.samples::<f32>(Split::Train, 0..10000), recipe.samples(Split::Test, 0..1000));
        let problem = Problem::matrices(train.x.view(), train.y.view()).unwrap();
        let validation = Problem::matrices(test.x.view(), test.y.view()).unwrap();
        let adam = AdamParams { stopping: Stopping::after(200), ..Default::default() }.check().unwrap();
        let mut session = Session { validation: Some(&validation), watch: None };
        let fit = adam.fit_with(&problem, Start::single(20, 10, 5, seed), &mut session).unwrap();
        let v = &fit.history.validation;
        let early = v[..20].iter().copied().fold(f64::INFINITY, f64::min);
        println!("seed {seed}: best of the first 20 epochs {early:.2e}, last epoch {:.2e}", v[199]);
        assert!(early < 1e-6 && (1e-5..1e-1).contains(&v[199]));
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let recipe = Recipe { p: 60, q: 30, rank: 10, noise: 0.1, seed: 3 };
    let train = recipe.samples::<f32>(Split::Train, 0..72);
    let problem = Problem::matrices(train.x.view(), train.y.view()).unwrap();
    let start = Start::<f32>::single(60, 30, 10, 4);
    assert!(kraus::Engine::new(&problem, &start.clone().stack(&problem).unwrap(), 16).unwrap().is_parallel());
    let fit = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let adam = AdamParams { stopping: Stopping::after(2), ..Default::default() }.check().unwrap();
        pool.install(|| adam.fit(&problem, start.clone()).unwrap().model.to_vec())
    };
    let one = fit(1);
    assert!(fit(2) == one && fit(3) == one);
}

/// Adam keeps the best epoch, stops early and follows a schedule when asked to, and only then.
#[test]
fn options_are_off_unless_asked_for() {
    let recipe = Recipe { p: 6, q: 3, rank: 2, noise: 1.0, seed: 5 };
    let train = recipe.samples::<f64>(Split::Train, 0..64);
    let test = recipe.samples::<f64>(Split::Test, 0..64);
    let problem = Problem::matrices(train.x.view(), train.y.view()).unwrap();
    let validation = Problem::matrices(test.x.view(), test.y.view()).unwrap();
    let run = |params: AdamParams| {
        let mut session = Session { validation: Some(&validation), watch: None };
        params.check().unwrap().fit_with(&problem, Start::single(6, 3, 2, 1), &mut session).unwrap()
    };
    let plain = AdamParams { stopping: Stopping::after(60), rate: 0.05, ..Default::default() };
    let last = run(plain.clone());
    assert_eq!((last.history.loss.len(), last.history.model_epoch), (60, 60));
    let best = run(AdamParams { keep_best: true, ..plain.clone() });
    let least = best.history.validation.iter().copied().fold(f64::INFINITY, f64::min);
    assert!((best.model.mse(&validation).unwrap() - least).abs() < 1e-9 * least);
    assert_eq!(best.history.model_epoch, best.history.best().unwrap());
    let patient = Stopping { patience: Some(3), ..Stopping::after(1000) };
    let early = run(AdamParams { stopping: patient, ..plain.clone() });
    assert_eq!(early.history.loss.len(), early.history.best().unwrap() + 4);
    let cosine = run(AdamParams { schedule: kraus::Schedule::Cosine { to: 0.0 }, ..plain });
    assert_ne!(cosine.model, last.model);
}

/// The layout of the parameters depends on the kind of input: validation on units of a model that trains on matrices (or the
/// reverse) must give the loss on the same data.
#[test]
fn validation_data_may_be_of_the_other_kind() {
    let pairs = (0..16).map(|n| (n / 4, n % 4)).collect::<Vec<_>>();
    let truth = kraus::KrausMap::<f64>::glorot(2, 3, 4, 1).unwrap();
    let y = truth.apply_units(&pairs).unwrap();
    let x = ndarray::Array3::from_shape_fn((16, 4, 4), |(s, i, j)| f64::from(u8::from(pairs[s] == (i, j))));
    let matrices = Problem::matrices(x.view(), y.view()).unwrap();
    let units = Problem::units(4, pairs, y.view()).unwrap();
    for arch in
        [kraus::Architecture::single(4, 3, 5), kraus::Architecture::deep(&[4, 5, 3], 6, kraus::Gamma::Clamp(0.1))]
    {
        let run = |train: &Problem<'_, f64>, validation: &Problem<'_, f64>| {
            let adam = AdamParams {
                stopping: Stopping::after(12),
                batch: 5,
                rate: 0.01,
                keep_best: true,
                ..Default::default()
            };
            let mut session = Session { validation: Some(validation), watch: None };
            let start = Start::Random { arch: arch.clone(), seed: 3 };
            adam.check().unwrap().fit_with(train, start, &mut session).unwrap().history.validation
        };
        for train in [&matrices, &units] {
            let (by_matrices, by_units) = (run(train, &matrices), run(train, &units));
            for (a, b) in by_matrices.iter().zip(&by_units) {
                assert!((a - b).abs() <= 1e-12 * a, "{by_matrices:?} {by_units:?}");
            }
        }
    }
}

/// A warm start at an exact model has a first loss of rounding. Adam then moves away by steps of its rate, which is no
/// divergence: the loss stays far below that of predicting zero.
#[test]
fn a_warm_start_at_an_exact_model_does_not_diverge() {
    let recipe = Recipe { p: 6, q: 3, rank: 2, noise: 0.0, seed: 5 };
    let train = recipe.samples::<f64>(Split::Train, 0..64);
    let problem = Problem::matrices(train.x.view(), train.y.view()).unwrap();
    let exact = Start::Given(kraus::KrausMap::new(recipe.truth()).unwrap().into());
    // Gradients are rounding, so the epsilon must be small for Adam to move by its full rate.
    let adam = AdamParams { stopping: Stopping::after(3), batch: 64, epsilon: 1e-16, ..Default::default() };
    let fit = adam.check().unwrap().fit(&problem, exact).unwrap();
    let (first, last) = (fit.history.loss[0], fit.history.loss[2]);
    println!("{first:e} -> {last:e}, zero {:e}", problem.mean_square());
    assert!(first < 1e-20 && last > 1e12 * first && last < 1e-3 * problem.mean_square(), "{first:e} {last:e}");
    // A loss far above that of predicting zero still is a divergence.
    let wild =
        AdamParams { rate: 1e4, stopping: Stopping::after(50), batch: 64, ..Default::default() }.check().unwrap();
    let diverged = wild.fit(&problem, Start::single(6, 3, 2, 1));
    assert!(matches!(diverged, Err(kraus::FitError::Diverged { .. })), "{diverged:?}");
}

/// How a fit ended is part of its result, with the measure it stopped on.
#[test]
fn every_fit_says_how_it_ended() {
    use estimator::Outcome;
    let recipe = Recipe { p: 5, q: 3, rank: 2, noise: 0.1, seed: 5 };
    let train = recipe.samples::<f64>(Split::Train, 0..200);
    let problem = Problem::matrices(train.x.view(), train.y.view()).unwrap();
    let ended = |solver: &dyn Solver<f64>| solver.fit(&problem, Start::single(5, 3, 2, 1)).unwrap().history.convergence;
    let adam = |stopping| AdamParams { stopping, rate: 0.01, ..Default::default() }.check().unwrap();
    let stopped = ended(&adam(Stopping::after(4))).unwrap();
    assert_eq!(
        (stopped.outcome, stopped.iterations, stopped.measure),
        (Outcome::Stopped, 4, "relative change of the loss")
    );
    let tolerant = ended(&adam(Stopping { tolerance: 1e-2, ..Stopping::after(2000) })).unwrap();
    assert!(tolerant.converged() && tolerant.value <= 1e-2 && tolerant.tolerance == 1e-2, "{tolerant}");
    let target = ended(&adam(Stopping { target: 100.0, ..Stopping::after(2000) })).unwrap();
    assert!(target.converged() && target.measure == "loss" && target.value <= 100.0, "{target}");
    for source in [kraus::LossSource::Samples, kraus::LossSource::Moments] {
        let lbfgs = kraus::LbfgsParams { source, ..Default::default() }.check().unwrap();
        let exact = ended(&lbfgs).unwrap();
        println!("{source:?}: {exact}");
        assert!(exact.converged() && exact.value <= exact.tolerance, "{exact}");
        let short = kraus::LbfgsParams { source, stopping: Stopping::after(3), ..Default::default() }.check().unwrap();
        let short = ended(&short).unwrap();
        assert!(short.outcome == Outcome::Stopped && short.value > 1e-6, "{short}");
    }
    assert_eq!(ended(&kraus::ClosedForm), None);
}
