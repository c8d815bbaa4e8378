//! The paper's protocol of completion, shared by the stages that complete: minibatches of blocks by Adam, or the exact solver.
//!
//! Adam runs 50 epochs of batches of 4 blocks at rate 1e-3 from a Glorot start, on at most 3500 blocks, as the released
//! scripts do. One map is a masked factorisation: rows without any observed entry stay at their start, whichever solver
//! is used. There `exact` gives what Adam gives, at the cost of a factorisation.

use crate::shared::device;
use crate::shared::params::{SolverChoice, at_least_one};
use anyhow::Result;
use estimator::Mask;
use kraus::backend::Trial;
use kraus::completion::{Completion, CompletionParams, Partial, complete, complete_by};
use kraus::{AdamParams, Gamma, LbfgsParams, Stopping};
use ndarray::{Array2, s};
use pipeline::{Context, Environment, ParamError};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;

/// Epochs of the released scripts.
pub const EPOCHS: usize = 50;
/// Blocks in a batch of the released scripts.
pub const BATCH: usize = 4;
/// Blocks that the released scripts train on at most.
pub const BLOCKS: usize = 3500;

/// The model and how it is trained.
#[derive(Clone, Copy)]
pub struct Protocol {
    /// Blocks per side.
    pub p: usize,
    /// Rows of a block.
    pub q: usize,
    /// Kraus rank of each layer.
    pub rank: usize,
    /// Number of layers.
    pub depth: usize,
    /// Size between the layers of depth 2; 0 means half-way between p and q.
    pub hidden: usize,
    /// Gamma's clamp; none when absent.
    pub gamma: Option<f64>,
    /// Whether predicted blocks are mapped to the range of the observed entries, as the released code does.
    pub rescale: bool,
    /// Adam or the exact solver.
    pub solver: SolverChoice,
    /// Adam: epochs. Exact: iterations at most.
    pub epochs: usize,
    /// Adam: blocks in a batch.
    pub batch: usize,
    /// Adam: learning rate.
    pub rate: f64,
    /// Training blocks at most.
    pub blocks: usize,
}

