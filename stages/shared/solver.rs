//! The parameter `solver` of the kinds that train.

use serde::{Deserialize, Serialize};

/// How a model is trained.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "lowercase")]
pub enum SolverChoice {
    /// Adam on minibatches: the paper's protocol.
    #[default]
    Adam,
    /// L-BFGS or a closed form on all samples, to the optimum of the model.
    Exact,
}
