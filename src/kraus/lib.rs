//! Partial trace regression: matrices to matrices by completely positive maps.
//!
//! (This page is being written.)
#![warn(missing_docs)]

pub mod adam;
pub mod block_coordinate;
pub mod bound;
pub mod choi;
pub mod closed_form;
pub mod completion;
mod descend;
pub mod disk;
pub mod engine;
pub mod error;
mod full_batch;
pub mod gamma;
pub mod general;
mod layout;
pub mod lbfgs;
mod line_search;
pub mod map;
pub mod minimise;
pub mod moment_objective;
pub mod moments;
mod npz;
pub mod partial_trace;
pub mod problem;
pub mod simulate;
pub mod solver;
pub mod stack;
mod work;

pub use adam::{Adam, AdamParams, Schedule};
pub use block_coordinate::{BlockCoordinate, BlockCoordinateParams};
pub use bound::{Bound, BoundError, BoundParams, bound};
pub use choi::{Choi, Keep};
pub use closed_form::{ClosedForm, closed_form};
pub use disk::{DiskError, load, save};
pub use engine::{Engine, loss_and_gradient};
pub use error::{Error, FitError, Result};
pub use general::{GeneralFit, GeneralMap};
pub use lbfgs::{Lbfgs, LbfgsParams, Source};
pub use map::KrausMap;
pub use minimise::{Ending, MinimiseParams, Minimum, minimise, minimise_watched};
pub use moment_objective::MomentObjective;
pub use moments::{Basis, LeastSquares, Moments, MomentsBuilder};
pub use partial_trace::{block_trace, tr_m};
pub use problem::{Inputs, Problem};
pub use solver::{Fit, Flow, History, Progress, Recorder, Session, Solver, Start, Stop, Stopping};
pub use stack::{Architecture, Gamma, Stack};
