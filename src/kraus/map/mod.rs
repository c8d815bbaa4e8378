//! Maps from p x p to q x q matrices, and the forms in which one map can be written.
//!
//! What belongs here: a model and its algebra. What does not: data, losses, gradients of stacks, fitting.
//!
//! | file | what |
//! |---|---|
//! | kraus_map.rs | [`KrausMap`]: Phi(X) = sum_k A_k X A_k^T |
//! | partial_trace.rs | [`tr_m`], and the Stinespring form tr_m(A X A^T) of a Kraus map |
//! | choi.rs | [`Choi`]: the matrix of blocks Phi(E_ij), and distances between maps |
//! | stack.rs | [`Stack`]: maps applied one after the other |
//! | gamma.rs | Gamma: the clamp of singular values between two maps of a stack |
//! | general.rs | [`GeneralMap`]: tr_m(A X B^T) with A and B free |

pub mod choi;
pub mod gamma;
pub mod general;
pub mod kraus_map;
pub mod partial_trace;
pub mod stack;

pub use choi::{Choi, Truncation};
pub use general::GeneralMap;
pub use kraus_map::KrausMap;
pub use partial_trace::{block_trace, tr_m};
pub use stack::{Architecture, Gamma, Stack};
