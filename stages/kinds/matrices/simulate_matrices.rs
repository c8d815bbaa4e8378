//! Kind `simulate-matrices`: a random positive semidefinite matrix of p x p blocks of q x q and which of its entries are missing.
//!
//! The matrix is the Choi matrix of a random Kraus map by the released generator, of full rank unless said otherwise. That
//! generator marks missing entries by zero and therefore shifts a matrix with negative entries by -2 min(M); here the mask is
//! an array of its own, and the shift is an option to compare with the paper's scale.

use crate::shared::files::write_npy;
use crate::shared::params::{number, ratio};
use estimator::Mask;
use kraus::KrausMap;
use kraus::simulate::Recipe;
use ndarray::{Array2, Ix2, s};
use pipeline::{Context, ParamError, Stage, StageResult};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind.
pub struct SimulateMatrices;

/// What is missing; always symmetric.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Pattern {
    /// A share of all blocks.
    Blocks,
    /// A share of the off-diagonal blocks.
    OffDiagonal,
    /// The diagonal blocks, all of them.
    Diagonal,
    /// A share of the entries.
    Entries,
}

/// Its parameters.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Number of the matrix: another one, another map.
    matrix: u64,
    /// Number of the mask.
    #[serde(default)]
    mask: u64,
    pattern: Pattern,
    /// Share of blocks or entries that is missing; `diagonal` ignores it.
    #[serde(default = "ratio::<3, 10>")]
    level: f64,
    /// Shift a matrix with negative entries as the released generator does.
    #[serde(default)]
    shifted: bool,
    /// Blocks per side.
    #[serde(default = "number::<7>")]
    p: usize,
    /// Rows of a block.
    #[serde(default = "number::<4>")]
    q: usize,
    /// Kraus rank of the map, which is the rank of the matrix; 0 means full.
    #[serde(default)]
    true_rank: usize,
}

impl Stage for SimulateMatrices {
    const NAME: &'static str = "simulate-matrices";
    const ABOUT: &'static str = "a random positive semidefinite block matrix and a mask of its missing entries";
    type Params = Params;

    fn check(&self, p: &Params) -> Result<(), ParamError> {
        if !(p.level > 0.0 && p.level < 1.0) {
            return Err(ParamError::new("level", "lies strictly between 0 and 1"));
        }
        if p.p < 2 || p.q == 0 {
            return Err(ParamError::new("p", "at least two blocks of at least one row are needed"));
        }
        Ok(())
    }

    fn run(&self, params: &Params, ctx: &Context) -> StageResult {
        let (p, q) = (params.p, params.q);
        let rank = if params.true_rank == 0 { p * q } else { params.true_rank };
        // The same matrix for every mask, pattern and shift; the same mask with and without the shift.
        let recipe = Recipe { p, q, rank, noise: 0.0, seed: seed(&format!("{p}/{q}/{rank}/{}", params.matrix)) };
        let mut truth = KrausMap::new(recipe.truth())?.choi().matrix().to_owned();
        let least = truth.iter().copied().fold(0.0, f64::min);
        if params.shifted {
            truth -= 2.0 * least;
        }
        write_npy(&ctx.output("truth.npy")?, &truth)?;
        write_npy(&ctx.output("mask.npy")?, &mask(params).zeros_and_ones::<f64>())?;
        Ok(())
    }
}

fn seed(name: &str) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *blake3::hash(name.as_bytes()).as_bytes();
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

/// Which entries are observed.
fn mask(params: &Params) -> Mask<Ix2> {
    let (pattern, n) = (params.pattern, params.p * params.q);
    let side = if pattern == Pattern::Entries { 1 } else { params.q };
    let count = n / side;
    let fits = |&(i, j): &(usize, usize)| match pattern {
        Pattern::Blocks | Pattern::Entries => true,
        Pattern::OffDiagonal => i != j,
        Pattern::Diagonal => i == j,
    };
    let mut pairs: Vec<(usize, usize)> = (0..count).flat_map(|i| (0..=i).map(move |j| (i, j))).filter(fits).collect();
    pairs.shuffle(&mut ChaCha8Rng::seed_from_u64(seed(&format!("mask/{}/{}", params.matrix, params.mask))));
    let level = if pattern == Pattern::Diagonal { 1.0 } else { params.level };
    let missing = ((level * pairs.len() as f64).round() as usize).clamp(1, pairs.len());
    let mut mask = Array2::from_elem((n, n), true);
    for &(i, j) in &pairs[..missing] {
        for (a, b) in [(i, j), (j, i)] {
            mask.slice_mut(s![a * side..(a + 1) * side, b * side..(b + 1) * side]).fill(false);
        }
    }
    Mask::new(mask)
}
