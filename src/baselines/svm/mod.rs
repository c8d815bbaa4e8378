//! Multiclass support vector machine on a precomputed kernel.
//!
//! The dual min 1/2 a^T Q a - 1^T a, 0 <= a <= C, y^T a = 0, Q_ij = y_i y_j K_ij, with decision values
//! f(x) = sum_i a_i y_i K(x_i, x) - rho. Classes one against the rest, largest f wins.
//!
//! Two solvers of that one problem, with the same choice of pairs and the same stopping rule:
//!
//! * [`OneVsRest::fit_linfa`] is linfa-svm's, and its accuracy is what the protocol reports. linfa-svm takes features, not kernel
//!   matrices, so the kernel is factored once per split, K = L L^T by pivoted Cholesky, and the machines of all classes are linear
//!   ones on the rows of L.
//! * [`OneVsRest::fit`] works on the kernel itself (`smo`) and follows a path of C from one solution to the next. The protocol chooses
//!   C by it: a dozen machines per class and split, for which linfa-svm would multiply L L^T out each time, at ten times the cost of
//!   the optimisation. Tests hold the two together to 1e-6 in every decision value, and both to scikit-learn's.
//!
//! Classes are set against the rest and hits are counted by linfa (`one_vs_all`, `ConfusionMatrix`). The splits are ours: linfa's keep
//! neither the shares of the classes nor both axes of a kernel.
//!
//! A completed kernel can be indefinite; it is projected on the PSD cone first and the report counts what was cut.
//! Splits run in parallel.
//!
//! | file | what it holds |
//! |---|---|
//! | `psd_kernel` | the projection of a kernel on the PSD cone |
//! | `machine` | [`OneVsRest`]: the two fits, decisions |
//! | `smo` | the solver of one dual problem along a path of C |
//! | `protocol` | [`Protocol`]: repeated splits with C chosen inside each |
//! | `stratified` | the splits |
//! | `classifier` | [`SvmClassifier`]: the machine behind the traits that all estimators share, and linfa's |

mod classifier;
mod machine;
mod protocol;
mod psd_kernel;
mod smo;
mod stratified;

pub use classifier::{SvmClassifier, SvmClassifierParams, SvmKernel, SvmModel};
pub use machine::OneVsRest;
pub use protocol::{Protocol, Reported, SvmReport};
pub use psd_kernel::PsdKernel;
