//! Fill the missing entries of a positive semidefinite matrix, with the rank chosen on hidden entries.
use kraus::completion::{HoldOut, Partial, candidates, choose, complete};
use kraus::{Gamma, KrausMap, LbfgsParams, Stopping};

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A 48 x 48 matrix of rank 3 (any Choi matrix is one) that lacks every third entry.
    let truth = KrausMap::<f64>::glorot(3, 6, 8, 4)?.choi().matrix().to_owned();
    let mut seen = truth.clone();
    for ((i, j), v) in seen.indexed_iter_mut() {
        if (i * j + i + j) % 3 == 1 && i != j {
            *v = f64::NAN;
        }
    }
    let partial = Partial::from_nan(seen.view())?;
    let solver = LbfgsParams { stopping: Stopping::after(1000), restarts: 3, ..LbfgsParams::default() };
    let models = candidates(48, &[1], &[], Gamma::None);
    let choice = choose(&partial, &models, &HoldOut::like(&partial, 0), |m, c| complete(m, c, &solver))?;
    let done = complete(&partial, &choice.params, &solver)?;
    let worst = (&done.matrix - &truth).iter().fold(0.0f64, |m, v| m.max(v.abs()));
    println!("rank {}, largest error {worst:.1e}, PSD: {}", choice.params.rank, done.is_psd());
    assert!(choice.params.rank == 3 && worst < 1e-6);
    Ok(())
}
