//! Symmetric positive definite matrices: covariances, Riemannian geometry, classification, optimal transport.
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
//! use spd::{Labels, Mdm, MeanParams, Metric};
//! let x = arr3(&[[[1.0, 0.2], [0.2, 1.0]], [[1.1, 0.3], [0.3, 0.9]], [[5.0, 0.0], [0.0, 0.5]], [[6.0, 0.1], [0.1, 0.4]]]);
//! let labels = Labels::new(&[0, 0, 1, 1])?;
//! let mdm = Mdm::fit(x.view(), &labels, Metric::AffineInvariant, &MeanParams::default().check()?)?;
//! assert_eq!(mdm.accuracy(x.view(), &labels)?, 1.0);
//! assert!(mdm.means().iter().all(|m| m.converged));
//! # Ok::<(), Box<dyn std::error::Error>>(())
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
//! | functions of matrices | [`logm`], [`expm`], [`sqrtm`], [`invsqrtm`], [`powm`] |
//!
//! # How it runs
//! `manifold/` holds the geometry, `batch/` the arithmetic on eight matrices at once, `transport/` the plans between two sets,
//! `transfer/` what moves a classifier from one session to another; `estimators` offers MDM behind the crate `estimator`.
//! Batches are (k, n, n). Eight matrices run interleaved through one vectorised reduction, groups of eight go to the threads of
//! rayon in fixed blocks, and every sum has a fixed order: results have the same bits for any number of threads. Bad input is an
//! [`Error`] that names the matrix. Feature kernels and masks over views are in the crate `multiview`.
#![warn(missing_docs)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod batch;
mod check;
mod error;
pub mod estimators;
mod manifold;
mod scores;
mod transfer;
mod transport;

pub use error::{Error, InputError, Result};
pub use estimator::Labels;
pub use manifold::{
    CheckedMeanParams, Covariance, Estimator, Mdm, Mean, MeanParams, Metric, Plane, Reduction, Selection, covariance,
    covariances, distance, expm, from_tangent_space, geodesic, invsqrtm, logm, map_eigenvalues, mean, means,
    pairwise_distances, powm, self_distances, sqrtm, tangent_space,
};
pub use scores::{Scores, paired_permutation_test, scores};
pub use transfer::*;
pub use transport::{
    CheckedSinkhornParams, DensityWeights, Emd, GroupLasso, SinkhornParams, TransportPlan, barycentric_map,
    density_weights, emd, largest_in_row, regularisation_from_median, sinkhorn, sinkhorn_any, sinkhorn_group_lasso,
    sinkhorn_log,
};
