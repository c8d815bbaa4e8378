//! Regression data: pairs (X, Y), checked once, and the paper's simulated ones.
//!
//! What belongs here: what a solver reads. Matrices with missing entries are in [`crate::completion`].
//!
//! | file | what |
//! |---|---|
//! | problem.rs | [`Problem`]: checked inputs (matrices or matrix units), targets and an optional mask |
//! | rounding.rs | matrices that are symmetric up to rounding |
//! | simulate.rs | [`simulate::Recipe`]: the paper's generator, from a seed and a sample's index |

pub mod problem;
mod rounding;
pub mod simulate;

pub use problem::{Inputs, Matrices, Problem};
pub use rounding::{rounding, symmetrise_rounding};
