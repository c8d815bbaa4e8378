//! Figures that differ, side by side on one page.

use super::side::Side;
use crate::cli::console::message;
use crate::cli::own::output::write;
use anyhow::Result;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;

/// Escapes text for HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Writes `index.html`, which shows the figures of both sides. Each row: file name, whether the old side has it, whether the new side has it.
fn write_page(rows: &[(String, bool, bool)], a: &str, b: &str, folder: &Path) -> Result<()> {
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{a} and {b}</title>\n<style>body{{font-family:sans-serif}}td{{width:50%;vertical-align:top}}img{{width:100%}}</style>\n<h1>Figures that differ</h1>\n<table><tr><th>{a}</th><th>{b}</th></tr>\n",
        a = escaped(a),
        b = escaped(b)
    );
    for (name, old, new) in rows {
        let name = escaped(name);
        let cell = |side: &str, there: bool| match there {
            true => format!("<td><img src=\"{side}/{name}\" alt=\"{name}, {side}\"></td>"),
            false => "<td>(not here)</td>".to_string(),
        };
        page += &format!("<tr><th colspan=\"2\">{name}</th></tr>\n<tr>{}{}</tr>\n", cell("a", *old), cell("b", *new));
    }
    page += "</table></html>\n";
    write(&folder.join("index.html"), |out| Ok(out.write_all(page.as_bytes())?))
}

/// Writes the figures that differ into the subfolders `a` and `b`, and returns the rows of the page.
fn write_figures(a: &Side<'_>, b: &Side<'_>, folder: &Path) -> Result<Vec<(String, bool, bool)>> {
    let mut rows = Vec::new();
    for (stage, units) in &b.lock.stages {
        for (label, now) in units {
            if a.lock.stages.get(stage).and_then(|units| units.get(label)).is_some_and(|then| then.same_result(now)) {
                continue;
            }
            let names: BTreeSet<String> = a.names(stage, label).into_iter().chain(b.names(stage, label)).collect();
            for name in names.iter().filter(|name| name.ends_with(".svg")) {
                let (then, now) = (a.bytes(stage, label, name), b.bytes(stage, label, name));
                if then == now {
                    continue;
                }
                let put = |side: &str, bytes: Option<Vec<u8>>| -> Result<bool> {
                    let Some(bytes) = bytes else { return Ok(false) };
                    fs_err::create_dir_all(folder.join(side))?;
                    write(&folder.join(side).join(name), |out| Ok(out.write_all(&bytes)?))?;
                    Ok(true)
                };
                let (old, new) = (put("a", then)?, put("b", now)?);
                rows.push((name.clone(), old, new));
            }
        }
    }
    Ok(rows)
}

/// Writes the figures and the page, and prints where the page is.
pub fn write_all(a: &Side<'_>, b: &Side<'_>, folder: &Path) -> Result<()> {
    fs_err::create_dir_all(folder)?;
    let rows = write_figures(a, b, folder)?;
    write_page(&rows, &a.name, &b.name, folder)?;
    message!(
        "wrote {} ({} that differ)",
        folder.join("index.html").display(),
        crate::cli::text::count(rows.len(), "figure")
    );
    Ok(())
}
