//! A [`Table`] in its four formats. CSV carries the raw numbers with all digits, the others what a reader should see.

use polars::prelude::{Column, DataFrame};

use crate::error::Error;
use crate::frames::to_csv;
use crate::page::escape::{latex, markdown, xml};
use crate::source::Source;
use crate::tables::number::split;
use crate::tables::table::{Entry, Table};

impl Table {
    /// GitHub-flavoured Markdown, columns aligned in the source, too.
    pub fn markdown(&self) -> String {
        let mut rows: Vec<Vec<String>> = vec![self.columns.iter().map(|c| markdown(&c.0)).collect()];
        for r in &self.rows {
            rows.push(
                r.iter()
                    .map(|e| match e {
                        Entry::Text(t) => markdown(t),
                        Entry::Number { mean, sd, bold } => {
                            let t = split(*mean, *sd).unicode();
                            if *bold { format!("**{t}**") } else { t }
                        }
                        Entry::Empty => "–".into(),
                    })
                    .collect(),
            );
        }
        let wide: Vec<usize> = (0..self.columns.len())
            .map(|c| rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0).max(3))
            .collect();
        let mut out = format!("**{}**\n\n", markdown(&self.full_caption()));
        for (i, r) in rows.iter().enumerate() {
            out.push('|');
            for (c, t) in r.iter().enumerate() {
                let pad = " ".repeat(wide[c] - t.chars().count());
                out.push_str(&if self.columns[c].1 { format!(" {pad}{t} |") } else { format!(" {t}{pad} |") });
            }
            out.push('\n');
            if i == 0 {
                out.push('|');
                for (c, w) in wide.iter().enumerate() {
                    out.push_str(&if self.columns[c].1 {
                        format!(" {}: |", "-".repeat(w - 1))
                    } else {
                        format!(" {} |", "-".repeat(*w))
                    });
                }
                out.push('\n');
            }
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
        for r in &self.rows {
            let cells: Vec<String> = r
                .iter()
                .map(|e| match e {
                    Entry::Text(t) => latex(t),
                    Entry::Number { mean, sd, bold } => split(*mean, *sd).latex(*bold),
                    Entry::Empty => "--".into(),
                })
                .collect();
            out.push_str(&format!("{} \\\\\n", cells.join(" & ")));
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
        let mut out = format!(
            "<table id=\"{}\"{warn}>\n<caption>{}</caption>\n<thead><tr>",
            xml(&self.id),
            xml(&self.full_caption())
        );
        for (name, number) in &self.columns {
            let class = if *number { " class=\"n\"" } else { "" };
            out.push_str(&format!("<th scope=\"col\"{class}>{}</th>", xml(name)));
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        for r in &self.rows {
            out.push_str("<tr>");
            for (c, e) in r.iter().enumerate() {
                let text = match e {
                    Entry::Text(t) => xml(t),
                    Entry::Number { mean, sd, bold } => {
                        let t = split(*mean, *sd).html();
                        if *bold { format!("<strong>{t}</strong>") } else { t }
                    }
                    Entry::Empty => "<span aria-label=\"no value\">–</span>".into(),
                };
                let class = if self.columns[c].1 { " class=\"n\"" } else { "" };
                out.push_str(&if c == 0 {
                    format!("<th scope=\"row\"{class}>{text}</th>")
                } else {
                    format!("<td{class}>{text}</td>")
                });
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody>\n</table>\n");
        for n in &self.notes {
            out.push_str(&format!("<p class=\"note\">{}</p>\n", xml(n)));
        }
        out
    }
}
