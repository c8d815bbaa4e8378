//! The one shape of refusals: every message says what is wrong, where, and what to do next.

/// Result of fitting or predicting.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an estimator gave no model, or a model no prediction.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Arrays that do not fit together.
    #[error("{what}: expected shape {expected}, got {got:?}; samples come first")]
    Shape {
        /// The argument.
        what: &'static str,
        /// The shape that would fit.
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
    #[error("{what}: sample {sample} contains NaN or infinite values; remove or repair it")]
    NotFinite {
        /// The argument.
        what: &'static str,
        /// Index along the first axis.
        sample: usize,
    },
    /// A parameter out of its range.
    #[error("parameter `{name}` = {value}: expected {expected}")]
    Parameter {
        /// Its name.
        name: &'static str,
        /// The value given.
        value: String,
        /// What would be accepted.
        expected: String,
    },
    /// Labels that cannot be learnt or that do not belong to the data.
    #[error("labels: {why}")]
    Labels {
        /// What is wrong, and what to do.
        why: String,
    },
    /// A mask with values other than 0 and 1.
    #[error("mask: {why}")]
    Mask {
        /// What is wrong, and what to do.
        why: String,
    },
    /// A refusal in the words of the crate that made it.
    #[error("{method}: {source}")]
    Method {
        /// The estimator.
        method: &'static str,
        /// The reason.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A refusal of linfa.
    #[error(transparent)]
    Linfa(#[from] linfa::Error),
}

impl Error {
    /// A refusal in the words of the crate that made it.
    pub fn method(method: &'static str, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Method { method, source: source.into() }
    }

    /// A parameter out of its range.
    pub fn parameter(name: &'static str, value: impl std::fmt::Display, expected: impl Into<String>) -> Self {
        Self::Parameter { name, value: value.to_string(), expected: expected.into() }
    }
}
