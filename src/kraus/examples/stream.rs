//! Fit samples that do not fit in memory: one pass collects their moments, the fit needs nothing else.
use kraus::simulate::{Recipe, Split};
use kraus::{Basis, LbfgsParams, MomentsBuilder, Start, closed_form};

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let recipe = Recipe { p: 6, q: 4, rank: 3, noise: 0.1, seed: 2 };
    let mut builder = MomentsBuilder::new(6, 4, Basis::Symmetric);
    for block in 0..10 {
        // Here each block is simulated; in your program it comes from a file.
        let samples = recipe.samples::<f64>(Split::Train, block * 500..(block + 1) * 500);
        builder.update(samples.x.view(), samples.y.view())?;
    }
    let moments = builder.finish()?;
    let start = Start::Given(closed_form(&moments, 3)?.into());
    let fit = LbfgsParams::default().check()?.fit_moments(&moments, start)?;
    let loss = fit.history.loss.last().copied().unwrap_or(f64::NAN);
    println!("{} samples, mean square error {loss:.2e}", moments.samples());
    // The noise has mean square 0.1^2 (q^2 + q) / q^2 over the entries of Y.
    assert!((loss / 0.0125 - 1.0).abs() < 0.05, "{loss}");
    Ok(())
}
