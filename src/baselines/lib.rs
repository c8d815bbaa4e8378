//! The methods that the paper compares with: regression baselines behind one trait, kernel completion, and the classifier.
//!
//! X (l, p, p) and Y (l, q, q) hold l samples. d and m are the numbers of input and output coordinates, p(p+1)/2 and
//! q(q+1)/2 when all matrices are symmetric, p^2 and q^2 otherwise. Every regression baseline is a [`Regressor`] and
//! fits an affine map [`Fitted`]; wrong shapes, empty sets and NaN are refused with an [`Error`].
//!
//! | method | model and criterion | reference | cost |
//! |---|---|---|---|
//! | [`Multivariate`] | y = x W, min sum \|\|y - x W\|\|^2 + lambda \|\|W\|\|^2 | Anderson; Hoerl and Kennard 1970 | l d (d + m) |
//! | [`ReducedRank`] | the same, rank W <= r: W V_r V_r^T | Izenman 1975 | l d (d + m) + l m^2, all ranks |
//! | [`TraceRegression`] | y_k = tr(B_k^T X), low rank or PSD | Koltchinskii et al. 2011; Slawski et al. 2015 | l d (d + m), m (d^2 + p^3) per step |
//! | [`Hopls`] | X = sum t_r o G_r x P x P, Y = sum t_r o D_r x Q x Q | Zhao et al. 2013 | l p^2 (p^2 + q^2), then p^4 + p^2 q^2 per latent vector |
//! | [`TensorTrain`] | W[i, j] = G_1[i_1, j_1] ... G_d[i_d, j_d] | Novikov et al. 2015 | two cores: at most l r p q (2 p + 3 q) per epoch |
//! | [`Tucker`] | W = S x U1 x U2 x U3 x U4 | Cao and Rabusseau 2017 | l (p^2 R + R^4 + q^2 R) per epoch |
//! | [`imputation`] | missing rows and columns: 0, or the mean of what is observed | | n^2 |
//! | [`cvkt`] | K_v ~ Psi U U^T Psi^T, max centred alignment on the sphere | Huusari et al. 2019 | n^2 rank per step |
//! | [`svm`] | one-vs-rest machine on a precomputed kernel, tested against linfa-svm and scikit-learn | Cortes and Vapnik 1995 | SMO per fit |
//!
//! ```
//! use baselines::{Multivariate, ReducedRank, Regressor};
//! use ndarray::Array3;
//! // Y = 2 X[0, 0] I: a map of rank one
//! let x = Array3::from_shape_fn((20, 2, 2), |(s, i, j)| ((1 + s * 4 + i * 2 + j) as f64).sin());
//! let y = Array3::from_shape_fn((20, 2, 2), |(s, i, j)| if i == j { 2.0 * x[[s, 0, 0]] } else { 0.0 });
//! let methods: [&dyn Regressor; 2] = [&Multivariate::least_squares(), &ReducedRank { rank: 1 }];
//! for method in methods {
//!     assert!(method.fit(x.view(), y.view())?.mse(x.view(), y.view())? < 1e-28);
//! }
//! # Ok::<(), baselines::Error>(())
//! ```
//!
//! The folders follow the kinds of methods: `linear/` (closed forms and HOPLS), `trace/` (trace regression), `networks/` (tensor
//! train and Tucker), `completion/` (of kernels), `svm/` (the classifier). `tucker_decomposition` serves HOPLS and the Tucker network.
//!
//! Everything is computed in f64, except that Adam trains the networks in f32. Results follow from the seed and are the same for any
//! number of threads.
#![warn(missing_docs)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod completion;
pub mod error;
mod estimators;
mod linear;
mod networks;
pub mod regressor;
pub mod svm;
pub mod trace;
mod tucker_decomposition;

pub use completion::{cvkt, imputation};
pub use error::{Error, Result};
pub use estimators::{Baseline, BaselineParams};
pub use linear::hopls::{self, Hopls};
pub use linear::multivariate::{self, Multivariate};
pub use linear::reduced_rank::{self, RankPath, ReducedRank};
pub use networks::tensor_train::{self, TensorTrain};
pub use networks::training::{KeptEpoch, Optimiser, Training};
pub use networks::tucker::{self, Tucker};
pub use regressor::{Fitted, Layout, Regressor, Report};
pub use trace::{Lambda, Penalty, TraceRegression};
