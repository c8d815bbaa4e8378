//! One completely positive stack without penalty and intercept, by the exact solvers: data, one fit, the rank.
//!
//! | file | what |
//! |---|---|
//! | pairs.rs | [`Pairs`]: samples in memory, or moments per fold |
//! | plan.rs | [`SolverPlan`]: solver, layers and seed; one fit of one rank |
//! | ranks.rs | the rank by cross-validation |

mod pairs;
mod plan;
pub mod ranks;

pub use pairs::Pairs;
pub use plan::{Method, SolverPlan, loss};
