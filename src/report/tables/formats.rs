//! A [`Table`] in its four formats. CSV carries the raw numbers with all digits, the others what a reader should see.

use polars::prelude::{Column, DataFrame};

use crate::error::Error;
use crate::frames::to_csv;
use crate::page::escape::{latex, markdown, xml};
use crate::source::Source;
use crate::tables::number::{Digits, split};
use crate::tables::table::{Entry, Table};

impl Table {
    /// The printed cells, row by row; the arguments say how a text, a number and a missing value are written.
    fn cells(
        &self,
        text: fn(&str) -> String,
        number: impl Fn(Digits, bool) -> String,
        empty: &str,
    ) -> Vec<Vec<String>> {
        let cell = |entry: &Entry| match entry {
            Entry::Text(t) => text(t),
            Entry::Number { mean, sd, bold } => number(split(*mean, *sd), *bold),
            Entry::Empty => empty.into(),
        };
        self.rows.iter().map(|row| row.iter().map(cell).collect()).collect()
    }

    /// GitHub-flavoured Markdown, columns aligned in the source, too.
    pub fn markdown(&self) -> String {
        let number = |d: Digits, bold: bool| if bold { format!("**{}**", d.unicode()) } else { d.unicode() };
        let mut rows = self.cells(markdown, number, "–");
        rows.insert(0, self.columns.iter().map(|c| markdown(&c.0)).collect());
        let wide: Vec<usize> = (0..self.columns.len())
            .map(|c| rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0).max(3))
            .collect();
        let rule = wide.iter().zip(&self.columns).map(|(w, (_, number))| match number {
            true => format!("{}:", "-".repeat(w - 1)),
            false => "-".repeat(*w),
        });
        rows.insert(1, rule.collect());
        let mut out = format!("**{}**\n\n", markdown(&self.full_caption()));
        for r in &rows {
            out.push('|');
            for (c, t) in r.iter().enumerate() {
                let pad = " ".repeat(wide[c] - t.chars().count());
                out.push_str(&if self.columns[c].1 { format!(" {pad}{t} |") } else { format!(" {t}{pad} |") });
            }
            out.push('\n');
        }
        for n in &self.notes {
            out.push_str(&format!("\n{}\n", markdown(n)));
        }
        out
    }

    /// CSV: one column per text, two (`name`, `name sd`) per number with deviation; all digits.
    pub fn csv(&self) -> Result<String, Error> {
        let mut columns: Vec<Column> = Vec::new();
        for (c, (name, number)) in self.columns.iter().enumerate() {
            let cells = || self.rows.iter().map(|r| &r[c]);
            if !number {
                let text = |e: &Entry| if let Entry::Text(t) = e { Some(t.clone()) } else { None };
                columns.push(Column::new(name.into(), cells().map(text).collect::<Vec<_>>()));
                continue;
            }
            let mean = |e: &Entry| if let Entry::Number { mean, .. } = e { Some(*mean) } else { None };
            let sd = |e: &Entry| if let Entry::Number { sd, .. } = e { *sd } else { None };
            columns.push(Column::new(name.into(), cells().map(mean).collect::<Vec<_>>()));
            if cells().any(|e| sd(e).is_some()) {
                columns.push(Column::new(format!("{name} sd").into(), cells().map(sd).collect::<Vec<_>>()));
            }
        }
        to_csv(&DataFrame::new(self.rows.len(), columns)?)
    }

    /// LaTeX with booktabs rules.
    pub fn latex(&self) -> String {
        let align: String = self.columns.iter().map(|c| if c.1 { 'r' } else { 'l' }).collect();
        let mut out = format!(
            "% needs \\usepackage{{booktabs}}\n\\begin{{table}}[t]\n\\caption{{{}}}\n\\label{{tab:{}}}\n\\centering\n\\begin{{tabular}}{{{align}}}\n\\toprule\n",
            latex(&self.full_caption()),
            self.id
        );
        let head: Vec<String> = self.columns.iter().map(|c| latex(&c.0)).collect();
        out.push_str(&format!("{} \\\\\n\\midrule\n", head.join(" & ")));
        for r in self.cells(latex, |d, bold| d.latex(bold), "--") {
            out.push_str(&format!("{} \\\\\n", r.join(" & ")));
        }
        out.push_str("\\bottomrule\n\\end{tabular}\n");
        for n in &self.notes {
            out.push_str(&format!("\\par\\footnotesize {}\n", latex(n)));
        }
        out.push_str("\\end{table}\n");
        out
    }

    /// HTML: caption, headings with scope, first column as row headings.
    pub fn html(&self) -> String {
        let warn = if self.source == Source::Simulated { " class=\"simulated\"" } else { "" };
        let number = |d: Digits, bold: bool| if bold { format!("<strong>{}</strong>", d.html()) } else { d.html() };
        let rows = self.cells(xml, number, "<span aria-label=\"no value\">–</span>");
        let heads = self.columns.iter().map(|(name, number)| (name.as_str(), *number)).collect::<Vec<_>>();
        let about = format!(" id=\"{}\"{warn}", xml(&self.id));
        let mut out = html_table(&about, &self.full_caption(), &heads, rows, true);
        for n in &self.notes {
            out.push_str(&format!("<p class=\"note\">{}</p>\n", xml(n)));
        }
        out
    }
}

/// A table in HTML. `heads` says which columns hold numbers; cells are written as they come; the first of a row may be its heading.
pub(crate) fn html_table(
    attributes: &str,
    caption: &str,
    heads: &[(&str, bool)],
    rows: impl IntoIterator<Item = Vec<String>>,
    row_heads: bool,
) -> String {
    let class = |c: usize| if heads[c].1 { " class=\"n\"" } else { "" };
    let mut out = format!("<table{attributes}>\n<caption>{}</caption>\n<thead><tr>", xml(caption));
    for (c, (name, _)) in heads.iter().enumerate() {
        out.push_str(&format!("<th scope=\"col\"{}>{}</th>", class(c), xml(name)));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        out.push_str("<tr>");
        for (c, cell) in row.iter().enumerate() {
            let (tag, scope) = if c == 0 && row_heads { ("th", " scope=\"row\"") } else { ("td", "") };
            out.push_str(&format!("<{tag}{scope}{}>{cell}</{tag}>", class(c)));
        }
        out.push_str("</tr>\n");
    }
    out + "</tbody>\n</table>\n"
}
