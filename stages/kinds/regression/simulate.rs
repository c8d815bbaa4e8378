//! Kind `simulate`: a regression task of the paper. It writes the true map and a recipe, not the samples: each sample follows
//! from the recipe and its number, so ten thousand 100 x 100 matrices cost no disk and a unit makes only those it needs.

use crate::shared::files::{write_json, write_npy};
use crate::shared::params::sizes;
use kraus::simulate::Recipe;
use pipeline::{Context, ParamError, Stage, StageResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind.
pub struct Simulate;

/// Its parameters.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// `20x10`: inputs 20 x 20, outputs 10 x 10.
    map: String,
    /// Kraus rank of the true map.
    true_rank: usize,
    /// Standard deviation of the symmetric noise on Y; the released generator has none.
    #[serde(default)]
    noise: f64,
    /// Number of the dataset: another one, another map and other samples.
    #[serde(default)]
    dataset: u64,
    /// Seed of all datasets.
    #[serde(default)]
    seed: u64,
}

impl Stage for Simulate {
    const NAME: &'static str = "simulate";
    const ABOUT: &'static str = "a simulated regression task: the true map and the recipe of its samples";
    type Params = Params;

    fn check(&self, p: &Params) -> Result<(), ParamError> {
        if sizes(&p.map).is_none() {
            return Err(ParamError::new("map", format!("`{}` is not a map like 20x10", p.map)));
        }
        if p.true_rank == 0 {
            return Err(ParamError::new("true_rank", "a Kraus map has at least one operator"));
        }
        if !(p.noise >= 0.0 && p.noise.is_finite()) {
            return Err(ParamError::new("noise", "a standard deviation is not negative"));
        }
        Ok(())
    }

    fn run(&self, params: &Params, ctx: &Context) -> StageResult {
        let (p, q) = sizes(&params.map).ok_or("checked before")?;
        // One seed per (map, rank, dataset), the same for every noise level: noise is then the only difference.
        let name = format!("{}/{}/{}/{}", params.map, params.true_rank, params.dataset, params.seed);
        let [a, b, c, d, e, f, g, h, ..] = *blake3::hash(name.as_bytes()).as_bytes();
        let seed = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        let recipe = Recipe { p, q, rank: params.true_rank, noise: params.noise, seed };
        write_npy(&ctx.output("truth.npy")?, &recipe.truth())?;
        write_json(&ctx.output("task.json")?, &recipe)?;
        Ok(())
    }
}
