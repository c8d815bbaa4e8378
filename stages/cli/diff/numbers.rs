//! Compares the metrics, tables and claims of two sides. Numbers are compared with a tolerance; the largest relative change comes first.

use super::side::Side;
use anyhow::Result;
use report::claims::{Metrics, PAPER, judge_all, read, tolerance};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The relative tolerance of a number in a table. Tables hold rounded numbers, so a reader sees almost every difference there.
const TABLES: f64 = 1e-6;

/// Two numbers that are closer than this count as equal. The error of an exact fit is about this large: it is rounding only.
const ROUNDING: f64 = 1e-12;
/// The artefact that holds the raw results of a stage.
pub const RAW: &str = "results.csv";

/// A number that is not the same on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Moved {
    /// Its name; in a table: file, row and column.
    pub name: String,
    /// Its value on the old side; none when only the new side has it.
    pub a: Option<f64>,
    /// Its value on the new side; none when only the old side has it.
    pub b: Option<f64>,
    /// (b - a) / |a|; none when one is missing or a is zero.
    pub change: Option<f64>,
    /// Whether the change is within the tolerance.
    pub within: bool,
}

/// A claim whose verdicts on the two sides differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdicts {
    /// Its id.
    pub claim: String,
    /// What it says.
    pub text: String,
    /// The verdict on the old side.
    pub a: String,
    /// The verdict on the new side.
    pub b: String,
}

/// What differs in the numbers.
#[derive(Debug, Default, Serialize)]
pub struct Numbers {
    /// Number of metrics that are equal to the bit.
    pub equal: usize,
    /// Metrics that are not equal, the largest relative change first.
    pub metrics: Vec<Moved>,
    /// Numbers of tables that are not equal, the largest relative change first.
    pub tables: Vec<Moved>,
    /// Tables whose number of rows, or whose columns, differ: a text with name and sizes.
    pub reshaped: Vec<String>,
    /// Claims whose verdicts differ.
    pub claims: Vec<Verdicts>,
    /// Number of claims whose verdicts are equal.
    pub claims_equal: usize,
    /// Artefacts that differ and could not be compared, because the bytes of one side are not on this machine.
    pub not_at_hand: Vec<String>,
}

/// The key for sorting: the relative change without its sign. A number without a relative change comes first.
fn weight(m: &Moved) -> f64 {
    m.change.map_or(f64::INFINITY, f64::abs)
}

fn sort(all: &mut [Moved]) {
    all.sort_by(|x, y| weight(y).total_cmp(&weight(x)).then_with(|| x.name.cmp(&y.name)));
}

fn moved(name: String, a: Option<f64>, b: Option<f64>, holds: impl Fn(f64, f64) -> bool) -> Moved {
    let change = a.zip(b).filter(|(a, _)| *a != 0.0).map(|(a, b)| (b - a) / a.abs()).filter(|c| c.is_finite());
    Moved { name, a, b, change, within: a.zip(b).is_some_and(|(a, b)| holds(a, b)) }
}

