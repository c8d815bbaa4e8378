//! The paper's claims, each with the rule that decides it from measured metrics.
//!
//! A claim is never marked by hand: stages produce named metrics, the rule computes the verdict, and the numbers behind it
//! are printed. When a metric is missing, or measured on data that cannot decide the claim, the verdict is "not decided".
//!
//! # Uncertainty
//!
//! A mean over few datasets may fall on either side by chance. So "A is less than B" is reproduced only when the difference exceeds twice its standard
//! error (both means' errors, added as squares; datasets are shared, so this is on the safe side), and it is not decided where the difference has the right sign
//! and is smaller than that, or where there is one dataset only. A rule that states a margin (a factor, points, a tolerance, a range) is decided by the means: the
//! margin is there so that chance does not count. Each verdict says over how many datasets, draws or masks it was reached.
//! `paper.json` holds the paper's claims; the names of all metrics are documented in [`METRICS`].

mod rule;
mod tolerance;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::source::Source;

pub use rule::Rule;
use rule::sound;
pub use tolerance::{Tolerance, tolerance};

/// The claims file that belongs to the program.
pub const PAPER: &str = include_str!("paper.json");

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
    /// How many datasets, draws or masks the mean is over; `None` for a number that is not a mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<usize>,
    /// The data it was measured on.
    pub source: Source,
}

impl Metric {
    /// Standard error of the mean: 0 for a number that is not one, unknown for a mean over one.
    pub fn standard_error(&self) -> Option<f64> {
        match (self.n, self.sd) {
            (Some(n), Some(sd)) if n > 1 => Some(sd / (n as f64).sqrt()),
            (Some(_), _) => None,
            // Files of before the count was kept.
            (None, _) => Some(0.0),
        }
    }
}

/// What the means of a metric are over, in words.
fn repeated(name: &str) -> &'static str {
    match name.split('.').next().unwrap_or_default() {
        "table3" => "draws",
        "table4" | "figure3" | "figure4" | "figure5" => "matrices and masks",
        "figure6" | "figure7" => "masks",
        _ => "datasets",
    }
}

/// Metrics by name.
pub type Metrics = BTreeMap<String, Metric>;

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
    /// Over how many datasets, draws or masks: the least of its metrics that are means, in words. Empty where there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub over: String,
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
    Judged { claim: claim.clone(), verdict, over: over(claim, metrics), because }
}

/// `over 5 datasets`: the fewest that a metric of the claim is a mean over.
fn over(claim: &Claim, metrics: &Metrics) -> String {
    let counts = claim.decided_by.metrics().into_iter().filter_map(|name| Some((metrics.get(name)?.n?, name)));
    match counts.min_by_key(|(n, _)| *n) {
        Some((1, name)) => format!("over one of the {}", repeated(name)),
        Some((n, name)) => format!("over {n} {}", repeated(name)),
        None => String::new(),
    }
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
        let over = if j.over.is_empty() { String::new() } else { format!(" {}", j.over) };
        out.push_str(&format!(
            "{sign} {}: {}{over} ({}{must})\n    {}\n    {}\n",
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
