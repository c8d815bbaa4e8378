//! The paper's claims, each with the rule that decides it from measured metrics.
//!
//! A claim is never marked by hand: stages produce named metrics, the rule computes the verdict, and the numbers behind it
//! are printed. When a metric is missing, or measured on data that cannot decide the claim, the verdict is "not decided".
//! `claims.json` holds the paper's claims; the names of all metrics are documented in [`METRICS`].

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::number::mean_sd;
use crate::source::Source;

/// The claims file that belongs to the program.
pub const PAPER: &str = include_str!("claims.json");

/// Every metric name, what it is, and its unit: `name: meaning`, one per line.
pub const METRICS: &str = include_str!("metrics.txt");

/// A measured number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// Value (a mean when measured several times).
    pub value: f64,
    /// Deviation over seeds or draws.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd: Option<f64>,
    /// The data it was measured on.
    pub source: Source,
}

/// Metrics by name.
pub type Metrics = BTreeMap<String, Metric>;

/// How a claim is decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "rule", deny_unknown_fields)]
pub enum Rule {
    /// `left < factor * right + margin`.
    LessThan {
        /// Metric on the left.
        left: String,
        /// Metric on the right.
        right: String,
        /// Factor on the right (1 when absent).
        #[serde(default = "one")]
        factor: f64,
        /// Added on the right (0 when absent): points that do not count.
        #[serde(default)]
        margin: f64,
    },
    /// `|metric - value| <= tolerance`.
    Within {
        /// The metric.
        metric: String,
        /// Expected value.
        value: f64,
        /// Largest difference.
        tolerance: f64,
    },
    /// `low <= metric <= high`.
    Between {
        /// The metric.
        metric: String,
        /// Lower end.
        low: f64,
        /// Upper end.
        high: f64,
    },
    /// `|left - right| <= tolerance`: two metrics are similar.
    Similar {
        /// One metric.
        left: String,
        /// The other.
        right: String,
        /// Largest difference.
        tolerance: f64,
    },
    /// `before >= factor * after`: the error drops.
    DropAt {
        /// Error just below the true rank.
        before: String,
        /// Error at the true rank.
        after: String,
        /// Least ratio.
        factor: f64,
    },
    /// At least `count` of the inner rules hold.
    CountAtLeast {
        /// How many.
        count: usize,
        /// Of these.
        of: Vec<Rule>,
    },
    /// All inner rules hold.
    All {
        /// These.
        of: Vec<Rule>,
    },
}

fn one() -> f64 {
    1.0
}

/// One claim of the paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Short name.
    pub id: String,
    /// What is claimed.
    pub text: String,
    /// Where in the paper.
    pub place: String,
    /// `repro compare` fails when it is not reproduced.
    pub required: bool,
    /// Only real data (given or embedded) can decide it; simulated recordings cannot.
    #[serde(default)]
    pub needs_real: bool,
    /// The rule.
    pub decided_by: Rule,
    /// What the reader should know.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remark: String,
}

/// What came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The rule holds.
    Reproduced,
    /// The rule does not hold.
    NotReproduced,
    /// The metrics or the data do not suffice.
    NotDecided,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Reproduced => "reproduced",
            Verdict::NotReproduced => "not reproduced",
            Verdict::NotDecided => "not decided on this data",
        })
    }
}

/// A claim with its verdict and the numbers behind it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// The claim.
    pub claim: Claim,
    /// The verdict.
    pub verdict: Verdict,
    /// The comparison with its numbers, or what is missing.
    pub because: String,
}

/// Read a claims file and check it: ids differ, rules are complete.
pub fn read(json: &str) -> Result<Vec<Claim>, Error> {
    let claims: Vec<Claim> =
        serde_json::from_str(json).map_err(|source| Error::Json { what: "claims file".into(), source })?;
    for (i, c) in claims.iter().enumerate() {
        let wrong = |why: &str| Err(Error::Claim { id: c.id.clone(), why: why.into() });
        if c.id.is_empty() || c.text.is_empty() {
            return wrong("id and text must not be empty");
        }
        if claims[..i].iter().any(|d| d.id == c.id) {
            return wrong("two claims have this id");
        }
        if !sound(&c.decided_by) {
            return wrong(
                "its rule can never or always hold (a negative tolerance, a count of 0 or above the number of rules, no rules)",
            );
        }
    }
    Ok(claims)
}

fn sound(rule: &Rule) -> bool {
    match rule {
        Rule::LessThan { factor, margin, .. } => *factor > 0.0 && *margin >= 0.0,
        Rule::DropAt { factor, .. } => *factor > 0.0,
        Rule::Within { tolerance, .. } | Rule::Similar { tolerance, .. } => *tolerance >= 0.0,
        Rule::Between { low, high, .. } => low <= high,
        Rule::CountAtLeast { count, of } => *count > 0 && *count <= of.len() && of.iter().all(sound),
        Rule::All { of } => !of.is_empty() && of.iter().all(sound),
    }
}

impl Rule {
    /// Names of all metrics the rule reads.
    pub fn metrics(&self) -> Vec<&str> {
        match self {
            Rule::LessThan { left, right, .. } | Rule::Similar { left, right, .. } => vec![left, right],
            Rule::Within { metric, .. } | Rule::Between { metric, .. } => vec![metric],
            Rule::DropAt { before, after, .. } => vec![before, after],
            Rule::CountAtLeast { of, .. } | Rule::All { of } => of.iter().flat_map(Rule::metrics).collect(),
        }
    }