impl Numbers {
    /// Compares the numbers of two sides. `fraction`, where given, replaces the tolerance of every metric and table.
    pub fn compare(a: &Side<'_>, b: &Side<'_>, fraction: Option<f64>) -> Result<Self> {
        let mut out = Self::default();
        let (mut old, mut new) = (Metrics::new(), Metrics::new());
        let relative = |t: f64| move |a: f64, b: f64| (a - b).abs() <= (t * a.abs().max(b.abs())).max(ROUNDING);
        for (stage, units) in &b.lock.stages {
            for (label, now) in units {
                let Some(then) = a.lock.stages.get(stage).and_then(|units| units.get(label)) else { continue };
                let same = then.same_result(now);
                let names: BTreeSet<String> = a.names(stage, label).into_iter().chain(b.names(stage, label)).collect();
                if names.is_empty() && !same {
                    out.not_at_hand.push(stage.clone());
                }
                for name in &names {
                    let metrics = name == "metrics.json";
                    if !metrics && (same || !name.ends_with(".csv")) {
                        continue;
                    }
                    let found = both(a, b, stage, label, name, same).or_else(|| {
                        // Where the CSV file is not on this machine, git may have the same table as Markdown.
                        both(a, b, stage, label, &format!("{}.md", name.strip_suffix(".csv")?), same)
                    });
                    let Some((x, y)) = found else {
                        if !same {
                            out.not_at_hand.push(format!("{stage}: {name}"));
                        }
                        continue;
                    };
                    if metrics {
                        old.extend(serde_json::from_str::<Metrics>(&x)?);
                        new.extend(serde_json::from_str::<Metrics>(&y)?);
                    } else {
                        // Raw results have the same file name in all stages, so the name of the stage goes in front.
                        let name = if name == RAW { format!("{stage}: {name}") } else { name.clone() };
                        out.table(&name, &x, &y, relative(fraction.unwrap_or(TABLES)));
                    }
                }
            }
        }
        let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for name in names {
            let (a, b) = (old.get(name).map(|m| m.value), new.get(name).map(|m| m.value));
            if a.map(f64::to_bits) == b.map(f64::to_bits) {
                out.equal += 1;
                continue;
            }
            let holds = |a: f64, b: f64| fraction.map_or_else(|| tolerance(name).holds(a, b), |t| relative(t)(a, b));
            out.metrics.push(moved(name.clone(), a, b, holds));
        }
        if !old.is_empty() && !new.is_empty() {
            let claims = read(PAPER)?;
            for (x, y) in judge_all(&claims, &old).into_iter().zip(judge_all(&claims, &new)) {
                if x.verdict == y.verdict {
                    out.claims_equal += 1;
                    continue;
                }
                let (a, b) = (x.verdict.to_string(), y.verdict.to_string());
                out.claims.push(Verdicts { claim: x.claim.id, text: x.claim.text, a, b });
            }
        }
        sort(&mut out.metrics);
        sort(&mut out.tables);
        Ok(out)
    }

    /// Compares two tables cell by cell where they have the same rows and columns.
    fn table(&mut self, name: &str, a: &str, b: &str, holds: impl Fn(f64, f64) -> bool + Copy) {
        let (old, new) = (rows(a), rows(b));
        let shape = |t: &[Vec<String>]| (t.len().saturating_sub(1), t.first().map_or(0, Vec::len));
        if old.first() != new.first() || old.len() != new.len() {
            let ((r, c), (rows, columns)) = (shape(&old), shape(&new));
            self.reshaped.push(format!("{name}: {r} rows of {c} columns, now {rows} of {columns}"));
            return;
        }
        let head = old.first().cloned().unwrap_or_default();
        for (x, y) in old.iter().zip(&new).skip(1) {
            // The name of a row is made of its cells that are not numbers.
            let mut words: Vec<&str> =
                y.iter().map(String::as_str).filter(|c| !c.is_empty() && number(c).is_none()).collect();
            if words.is_empty() {
                words.extend(y.first().map(String::as_str));
            }
            for (column, (p, q)) in x.iter().zip(y).enumerate().filter(|(_, (p, q))| p != q) {
                let (p, q) = (number(p), number(q));
                if p.is_none() && q.is_none() {
                    continue;
                }
                let column = head.get(column).map_or("", String::as_str);
                self.tables.push(moved(format!("{name}: {}, {column}", words.join(" ")), p, q, holds));
            }
        }
    }

    /// Whether a number changed by more than its tolerance, a verdict changed, or a table has another shape.
    pub fn moved(&self) -> bool {
        let beyond = |all: &[Moved]| all.iter().any(|m| !m.within);
        beyond(&self.metrics) || beyond(&self.tables) || !self.claims.is_empty() || !self.reshaped.is_empty()
    }
}

/// The texts of an artefact on both sides; none where one cannot be read. Where both sides have the `same` result, one text is enough.
fn both(a: &Side<'_>, b: &Side<'_>, stage: &str, label: &str, name: &str, same: bool) -> Option<(String, String)> {
    let (x, y) = (text(a, stage, label, name), text(b, stage, label, name));
    if same { x.clone().or(y.clone()).zip(y.or(x)) } else { x.zip(y) }
}

