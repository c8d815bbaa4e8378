//! Multiclass support vector machine on a precomputed kernel.
//!
//! The dual min 1/2 a^T Q a - 1^T a, 0 <= a <= C, y^T a = 0, Q_ij = y_i y_j K_ij, with decision values
//! f(x) = sum_i a_i y_i K(x_i, x) - rho. Classes one against the rest, largest f wins.
//!
//! Two solvers of that one problem, with the same choice of pairs and the same stopping rule:
//!
//! * [`OneVsRest::fit`] works on the kernel itself (`smo`). It is what the protocol runs, a dozen machines a split to choose C and
//!   one to test.
//! * [`OneVsRest::fit_linfa`] is linfa-svm's. linfa-svm takes features, not kernel matrices, so the kernel is factored, K = L L^T
//!   by pivoted Cholesky, and a linear machine is trained on the rows of L; each machine multiplies L L^T out again, entry by
//!   entry, which costs ten times the optimisation. It is the reference: tests hold the two together to 1e-6 in every decision
//!   value, and both to scikit-learn's.
//!
//! A completed kernel can be indefinite; it is projected on the PSD cone first and the report counts what was cut.
//! Splits run in parallel.
//!
//! | file | what it holds |
//! |---|---|
//! | `psd_kernel` | the projection of a kernel on the PSD cone, and its pivoted Cholesky factor |
//! | `machine` | [`OneVsRest`]: the two fits, decisions |
//! | `smo` | the solver of one dual problem along a path of C |
//! | `protocol` | [`Protocol`]: repeated splits with C chosen inside each |
//! | `stratified` | the splits |

mod machine;
mod protocol;
mod psd_kernel;
mod smo;
mod stratified;

pub use machine::OneVsRest;
pub use protocol::{Protocol, SvmReport};
pub use psd_kernel::PsdKernel;
