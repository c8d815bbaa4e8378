//! Kind `kernels`: the six kernel matrices of Multiple Features, and their plain average.

use crate::shared::files::{input_with, read_npy, write_json, write_npy};
use crate::shared::source::SOURCE;
use multiview::{KernelPreset, VIEWS, multiple_features_kernels};
use ndarray::{Array2, Axis, stack};
use pipeline::{Context, Stage, StageResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind.
pub struct Kernels;

/// Which recipe.
#[derive(Serialize, Deserialize, Clone, Copy, Default, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Preset {
    /// As in the released kernels.
    #[default]
    Published,
    /// As the paper's text says: chi^2 on every integer view.
    PaperText,
}

/// Its parameters.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    #[serde(default)]
    preset: Preset,
}

impl Stage for Kernels {
    const NAME: &'static str = "kernels";
    const ABOUT: &'static str = "the six kernel matrices of Multiple Features";
    type Params = Params;

    fn run(&self, p: &Params, ctx: &Context) -> StageResult {
        let digits = input_with(ctx, SOURCE)?;
        let mut views: Vec<(&str, Array2<f64>)> = Vec::new();
        for name in VIEWS {
            views.push((name, read_npy(digits.path(&format!("{name}.npy"))?)?));
        }
        let preset = match p.preset {
            Preset::Published => KernelPreset::Published,
            Preset::PaperText => KernelPreset::PaperText,
        };
        let given: Vec<_> = views.iter().map(|(name, x)| (*name, x.view())).collect();
        let kernels = multiple_features_kernels(&given, preset)?;
        let all = stack(Axis(0), &kernels.iter().map(Array2::view).collect::<Vec<_>>())?;
        write_npy(&ctx.output("kernels.npy")?, &all)?;
        write_npy(&ctx.output("average.npy")?, &(all.sum_axis(Axis(0)) / VIEWS.len() as f64))?;
        write_json(&ctx.output("about.json")?, &serde_json::json!({ "method": "full" }))?;
        Ok(())
    }
}
