//! The steps of an epoch, as one CUDA graph where they are many and small.
//!
//! The permutation and the rates are uploaded to the same places before each epoch, so every epoch queues exactly the same
//! work: it is recorded once and replayed, which costs one launch instead of six or more per step. The first epoch is not
//! recorded, because the driver and cuBLAS load their code at its first use, which a recording does not permit.

use super::device::{Device, Fault, failed};
use super::shape::Shape;
use cudarc::driver::CudaGraph;

/// A step with more multiply-adds than this (some 10 microseconds of work) is not slowed down by its launches.
const SMALL: usize = 1 << 27;
/// The most steps in a graph, because the driver keeps every launch of it in memory.
const MOST: usize = 10_000;

/// How the steps of an epoch are queued.
pub(super) enum Epoch {
    /// One by one.
    Plain,
    /// To be recorded.
    Wanted,
    /// Recorded.
    Recorded(CudaGraph),
}

impl Epoch {
    pub fn new(shape: &Shape, steps: usize, epochs: usize) -> Self {
        let worth = shape.cost() < SMALL && (2..=MOST).contains(&steps) && epochs > 2;
        if worth { Self::Wanted } else { Self::Plain }
    }

    /// Queues the steps of an epoch (from 0).
    pub fn run(
        &mut self,
        device: &Device,
        epoch: usize,
        mut steps: impl FnMut() -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        if epoch > 0 && matches!(self, Self::Wanted) {
            *self = device.record(&mut steps).map_or(Self::Plain, Self::Recorded);
        }
        match self {
            Self::Recorded(graph) => graph.launch().map_err(failed("launch an epoch")),
            _ => steps(),
        }
    }
}
