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
//! assert!(fit.model.layers[0].distance_on_symmetric(&truth)? < 1e-2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is where
//! | module | what |
//! |---|---|
//! | [`map`], [`choi`], [`partial_trace`] | one map and its equivalent forms |
//! | [`stack`], [`gamma`] | maps one after the other |
//! | [`problem`], [`completion`], [`simulate`] | data: checked, as blocks of a matrix, simulated |
//! | [`solver`] | the trait, starts, stopping, histories |
//! | [`adam`] | the paper's protocol |
//! | [`lbfgs`], [`closed_form`](mod@closed_form), [`block_coordinate`] | exact solvers, on samples or on their [`moments`] |
//! | [`backend`] | where a sweep of models trains: the processor, or a GPU (feature `cuda`, see CUDA.md) |
//! | [`general`] | the unconstrained model tr_m(A X B^T) |
//! | [`bound`](mod@bound), [`disk`] | theorem 4; models as .npz files |
//! | [`engine`] | exact gradients for all solvers, on all cores, the same bits for any number of them |
//!
//! # Cost
//! With b samples per step, a layer costs b r q p (p + 2 q) multiply-adds where data are symmetric and about twice that
//! elsewhere; a matrix unit costs 3 r q^2, because E_ij is never formed. Nothing is allocated inside an epoch.
#![warn(missing_docs)]

pub mod adam;
mod apart;
pub mod backend;
pub mod block_coordinate;
pub mod bound;
pub mod choi;
pub mod closed_form;
pub mod completion;
#[cfg(feature = "cuda")]
pub mod cuda;
mod descend;
pub mod disk;
mod easier;
pub mod engine;
pub mod error;
mod full_batch;
pub mod gamma;
pub mod general;
mod lane_work;
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
pub mod regress;
pub mod simulate;
pub mod solver;
pub mod stack;
mod two_rows;
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
pub use minimise::{Ending, Memory, MinimiseParams, Minimum, minimise, minimise_watched};
pub use moment_objective::MomentObjective;
pub use moments::{Basis, LeastSquares, Moments, MomentsBuilder};
pub use partial_trace::{block_trace, tr_m};
pub use problem::{Inputs, Matrices, Problem};
pub use solver::{Fit, Flow, History, Progress, Recorder, Session, Solver, Start, Stop, Stopping};
pub use stack::{Architecture, Gamma, Stack};
