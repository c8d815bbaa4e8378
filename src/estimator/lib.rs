//! One way to fit a model, for every estimator of this project.
//!
//! ```text
//! parameters --check()--> estimator --fit--> model --predict--> matrices or labels
//! ```
//!
//! Parameters are a plain value that anyone may write. [`linfa::ParamGuard::check`] turns them into the estimator, or
//! says which of them is out of range. Only the estimator can fit, and only a fitted model can predict.
//!
//! | file | what |
//! |---|---|
//! | regression.rs | [`Regression`], [`Regressor`] and [`MatrixModel`]: matrices to matrices |
//! | classification.rs | [`Classification`], [`Classifier`] and [`LabelModel`]: matrices to labels |
//! | rows.rs | linfa's `Fit` and `PredictInplace` for the same estimators, so that linfa can cross-validate them |
//! | convergence.rs | [`Convergence`]: how an iterative method ended, and the measure it stopped on |
//! | labels.rs, mask.rs | [`Labels`] and [`Mask`] |
//! | error.rs | [`Error`]: the one shape of refusals at this interface |
//!
//! What does not belong here: any method. This crate knows no model, no solver and no data set.
//!
//! # To add an estimator
//! 1. A parameter type that wraps the checked type, with setters, and `impl ParamGuard` for it.
//! 2. `impl Regression` (or [`Classification`]) for the checked type and `impl MatrixModel` (or [`LabelModel`]) for its model.
//! 3. [`regression_by_rows!`] (or [`classification_by_rows!`]) with both types: linfa's traits follow.
//! 4. An example in the doc of the parameter type that computes something true.
#![warn(missing_docs)]

mod classification;
mod convergence;
mod error;
mod labels;
mod mask;
mod regression;
mod rows;

pub use classification::{Classification, Classifier, LabelModel};
pub use convergence::{Convergence, Outcome};
pub use error::{Error, Result};
pub use labels::Labels;
pub use linfa;
pub use linfa::ParamGuard;
pub use mask::Mask;
pub use ndarray;
pub use regression::{MatrixModel, Regression, Regressor, check_pairs};
pub use rows::{from_rows, to_rows};
