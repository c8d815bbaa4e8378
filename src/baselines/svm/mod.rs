//! Multiclass support vector machine on a precomputed kernel.
//!
//! The dual min 1/2 a^T Q a - 1^T a, 0 <= a <= C, y^T a = 0, Q_ij = y_i y_j K_ij, with decision values
//! f(x) = sum_i a_i y_i K(x_i, x) - rho. Each class gets a machine against the rest; the class with the largest f wins.
//!
//! There are two solvers of this problem, with the same choice of pairs and the same stopping rule:
//!
//! * [`OneVsRest::fit_linfa`] is linfa-svm's. By default the protocol reports its accuracy. linfa-svm takes features, not kernel
//!   matrices, so the kernel is factored once per split, K = L L^T by pivoted Cholesky, and the machines of all classes are linear
//!   machines on the rows of L.
//! * [`OneVsRest::fit`] works on the kernel itself (`smo`) and follows a path of C: each C starts from the solution of the C before.
//!   The protocol chooses C with it: a dozen machines per class and split. linfa-svm would compute L L^T for each of them, at ten times
//!   the cost of the optimisation. Tests check that the decision values of the two agree to 1e-6, and both with scikit-learn's.
//!
//! linfa counts the right predictions (`ConfusionMatrix`) and, for its own solver, sets each class against the rest (`one_vs_all`). The
//! splits are ours, because linfa's neither keep the shares of the classes nor split both axes of a kernel.
//!
//! A completed kernel can be indefinite. It is projected on the PSD cone first, and the report counts the negative eigenvalues.
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
