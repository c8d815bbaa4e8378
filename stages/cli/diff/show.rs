//! The comparison for people: plain text, or Markdown for a pull request.

use super::Diff;
use super::numbers::{Moved, RAW, named};
use super::settings::Change;
use crate::cli::text::{Table, count};
use std::collections::BTreeMap;

/// Rows of a table that are shown without `--all`.
const MOST: usize = 30;

fn number(v: Option<f64>) -> String {
    match v {
        None => "none".to_string(),
        Some(v) if v == 0.0 || (1e-3..1e5).contains(&v.abs()) => {
            format!("{:.5}", v).trim_end_matches('0').trim_end_matches('.').to_string()
        }
        Some(v) => format!("{v:.4e}"),
    }
}

fn change(m: &Moved) -> String {
    match m.change {
        Some(c) if c.abs() >= 10.0 => format!("x{:.3e}", c + 1.0),
        Some(c) => format!("{:+.2} %", 100.0 * c),
        None => String::new(),
    }
}

/// Adds a section with a title and a table; adds nothing when there are no rows.
fn section(
    out: &mut String,
    md: bool,
    title: &str,
    header: &[&str],
    right: &'static [usize],
    rows: &[Vec<String>],
    all: bool,
) {
    if rows.is_empty() {
        return;
    }
    let shown = if all { rows.len() } else { rows.len().min(MOST) };
    *out += &if md { format!("\n### {title}\n\n") } else { format!("\n{title}\n") };
    if md {
        let line = |cells: &[String]| {
            format!("| {} |\n", cells.iter().map(|c| c.replace('|', "\\|")).collect::<Vec<_>>().join(" | "))
        };
        *out += &line(&header.iter().map(ToString::to_string).collect::<Vec<_>>());
        *out += &line(
            &(0..header.len()).map(|c| if right.contains(&c) { "---:" } else { "---" }.to_string()).collect::<Vec<_>>(),
        );
        rows[..shown].iter().for_each(|row| *out += &line(row));
    } else {
        let mut table = Table::new(header, right);
        rows[..shown].iter().for_each(|row| table.row(row.clone()));
        *out += &table.render();
    }
    if shown < rows.len() {
        *out += &format!("{}... and {} more (--all)\n", if md { "\n" } else { "" }, rows.len() - shown);
    }
}

/// The stages that use a source file, as text. For a file that was found by git the stages are not known.
fn stages_using(c: &Change) -> String {
    if c.stages.contains_key(super::settings::BY_GIT) { "changed, says git".to_string() } else { named(&c.stages) }
}

/// Source files with the stages that use them; files that only git knows, by folder.
fn code_rows(changes: &[Change]) -> Vec<Vec<String>> {
    let mut folders: BTreeMap<String, usize> = BTreeMap::new();
    let mut rows = Vec::new();
    for c in changes {
        if c.stages.contains_key(super::settings::BY_GIT) {
            let folder: Vec<&str> = c.what.split('/').take(2).collect();
            *folders.entry(folder.join("/")).or_default() += 1;
        } else {
            rows.push(vec![c.what.clone(), named(&c.stages)]);
        }
    }
    rows.extend(folders.into_iter().map(|(folder, n)| vec![folder, format!("{} changed, says git", count(n, "file"))]));
    rows
}

fn settings_rows(changes: &[Change]) -> Vec<Vec<String>> {
    let row = |c: &Change| {
        let known = c.a.is_some() || c.b.is_some();
        let value = |v: &Option<String>| v.clone().unwrap_or_else(|| if known { "(absent)" } else { "" }.to_string());
        vec![c.what.clone(), value(&c.a), value(&c.b), named(&c.stages)]
    };
    changes.iter().map(row).collect()
}

