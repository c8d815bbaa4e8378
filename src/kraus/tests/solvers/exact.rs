//! The exact solvers on the paper's released setting: 20 -> 10, true rank 5.

use kraus::simulate::{Recipe, Samples, Split};
use kraus::{Basis, ClosedForm, KrausMap, LbfgsParams, LossSource, Moments, Problem, Solver, Start};

const RELEASED: Recipe = Recipe { p: 20, q: 10, rank: 5, noise: 0.0, seed: 3 };

/// Test MSE against the clean outputs.
fn test_mse(recipe: &Recipe, fit: &kraus::Fit<f64>) -> f64 {
    let test: Samples<f64> = recipe.samples(Split::Test, 0..1000);
    fit.model.mse(&Problem::matrices(test.x.view(), test.clean.view()).unwrap()).unwrap()
}

#[test]
fn lbfgs_reaches_the_optimum_from_ten_random_starts() {
    let train: Samples<f64> = RELEASED.samples(Split::Train, 0..10_000);
    let problem = Problem::matrices(train.x.view(), train.y.view()).unwrap();
    let solver = LbfgsParams::default().check().unwrap();
    for seed in 0..10 {
        let fit = solver.fit(&problem, Start::single(20, 10, 5, seed)).unwrap();
        let mse = test_mse(&RELEASED, &fit);
        println!("seed {seed}: {mse:.2e} {:?}", fit.history.notes);
        assert!(mse < 1e-10, "seed {seed}: {mse:e}");
        assert!(fit.history.notes.iter().any(|n| n.contains("moments")));
    }
}

#[test]
fn lbfgs_on_a_hundred_samples() {
    let train: Samples<f64> = RELEASED.samples(Split::Train, 0..100);
    let problem = Problem::matrices(train.x.view(), train.y.view()).unwrap();
    for source in [LossSource::Auto, LossSource::Moments] {
        for seed in 0..3 {
            let solver = LbfgsParams { source, ..LbfgsParams::default() }.check().unwrap();
            let fit = solver.fit(&problem, Start::single(20, 10, 5, seed)).unwrap();
            let mse = test_mse(&RELEASED, &fit);
            println!("{source:?} seed {seed}: {mse:.2e} {:?}", fit.history.notes);
            assert!(mse < 1e-9, "{source:?}: {mse:e}");
        }
    }
}

#[test]
fn noise_costs_what_statistics_say() {
    // REPRODUCTION.md: 2.5e-3, 2.0e-4, 2.0e-5 at l = 100, 1000, 10000 with noise 0.1.
    let recipe = Recipe { noise: 0.1, ..RELEASED };
    for (l, expected) in [(100, 2.5e-3), (1000, 2.0e-4), (10_000, 2.0e-5)] {
        let train: Samples<f64> = recipe.samples(Split::Train, 0..l);
        let problem = Problem::matrices(train.x.view(), train.y.view()).unwrap();
        let solver = LbfgsParams { restarts: 2, ..LbfgsParams::default() }.check().unwrap();
        let fit = solver.fit(&problem, Start::single(20, 10, 5, 0)).unwrap();
        let mse = test_mse(&recipe, &fit);
        println!("l {l}: {mse:.3e} {:?}", fit.history.notes);
        assert!((mse / expected - 1.0).abs() < 0.2, "l = {l}: {mse:e}, expected {expected:e}");
    }
}

#[test]
fn closed_form_is_exact_without_noise() {
    let train: Samples<f64> = RELEASED.samples(Split::Train, 0..10_000);
    let problem = Problem::matrices(train.x.view(), train.y.view()).unwrap();
    let fit = ClosedForm.fit(&problem, Start::single(20, 10, 5, 0)).unwrap();
    let mse = test_mse(&RELEASED, &fit);
    println!("closed form: {mse:.2e}");
    assert!(mse < 1e-18, "{mse:e}");
    // Asking for more operators than the map has leaves the others at zero.
    let fit = ClosedForm.fit(&problem, Start::single(20, 10, 8, 0)).unwrap();
    assert!(test_mse(&RELEASED, &fit) < 1e-18);
}

#[test]
fn closed_form_starts_lbfgs_under_noise() {
    let recipe = Recipe { noise: 0.1, ..RELEASED };
    let train: Samples<f64> = recipe.samples(Split::Train, 0..1000);
    let problem = Problem::matrices(train.x.view(), train.y.view()).unwrap();
    let start = ClosedForm.fit(&problem, Start::single(20, 10, 5, 0)).unwrap();
    let fit = LbfgsParams::default().check().unwrap().fit(&problem, Start::Given(start.model.clone())).unwrap();
    let (before, after) = (test_mse(&recipe, &start), test_mse(&recipe, &fit));
    println!("closed form {before:.2e}, refined {after:.2e} in {} iterations", fit.history.loss.len());
    assert!(after < before && after < 2.4e-4);
}

#[test]
fn closed_form_says_why_it_cannot() {
    let train: Samples<f64> = RELEASED.samples(Split::Train, 0..300);
    let problem = Problem::matrices(train.x.view(), train.y.view()).unwrap();
    let e = ClosedForm.fit(&problem, Start::single(20, 10, 11, 0)).unwrap_err().to_string();
    assert!(e.contains("2 rank <= p + 1"), "{e}");
    let few: Samples<f64> = RELEASED.samples(Split::Train, 0..200);
    let few = Problem::matrices(few.x.view(), few.y.view()).unwrap();
    let e = ClosedForm.fit(&few, Start::single(20, 10, 5, 0)).unwrap_err().to_string();
    assert!(e.contains("200 samples cannot determine 210"), "{e}");
    // Enough samples, but all inputs in a subspace: the first column and row are zero.
    let mut x = train.x.clone();
    x.slice_mut(ndarray::s![.., 0, ..]).fill(0.0);
    x.slice_mut(ndarray::s![.., .., 0]).fill(0.0);
    let flat = Problem::matrices(x.view(), train.y.view()).unwrap();
    let e = ClosedForm.fit(&flat, Start::single(20, 10, 5, 0)).unwrap_err().to_string();
    assert!(e.contains("span less"), "{e}");
}

