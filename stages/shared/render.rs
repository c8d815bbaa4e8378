//! A figure or table of the paper as artefacts: what every `*-figures` kind writes.
//!
//! A figure becomes ID.svg, ID.png and ID.json (its [`Card`]); a table ID.md, ID.csv, ID.tex, ID.html and ID.json.
//! `publish: figures` in pipeline.yaml puts them into figures/.

use crate::shared::files::write_json;
use anyhow::Result;
use pipeline::Context;
use report::{Card, Figure, Table};

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
