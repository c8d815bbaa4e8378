//! Partial trace regression: matrices to matrices by completely positive maps.
//!
//! (This page is being written.)
#![warn(missing_docs)]

pub mod choi;
pub mod error;
pub mod gamma;
pub mod map;
pub mod partial_trace;
pub mod problem;
pub mod simulate;
pub mod solver;
pub mod stack;

pub use choi::{Choi, Keep};
pub use error::{Error, FitError, Result};
pub use map::KrausMap;
pub use partial_trace::{block_trace, tr_m};
pub use problem::{Inputs, Problem};
pub use solver::{Fit, Flow, History, Progress, Recorder, Session, Solver, Start, Stop, Stopping};
pub use stack::{Architecture, Gamma, Stack};
