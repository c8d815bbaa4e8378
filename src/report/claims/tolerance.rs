//! How far a metric may lie from the same metric of another arithmetic (a GPU, say) and still count as the same result.
//!
//! Within one arithmetic results are equal to the bit, and nothing here is asked. Across two of them rounding differs, and
//! what rounding does to a number depends on how the number is made: a direct or convex solver forgets it, the last epoch of
//! Adam on noiseless data amplifies it, and an accuracy moves by whole trials.

/// The largest difference that rounding explains: `absolute + relative` times the larger of the two numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Share of the number.
    pub relative: f64,
    /// Added to it, in the unit of the metric: errors below it are zero for every purpose.
    pub absolute: f64,
}

impl Tolerance {
    /// Whether two values of the metric agree. A value that is not a number agrees with nothing.
    pub fn holds(&self, a: f64, b: f64) -> bool {
        (a - b).abs() <= self.absolute + self.relative * a.abs().max(b.abs())
    }
}

/// The tolerance of a metric by its name (see [`super::METRICS`]).
///
/// | metric | tolerance | reason |
/// |---|---|---|
/// | accuracies, in per cent | 2 points | a few trials of some hundred may change sides |
/// | errors of exact and convex solvers, the bound | 1e-4 of the number | one optimum, whatever the rounding |
/// | errors of models trained by Adam, networks, deep completion | a factor of two | the path of the training is chaotic |
/// | any error | 1e-9 | below it the fit is exact |
pub fn tolerance(name: &str) -> Tolerance {
    let accuracy = name.ends_with(".accuracy") || name.starts_with("table3");
    let solvers = ["-exact.", ".trace.", ".trace-whole.", ".multivariate.", ".reduced-rank.", ".hopls.", ".mean."];
    let exact = name == "bound.term" || solvers.iter().any(|s| name.contains(s));
    match (accuracy, exact) {
        (true, _) => Tolerance { relative: 0.0, absolute: 2.0 },
        (_, true) => Tolerance { relative: 1e-4, absolute: 1e-9 },
        _ => Tolerance { relative: 0.5, absolute: 1e-9 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_optimum_is_held_to_more_than_the_last_epoch_of_adam() {
        let (exact, adam) = (tolerance("table2.ptr-exact.mse"), tolerance("table2.ptr.mse"));
        assert!(exact.holds(0.5, 0.50004) && !exact.holds(0.5, 0.51));
        assert!(adam.holds(0.5, 0.9) && !adam.holds(0.5, 1.1));
        assert!(exact.holds(1e-25, 3e-24));
        assert!(
            tolerance("table3.s1.noadapt").holds(80.0, 81.5) && !tolerance("figure7.ptr.accuracy").holds(80.0, 83.0)
        );
        assert!(!adam.holds(f64::NAN, 1.0));
    }
}
