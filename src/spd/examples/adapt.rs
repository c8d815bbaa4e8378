//! Move matrices of one day to the next by optimal transport, so that a classifier of the first day works on the second.
use ndarray::{Array1, Array2, Array3};
use spd::*;

/// Runs the example.
pub fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    // Two classes of 2 x 2 matrices; on the second day every channel is mixed by W.
    let labels = Labels::new(&(0..20).map(|k| k % 2).collect::<Vec<_>>())?;
    let day1 = Array3::from_shape_fn((20, 2, 2), |(k, i, j)| match (i == j, k % 2 == i) {
        (true, true) => 3.0 + 0.1 * k as f64,
        (true, false) => 1.0 + 0.02 * k as f64,
        (false, _) => 0.2,
    });
    let w = ndarray::array![[2.0, 1.0], [-1.0, 1.5]];
    let mixed: Vec<Array2<f64>> = day1.outer_iter().map(|m| w.dot(&m).dot(&w.t())).collect();
    let day2 = Array3::from_shape_fn(day1.dim(), |(k, i, j)| mixed[k][[i, j]]);

    let cost = pairwise_distances(day1.view(), day2.view(), Metric::AffineInvariant)?.mapv(|d| d * d);
    let uniform = Array1::from_elem(20, 1.0 / 20.0);
    let regularisation = regularisation_from_median(cost.view())?;
    let params = SinkhornParams { regularisation, iterations: 1000, tolerance: 1e-10 }.check()?;
    let plan = sinkhorn_log(cost.view(), uniform.view(), uniform.view(), &params)?;
    let mean = MeanParams::default().check()?;
    let images = barycentric_map(plan.plan.view(), day2.view(), 5, &mean)?;
    let mapped = Array3::from_shape_fn(day1.dim(), |(k, i, j)| images[k].matrix[[i, j]]);

    let accuracy = |train: &Array3<f64>| {
        Mdm::fit(train.view(), &labels, Metric::AffineInvariant, &mean)?.accuracy(day2.view(), &labels)
    };
    println!("accuracy on day 2: {:.0} % before, {:.0} % after", 100.0 * accuracy(&day1)?, 100.0 * accuracy(&mapped)?);
    assert!(accuracy(&mapped)? >= accuracy(&day1)? && accuracy(&mapped)? > 0.9);
    Ok(())
}
