//! What the crate refuses, in one sentence each: what is wrong, where, and what to do next.

pub use linalg::InputError;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A refusal.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument that is refused: its shape, its size, its numbers or its range.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A matrix that must be symmetric is not.
    #[error("{what}: the matrix is not symmetric; pass (A + A^T) / 2 if that is what you mean")]
    NotSymmetric {
        /// The argument.
        what: &'static str,
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
