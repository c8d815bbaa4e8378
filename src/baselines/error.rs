//! Errors of this crate: what was wrong, where, and what to do next.

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a baseline did not run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Data that do not fit together, are empty or are not finite. All estimators share this error type.
    #[error(transparent)]
    Input(#[from] estimator::Error),
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
