//! What the crate refuses, in one sentence each: what is wrong, where, and what to do next.

pub use linalg::InputError;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A refusal.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A matrix that must be positive definite is not.
    ///
    /// Matrices of deficient rank count: the least eigenvalue must exceed n eps times the largest, see [`Reduction`](crate::Reduction).
    #[error(
        "{what}: matrix {index} is not positive definite or of deficient rank (as after an average reference); use a shrinkage covariance (OAS, Ledoit-Wolf), reduce all matrices to their common range, or drop it"
    )]
    NotPositiveDefinite {
        /// The argument.
        what: &'static str,
        /// Which matrix.
        index: usize,
    },
    /// NaN or infinity in a signal.
    #[error("{}channel {channel} holds NaN or infinite values; repair the channel or remove the trial", trial_name(.trial))]
    Signal {
        /// Which trial, where there are several.
        trial: Option<usize>,
        /// Which channel.
        channel: usize,
    },
    /// A Frechet mean whose iterate left the positive definite matrices.
    #[error(
        "mean {number}: the iterate is not positive definite; check the scale of its matrices, or use the log-Euclidean metric"
    )]
    MeanFailed {
        /// Which of the means.
        number: usize,
    },
    /// The exact transport solver made no progress.
    #[error(
        "emd: rounding stopped the exact solver with {left:e} of the mass of row {row} unassigned; divide the costs by their largest, or use sinkhorn_log"
    )]
    Stalled {
        /// The row whose mass is left.
        row: usize,
        /// The mass that is left.
        left: f64,
    },
    /// An eigenvalue iteration that did not converge.
    #[error("{what}: the eigenvalue iteration did not converge; check the scale of the input")]
    Eigen {
        /// The operation.
        what: &'static str,
    },
    /// Weights or marginals that are not a distribution.
    #[error("{what}: weights must be finite, not negative, and have a positive sum")]
    Weights {
        /// The argument.
        what: &'static str,
    },
    /// A Sinkhorn scaling left the range of f64.
    #[error(
        "sinkhorn: the scaling over- or underflowed at iteration {iteration}; use the log-domain solver or a larger regularisation"
    )]
    Underflow {
        /// Iteration at which it happened.
        iteration: usize,
    },
    /// A spread of zero: every sample equal.
    #[error("{what}: all distances are zero, so no bandwidth can be derived; give one")]
    NoSpread {
        /// The operation.
        what: &'static str,
    },
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
    /// From the training of a Kraus map.
    #[error("the training of the map failed: {0}")]
    Training(String),
    /// An argument that is refused: its shape, its size, its numbers or its range.
    #[error(transparent)]
    Input(#[from] InputError),
    /// From the linear algebra underneath.
    #[error(transparent)]
    Linalg(#[from] linalg::Error),
}

fn trial_name(trial: &Option<usize>) -> String {
    trial.map_or_else(String::new, |trial| format!("trial {trial}, "))
}
