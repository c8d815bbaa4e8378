//! The report page: one self-contained HTML file that opens from disk without any request.
//!
//! The caller fills [`ReportPage`] with what the stages made; [`ReportPage::html`] writes it. Figures are embedded as images with
//! text alternatives, raw data as downloads; style and the small filter script are inlined. A content policy in the page forbids
//! every network request, so "no network" is enforced by the browser, not promised.

pub mod card;
mod contents;
pub mod escape;
mod parts;

use polars::prelude::DataFrame;

use crate::charts::figure::Figure;
use crate::claims::{Judged, Verdict};
use crate::error::Error;
use crate::source::Source;
pub use contents::{DataUse, Difference, Download, PageFigure, PageTable};

use card::Card;
use escape::{base64, xml};

/// Everything the page shows.
#[derive(Clone, Debug, Default)]
pub struct ReportPage {
    /// Heading.
    pub title: String,
    /// The paper and the profile, in a sentence.
    pub lead: String,
    /// The summary's paragraphs, most important first.
    pub summary: Vec<String>,
    /// Claims with verdicts.
    pub claims: Vec<Judged>,
    /// Figures in the paper's order.
    pub figures: Vec<PageFigure>,
    /// Tables in the paper's order.
    pub tables: Vec<PageTable>,
    /// Differences.
    pub differences: Vec<Difference>,
    /// Data sets.
    pub data: Vec<DataUse>,
    /// The graph of stages.
    pub dag: Option<Figure>,
    /// Versions, machine, backend, threads, times: name and value.
    pub provenance: Vec<(String, String)>,
    /// What, and the exact command for it.
    pub commands: Vec<(String, String)>,
    /// Raw results, one row per fit.
    pub raw: Option<DataFrame>,
}

/// Rows of raw results shown on the page; the download always has all of them.
pub const MAX_RAW_ROWS: usize = 2000;

impl ReportPage {
    /// Write the page.
    pub fn html(&self) -> Result<String, Error> {
        let mut out = String::new();
        out.push_str("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n");
        out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n");
        out.push_str("<meta name=\"color-scheme\" content=\"light dark\"/>\n");
        out.push_str(
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\"/>\n",
        );
        out.push_str(&format!("<title>{}</title>\n<link rel=\"icon\" href=\"data:,\"/>\n", xml(&self.title)));
        out.push_str(&format!("<style>\n{}</style>\n</head>\n<body>\n", include_str!("page.css")));
        out.push_str("<a class=\"skip\" href=\"#main\">Skip to the results</a>\n");
        out.push_str(&format!(
            "<header>\n<h1>{}</h1>\n<p class=\"lead\">{}</p>\n</header>\n",
            xml(&self.title),
            xml(&self.lead)
        ));
        out.push_str("<nav aria-label=\"Sections\"><ul>");
        for (id, name, there) in self.sections() {
            if there {
                out.push_str(&format!("<li><a href=\"#{id}\">{name}</a></li>"));
            }
        }
        out.push_str("</ul></nav>\n<main id=\"main\" tabindex=\"-1\">\n");
        self.summary_section(&mut out);
        self.claims_section(&mut out);
        if !self.figures.is_empty() {
            heading(&mut out, "figures", "Figures");
            for f in &self.figures {
                figure_block(&mut out, f);
            }
        }
        if !self.tables.is_empty() {
            heading(&mut out, "tables", "Tables");
            for t in &self.tables {
                table_block(&mut out, t);
            }
        }
        self.rest(&mut out)?;
        out.push_str("</main>\n<footer><p>This page is one file and makes no network requests. Every number in it was computed by the run described under Provenance.</p></footer>\n");
        out.push_str(&format!("<script>\n{}</script>\n</body>\n</html>\n", include_str!("page.js")));
        Ok(out)
    }

    pub(crate) fn sections(&self) -> [(&'static str, &'static str, bool); 9] {
        [
            ("summary", "Summary", true),
            ("claims", "Claims", !self.claims.is_empty()),
            ("figures", "Figures", !self.figures.is_empty()),
            ("tables", "Tables", !self.tables.is_empty()),
            ("differences", "What differs", !self.differences.is_empty()),
            ("data", "Data", !self.data.is_empty()),
            ("stages", "Stages", self.dag.is_some()),
            ("provenance", "Provenance", !self.provenance.is_empty() || !self.commands.is_empty()),
            ("raw", "Raw results", self.raw.is_some()),
        ]
    }

    fn summary_section(&self, out: &mut String) {
        heading(out, "summary", "Summary");
        if self.data.iter().any(|d| d.used == Source::Simulated) {
            let names: Vec<&str> =
                self.data.iter().filter(|d| d.used == Source::Simulated).map(|d| d.name.as_str()).collect();
            out.push_str(&format!(
                "<p class=\"banner\"><strong>SIMULATED data</strong> stand in for: {}. Their numbers say nothing about the paper’s recordings.</p>\n",
                xml(&names.join(", "))
            ));
        }
        if !self.claims.is_empty() {
            let count = |v| self.claims.iter().filter(|j| j.verdict == v).count();
            out.push_str("<ul class=\"counts\">");
            for v in [Verdict::Reproduced, Verdict::NotReproduced, Verdict::NotDecided] {
                out.push_str(&format!("<li class=\"{}\"><b>{}</b> {v}</li>", class(v), count(v)));
            }
            out.push_str("</ul>\n");
        }
        for p in &self.summary {
            out.push_str(&format!("<p>{}</p>\n", xml(p)));
        }
    }

