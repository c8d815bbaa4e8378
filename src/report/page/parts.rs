//! The second half of the report page: differences, data, stages, provenance, raw results.

use polars::prelude::DataFrame;

use crate::error::Error;
use crate::frames::{Results, to_csv};
use crate::page::card::Card;
use crate::page::escape::xml;
use crate::page::{Download, MAX_RAW_ROWS, ReportPage, download, heading, image, region, size_class};
use crate::tables::formats::html_table;

impl ReportPage {
    pub(crate) fn rest(&self, out: &mut String) -> Result<(), Error> {
        if !self.differences.is_empty() {
            heading(out, "differences", "What differs from the paper, and why");
            let rows =
                self.differences.iter().map(|d| [d.what.clone(), d.paper.clone(), d.here.clone(), d.why.clone()]);
            grid(out, "Differences from the paper", ["What", "Paper", "Here", "Why"], rows);
        }
        if !self.data.is_empty() {
            heading(out, "data", "Data and licences");
            let rows =
                self.data.iter().map(|d| [d.name.clone(), d.used.to_string(), d.address.clone(), d.licence.clone()]);
            grid(out, "Data sets", ["Data set", "Used here", "Origin", "Licence"], rows);
        }
        if let Some(dag) = &self.dag {
            heading(out, "stages", "Stages");
            let card = Card::of_figure(dag)?;
            out.push_str(&format!("<figure id=\"{}\" class=\"{}\">\n", xml(&dag.id), size_class(&card)));
            image(out, &card, &dag.svg()?);
            out.push_str(&format!("<figcaption>{}</figcaption>\n</figure>\n", xml(&dag.alt)));
        }
        if !self.provenance.is_empty() || !self.commands.is_empty() {
            heading(out, "provenance", "Provenance, and how to run any part again");
            if !self.provenance.is_empty() {
                grid(out, "Provenance", ["What", "Value"], self.provenance.iter().map(|(a, b)| [a.clone(), b.clone()]));
            }
            if !self.commands.is_empty() {
                out.push_str("<h3>Commands</h3>\n<ul>\n");
                for (what, command) in &self.commands {
                    out.push_str(&format!("<li>{}: <code>{}</code></li>\n", xml(what), xml(command)));
                }
                out.push_str("</ul>\n");
            }
        }
        if let Some(raw) = &self.raw {
            raw_section(out, raw)?;
        }
        Ok(())
    }
}

fn grid<const N: usize>(out: &mut String, caption: &str, heads: [&str; N], rows: impl Iterator<Item = [String; N]>) {
    region(out, caption);
    let rows = rows.map(|r| r.iter().map(|c| xml(c)).collect::<Vec<_>>());
    out.push_str(&html_table("", caption, &heads.map(|h| (h, false)), rows, true));
    out.push_str("</div>\n");
}

/// A number as short as a reader wants it; the download has all digits.
fn brief(v: f64) -> String {
    let (plain, power) = (format!("{v}"), format!("{v:.4e}"));
    match plain.len() {
        ..=8 => plain,
        _ if (1e-3..1e5).contains(&v.abs()) => format!("{v:.5}"),
        _ if v.is_finite() => power,
        _ => plain,
    }
}

/// The cells of a column as text for the page, and whether they are numbers.
fn cells(raw: &DataFrame, name: &str) -> Result<(Vec<Option<String>>, bool), Error> {
    let number = raw.column(name)?.dtype().is_primitive_numeric();
    if !raw.column(name)?.dtype().is_float() {
        return Ok((raw.texts(name)?, number));
    }
    let known = raw.column(name)?.is_not_null();
    let text = |(v, known): (f64, Option<bool>)| known.unwrap_or(false).then(|| brief(v));
    Ok((raw.numbers(name)?.into_iter().zip(known.iter()).map(text).collect(), number))
}

fn raw_section(out: &mut String, raw: &DataFrame) -> Result<(), Error> {
    heading(out, "raw", "Raw results");
    let all = Download { name: "results.csv".into(), text: to_csv(raw)? };
    let shown = raw.height().min(MAX_RAW_ROWS);
    let part = if shown < raw.height() {
        format!("The first {shown} of {} rows are shown; the file has all. ", raw.height())
    } else {
        String::new()
    };
    out.push_str(&format!("<p class=\"meta\">One row per fit. {part}{}</p>\n", download(&all)));
    out.push_str(
        "<div class=\"filter\"><label for=\"filter\">Filter rows</label> <input id=\"filter\" type=\"search\" autocomplete=\"off\" aria-describedby=\"filter-help\"/> <span id=\"filter-count\" role=\"status\"></span></div>\n<p class=\"meta filter\" id=\"filter-help\">Words that must occur, or column=value.</p>\n",
    );
    out.push_str("<div class=\"scroll raw\" role=\"region\" tabindex=\"0\" aria-label=\"Raw results\">\n");
    let top = raw.head(Some(shown));
    let (mut heads, mut columns) = (Vec::new(), Vec::new());
    for name in top.get_column_names() {
        let (texts, number) = cells(&top, name)?;
        heads.push((name.as_str(), number));
        columns.push(texts);
    }
    let row = |i: usize| columns.iter().map(|texts| xml(texts[i].as_deref().unwrap_or(""))).collect::<Vec<_>>();
    out.push_str(&html_table(" id=\"raw-rows\"", "Raw results", &heads, (0..shown).map(row), false));
    out.push_str("</div>\n");
    Ok(())
}
