//! Partial trace regression: matrices to matrices by completely positive maps.
//!
//! (This page is being written.)
#![warn(missing_docs)]

pub mod adam;
pub mod choi;
pub mod engine;
pub mod error;
pub mod gamma;
mod layout;
pub mod map;
pub mod partial_trace;
pub mod problem;
pub mod simulate;
pub mod solver;
pub mod stack;
mod work;

pub use adam::{Adam, AdamParams, Schedule};
pub use choi::{Choi, Keep};
pub use engine::{Engine, loss_and_gradient};
pub use error::{Error, FitError, Result};
pub use map::KrausMap;
pub use partial_trace::{block_trace, tr_m};
pub use problem::{Inputs, Problem};
pub use solver::{Fit, Flow, History, Progress, Recorder, Session, Solver, Start, Stop, Stopping};
pub use stack::{Architecture, Gamma, Stack};
