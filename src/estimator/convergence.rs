//! How an iterative method ended: converged, stopped by a limit, or stalled; always with the measure it stopped on.

/// How an iterative method ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The measure reached its tolerance.
    Converged,
    /// A limit ended it first: iterations, epochs, patience, or the user.
    Stopped,
    /// It could make no further progress in this precision, and the measure is still above its tolerance.
    Stalled,
}

/// How an iterative method ended, and the measure it stopped on.
///
/// ```
/// use estimator::{Convergence, Outcome};
/// let ended = Convergence::judge("KKT residual", 3e-5, 1e-8, 200);
/// assert_eq!(ended.outcome, Outcome::Stopped);
/// assert_eq!(ended.to_string(), "stopped after 200 iterations: KKT residual 3e-5, tolerance 1e-8");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Convergence {
    /// How it ended.
    pub outcome: Outcome,
    /// Name of the measure: "KKT residual", "relative change of the loss".
    pub measure: &'static str,
    /// The measure at the end.
    pub value: f64,
    /// The value at which the method counts as converged; 0 where no tolerance was asked for.
    pub tolerance: f64,
    /// Iterations or epochs done.
    pub iterations: usize,
}

impl Convergence {
    /// Converged where the measure is at most the tolerance, stopped by the iteration limit otherwise.
    pub fn judge(measure: &'static str, value: f64, tolerance: f64, iterations: usize) -> Self {
        // NaN compares false, so a measure that is not a number never counts as converged.
        let outcome = if value <= tolerance { Outcome::Converged } else { Outcome::Stopped };
        Self { outcome, measure, value, tolerance, iterations }
    }

    /// The same measure and counts with another outcome.
    pub fn with_outcome(self, outcome: Outcome) -> Self {
        Self { outcome, ..self }
    }

    /// Whether the tolerance was reached.
    pub fn converged(&self) -> bool {
        self.outcome == Outcome::Converged
    }

    /// The worst of several: stopped before stalled before converged, then the larger measure. None for an empty list.
    pub fn worst(all: impl IntoIterator<Item = Self>) -> Option<Self> {
        let badness = |c: &Self| match c.outcome {
            Outcome::Converged => 0,
            Outcome::Stalled => 1,
            Outcome::Stopped => 2,
        };
        all.into_iter().reduce(|a, b| {
            let worse = (badness(&b), b.value) > (badness(&a), a.value) || (b.value.is_nan() && !a.value.is_nan());
            if worse { b } else { a }
        })
    }
}

impl std::fmt::Display for Convergence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let how = match self.outcome {
            Outcome::Converged => "converged",
            Outcome::Stopped => "stopped",
            Outcome::Stalled => "stalled",
        };
        let plural = if self.iterations == 1 { "" } else { "s" };
        write!(f, "{how} after {} iteration{plural}: {} {:e}", self.iterations, self.measure, short(self.value))?;
        if self.tolerance > 0.0 { write!(f, ", tolerance {:e}", self.tolerance) } else { Ok(()) }
    }
}

/// Two significant digits: a message needs the size of a residual.
fn short(value: f64) -> f64 {
    format!("{value:.1e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_never_converges_and_the_worst_is_shown() {
        assert_eq!(Convergence::judge("gap", f64::NAN, 1e-3, 5).outcome, Outcome::Stopped);
        let (good, bad) = (Convergence::judge("gap", 1e-9, 1e-3, 5), Convergence::judge("gap", 1.0, 1e-3, 9));
        let stalled = Convergence::judge("gap", 0.5, 1e-3, 7).with_outcome(Outcome::Stalled);
        assert_eq!(Convergence::worst([good, bad, stalled]), Some(bad));
        assert_eq!(Convergence::worst([good, stalled]), Some(stalled));
        assert_eq!(Convergence::worst([]), None);
        assert_eq!(good.to_string(), "converged after 5 iterations: gap 1e-9, tolerance 1e-3");
    }
}
