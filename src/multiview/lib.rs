//! Several views of the same samples: kernels of their features, and what is done with them before completion.
//!
//! A view is a matrix of features (samples, features). A mask (samples, views) says which sample is observed in which view.
//!
//! | file | what it holds |
//! |---|---|
//! | `kernel` | kernels between rows of features: RBF on Euclidean distances, three forms of chi^2 |
//! | `feature_kernel` | kernels of people's own features, with a width fitted to the training rows |
//! | `views` | the six views of Multiple Features and their published kernels |
//! | `mask` | random masks with guarantees |
//! | `order` | the order of the samples before a kernel is cut into blocks |
//! | `consensus` | the average of the observed kernels, on which the order without labels rests |
//! | `linkage` | average linkage and the optimal order of its leaves |
//!
//! Completing the masked kernels is in `kraus` (the paper's method) and `baselines` (its rivals).
//!
//! ```
//! use multiview::{order_seriated, random_mask, rbf_kernel};
//! let x = ndarray::array![[0.0], [5.0], [0.1], [5.2], [0.3], [5.1]]; // two groups, interleaved
//! let kernel = rbf_kernel(x.view(), Some(1.0))?;
//! let order = order_seriated(&[kernel.view()], &random_mask(6, 1, 0.0, 1)?)?;
//! let changes = order.windows(2).filter(|w| w[0] % 2 != w[1] % 2).count();
//! assert_eq!(changes, 1); // each group stands together
//! # Ok::<(), multiview::Error>(())
//! ```
//!
//! Everything is deterministic by seed and has the same bits for any number of threads.
#![warn(missing_docs)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod check;
mod consensus;
mod error;
mod feature_kernel;
mod kernel;
mod linkage;
mod mask;
mod order;
mod views;

pub use error::{Error, InputError, Result};
pub use estimator::Mask;
pub use feature_kernel::{FeatureKernel, Similarity, Width};
pub use kernel::{chi2_additive_kernel, chi2_distances, chi2_kernel, euclidean_distances, one_hot, rbf_kernel};
pub use linkage::{Merge, average_linkage, optimal_leaf_order};
pub use mask::{largest_level, random_mask};
pub use order::{order_by_class, order_seriated, order_shuffled};
pub use views::{KernelPreset, VIEW_FEATURES, VIEWS, multiple_features_kernels, view_kernel};
