//! The geometry of symmetric positive definite matrices: what a user of the crate calls on batches (k, n, n).
//!
//! | file | what it holds |
//! |---|---|
//! | `covariance` | matrices from signals: sample, OAS and Ledoit-Wolf covariances |
//! | `reduction` | matrices of deficient rank, projected to their common range |
//! | `function` | functions of matrices: logarithm, exponential, powers |
//! | `distance` | the three metrics and their distances |
//! | `geodesic` | geodesics and tangent vectors |
//! | `mean` | Frechet means; `mean_together` iterates many of them at once, `mean_iterate` is the state of one |
//! | `plane` | matrices as points in the plane, for pictures |
//! | `mdm` | the classifier by the nearest class mean |
//!
//! The arithmetic on eight matrices at once is in `batch`. Moving one set of matrices onto another is in `transport`.

mod covariance;
mod distance;
pub(crate) mod function;
pub(crate) mod geodesic;
pub(crate) mod mdm;
pub(crate) mod mean;
mod mean_iterate;
mod mean_together;
mod plane;
mod reduction;

pub use covariance::{Covariance, Estimator, covariance, covariances};
pub use distance::{Metric, distance, pairwise_distances, self_distances};
pub use function::{expm, invsqrtm, logm, map_eigenvalues, powm, sqrtm};
pub use geodesic::{from_tangent_space, geodesic, tangent_space};
pub use mdm::Mdm;
pub use mean::{CheckedMeanParams, Mean, MeanParams, Selection, mean, means};
pub use plane::Plane;
pub use reduction::Reduction;
