//! The paper's figures on plain inputs: numbers in, [`Figure`](crate::charts::figure::Figure) out. No knowledge of stages or files.

mod curves;
mod dag;
mod geometry;
mod matrices;
mod partial_trace;
mod speed;

pub use curves::{bound, error_against_rank, missing_level};
pub use dag::{DagNode, dag, seconds};
pub use geometry::{Cloud, embedding, plan};
pub use matrices::completion;
pub use partial_trace::partial_trace;
pub use speed::{Machine, Timings, read_timings, speed};
