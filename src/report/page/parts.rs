//! The second half of the report page: differences, data, stages, provenance, raw results.

use crate::error::Error;
use crate::frames::results::{Cell, Results};
use crate::page::card::Card;
use crate::page::escape::xml;
use crate::page::{Download, MAX_RAW_ROWS, ReportPage, download, heading, image, region, size_class};

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
            raw_section(out, raw);
        }
        Ok(())
    }
}

fn grid<const N: usize>(out: &mut String, caption: &str, heads: [&str; N], rows: impl Iterator<Item = [String; N]>) {
    region(out, caption);
    out.push_str(&format!("<table>\n<caption>{}</caption>\n<thead><tr>", xml(caption)));
    for h in heads {
        out.push_str(&format!("<th scope=\"col\">{}</th>", xml(h)));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for r in rows {
        out.push_str("<tr>");
        for (i, c) in r.iter().enumerate() {
            out.push_str(&if i == 0 {
                format!("<th scope=\"row\">{}</th>", xml(c))
            } else {
                format!("<td>{}</td>", xml(c))
            });
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n</div>\n");
}

/// A number as short as a reader wants it; the download has all digits.
fn brief(c: &Cell) -> String {
    match c {
        Cell::Float(f) if f.is_finite() => {
            let (a, b) = (format!("{f}"), format!("{f:.4e}"));
            if a.len() <= 8 {
                a
            } else if (1e-3..1e5).contains(&f.abs()) {
                format!("{f:.5}")
            } else {
                b
            }
        }
        c => c.text(),
    }
}

fn raw_section(out: &mut String, raw: &Results) {
    heading(out, "raw", "Raw results");
    let all = Download { name: "results.csv".into(), text: raw.to_csv() };
    let shown = raw.len().min(MAX_RAW_ROWS);
    let part = if shown < raw.len() {
        format!("The first {shown} of {} rows are shown; the file has all. ", raw.len())
    } else {
        String::new()
    };
    out.push_str(&format!("<p class=\"meta\">One row per fit. {part}{}</p>\n", download(&all)));
    out.push_str(
        "<div class=\"filter\"><label for=\"filter\">Filter rows</label> <input id=\"filter\" type=\"search\" autocomplete=\"off\" aria-describedby=\"filter-help\"/> <span id=\"filter-count\" role=\"status\"></span></div>\n<p class=\"meta filter\" id=\"filter-help\">Words that must occur, or column=value.</p>\n",
    );
    out.push_str("<div class=\"scroll raw\" role=\"region\" tabindex=\"0\" aria-label=\"Raw results\">\n<table id=\"raw-rows\">\n<caption>Raw results</caption>\n<thead><tr>");
    let columns = raw.columns();
    let numeric: Vec<bool> =
        columns.iter().map(|c| c.1.iter().all(|v| *v == Cell::Null || v.number().is_some())).collect();
    for (i, c) in columns.iter().enumerate() {
        let class = if numeric[i] { " class=\"n\"" } else { "" };
        out.push_str(&format!("<th scope=\"col\"{class}>{}</th>", xml(&c.0)));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for i in 0..shown {
        out.push_str("<tr>");
        for (k, c) in columns.iter().enumerate() {
            let class = if numeric[k] { " class=\"n\"" } else { "" };
            out.push_str(&format!("<td{class}>{}</td>", xml(&brief(&c.1[i]))));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n</div>\n");
}
