//! The square loss of a stack and its exact gradient, derived by hand.
//!
//! What belongs here: the inner loop of every gradient-based solver. Nothing here allocates after it was built, and the
//! number of threads changes no bit of a result.
//!
//! | file | what |
//! |---|---|
//! | engine.rs | [`Engine`]: splits the samples of a step into blocks, runs them on all cores, adds up in a fixed order |
//! | parameter_layout.rs | in which order a layer's parameters lie in memory while it is trained |
//! | per_sample.rs | forward and backward pass, sample by sample; the loss gradient of every depth |
//! | per_operator.rs | the same through a large layer, operator by operator |
//! | per_lane.rs | the same for small matrices, sixteen samples at once, one per SIMD lane |
//! | per_choi.rs | the same for one small layer of a high rank, or many samples: through its Choi matrix |
//! | full_batch.rs | loss and gradient over all samples, for L-BFGS and block coordinate descent |

pub mod engine;
pub(crate) mod full_batch;
mod parameter_layout;
mod per_choi;
mod per_lane;
mod per_operator;
mod per_sample;

pub use engine::{Engine, loss_and_gradient};
