//! Symmetric positive definite matrices: kernels, covariances, Riemannian geometry, classification, optimal transport.
//!
//! # The geometry
//! An SPD matrix (a covariance of one EEG trial, say) is a point of a curved space. The affine-invariant distance
//! ```text
//! d(A, B) = || log(A^-1/2 B A^-1/2) ||_F = sqrt(sum_k log^2 lambda_k),   lambda_k the eigenvalues of A^-1 B
//! ```
//! does not change under A, B -> W A W^T, W B W^T: mixing the channels, as a head does to its sources, changes nothing.
//! The mean of a set is the matrix of the least sum of squared distances; between two matrices it is the midpoint of their
//! [`geodesic`]. [`Mdm`] classifies by the nearest class mean. [`tangent_space`] turns matrices into vectors whose Euclidean
//! geometry is right near one point. [`Metric`] offers the log-Euclidean and Bures-Wasserstein geometries as well.
//!
//! ```
//! use ndarray::arr3;
//! use spd::{Mdm, MeanParams, Metric};
//! let x = arr3(&[[[1.0, 0.2], [0.2, 1.0]], [[1.1, 0.3], [0.3, 0.9]], [[5.0, 0.0], [0.0, 0.5]], [[6.0, 0.1], [0.1, 0.4]]]);
//! let mdm = Mdm::fit(x.view(), &[0, 0, 1, 1], Metric::AffineInvariant, &MeanParams::default().check()?)?;
//! assert_eq!(mdm.accuracy(x.view(), &[0, 0, 1, 1])?, 1.0);
//! assert!(mdm.means().iter().all(|m| m.converged));
//! # Ok::<(), spd::Error>(())
//! ```
//!
//! # Transport
//! Two sessions of one subject are two clouds of matrices, shifted against each other. [`sinkhorn`] finds the plan
//! P >= 0 with row sums a and column sums b of the least cost <P, C> - reg H(P), C the squared distances; it alternates
//! v = b / K^T u and u = a / K v with K = exp(-C / reg). [`sinkhorn_log`] does the same on logarithms where K underflows,
//! [`sinkhorn_group_lasso`] uses the source labels, [`emd`] is exact (reg = 0). [`barycentric_map`] then moves each source to
//! the weighted Riemannian mean of its best targets:
//!
//! ```
//! use ndarray::{Array1, Array3};
//! use spd::*;
//! let source = Array3::from_shape_fn((4, 2, 2), |(k, i, j)| if i == j { 1.0 + k as f64 } else { 0.1 });
//! let target = source.mapv(|v| 2.0 * v); // the second day: every signal stronger
//! let cost = pairwise_distances(source.view(), target.view(), Metric::AffineInvariant)?.mapv(|d| d * d);
//! let uniform = Array1::from_elem(4, 0.25);
//! let params = SinkhornParams { regularisation: 1e-2, iterations: 1000, tolerance: 1e-12 }.check()?;
//! let plan = sinkhorn_log(cost.view(), uniform.view(), uniform.view(), &params)?;
//! let mapped = barycentric_map(plan.plan.view(), target.view(), 1, &MeanParams::default().check()?)?;
//! assert!((mapped[3].matrix[[0, 0]] - 8.0).abs() < 1e-6); // the largest goes to the largest
//! # Ok::<(), spd::Error>(())
//! ```
//!
//! # Before that: getting the matrices
//! | what | where |
//! |---|---|
//! | covariances of trials: sample, OAS, Ledoit-Wolf | [`covariance`](fn@covariance), [`covariances`] |
//! | kernels of feature views: RBF, chi^2 | [`rbf_kernel`], [`chi2_kernel`], [`multiple_features_kernels`] |
//! | missing samples, order of the samples | [`random_mask`], [`order_seriated`] |
//! | functions of matrices | [`logm`], [`expm`], [`sqrtm`], [`invsqrtm`], [`powm`] |
//!
//! # How it runs
//! Batches are (k, n, n). Eight matrices run interleaved through one vectorised reduction (`lanes.rs`, `eigen.rs`, `logarithm.rs`), groups
//! go to the threads of rayon in fixed blocks, and every sum has a fixed order: results have the same bits for any number of
//! threads. Bad input is an [`Error`] that names the matrix.
#![warn(missing_docs)]

mod check;
mod consensus;
mod covariance;
mod distance;
mod eigen;
mod error;
mod function;
mod geodesic;
mod kernel;
mod lanes;
mod linkage;
mod logarithm;
mod mask;
mod mdm;
mod mean;
mod mean_block;
mod mean_state;
mod order;
mod transport;
mod triangular;
mod tridiagonal;
mod views;

pub use covariance::{Covariance, Estimator, covariance, covariances};
pub use distance::{Metric, distance, pairwise_distances, self_distances};
pub use error::{Error, Result};
pub use function::{expm, invsqrtm, logm, map_eigenvalues, powm, sqrtm};
pub use geodesic::{from_tangent_space, geodesic, tangent_space};
pub use kernel::{chi2_additive_kernel, chi2_distances, chi2_kernel, euclidean_distances, one_hot, rbf_kernel};
pub use linkage::{Merge, average_linkage, optimal_leaf_order};
pub use mask::{largest_level, random_mask};
pub use mdm::Mdm;
pub use mean::{CheckedMeanParams, Mean, MeanParams, Selection, mean, means};
pub use order::{order_by_class, order_seriated, order_shuffled};
pub use transport::{
    CheckedSinkhornParams, DensityWeights, Emd, GroupLasso, Plan, SinkhornParams, barycentric_map, density_weights,
    emd, largest_in_row, regularisation_from_median, sinkhorn, sinkhorn_group_lasso, sinkhorn_log,
};
pub use views::{KernelPreset, VIEW_FEATURES, VIEWS, multiple_features_kernels, view_kernel};
