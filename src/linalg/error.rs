//! The errors of this crate.

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation was refused or failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// Shapes that do not fit together.
    #[error("{what}: shapes {left:?} and {right:?} do not fit")]
    Shape {
        /// The operation.
        what: &'static str,
        /// Shape of the first operand.
        left: Vec<usize>,
        /// Shape of the second operand.
        right: Vec<usize>,
    },
    /// A matrix that must be square is not.
    #[error("{what} needs a square matrix, got {rows} x {cols}")]
    NotSquare {
        /// The operation.
        what: &'static str,
        /// Rows given.
        rows: usize,
        /// Columns given.
        cols: usize,
    },
    /// NaN or infinity in the input.
    #[error("{what}: the input contains NaN or infinite values")]
    NotFinite {
        /// The operation.
        what: &'static str,
    },
    /// A matrix that must be positive definite is not.
    #[error("{what}: the matrix is not positive definite")]
    NotPositiveDefinite {
        /// The operation.
        what: &'static str,
    },
    /// An iteration that did not converge.
    #[error("{what} did not converge")]
    NoConvergence {
        /// The operation.
        what: &'static str,
    },
}
