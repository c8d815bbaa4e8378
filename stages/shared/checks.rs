//! Checks of parameters that several kinds need, with one wording.

use pipeline::ParamError;

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
