//! Refusals: what was wrong, where, and what to do next.

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a baseline would not run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Arrays that do not fit together.
    #[error("{what}: expected {expected}, got {got:?}; check the order of the axes (samples come first)")]
    Shape {
        /// The argument.
        what: &'static str,
        /// The shape that would fit, in words.
        expected: String,
        /// The shape given.
        got: Vec<usize>,
    },
    /// Nothing to learn from.
    #[error("{what} is empty; give at least one sample with at least one entry")]
    Empty {
        /// The argument.
        what: &'static str,
    },
    /// NaN or infinity in the data.
    #[error("{what}: sample {sample} contains NaN or infinity; drop or repair it first")]
    NotFinite {
        /// The argument.
        what: &'static str,
        /// Index along the first axis.
        sample: usize,
    },
    /// A parameter outside its range.
    #[error("parameter `{name}`: {why}")]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// What it must be and what it was.
        why: String,
    },
    /// A decomposition failed.
    #[error(transparent)]
    Linalg(#[from] linalg::Error),
    /// linfa-svm refused its parameters.
    #[error("the support vector machine failed: {0}; check C and the stopping tolerance")]
    Svm(#[from] linfa_svm::SvmError),
}

impl Error {
    pub(crate) fn parameter(name: &'static str, why: impl Into<String>) -> Self {
        Error::Parameter { name, why: why.into() }
    }
}
