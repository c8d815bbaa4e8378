//! Ways to fit a model to a [`Problem`](crate::Problem) under the mean squared error.
//!
//! To add a solver: a struct of parameters with `check()`, a checked type that implements [`Solver`], an entry below.
//!
//! | file | what |
//! |---|---|
//! | solver.rs | the trait [`Solver`], where a fit starts, what accompanies it, what it returns |
//! | history.rs | when a fit stops, what it records, and how it is found to diverge |
//! | adam.rs | Adam on minibatches: the paper's protocol |
//! | lbfgs.rs, warm_start.rs | full-batch L-BFGS, and the smaller problems that it may fit first |
//! | closed_form.rs, from_two_output_rows.rs | a map without iteration: from moments, or for large maps from two rows |
//! | block_coordinate.rs | one operator at a time |
//! | general.rs | the general model by L-BFGS and by Adam |
//! | moments/ | sufficient statistics of the square loss, and the loss as a function of them |

pub mod adam;
pub mod block_coordinate;
pub mod closed_form;
mod from_two_output_rows;
pub mod general;
pub mod history;
pub mod lbfgs;
pub mod moments;
pub mod solver;
mod warm_start;

pub use adam::{Adam, AdamParams, Schedule};
pub use block_coordinate::{BlockCoordinate, BlockCoordinateParams};
pub use closed_form::{ClosedForm, closed_form};
pub use general::GeneralFit;
pub use history::{Flow, History, Progress, Recorder, Stop, Stopping};
pub use lbfgs::{Lbfgs, LbfgsParams};
pub use moments::{Basis, LeastSquares, LossSource, MomentObjective, Moments, MomentsBuilder};
pub use solver::{Fit, Fitted, Session, Solver, Start};
