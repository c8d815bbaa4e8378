//! Default values of parameters, which serde wants as functions: a count by its value, and the learning rate that all of the
//! paper's trainings share.

/// `#[serde(default = "number::<7>")]`: seven.
pub fn number<const N: usize>() -> usize {
    N
}

/// Adam's rate in Keras and in the paper.
pub fn rate() -> f64 {
    1e-3
}