#[test]
fn closed_form_at_the_edge_of_its_range() {
    // p odd and 2r = p + 1: the row spaces meet in a line, which still leaves the alignment unique.
    let recipe = Recipe { p: 9, q: 4, rank: 5, noise: 0.0, seed: 11 };
    let train: Samples<f64> = recipe.samples(Split::Train, 0..200);
    let moments = Moments::of(train.x.view(), train.y.view(), Basis::Symmetric).unwrap();
    let map: KrausMap<f64> = kraus::closed_form(&moments, 5).unwrap();
    let test: Samples<f64> = recipe.samples(Split::Test, 0..100);
    let e = map.apply_batch(test.x.view()).unwrap() - &test.clean;
    let scale = test.clean.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    assert!(e.iter().all(|v| v.abs() < 1e-9 * scale));
}

#[test]
fn units_of_measurement_do_not_matter() {
    // Covariances in V^2 are of the order 1e-11; a fit must not take small gradients for vanished ones.
    let recipe = Recipe { p: 6, q: 4, rank: 2, noise: 0.0, seed: 2 };
    let train: Samples<f64> = recipe.samples(Split::Train, 0..60);
    for (sx, sy) in [(1e-11, 1e-11), (1.0, 1e-8), (1e6, 1.0), (1e-6, 1e6)] {
        let (x, y) = (&train.x * sx, &train.y * sy);
        let problem = Problem::matrices(x.view(), y.view()).unwrap();
        let size = y.iter().map(|v| v * v).sum::<f64>() / y.len() as f64;
        for source in [LossSource::Moments, LossSource::Samples] {
            let solver = LbfgsParams { source, ..LbfgsParams::default() }.check().unwrap();
            let fit = solver.fit(&problem, Start::single(6, 4, 2, 1)).unwrap();
            let mse = fit.model.mse(&problem).unwrap();
            println!("{sx:e} {sy:e} {source:?}: {:.1e} {:?}", mse / size, fit.history.notes);
            assert!(mse < 1e-16 * size, "{sx} {sy} {source:?}: {mse:e} of {size:e}");
        }
    }
}

#[test]
fn a_few_noise_free_samples_are_enough_and_noise_or_one_contradiction_asks_for_all() {
    let mut train: Samples<f64> = RELEASED.samples(Split::Train, 0..2000);
    let fit = |train: &Samples<f64>| {
        let problem = Problem::matrices(train.x.view(), train.y.view()).unwrap();
        ClosedForm.fit(&problem, Start::single(20, 10, 5, 0)).unwrap()
    };
    let exact = fit(&train);
    assert!(exact.history.notes.iter().any(|n| n.starts_with("from 278 of 2000 samples")), "{:?}", exact.history.notes);
    assert!(test_mse(&RELEASED, &exact) < 1e-18);
    // One sample that was not among the few: the fit must see it.
    train.y[[1003, 0, 0]] += 1.0;
    let all = fit(&train);
    assert!(all.history.notes.is_empty() && all.history.loss.len() == 1, "{:?}", all.history);
    let noisy = Recipe { noise: 0.1, ..RELEASED };
    let with_noise = fit(&noisy.samples(Split::Train, 0..2000));
    assert!(with_noise.history.notes.is_empty() && test_mse(&noisy, &with_noise) < 1e-2);
}

#[test]
fn many_coordinates_go_by_two_rows_to_the_same_map_on_any_number_of_threads() {
    let recipe = Recipe { p: 60, q: 4, rank: 3, noise: 0.0, seed: 5 };
    let train: Samples<f64> = recipe.samples(Split::Train, 0..5000);
    let fit = |train: &Samples<f64>, rank: usize, threads: usize| {
        let problem = Problem::matrices(train.x.view(), train.y.view()).unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| ClosedForm.fit(&problem, Start::single(60, 4, rank, 0)).unwrap())
    };
    let size = train.y.iter().map(|v| v * v).sum::<f64>() / train.y.len() as f64;
    let exact = fit(&train, 3, 1);
    println!("{:e} of {size:e} {:?}", test_mse(&recipe, &exact), exact.history.notes);
    assert!(exact.history.notes.iter().any(|n| n.ends_with("on 4960 of 5000 samples")), "{:?}", exact.history);
    assert!(test_mse(&recipe, &exact) < 1e-20 * size);
    assert_eq!(exact.model, fit(&train, 3, 2).model);
    // More operators than the map has are zero; fewer cannot fit, and then all samples are asked, as with noise.
    let more = fit(&train, 6, 2);
    assert!(more.history.notes.len() == 1 && test_mse(&recipe, &more) < 1e-20 * size);
    assert!(more.model.layers()[0].ops().slice(ndarray::s![3.., .., ..]).iter().all(|v| *v == 0.0));
    let fewer = fit(&train, 2, 2);
    assert!(fewer.history.notes.is_empty() && test_mse(&recipe, &fewer) > 1e-6 * size);
    let noisy = Recipe { noise: 0.1, ..recipe };
    let with_noise = fit(&noisy.samples(Split::Train, 0..5000), 3, 2);
    assert!(with_noise.history.notes.is_empty() && test_mse(&noisy, &with_noise) < 1e-2);
}
