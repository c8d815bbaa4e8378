//! One-layer tensor networks: few parameters theta make the many weights W of a linear layer.
//!
//! | file | what it holds |
//! |---|---|
//! | `format` | the interface between a weight format and its training |
//! | `training` | parameters of the training, and what both optimisers share |
//! | `minibatch` | Adam |
//! | `lanes` | the layers that Adam trains, sixteen samples at once |
//! | `whole_sample` | L-BFGS on the whole sample instead of minibatches |
//! | `tensor_train`, `tucker` | the two formats of the paper |
//! | `symmetric_input` | any format, for symmetric inputs at half the cost |
//! | `scratch` | arrays reused from step to step |

mod format;
mod lanes;
mod minibatch;
mod scratch;
mod symmetric_input;
pub mod tensor_train;
#[cfg(test)]
mod tests;
pub mod training;
pub mod tucker;
mod whole_sample;