/// Declares the parameters of a kind that completes: its own fields, then those of [`Protocol`], with one set of names and
/// defaults. Serde's `flatten` would do the same and lose the name of the field that a message is about.
macro_rules! completion_params {
    ($(#[$attribute:meta])* pub struct Params { $($own:tt)* }) => {
        $(#[$attribute])*
        #[derive(Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct Params {
            $($own)*
            /// Size between two layers; 0 means half-way between p and q.
            #[serde(default)]
            hidden: usize,
            /// Gamma's clamp between two layers; none when absent.
            #[serde(default)]
            gamma: Option<f64>,
            /// Map predicted blocks to the range of the observed entries, as the released code does.
            #[serde(default)]
            rescale: bool,
            /// Adam or the exact solver.
            #[serde(default)]
            solver: $crate::shared::params::SolverChoice,
            /// Adam: epochs. Exact: iterations at most.
            #[serde(default = "crate::shared::params::number::<{ crate::shared::protocol::EPOCHS }>")]
            epochs: usize,
            /// Adam: blocks in a batch.
            #[serde(default = "crate::shared::params::number::<{ crate::shared::protocol::BATCH }>")]
            batch: usize,
            /// Adam: learning rate.
            #[serde(default = "crate::shared::params::ratio::<1, 1000>")]
            learning_rate: f64,
        }

        impl Params {
            /// The protocol on p x p blocks of q x q, with at most `blocks` training blocks.
            fn protocol_on(&self, p: usize, q: usize, blocks: usize) -> $crate::shared::protocol::Protocol {
                let Params { rank, depth, hidden, gamma, rescale, solver, epochs, batch, learning_rate: rate, .. } = *self;
                $crate::shared::protocol::Protocol {
                    p, q, rank, depth, hidden, gamma, rescale, solver, epochs, batch, rate, blocks,
                }
            }
        }
    };
}
pub(crate) use completion_params;

impl Protocol {
    /// Refuses what cannot be trained, naming the parameter.
    pub fn check(&self) -> Result<(), ParamError> {
        at_least_one([
            ("rank", self.rank),
            ("depth", self.depth),
            ("epochs", self.epochs),
            ("batch", self.batch),
            ("blocks_at_most", self.blocks),
        ])?;
        if !(self.rate > 0.0 && self.rate.is_finite()) {
            return Err(ParamError::new("learning_rate", "is a positive number"));
        }
        match self.gamma {
            Some(eps) if !(eps >= 0.0 && eps.is_finite()) => Err(ParamError::new("gamma", "is a clamp of at least 0")),
            _ => Ok(()),
        }
    }

    fn model(&self, seed: u64) -> CompletionParams {
        let gamma = self.gamma.map_or(Gamma::None, Gamma::Clamp);
        let mut model = CompletionParams::deep(self.p, self.q, self.rank, self.depth, gamma);
        if self.hidden > 0 {
            model.hidden.fill(self.hidden);
        }
        CompletionParams { seed, rescale: self.rescale, ..model }
    }

    /// Sizes from the input to the output, like 20-15-10.
    pub fn sizes(&self) -> String {
        let dims = self.model(0).architecture().dims;
        dims.iter().map(usize::to_string).collect::<Vec<_>>().join("-")
    }

    /// What the result depends on beside parameters and inputs: the backend, where Adam trains.
    pub fn externals(&self, env: &Environment) -> BTreeMap<String, String> {
        if self.solver == SolverChoice::Adam { device::externals(env) } else { BTreeMap::new() }
    }

    /// Completes; the observed entries of `partial` stay as they are. Adam trains on the backend of this run.
    pub fn complete(&self, ctx: &Context, partial: &Partial, seed: u64) -> Result<Completion> {
        let model = self.model(seed);
        let stopping = Stopping::after(self.epochs);
        if self.solver == SolverChoice::Exact {
            // An L-BFGS iteration sees all blocks, as an epoch does, so the epochs bound the iterations. The missing entries hardly
            // change after a few of them.
            let stopping = Stopping { tolerance: 1e-7, ..stopping };
            return Ok(complete(partial, &model, &LbfgsParams { stopping, ..LbfgsParams::default() })?);
        }
        let adam =
            AdamParams { stopping, batch: self.batch, rate: self.rate, seed, ..AdamParams::default() }.check()?;
        let mut done = complete_by::<f32, anyhow::Error>(&self.thinned(partial, seed)?, &model, |problem, start| {
            device::train_one(ctx, problem, Trial { adam, start }, |_| ())
        })?;
        done.matrix = partial.filled(done.prediction.view());
        Ok(done)
    }

    /// `partial` with at most as many observed blocks as the protocol trains on, drawn by seed.
    fn thinned(&self, partial: &Partial, seed: u64) -> Result<Partial> {
        let (p, q, mask) = (self.p, self.q, partial.mask().flags());
        let at = |i: usize, j: usize| s![i * q..(i + 1) * q, j * q..(j + 1) * q];
        let below = (0..p).flat_map(|i| (0..=i).map(move |j| (i, j)));
        let mut seen: Vec<(usize, usize)> = below.filter(|&(i, j)| mask.slice(at(i, j)).iter().any(|m| *m)).collect();
        seen.shuffle(&mut ChaCha8Rng::seed_from_u64(seed ^ 0xb10c));
        let mut hidden = Array2::from_elem(mask.dim(), false);
        let mut count = 0;
        for (i, j) in seen {
            count += if i == j { 1 } else { 2 };
            if count > self.blocks {
                hidden.slice_mut(at(i, j)).fill(true);
            }
        }
        Ok(if count > self.blocks { partial.without(&Mask::new(hidden))? } else { partial.clone() })
    }
}
