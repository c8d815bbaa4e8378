//! Kind `render`: a figure or table of the paper from results that other stages computed. Trains nothing.
//!
//! A figure becomes ID.svg, ID.png and ID.json (its [`Card`]); a table ID.md, ID.csv, ID.tex,
//! ID.html and ID.json. `publish: figures` in pipeline.yaml puts them into figures/.

mod bci;
mod completion;
mod matrices;
mod regression;

use crate::files::write_json;
use anyhow::Result;
use pipeline::{Context, Stage, StageResult};
use report::{Card, Figure, Table};
use serde::{Deserialize, Serialize};

/// The kind.
pub struct Render;

/// Its parameters.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// What to render.
    what: What,
    /// Axes of the inputs, for a figure of one subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subject: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    variant: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    draw: Option<u64>,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum What {
    Figure1,
    Figure2,
    Table2,
    Bound,
    Table3,
    Embedding,
    Plan,
    Figure3,
    Table4,
    Figure4,
    Figure5,
    Figure6,
    Figure7,
}

impl Stage for Render {
    const NAME: &'static str = "render";
    const ABOUT: &'static str = "a figure or table of the paper, from results of other stages";
    const SCHEMA: u32 = 1;
    type Params = Params;

    fn run(&self, p: &Params, ctx: &Context) -> StageResult {
        match p.what {
            What::Figure1 => figure(ctx, &figure1())?,
            What::Figure2 => figure(ctx, &regression::figure2(ctx)?)?,
            What::Table2 => table(ctx, &regression::table2(ctx)?)?,
            What::Bound => figure(ctx, &regression::bound(ctx)?)?,
            What::Table3 => table(ctx, &bci::table3(ctx)?)?,
            What::Embedding => figure(ctx, &bci::embedding(ctx, p.subject)?)?,
            What::Plan => figure(ctx, &bci::plan(ctx, p.subject)?)?,
            What::Figure3 => figure(ctx, &matrices::figure3(ctx)?)?,
            What::Table4 => table(ctx, &matrices::table4(ctx)?)?,
            What::Figure4 => figure(ctx, &matrices::missing_entries(ctx, "figure4", 0.35)?)?,
            What::Figure5 => figure(ctx, &matrices::missing_entries(ctx, "figure5", 0.85)?)?,
            What::Figure6 => figure(ctx, &completion::figure6(ctx)?)?,
            What::Figure7 => figure(ctx, &completion::figure7(ctx)?)?,
        }
        Ok(())
    }
}

/// The partial trace of a 12 x 12 matrix over its 3 x 3 blocks: an example small enough to check by hand.
fn figure1() -> Figure {
    let matrix = ndarray::Array2::from_shape_fn((12, 12), |(i, j)| ((i * 5 + j * 3) % 7) as f64);
    report::figures::partial_trace(&matrix, 3)
}

fn figure(ctx: &Context, f: &Figure) -> Result<()> {
    let path = |ending: &str| ctx.output(&format!("{}.{ending}", f.id)).map_err(|e| anyhow::anyhow!("{e}"));
    fs_err::write(path("svg")?, f.svg()?)?;
    fs_err::write(path("png")?, f.png()?)?;
    write_json(&path("json")?, &Card::of_figure(f)?)
}

fn table(ctx: &Context, t: &Table) -> Result<()> {
    let path = |ending: &str| ctx.output(&format!("{}.{ending}", t.id)).map_err(|e| anyhow::anyhow!("{e}"));
    for (ending, text) in [("md", t.markdown()), ("csv", t.csv()), ("tex", t.latex()), ("html", t.html())] {
        fs_err::write(path(ending)?, text)?;
    }
    write_json(&path("json")?, &Card::of_table(t))
}