fn text(side: &Side<'_>, stage: &str, label: &str, name: &str) -> Option<String> {
    String::from_utf8(side.bytes(stage, label, name)?).ok()
}

/// The number in a cell; of `0.5 ± 0.1` the first. Tables for people also have bold cells and powers: `**(7.5 ± 8.9)×10⁻⁵**`.
fn number(cell: &str) -> Option<f64> {
    let cell = cell.trim_matches('*');
    let (text, power) = cell.split_once("×10").unwrap_or((cell, ""));
    let first = text.trim_start_matches('(').split_whitespace().next()?;
    let digit = |c: char| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().position(|d| d == c).and_then(|d| char::from_digit(d as u32, 10));
    let power: Option<String> = power.chars().map(|c| if c == '⁻' { Some('-') } else { digit(c) }).collect();
    let power = power.filter(|p| !p.is_empty()).map_or(String::new(), |p| format!("e{p}"));
    format!("{first}{power}").parse().ok()
}

/// The cells of a table as this program writes it: CSV with quotes around cells that need them, or Markdown.
fn rows(csv: &str) -> Vec<Vec<String>> {
    if csv.lines().any(|line| line.starts_with('|')) {
        let lines = csv.lines().filter(|line| line.starts_with('|') && line.contains(|c: char| !"|-: ".contains(c)));
        return lines.map(|line| line.trim_matches('|').split('|').map(|c| c.trim().to_string()).collect()).collect();
    }
    let mut out = Vec::new();
    for line in csv.lines() {
        let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
        let mut letters = line.chars().peekable();
        while let Some(c) = letters.next() {
            match c {
                '"' if quoted && letters.peek() == Some(&'"') => cell.extend(letters.next()),
                '"' => quoted = !quoted,
                ',' if !quoted => cells.push(std::mem::take(&mut cell)),
                c => cell.push(c),
            }
        }
        cells.push(cell);
        out.push(cells);
    }
    out
}

/// Counts by name as text, in the order of the map: `table2 (1), train (3)`.
pub fn named(counts: &BTreeMap<String, usize>) -> String {
    counts.iter().map(|(name, n)| format!("{name} ({n})")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_compared_by_cell_and_sorted_by_what_moved_most() {
        let mut n = Numbers::default();
        let a = "method,rank,error\n\"a, b\",1,0.5\nc,2,1.0\n";
        let b = "method,rank,error\n\"a, b\",1,0.55\nc,2,3.0\n";
        n.table("t.csv", a, b, |a, b| (a - b).abs() < 0.06);
        sort(&mut n.tables);
        let said: Vec<_> = n.tables.iter().map(|m| (m.name.as_str(), m.within)).collect();
        assert_eq!(said, [("t.csv: c, error", false), ("t.csv: a, b, error", true)]);
        assert_eq!(n.tables[0].change, Some(2.0));
        let md = |v: &str| format!("Words.\n\n| method | error |\n|---|---:|\n| ours | {v} |\n");
        n.table("v.md", &md("0.5 ± 0.1"), &md("1.0 ± 0.1"), |_, _| false);
        assert_eq!((n.tables[2].name.as_str(), n.tables[2].change), ("v.md: ours, error", Some(1.0)));
        let read = ["0.5", "**0.29 ± 0.14**", "(7.5 ± 8.9)×10⁻⁵", "**1.30×10⁻¹¹**", "12 ± 1", "seven", ""].map(number);
        assert_eq!(read, [Some(0.5), Some(0.29), Some(7.5e-5), Some(1.3e-11), Some(12.0), None, None]);
        n.table("u.csv", a, "method,rank\nc,1\n", |_, _| true);
        assert_eq!(n.reshaped, ["u.csv: 2 rows of 3 columns, now 1 of 2"]);
        assert!(n.moved());
    }
}