    fn claims_section(&self, out: &mut String) {
        if self.claims.is_empty() {
            return;
        }
        heading(out, "claims", "Claims of the paper");
        out.push_str(
            "<p class=\"meta\">Each verdict is computed from the numbers beside it.</p>\n<ul class=\"claims\">\n",
        );
        for j in &self.claims {
            let sign = match j.verdict {
                Verdict::Reproduced => "✓",
                Verdict::NotReproduced => "✗",
                Verdict::NotDecided => "?",
            };
            let must = if j.claim.required { "; required" } else { "" };
            let over = if j.over.is_empty() { String::new() } else { format!("<br/>{}", xml(&j.over)) };
            // Composed rules give a list of comparisons: one line each.
            let numbers = xml(&j.because).replace("; ", "<br/>").replace(" needed: ", " needed:<br/>");
            let remark = if j.claim.remark.is_empty() {
                String::new()
            } else {
                format!("<p class=\"meta\">{}</p>", xml(&j.claim.remark))
            };
            out.push_str(&format!(
                "<li id=\"claim-{}\"><div><p>{}</p><p class=\"meta\">{}{must}</p></div>\n<p class=\"verdict {}\"><span aria-hidden=\"true\">{sign} </span>{}{over}</p>\n<div><p class=\"numbers\">{numbers}</p>{remark}</div></li>\n",
                xml(&j.claim.id),
                xml(&j.claim.text),
                xml(&j.claim.place),
                class(j.verdict),
                j.verdict
            ));
        }
        out.push_str("</ul>\n");
    }
}

fn class(v: Verdict) -> &'static str {
    match v {
        Verdict::Reproduced => "reproduced",
        Verdict::NotReproduced => "not-reproduced",
        Verdict::NotDecided => "not-decided",
    }
}

pub(crate) fn heading(out: &mut String, id: &str, text: &str) {
    out.push_str(&format!("<h2 id=\"{id}\">{text}</h2>\n"));
}

/// Open a part that may scroll sideways by itself; reachable by keyboard, so named.
pub(crate) fn region(out: &mut String, name: &str) {
    out.push_str(&format!("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">\n", xml(name)));
}

pub(crate) fn image(out: &mut String, card: &Card, svg: &str) {
    let (width, height) = card.size.unwrap_or_default();
    let uri = format!("data:image/svg+xml;base64,{}", base64(svg.as_bytes()));
    region(out, &card.title);
    out.push_str(&format!(
        "<img alt=\"{}\" width=\"{:.0}\" height=\"{:.0}\" src=\"{uri}\"/>\n</div>\n",
        xml(&card.alt),
        width * 4.0 / 3.0,
        height * 4.0 / 3.0
    ));
}

pub(crate) fn size_class(card: &Card) -> &'static str {
    if card.wide { "wide" } else { "narrow" }
}

pub(crate) fn download(d: &Download) -> String {
    let kind = if d.name.ends_with(".json") { "application/json" } else { "text/csv" };
    format!(
        "<a class=\"download\" download=\"{0}\" href=\"data:{kind};base64,{1}\">raw data: {0}</a>",
        xml(&d.name),
        base64(d.text.as_bytes())
    )
}

fn differs(out: &mut String, text: &str, command: &str) {
    if !text.is_empty() {
        out.push_str(&format!(
            "<p class=\"differs note\"><strong>Differs from the paper:</strong> {}</p>\n",
            xml(text)
        ));
    }
    if !command.is_empty() {
        out.push_str(&format!("<p class=\"meta\">Again: <code>{}</code></p>\n", xml(command)));
    }
}

fn figure_block(out: &mut String, f: &PageFigure) {
    let card = &f.card;
    out.push_str(&format!(
        "<figure id=\"{}\" class=\"{}\">\n<h3>{}</h3>\n",
        xml(&card.id),
        size_class(card),
        xml(&card.title)
    ));
    image(out, card, &f.svg);
    let caption = if card.caption.is_empty() { &card.alt } else { &card.caption };
    out.push_str(&format!("<figcaption>{} {}", xml(caption), xml(&card.source.to_string())));
    if let Some(d) = &f.data {
        out.push_str(&format!(" {}", download(d)));
    }
    out.push_str("</figcaption>\n");
    differs(out, &f.differs, &f.command);
    out.push_str("</figure>\n");
}

fn table_block(out: &mut String, t: &PageTable) {
    out.push_str("<div>\n");
    region(out, &t.card.id);
    out.push_str(&t.html);
    out.push_str("</div>\n");
    let d = Download { name: format!("{}.csv", t.card.id), text: t.csv.clone() };
    out.push_str(&format!("<p class=\"meta\">{}</p>\n", download(&d)));
    differs(out, &t.differs, &t.command);
    out.push_str("</div>\n");
}