    /// Whether it holds (`None`: a metric is missing or not a number) and the comparison in words.
    fn decide(&self, m: &Metrics) -> (Option<bool>, String) {
        let get = |name: &str| m.get(name).map(|m| m.value).filter(|v| !v.is_nan());
        let show = |name: &str| {
            m.get(name).map_or(format!("{name} is missing"), |m| format!("{name} = {}", mean_sd(m.value, m.sd)))
        };
        match self {
            Rule::LessThan { left, right, factor, margin } => {
                let holds = get(left).zip(get(right)).map(|(a, b)| a < factor * b + margin);
                let times = if *factor == 1.0 { String::new() } else { format!("{factor} × ") };
                let plus = if *margin == 0.0 { String::new() } else { format!(" + {margin}") };
                (holds, format!("{} < {times}{}{plus}", show(left), show(right)))
            }
            Rule::Within { metric, value, tolerance } => {
                let holds = get(metric).map(|v| (v - value).abs() <= *tolerance);
                (holds, format!("{}, expected {value} within {tolerance}", show(metric)))
            }
            Rule::Between { metric, low, high } => (
                get(metric).map(|v| v >= *low && v <= *high),
                format!("{}, expected from {low} to {high}", show(metric)),
            ),
            Rule::Similar { left, right, tolerance } => {
                let holds = get(left).zip(get(right)).map(|(a, b)| (a - b).abs() <= *tolerance);
                (holds, format!("{} and {} differ by at most {tolerance}", show(left), show(right)))
            }
            Rule::DropAt { before, after, factor } => {
                let holds = get(before).zip(get(after)).map(|(a, b)| a >= factor * b);
                (holds, format!("{} at least {factor} × {}", show(before), show(after)))
            }
            Rule::CountAtLeast { count, of } => {
                let each: Vec<_> = of.iter().map(|r| r.decide(m)).collect();
                let yes = each.iter().filter(|e| e.0 == Some(true)).count();
                let open = each.iter().filter(|e| e.0.is_none()).count();
                let holds = if yes >= *count {
                    Some(true)
                } else if yes + open < *count {
                    Some(false)
                } else {
                    None
                };
                (holds, format!("{yes} of {} hold, {count} needed: {}", of.len(), list(&each)))
            }
            Rule::All { of } => {
                let each: Vec<_> = of.iter().map(|r| r.decide(m)).collect();
                let holds = if each.iter().any(|e| e.0 == Some(false)) {
                    Some(false)
                } else if each.iter().any(|e| e.0.is_none()) {
                    None
                } else {
                    Some(true)
                };
                (holds, list(&each))
            }
        }
    }
}

fn list(each: &[(Option<bool>, String)]) -> String {
    let sign = |h: &Option<bool>| match h {
        Some(true) => "✓",
        Some(false) => "✗",
        None => "?",
    };
    each.iter().map(|(h, t)| format!("{} {t}", sign(h))).collect::<Vec<_>>().join("; ")
}

/// Decide one claim.
pub fn judge(claim: &Claim, metrics: &Metrics) -> Judged {
    let (holds, because) = claim.decided_by.decide(metrics);
    let simulated =
        claim.decided_by.metrics().iter().any(|n| metrics.get(*n).is_some_and(|m| m.source == Source::Simulated));
    let (verdict, because) = match holds {
        Some(_) if claim.needs_real && simulated => (Verdict::NotDecided, format!("on SIMULATED data only: {because}")),
        Some(true) => (Verdict::Reproduced, because),
        Some(false) => (Verdict::NotReproduced, because),
        None => (Verdict::NotDecided, because),
    };
    Judged { claim: claim.clone(), verdict, because }
}

/// Decide all claims, in the file's order.
pub fn judge_all(claims: &[Claim], metrics: &Metrics) -> Vec<Judged> {
    claims.iter().map(|c| judge(c, metrics)).collect()
}

/// Whether a required claim is not reproduced: then `repro compare` exits with 1.
pub fn broken(judged: &[Judged]) -> bool {
    judged.iter().any(|j| j.claim.required && j.verdict == Verdict::NotReproduced)
}

/// As text for the terminal.
pub fn print(judged: &[Judged]) -> String {
    let mut out = String::new();
    for j in judged {
        let sign = match j.verdict {
            Verdict::Reproduced => "✓",
            Verdict::NotReproduced => "✗",
            Verdict::NotDecided => "?",
        };
        let must = if j.claim.required { ", required" } else { "" };
        out.push_str(&format!(
            "{sign} {}: {} ({}{must})\n    {}\n    {}\n",
            j.claim.id, j.verdict, j.claim.place, j.claim.text, j.because
        ));
    }
    let count = |v| judged.iter().filter(|j| j.verdict == v).count();
    out.push_str(&format!(
        "{} claims: {} reproduced, {} not reproduced, {} not decided on this data\n",
        judged.len(),
        count(Verdict::Reproduced),
        count(Verdict::NotReproduced),
        count(Verdict::NotDecided)
    ));
    out
}
