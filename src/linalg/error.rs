//! The errors of this crate, and the refusals that all crates above make in the same words ([`InputError`]).

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
    /// A matrix that faer's products cannot take.
    #[error("{what}: a matrix of {rows} x {cols} is too large; {limit} rows or columns are the limit")]
    TooLarge {
        /// The operation.
        what: &'static str,
        /// Rows given.
        rows: usize,
        /// Columns given.
        cols: usize,
        /// The longest shorter side.
        limit: usize,
    },
    /// An iteration that did not converge.
    #[error("{what} did not converge")]
    NoConvergence {
        /// The operation.
        what: &'static str,
    },
}

/// A refusal of an argument: what is wrong, where, and what to do next.
///
/// The error types of the crates above hold it as their variant `Input`, so that each of these sentences stands in one place.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// Two shapes that must agree do not.
    #[error("{what}: expected shape {expected:?}, got {got:?}")]
    Shape {
        /// The argument.
        what: &'static str,
        /// The shape that fits.
        expected: Vec<usize>,
        /// The shape given.
        got: Vec<usize>,
    },
    /// Nothing to work on.
    #[error("{what}: the input is empty; give at least one element")]
    Empty {
        /// The argument.
        what: &'static str,
    },
    /// NaN or infinity.
    #[error("{what}: element {index} holds NaN or infinite values; remove or repair it")]
    NotFinite {
        /// The argument.
        what: &'static str,
        /// Which sample, matrix, row or entry: the index along the first axis.
        index: usize,
    },
    /// A matrix that must be symmetric is not.
    #[error("{what}: matrix {index} is not symmetric; pass (A + A^T) / 2 if that is what you mean")]
    NotSymmetric {
        /// The argument.
        what: &'static str,
        /// Which matrix.
        index: usize,
    },
    /// A parameter outside its range.
    #[error("{name} = {value} is out of range; it must be {must}")]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// The value given.
        value: f64,
        /// The range in words.
        must: &'static str,
    },
}

impl InputError {
    /// Shapes that do not agree.
    pub fn shape(what: &'static str, expected: impl Into<Vec<usize>>, got: impl Into<Vec<usize>>) -> Self {
        Self::Shape { what, expected: expected.into(), got: got.into() }
    }

    /// Nothing to work on.
    pub fn empty(what: &'static str) -> Self {
        Self::Empty { what }
    }

    /// NaN or infinity in element `index`.
    pub fn not_finite(what: &'static str, index: usize) -> Self {
        Self::NotFinite { what, index }
    }

    /// Matrix `index` is not symmetric.
    pub fn not_symmetric(what: &'static str, index: usize) -> Self {
        Self::NotSymmetric { what, index }
    }

    /// A parameter outside its range.
    pub fn parameter(name: &'static str, value: f64, must: &'static str) -> Self {
        Self::Parameter { name, value, must }
    }
}
