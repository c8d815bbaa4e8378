//! Minimisation of any smooth function. Nothing here knows maps or samples.
//!
//! | file | what |
//! |---|---|
//! | lbfgs.rs | [`minimise`]: L-BFGS |
//! | line_search.rs | a step that satisfies the strong Wolfe conditions |
//! | recorded.rs | L-BFGS with the history, the stopping rules and the watcher that all solvers share |

pub mod lbfgs;
mod line_search;
pub(crate) mod recorded;

pub use lbfgs::{Ending, Memory, MinimiseParams, Minimum, minimise, minimise_watched};