/// The comparison as text or Markdown.
pub fn text(diff: &Diff, md: bool, all: bool) -> String {
    let (s, n) = (&diff.settings, &diff.numbers);
    let mut out = if md { format!("## {} -> {}\n\n", diff.a, diff.b) } else { format!("{} -> {}\n", diff.a, diff.b) };
    let total = |counts: &std::collections::BTreeMap<String, usize>| counts.values().sum::<usize>();
    let mut units = vec![format!("{} equal", s.equal)];
    for (n, what) in [
        (s.same_bytes, "with another key and the same bytes"),
        (total(&s.other), "with other bytes"),
        (s.broken.len(), "with the same key and other bytes"),
        (total(&s.gone), "gone"),
        (total(&s.new), "new"),
    ] {
        if n > 0 {
            units.push(format!("{n} {what}"));
        }
    }
    out += &format!("units: {}\n", units.join(", "));
    let beyond = |all: &[Moved]| all.iter().filter(|m| !m.within).count();
    let metrics = beyond(&n.metrics);
    let line = match n.equal + n.metrics.len() {
        0 => "numbers: no metrics at hand on both sides\n".to_string(),
        _ => format!(
            "numbers: {} equal, {} within tolerance, {metrics} beyond; claims: {} with other verdicts, {} unchanged\n",
            n.equal,
            n.metrics.len() - metrics,
            n.claims.len(),
            n.claims_equal
        ),
    };
    out += &if md { format!("\n{line}") } else { line };
    for id in &s.broken {
        out += &format!("{}`{id}`: the same key, other bytes: it cannot be reproduced\n", if md { "\n" } else { "" });
    }
    let claims: Vec<Vec<String>> =
        n.claims.iter().map(|c| vec![c.claim.clone(), c.a.clone(), c.b.clone(), c.text.clone()]).collect();
    section(&mut out, md, "Claims", &["claim", "then", "now", "what it says"], &[], &claims, true);
    section(
        &mut out,
        md,
        "Parameters",
        &["parameter", "then", "now", "stages (units)"],
        &[],
        &settings_rows(&s.parameters),
        all,
    );
    let code =
        if all { s.code.iter().map(|c| vec![c.what.clone(), stages_using(c)]).collect() } else { code_rows(&s.code) };
    section(
        &mut out,
        md,
        &format!("Code: {}", count(s.code.len(), "file")),
        &["file", "stages (units)"],
        &[],
        &code,
        all,
    );
    section(
        &mut out,
        md,
        "Inputs from outside",
        &["input", "then", "now", "stages (units)"],
        &[],
        &settings_rows(&s.inputs),
        all,
    );
    let moved = |list: &[Moved]| -> Vec<Vec<String>> {
        let listed = list.iter().filter(|m| all || !m.within);
        let word = |m: &Moved| if m.within { "within" } else { "beyond" }.to_string();
        listed.map(|m| vec![m.name.clone(), number(m.a), number(m.b), change(m), word(m)]).collect()
    };
    let header = ["metric", "then", "now", "change", "tolerance"];
    section(&mut out, md, "Metrics, most moved first", &header, &[1, 2, 3], &moved(&n.metrics), all);
    let raw = |m: &&Moved| m.name.contains(&format!(": {RAW}: "));
    let tables: Vec<Moved> = n.tables.iter().filter(|m| all || !raw(m)).cloned().collect();
    let header = ["number", "then", "now", "change", "tolerance"];
    section(&mut out, md, "Tables, most moved first", &header, &[1, 2, 3], &moved(&tables), all);
    let units: Vec<Vec<String>> = [("other bytes", &s.other), ("gone", &s.gone), ("new", &s.new)]
        .iter()
        .filter(|(_, counts)| !counts.is_empty())
        .map(|(what, counts)| vec![what.to_string(), named(counts)])
        .collect();
    section(&mut out, md, "Units", &["what", "stages (units)"], &[], &units, true);
    let blank = if md { "\n" } else { "" };
    if tables.len() < n.tables.len() {
        let moved = n.tables.iter().filter(raw).filter(|m| !m.within).count();
        out += &format!("{blank}{moved} numbers of raw results moved beyond tolerance (--all lists them)\n");
    }
    for what in &n.reshaped {
        out += &format!("{blank}other shape: {what}\n");
    }
    if s.without_record > 0 {
        out += &format!(
            "{blank}{} without a record on one side: what is said of their settings comes from pipeline.yaml and git\n",
            count(s.without_record, "unit")
        );
    }
    if !n.not_at_hand.is_empty() {
        out += &format!(
            "{blank}not compared, because one side's bytes are not here: {}; `repro pull`, or the .repro folder beside that lock file, brings them\n",
            n.not_at_hand.join(", ")
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_changes_read_well() {
        assert_eq!(
            [number(Some(0.25)), number(Some(1e-9)), number(Some(97.0)), number(None)],
            ["0.25", "1.0000e-9", "97", "none"]
        );
        let m = |a: f64, b: f64| Moved {
            name: String::new(),
            a: Some(a),
            b: Some(b),
            change: Some((b - a) / a),
            within: false,
        };
        assert_eq!([change(&m(2.0, 2.1)), change(&m(1e-9, 1.0))], ["+5.00 %", "x1.000e9"]);
    }
}
