//! A figure or table of the paper as artefacts: what every `*-figures` kind writes.
//!
//! A figure becomes ID.svg, ID.png and ID.json (its [`Card`]); a table ID.md, ID.csv, ID.tex, ID.html and ID.json.
//! `publish: figures` in pipeline.yaml puts them into figures/.

use crate::shared::files::write_json;
use anyhow::Result;
use pipeline::{Context, Stage, StageResult};
use report::{Card, Figure, Table};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

/// The figures and tables of one experiment, one variant each. [`Drawn`] makes a kind of it.
pub trait Drawings: Serialize + DeserializeOwned + JsonSchema + Copy + Send + Sync + 'static {
    /// The name of the kind.
    const NAME: &'static str;
    /// One line that says what the kind does.
    const ABOUT: &'static str;

    /// Draws one of them and writes it with [`figure`] or [`table`].
    fn draw(self, ctx: &Context) -> Result<()>;
}

/// The kind that draws them; its parameter `what` says which.
pub struct Drawn<W>(pub PhantomData<W>);

/// The parameters of [`Drawn`].
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params<W> {
    /// What to draw.
    what: W,
}

impl<W: Drawings> Stage for Drawn<W> {
    const NAME: &'static str = W::NAME;
    const ABOUT: &'static str = W::ABOUT;
    type Params = Params<W>;

    fn run(&self, p: &Params<W>, ctx: &Context) -> StageResult {
        Ok(p.what.draw(ctx)?)
    }
}

/// Writes a figure.
pub fn figure(ctx: &Context, f: &Figure) -> Result<()> {
    let path = |ending: &str| ctx.output(&format!("{}.{ending}", f.id)).map_err(|e| anyhow::anyhow!("{e}"));
    fs_err::write(path("svg")?, f.svg()?)?;
    fs_err::write(path("png")?, f.png()?)?;
    write_json(&path("json")?, &Card::of_figure(f)?)
}

/// Writes a table.
pub fn table(ctx: &Context, t: &Table) -> Result<()> {
    let path = |ending: &str| ctx.output(&format!("{}.{ending}", t.id)).map_err(|e| anyhow::anyhow!("{e}"));
    for (ending, text) in [("md", t.markdown()), ("csv", t.csv()?), ("tex", t.latex()), ("html", t.html())] {
        fs_err::write(path(ending)?, text)?;
    }
    write_json(&path("json")?, &Card::of_table(t))
}
