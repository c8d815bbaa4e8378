//! The rules that decide claims: a comparison of measured metrics, or a combination of such comparisons. What uncertainty has to do
//! with it stands in the [module above](super).

use serde::{Deserialize, Serialize};

use super::{Metric, Metrics};
use crate::tables::number::mean_sd;

/// How a claim is decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "rule", deny_unknown_fields)]
pub enum Rule {
    /// `left < factor * right + margin`. Without factor and margin the difference must exceed twice its standard error.
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

/// Whether a rule can both hold and fail.
pub(super) fn sound(rule: &Rule) -> bool {
    match rule {
        Rule::LessThan { factor, margin, .. } => *factor > 0.0 && *margin >= 0.0,
        Rule::DropAt { factor, .. } => *factor > 0.0,
        Rule::Similar { tolerance, .. } => *tolerance >= 0.0,
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
            Rule::Between { metric, .. } => vec![metric],
            Rule::DropAt { before, after, .. } => vec![before, after],
            Rule::CountAtLeast { of, .. } | Rule::All { of } => of.iter().flat_map(Rule::metrics).collect(),
        }
    }

    /// Whether it holds (`None`: a metric is missing or not a number) and the comparison in words.
    pub(super) fn decide(&self, m: &Metrics) -> (Option<bool>, String) {
        let get = |name: &str| m.get(name).map(|m| m.value).filter(|v| !v.is_nan());
        let show = |name: &str| {
            m.get(name).map_or(format!("{name} is missing"), |m| format!("{name} = {}", mean_sd(m.value, m.sd)))
        };
        match self {
            Rule::LessThan { left, right, factor, margin } if *factor == 1.0 && *margin == 0.0 => {
                let (holds, how) = match (m.get(left), m.get(right)) {
                    (Some(a), Some(b)) => less(a, b),
                    _ => (None, String::new()),
                };
                (holds, format!("{} < {}{how}", show(left), show(right)))
            }
            Rule::LessThan { left, right, factor, margin } => {
                let holds = get(left).zip(get(right)).map(|(a, b)| a < factor * b + margin);
                let times = if *factor == 1.0 { String::new() } else { format!("{factor} × ") };
                let plus = if *margin == 0.0 { String::new() } else { format!(" + {margin}") };
                (holds, format!("{} < {times}{}{plus}", show(left), show(right)))
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

/// Whether one mean is less than the other by more than twice the standard error of their difference, and that in words.
fn less(a: &Metric, b: &Metric) -> (Option<bool>, String) {
    let difference = b.value - a.value;
    if difference.is_nan() {
        return (None, String::new());
    }
    match a.standard_error().zip(b.standard_error()) {
        _ if difference <= 0.0 => (Some(false), String::new()),
        None => (None, ", measured once: no standard error".to_string()),
        Some((0.0, 0.0)) => (Some(true), String::new()),
        Some((left, right)) => {
            let errors = difference / left.hypot(right);
            (if errors > 2.0 { Some(true) } else { None }, format!(", by {errors:.1} standard errors"))
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
