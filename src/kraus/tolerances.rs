//! Every tolerance and threshold of this crate, in one place; the table of all crates is [`linalg::tolerances`].
//!
//! A number here decides something: whether data take a faster path, whether an iteration has ended, whether an input is
//! refused. Limits on work (block sizes, tiles) are not here: they change the time of a result and not the result.
//!
//! | name | value | relative to | what it decides |
//! |---|---|---|---|
//! | [`symmetric`] | 32 eps | largest entry | a matrix counts as symmetric, so gradients take three products and Gamma clamps eigenvalues |
//! | [`promised_symmetric`] | 1000 eps | largest entry | a matrix that the caller promised to be symmetric is refused beyond it |
//! | [`MIRROR_ENTRIES`] | 1e-10 | largest observed entry | two observed mirror entries of a partial matrix are the same number |
//! | [`POSITIVE_SEMIDEFINITE`] | 1e-10 | largest eigenvalue | a completed matrix counts as positive semidefinite |
//! | [`EXPLODED`] | 1e12 | larger of the first loss and E\[Y^2\] | a fit has diverged |
//! | [`VALUE_TOLERANCE`] | 1e-13 | the objective | L-BFGS has converged: the fall over ten iterations |
//! | [`GRADIENT_TOLERANCE`] | 1e-30 | the first gradient | L-BFGS has converged: the gradient vanishes |
//! | [`NO_MORE_FALL`] | 1e-10 | the objective | L-BFGS that finds no lower point has converged, not stalled: the fall it expects |
//! | [`EQUAL_VALUES`] | 1e-14 | the objective | two values of the objective differ by rounding only |
//! | [`RANK_TOLERANCE`] | 1e-10 | largest eigenvalue | an eigenvalue of a Gram matrix of rows counts as zero |
//! | [`ALIGN_TOLERANCE`] | 1e-8 | 1 | two rows of the operators share a plane, so their alignment is open |
//! | [`RECOVERY`] | 1e-6 | a known vector | the moments do not determine the least squares map |
//! | [`noise_free`] | (20 eps)^2, at least 1e-20 | E\[Y^2\] | a loss is rounding, so the data have no noise |
//! | [`EXACT_FIT`] | 1e-20 | E\[Y^2\] | no other start can fit better |
//!
//! eps is the machine epsilon of the scalar of the data: 2.2e-16 in f64 and 1.2e-7 in f32.

use linalg::Real;

/// Asymmetry, as a share of the largest entry, below which a matrix counts as symmetric: rounding of a few operations.
///
/// It is strict because the symmetric path reads one triangle only: what it ignores must be rounding.
pub fn symmetric<T: Real>() -> f64 {
    32.0 * T::epsilon().as_f64()
}

/// Asymmetry, as a share of the largest entry, beyond which a matrix is refused that the caller promised to be symmetric.
///
/// It is looser than [`symmetric`] because both triangles are averaged there: a product over a thousand samples may leave
/// this much, and nothing is lost.
pub fn promised_symmetric<T: Real>() -> f64 {
    1e3 * T::epsilon().as_f64()
}

/// Two observed mirror entries of a partial matrix may differ by this share of its largest observed entry.
pub const MIRROR_ENTRIES: f64 = 1e-10;

/// An eigenvalue above minus this share of the largest magnitude counts as not negative.
pub const POSITIVE_SEMIDEFINITE: f64 = 1e-10;

/// A loss this many times the larger of the first loss and the mean square of the targets has exploded.
pub const EXPLODED: f64 = 1e12;

/// L-BFGS has converged where the objective falls by less than this share of itself over ten iterations.
pub const VALUE_TOLERANCE: f64 = 1e-13;

/// L-BFGS has converged where the largest entry of the gradient is this share of that at the start.
///
/// Far below rounding, because noise-free fits go on to an exact model: the fall of the objective ends the others.
pub const GRADIENT_TOLERANCE: f64 = 1e-30;

/// Where no step lowers the objective any more, L-BFGS has converged if its own model of the objective expects a fall of at most
/// this share of it, or if the loss is [`EXACT_FIT`]. Otherwise it has stalled.
pub const NO_MORE_FALL: f64 = 1e-10;

/// Values of the objective closer than this share count as equal in a line search: about fifty units in the last place.
pub const EQUAL_VALUES: f64 = 1e-14;

/// Eigenvalues of a row's Gram matrix below this share of the largest count as zero in the closed form.
pub const RANK_TOLERANCE: f64 = 1e-10;

/// Products of cosines closer to 1 than this leave the alignment of two rows open in the closed form.
pub const ALIGN_TOLERANCE: f64 = 1e-8;

/// Relative error in recovering a known map, beyond which the moments do not determine the least squares map.
pub const RECOVERY: f64 = 1e-6;

/// Square errors below this share of E\[Y^2\] are rounding, so that the data count as noise free.
pub fn noise_free<T: Real>() -> f64 {
    (20.0 * T::epsilon().as_f64()).max(1e-10).powi(2)
}

/// A loss of this share of E\[Y^2\] cannot be improved by another start.
pub const EXACT_FIT: f64 = 1e-20;
