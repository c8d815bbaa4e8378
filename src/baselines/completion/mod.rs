//! Completion of kernels: a missing sample is a missing row and column. Two ways: imputation, and transfer from other views.
//!
//! `alignment` is the optimisation behind `cvkt`. The paper's own method for the same task is in the crate `kraus`.

mod alignment;
pub mod cvkt;
pub mod imputation;
