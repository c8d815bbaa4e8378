//! Partial trace regression: matrices to matrices by completely positive maps.
//!
//! # The model
//! A map of rank r from p x p to q x q matrices is Phi(X) = sum_k A_k X A_k^T with A_k in R^{q x p} ([`KrausMap`]).
//! The same map is a partial trace, Phi(X) = tr_r(A X A^T), with the A_k stacked into A ([`tr_m`], Stinespring), and a
//! positive semidefinite matrix of blocks Phi(E_ij) ([`Choi`]). Positive semidefinite input gives positive semidefinite
//! output, whatever the parameters. Maps can be stacked, with a clamp of the spectrum between them ([`Stack`], [`Gamma`]).
//!
//! # Learning it
//! A [`Problem`] holds checked data: matrices or matrix units (completion, [`completion`]), targets, perhaps a mask. A
//! [`Solver`] fits a [`Stack`] to it under the mean squared error, from a [`Start`], and returns a [`Fit`]: the model and
//! its [`History`]. Data that make a fit diverge give an error with the epoch, never a model of NaN.
//!
//! ```
//! use kraus::{AdamParams, KrausMap, Problem, Solver, Start, Stopping};
//! use ndarray::Array3;
//! // Data of a true map of rank 1 from 3 x 3 to 2 x 2.
//! let truth = KrausMap::<f64>::glorot(1, 2, 3, 7)?;
//! let x = Array3::from_shape_fn((64, 3, 3), |(s, i, j)| {
//!     let v = |i: usize| ((s * (i + 2)) as f64).sin();
//!     v(i) * v(j)
//! });
//! let y = truth.apply_batch(x.view())?;
//! let problem = Problem::matrices(x.view(), y.view())?;
//! let adam = AdamParams { stopping: Stopping::after(300), rate: 0.01, ..Default::default() }.check()?;
//! let fit = adam.fit(&problem, Start::single(3, 2, 1, 1))?;
//! assert!(fit.model.mse(&problem)? < 1e-6);
//! // Operators differ by a sign, maps do not: compare maps.
//! assert!(fit.model.layers()[0].distance_on_symmetric(&truth)? < 1e-2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is where
//! | folder | what |
//! |---|---|
//! | [`map`] | one map and its equivalent forms; stacks of maps; the unconstrained model tr_m(A X B^T) |
//! | [`data`] | checked data, and the paper's simulated ones |
//! | [`gradient`] | the loss and its exact gradient on all cores: the same bits for any number of threads |
//! | [`optimise`] | L-BFGS for any smooth function |
//! | [`solvers`] | Adam as in the paper; exact solvers, on samples or on their moments; histories, starts, stopping |
//! | [`estimators`] | the same as estimators: parameters, check, fit, predict; usable from linfa |
//! | [`completion`] | the missing entries of a positive semidefinite matrix |
//! | [`backend`] | where Adam trains: the processor, or a GPU (feature `cuda`, see CUDA.md) |
//! | [`regress`] | regression on people's own data: family, coordinates, penalty and rank by validation |
//! | [`io`] | models as .npz files |
//! | [`bound`](mod@bound), [`error`] | theorem 4; what is refused, and in which words |
//! | [`tolerances`] | the table of all tolerances and thresholds |
//!
//! # Cost
//! With b samples per step, a layer costs b r q p (p + 2 q) multiply-adds where data are symmetric and about twice that
//! elsewhere; a matrix unit costs 3 r q^2, because E_ij is never formed. Nothing is allocated inside an epoch.
#![warn(missing_docs)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod backend;
pub mod bound;
pub mod completion;
pub mod data;
pub mod error;
pub mod estimators;
pub mod gradient;
pub mod io;
pub mod map;
pub mod optimise;
pub mod regress;
pub mod solvers;
pub mod tolerances;

// Modules that other crates reach by the shorter path.
#[cfg(feature = "cuda")]
pub use backend::cuda;
pub use data::simulate;
pub use io::disk;
use map::stack;
pub use solvers as solver;
pub use solvers::lbfgs;

pub use bound::{Bound, BoundError, BoundParams, Version as BoundVersion, bound};
pub use data::{Inputs, Matrices, Problem};
pub use error::{Error, FitError, InputError, Result};
pub use estimator::Mask;
pub use gradient::{Engine, loss_and_gradient};
pub use io::{DiskError, load, save};
pub use map::{Architecture, Choi, Gamma, GeneralMap, KrausMap, Stack, Truncation, block_trace, tr_m};
pub use optimise::{Ending, Memory, MinimiseParams, Minimum, minimise, minimise_watched};
pub use solvers::{
    Adam, AdamParams, Basis, BlockCoordinate, BlockCoordinateParams, ClosedForm, Fit, Fitted, Flow, GeneralFit,
    History, Lbfgs, LbfgsParams, LeastSquares, LossSource, MomentObjective, Moments, MomentsBuilder, Progress,
    Recorder, Schedule, Session, Solver, Start, Stop, Stopping, closed_form,
};
