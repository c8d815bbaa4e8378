//! Learn a map from samples, apply it to new matrices, keep it on disk: `cargo run --release -p kraus --example fit_predict`
use kraus::simulate::{Recipe, Split};
use kraus::{LbfgsParams, Problem, Solver, Start, load, save};

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    // 200 pairs of a 6 x 6 and a 4 x 4 matrix, related by 3 hidden operators.
    let recipe = Recipe { p: 6, q: 4, rank: 3, noise: 0.0, seed: 1 };
    let train = recipe.samples::<f64>(Split::Train, 0..200);
    let problem = Problem::matrices(train.x.view(), train.y.view())?;
    let solver = LbfgsParams { restarts: 3, ..LbfgsParams::default() }.check()?;
    let fit = solver.fit(&problem, Start::single(6, 4, 3, 0))?;

    let new = recipe.samples::<f64>(Split::Test, 0..10);
    let predicted = fit.model.apply_batch(new.x.view())?;
    let norm = |a: &ndarray::Array3<f64>| a.iter().map(|v| v * v).sum::<f64>().sqrt();
    let error = norm(&(&predicted - &new.y)) / norm(&new.y);
    println!("relative error on new matrices: {error:.1e}");
    assert!(error < 1e-8);

    let path = std::env::temp_dir().join(format!("fit_predict-{}.npz", std::process::id()));
    save(&path, &fit)?;
    assert_eq!(load::<f64>(&path)?.model, fit.model);
    std::fs::remove_file(&path)?;
    Ok(())
}
