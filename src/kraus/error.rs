//! What can be refused: every message says what, where and what to do next.

pub use linalg::InputError;

/// Result of building or converting a model or a problem.
pub type Result<T> = std::result::Result<T, Error>;

/// A refusal of wrong data or parameters.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// An argument that is refused: its shape, its size, its numbers or its range.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A Kraus map without operators.
    #[error("a Kraus map needs rank >= 1, got rank 0; choose a rank between 1 and p*q")]
    RankZero,
    /// A matrix unit outside the p x p grid.
    #[error("matrix unit {index} is E_({row},{col}), outside the {p} x {p} grid")]
    Unit {
        /// Position in the list.
        index: usize,
        /// Row i of E_ij.
        row: usize,
        /// Column j of E_ij.
        col: usize,
        /// Size of the grid.
        p: usize,
    },
    /// A Choi matrix that is not positive semidefinite.
    #[error("the map is not completely positive: eigenvalue {min:e} of its Choi matrix, largest {max:e}")]
    NotCompletelyPositive {
        /// Smallest eigenvalue.
        min: f64,
        /// Largest eigenvalue.
        max: f64,
    },
    /// The mean of X or of Y is singular or indefinite, and a completely positive map is fitted in coordinates in which both are identities.
    #[error("the mean of X or of Y is not positive definite; use positivity `output` or `none`")]
    MeanNotDefinite,
    /// A watcher ended the work.
    #[error("cancelled")]
    Cancelled,
    /// A decomposition failed.
    #[error(transparent)]
    Linalg(#[from] linalg::Error),
}

/// Why a fit gave no model.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FitError {
    /// The data, the start or the parameters are wrong.
    #[error(transparent)]
    Input(#[from] Error),
    /// The loss or the parameters became NaN, infinite or exploded.
    #[error("{solver} diverged at epoch {epoch}: loss {loss:e}; lower the learning rate or rescale the data")]
    Diverged {
        /// The solver.
        solver: &'static str,
        /// Epoch or iteration, counted from 1.
        epoch: usize,
        /// The loss there.
        loss: f64,
    },
    /// The solver cannot work on this kind of problem or model.
    #[error("{solver} cannot fit this: {why}")]
    Unsupported {
        /// The solver.
        solver: &'static str,
        /// The reason and what would work.
        why: String,
    },
}

impl From<InputError> for FitError {
    fn from(e: InputError) -> Self {
        Self::Input(Error::Input(e))
    }
}

impl From<linalg::Error> for FitError {
    fn from(e: linalg::Error) -> Self {
        Self::Input(Error::Linalg(e))
    }
}

/// Index of the first sample (along axis 0) that holds NaN or infinity.
pub(crate) fn check_finite<T: linalg::Real>(what: &'static str, a: ndarray::ArrayView3<'_, T>) -> Result<()> {
    let bad = |s: ndarray::ArrayView2<'_, T>| s.iter().any(|v| !num_traits::Float::is_finite(*v));
    match a.outer_iter().position(bad) {
        Some(index) => Err(Error::Input(InputError::NotFinite { what, index })),
        None => Ok(()),
    }
}
