//! The paper's protocol of completion, shared by the stages that complete: minibatches of blocks by Adam, or the exact solver.
//!
//! Adam runs 50 epochs of batches of 4 blocks at rate 1e-3 from a Glorot start, on at most 3500 blocks, as the released
//! scripts do. One map is a masked factorisation, and rows that nobody saw stay where they started whatever the solver: there
//! `exact` gives what Adam gives, at the cost of a factorisation.

use crate::shared::defaults::rate;
use anyhow::Result;
use kraus::completion::{Completion, CompletionParams, Partial, complete, complete_with};
use kraus::{AdamParams, Gamma, LbfgsParams, Stopping};
use ndarray::{Array2, s};
use pipeline::ParamError;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Which solver.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// The paper's protocol.
    #[default]
    Adam,
    /// To the optimum, by L-BFGS.
    Exact,
}

/// The model and how it is trained.
#[derive(Clone, Copy)]
pub struct Protocol {
    pub p: usize,
    pub q: usize,
    pub rank: usize,
    pub depth: usize,
    /// Size between the layers of depth 2; 0 means half-way between p and q.
    pub hidden: usize,
    /// Gamma's clamp; none when absent.
    pub gamma: Option<f64>,
    pub rescale: bool,
    pub solver: How,
    pub epochs: usize,
    pub batch: usize,
    pub rate: f64,
    /// Training blocks at most.
    pub blocks: usize,
}

/// Numbers of the released scripts.
pub const EPOCHS: usize = 50;
pub const BATCH: usize = 4;
pub const BLOCKS: usize = 3500;

impl Protocol {
    /// The released protocol for one map.
    pub fn new(p: usize, q: usize, rank: usize) -> Self {
        let (epochs, batch, rate, blocks) = (EPOCHS, BATCH, rate(), BLOCKS);
        let (depth, hidden, gamma, rescale, solver) = (1, 0, None, false, How::Adam);
        Protocol { p, q, rank, depth, hidden, gamma, rescale, solver, epochs, batch, rate, blocks }
    }

    /// With so many layers, that size between them (0: half-way) and that clamp of Gamma.
    pub fn layers(self, depth: usize, hidden: usize, gamma: Option<f64>) -> Self {
        Protocol { depth, hidden, gamma, ..self }
    }

    /// Trained so.
    pub fn trained(self, solver: How, epochs: usize, batch: usize, rate: f64) -> Self {
        Protocol { solver, epochs, batch, rate, ..self }
    }

    /// Predicted blocks mapped to the range of what is observed of them, or not.
    pub fn rescaled(self, rescale: bool) -> Self {
        Protocol { rescale, ..self }
    }

    /// Refuses what cannot be trained, naming the parameter.
    pub fn check(&self) -> Result<(), ParamError> {
        let counts = [("rank", self.rank), ("depth", self.depth), ("epochs", self.epochs), ("batch", self.batch)];
        if let Some((name, _)) = counts.into_iter().chain([("blocks_at_most", self.blocks)]).find(|(_, n)| *n == 0) {
            return Err(ParamError::new(name, "must be at least 1"));
        }
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

    /// Completes; the observed entries of `partial` stay as they are.
    pub fn complete(&self, partial: &Partial, seed: u64) -> Result<Completion> {
        let model = self.model(seed);
        let stopping = Stopping::after(self.epochs);
        if self.solver == How::Exact {
            // An L-BFGS iteration sees all blocks, so the epochs bound it; what is missing hardly moves after a few of them.
            let stopping = Stopping { tolerance: 1e-7, ..stopping };
            return Ok(complete(partial, &model, &LbfgsParams { stopping, ..LbfgsParams::default() })?);
        }
        let adam =
            AdamParams { stopping, batch: self.batch, rate: self.rate, seed, ..AdamParams::default() }.check()?;
        let mut done = complete_with::<f32>(&self.thinned(partial, seed)?, &model, &adam)?;
        done.matrix = partial.filled(done.prediction.view());
        Ok(done)
    }

    /// `partial` with at most as many observed blocks as the protocol trains on, drawn by seed.
    fn thinned(&self, partial: &Partial, seed: u64) -> Result<Partial> {
        let (p, q, mask) = (self.p, self.q, partial.mask());
        let at = |i: usize, j: usize| s![i * q..(i + 1) * q, j * q..(j + 1) * q];
        let below = (0..p).flat_map(|i| (0..=i).map(move |j| (i, j)));
        let mut seen: Vec<(usize, usize)> =
            below.filter(|&(i, j)| mask.slice(at(i, j)).iter().any(|m| *m == 1.0)).collect();
        seen.shuffle(&mut ChaCha8Rng::seed_from_u64(seed ^ 0xb10c));
        let mut hidden = Array2::<f64>::zeros(mask.dim());
        let mut count = 0;
        for (i, j) in seen {
            count += if i == j { 1 } else { 2 };
            if count > self.blocks {
                hidden.slice_mut(at(i, j)).fill(1.0);
            }
        }
        Ok(if count > self.blocks { partial.without(hidden.view())? } else { partial.clone() })
    }
}

/// The sizes in a name like `20x10`: p blocks of q rows.
pub fn grid(blocks: &str) -> Option<(usize, usize)> {
    let (p, q) = blocks.split_once('x')?;
    let (p, q) = (p.parse().ok()?, q.parse().ok()?);
    (p > 0 && q > 0).then_some((p, q))
}
