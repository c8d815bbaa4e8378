//! What the crate refuses, in one sentence each: what is wrong, where, and what to do next.

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A refusal.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two shapes that must agree do not.
    #[error("{what}: expected shape {expected:?}, got {got:?}")]
    Shape {
        /// The argument.
        what: &'static str,
        /// The shape that fits.
        expected: Vec<usize>,
        /// The shape that came.
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
        /// Which matrix, row or entry.
        index: usize,
    },
    /// A matrix that must be symmetric is not.
    #[error("{what}: the matrix is not symmetric; pass (A + A^T) / 2 if that is what you mean")]
    NotSymmetric {
        /// The argument.
        what: &'static str,
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
    /// A negative feature where histograms are needed.
    #[error("chi^2 needs features that are not negative; row {row}, column {column} is {value}")]
    NegativeFeature {
        /// Row of the entry.
        row: usize,
        /// Column of the entry.
        column: usize,
        /// The entry.
        value: f64,
    },
    /// A mask that cannot exist.
    #[error(
        "mask: {missing} of {pairs} (sample, view) pairs cannot be missing when every sample and every view must keep one; lower the level"
    )]
    MaskLevel {
        /// Pairs to remove.
        missing: usize,
        /// Pairs in all.
        pairs: usize,
        /// Pairs that can be missing.
        most: usize,
    },
    /// A view of Multiple Features that is not there.
    #[error("view `{name}` is missing; expected fou, fac, kar, pix, zer and mor")]
    MissingView {
        /// Its name.
        name: &'static str,
    },
    /// A spread of zero: every sample equal.
    #[error("{what}: all distances are zero, so no bandwidth can be derived; give one")]
    NoSpread {
        /// The operation.
        what: &'static str,
    },
    /// From the linear algebra underneath.
    #[error(transparent)]
    Linalg(#[from] linalg::Error),
}
