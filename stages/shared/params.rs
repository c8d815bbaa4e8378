//! What the parameters of several kinds have in common: default values, checks, and the choice of a solver.
//!
//! Serde wants a default value as a function, so a number names its value: `#[serde(default = "number::<7>")]` is 7, and
//! `#[serde(default = "ratio::<1, 1000>")]` is 0.001. A default that is a list is a function of its kind's file.

use pipeline::ParamError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A default count.
pub fn number<const N: usize>() -> usize {
    N
}

/// A default quotient. The division rounds correctly, so `ratio::<1, 1000>` has the bits of `1e-3`.
pub fn ratio<const NUMERATOR: u64, const DENOMINATOR: u64>() -> f64 {
    NUMERATOR as f64 / DENOMINATOR as f64
}

/// Refuses the first of these counts that is zero, by its name.
pub fn at_least_one<const N: usize>(counts: [(&str, usize); N]) -> Result<(), ParamError> {
    match counts.into_iter().find(|(_, n)| *n == 0) {
        Some((name, _)) => Err(ParamError::new(name, "must be at least 1")),
        None => Ok(()),
    }
}

/// The two sizes in a text like `20x10`.
pub fn sizes(text: &str) -> Option<(usize, usize)> {
    let (p, q) = text.split_once('x')?;
    let (p, q) = (p.parse().ok()?, q.parse().ok()?);
    (p > 0 && q > 0).then_some((p, q))
}

/// The parameter `solver`: how a model is trained.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Default, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SolverChoice {
    /// Adam on minibatches: the paper's protocol.
    #[default]
    Adam,
    /// L-BFGS or a closed form on all samples, to the optimum of the model.
    Exact,
}

#[cfg(test)]
mod tests {
    use super::ratio;

    #[test]
    fn a_quotient_has_the_bits_of_the_literal() {
        let found = [ratio::<1, 1000>(), ratio::<8, 10>(), ratio::<3, 10>(), ratio::<1, 100_000_000>()];
        assert_eq!(found.map(f64::to_bits), [1e-3, 0.8, 0.3, 1e-8].map(f64::to_bits));
    }
}
