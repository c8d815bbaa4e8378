//! Every tolerance and threshold that decides something about numbers, in all crates, in one table.
//!
//! A tolerance is a share of a size that stands beside it, so that no decision depends on the unit of the data. eps is the machine epsilon of the
//! scalar. Limits on work (iterations, blocks, tiles) and parameters that a user sets are not here.
//!
//! # What counts as symmetric
//! | name | share | of | what it decides |
//! |---|---|---|---|
//! | [`SYMMETRIC_INPUT`] | 1e-8 | largest entry | a matrix that must be symmetric is refused beyond it (covariances, kernels, `repro` on own files) |
//! | [`SYMMETRIC_SINGLE`] | 1e-6 | largest entry | data that may come from f32 count as symmetric, so baselines use half of the coordinates |
//! | `kraus::tolerances::symmetric` | 32 eps | largest entry | training takes the symmetric path, which reads one triangle |
//! | `kraus::tolerances::promised_symmetric` | 1000 eps | largest entry | a matrix that the caller promised to be symmetric is refused beyond it |
//!
//! # What counts as zero, as rank, as positive
//! | name | share | of | what it decides |
//! |---|---|---|---|
//! | [`definite`] | n eps | largest eigenvalue | an eigenvalue below it is rounding: the matrix is refused as of deficient rank |
//! | `spd::Reduction` | 1e-10 | largest eigenvalue of the average | a direction is missing in all matrices, and `--reduce` leaves it out |
//! | `lstsq` | `rcond`, and 1000 times it for QR | largest pivot or singular value | a direction counts as zero; below the second, singular values decide |
//! | Gamma (`batch::clamp`) | 16 eps | largest singular value | two values are equal in the derivative of the clamp |
//! | null vectors (`batch::null_space`) | sqrt eps | length one | half of the digits of a direction are rounding, so it counts as absent |
//! | Jacobi (`batch::jacobi`) | 4 eps | the two lengths | two rows are orthogonal; sweeps end when all pairs are |
//! | `kraus::tolerances::RANK_TOLERANCE` | 1e-10 | largest eigenvalue | rank of the closed form |
//! | CVKT: Nystrom values, features | 1e-10 | largest | a feature is rounding |
//! | trace regression: eigenvalues for the first rho | 1e-8 | largest | left out of the geometric mean |
//! | networks by L-BFGS: eigenvalues | 1e-11 | largest | a direction of the inputs is rounding |
//! | HOPLS: what is left of E and of F | 1e-13, 1e-14 | the start | no latent vector is left |
//! | SVM: negative eigenvalues of a kernel | 1e-12 | sum of magnitudes | cut and counted |
//! | SVM: pivots of the factor | 1e-13 | largest diagonal entry | the rank of the factor |
//!
//! # When an iteration has converged
//! | method | share | of | beyond that |
//! |---|---|---|---|
//! | means of SPD matrices | 1e-9 (`MeanParams`) | gradient, in units of the metric | stopped after 200 iterations, shown by commands |
//! | Sinkhorn | `SinkhornParams` | error of a marginal | the error is reported |
//! | exact transport | 1e-14 and 1e-9 | total mass | a remainder is rounding; above the second it stalled, which is an error |
//! | marginals of a transport problem | 1e-9 | total mass | refused: the masses differ |
//! | trace regression (ADMM) | 1e-8 | KKT certificate | stopped, in the report |
//! | SMO | 1e-3, reported machines 1e-6 | KKT violation | stopped, counted in the report |
//! | Tucker sweeps | 1e-4 | captured norm | they only steer what follows |
//! | L-BFGS, closed form, noise-free data | | | see `kraus::tolerances` |
//! | logarithm by quadrature | 1e-16 | logarithm at the ends of the spectrum | more nodes, then eigenvectors |

/// Asymmetry of user data, as a share of the largest entry, beyond which a matrix is refused where it must be symmetric.
pub const SYMMETRIC_INPUT: f64 = 1e-8;

/// The same for data that may come from single precision: eight times its rounding.
pub const SYMMETRIC_SINGLE: f64 = 1e-6;

/// The share of the largest eigenvalue that the least one of n must exceed: below it an eigenvalue is rounding, and so is its logarithm.
///
/// ```
/// assert_eq!(linalg::tolerances::definite(22), 22.0 * f64::EPSILON);
/// ```
pub fn definite(n: usize) -> f64 {
    n as f64 * f64::EPSILON
}
