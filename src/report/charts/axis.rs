//! Axes: what an axis shows, and the plotters coordinate made of it.
//!
//! Plotters places values and chooses ticks, evenly or by powers of ten. Ours are the ends (a little air around the data) and the words
//! of the labels (a real minus sign, 10ᵏ with a superscript).

use std::ops::Range;

use plotters::coord::combinators::{IntoLogRange, LogCoord};
use plotters::coord::ranged1d::{BoldPoints, KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;

use crate::tables::number::{minus, plain, power, scientific};

/// How values are spread over an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By decimal logarithm; values that are not positive are left out.
    Log,
}

/// One axis as described.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Quantity and unit.
    pub label: String,
    /// Linear or logarithmic.
    pub scale: Scale,
    /// Ends that the axis reaches at least; from the data when `None`.
    pub range: Option<(f64, f64)>,
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Axis { label: label.into(), scale: Scale::Linear, range: None }
    }

    /// A logarithmic axis.
    pub fn log(label: impl Into<String>) -> Self {
        Axis { label: label.into(), scale: Scale::Log, range: None }
    }

    /// Reach from `low` to `high`, and further only where the data do.
    pub fn between(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low, high));
        self
    }
}

/// An axis with its ends: one plotters coordinate for both scales, so that every chart has the same type.
#[derive(Clone, Debug, PartialEq)]
pub struct Ruler {
    scale: Scale,
    low: f64,
    high: f64,
    /// How many labels plotters may set.
    labels: usize,
    /// Digits after the point on a linear axis.
    decimals: usize,
}

impl Ruler {
    /// Choose ends for `values`, and about `labels` labels.
    pub fn fit(axis: &Axis, values: impl Iterator<Item = f64>, labels: usize) -> Self {
        let log = axis.scale == Scale::Log;
        let usable = |v: &f64| v.is_finite() && (!log || *v > 0.0);
        let (mut low, mut high) =
            values.filter(usable).fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        match axis.range {
            Some((a, b)) if usable(&a) && usable(&b) && a < b => (low, high) = (a.min(low), b.max(high)),
            _ => {
                if low > high {
                    (low, high) = if log { (0.1, 1.0) } else { (0.0, 1.0) };
                }
                (low, high) = airy(low, high, log);
            }
        }
        let mut ruler = Ruler { scale: axis.scale, low, high, labels: labels.max(2), decimals: 0 };
        if log {
            // Few decades: enough labels that plotters offers 2 and 5 beside the powers of ten.
            let decades = (high / low).log10().floor().max(1.0) as usize;
            ruler.labels = if decades * 3 <= ruler.labels { 10 * decades + 10 } else { ruler.labels };
        } else {
            let ticks = ruler.key_points(BoldPoints(ruler.labels));
            let round = |d: &usize| {
                let k = 10f64.powi(*d as i32);
                ticks.iter().all(|v| ((v * k).round() - v * k).abs() < 1e-6 * k * (high - low).min(1.0))
            };
            ruler.decimals = (0..=12).find(round).unwrap_or(0);
        }
        ruler
    }

    /// Lower and upper end.
    pub fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// How many labels plotters may set.
    pub fn labels(&self) -> usize {
        self.labels
    }

    /// The labelled ticks.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        self.key_points(BoldPoints(self.labels)).into_iter().map(|v| (v, self.format_ext(&v))).collect()
    }

    /// Whether the axis can show `v` at all.
    pub fn shows(&self, v: f64) -> bool {
        v.is_finite() && (self.scale == Scale::Linear || v > 0.0)
    }

    /// Position of `v` as a share of the axis; `None` when it cannot be shown at all.
    pub fn place(&self, v: f64) -> Option<f64> {
        const FINE: i32 = 1 << 24;
        self.shows(v).then(|| f64::from(self.map(&v, (0, FINE))) / f64::from(FINE))
    }

    /// The power of ten at or below the lower end. Plotters takes numbers below 2e-16 for zero, so it gets multiples of this one.
    fn unit(&self) -> f64 {
        10f64.powi((self.low.log10() + 1e-9).floor() as i32)
    }
}

/// A little air at both ends.
fn airy(low: f64, high: f64, log: bool) -> (f64, f64) {
    if log {
        // At least 0.4 decades in all, so that 1, 2 or 5 is in sight.
        let span = (high / low).log10();
        let air = (span * 0.05).max(0.03).max(0.2 - span / 2.0);
        return (low * 10f64.powf(-air), high * 10f64.powf(air));
    }
    let span = high - low;
    let air = if span > 0.0 { 0.05 * span } else { high.abs().max(1.0) * 0.1 };
    // A quantity that is never negative keeps an axis that is not, either.
    (if low >= 0.0 { (low - air).max(0.0) } else { low - air }, high + air)
}

impl Ranged for Ruler {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, v: &f64, limit: (i32, i32)) -> i32 {
        match self.scale {
            Scale::Linear => RangedCoordf64::from(self.range()).map(v, limit),
            Scale::Log => {
                let unit = self.unit();
                LogCoord::from((self.low / unit..self.high / unit).log_scale()).map(&(v / unit), limit)
            }
        }
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        match self.scale {
            Scale::Linear => RangedCoordf64::from(self.range()).key_points(hint),
            Scale::Log => {
                // From the power of ten below the lower end, because plotters begins with the first one inside.
                let unit = self.unit();
                let mut all = LogCoord::from((1.0..self.high / unit).log_scale()).key_points(hint);
                // Plotters names a power of ten twice when it also names its multiples.
                all.dedup_by(|b, a| *b < *a * 1.001);
                // What has no label gets no tick either: a grid line at each multiple would hide the points.
                let shown = |v: &f64| *v >= self.low * 0.999 && !self.format_ext(v).is_empty();
                all.into_iter().map(|v| v * unit).filter(shown).collect()
            }
        }
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Ruler {
    fn format_ext(&self, v: &f64) -> String {
        let span = self.low.abs().max(self.high.abs());
        if self.scale == Scale::Linear {
            let powers = span >= 1e5 || self.decimals > 4;
            return if powers && *v != 0.0 { scientific(*v, 1) } else { minus(&format!("{v:.*}", self.decimals)) };
        }
        let k = (v.log10() + 1e-9).floor();
        let digit = (v / 10f64.powf(k)).round() as i32;
        // Between powers of ten 2 and 5 are enough, except on a short axis.
        if !matches!(digit, 1 | 2 | 5) && self.high > 5.0 * self.low {
            return String::new();
        }
        // Small whole powers read better as plain numbers (ranks: 1, 10, 100).
        match (self.low >= 0.009 && self.high <= 1.2e4, digit) {
            (true, _) => plain(*v),
            (false, 1) => power(k as i32),
            (false, _) => scientific(*v, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, values: &[f64], count: usize) -> Vec<String> {
        Ruler::fit(axis, values.iter().copied(), count).ticks().into_iter().map(|t| t.1).collect()
    }

    #[test]
    fn linear_labels_are_round() {
        assert_eq!(labels(&Axis::linear("x").between(0.0, 100.0), &[], 6), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(labels(&Axis::linear("x").between(-0.3, 0.3), &[], 4), ["−0.2", "0.0", "0.2"]);
    }

    #[test]
    fn log_labels_are_powers_of_ten_down_to_the_smallest_errors() {
        let words = labels(&Axis::log("y"), &[1e-24, 5e3], 6);
        assert!(words.len() >= 4 && words.iter().all(|w| w.starts_with("10")), "{words:?}");
        assert_eq!(labels(&Axis::log("y"), &[2.0, 11.0], 6), ["2", "5", "10"]);
        assert_eq!(labels(&Axis::log("y"), &[1.0, 100.0], 8), ["1", "2", "5", "10", "20", "50", "100"]);
    }

    #[test]
    fn a_range_is_widened_where_the_data_reach_further() {
        let ruler = Ruler::fit(&Axis::linear("x").between(0.0, 1.0), [0.5, 1.5].into_iter(), 5);
        assert_eq!(ruler.ends(), (0.0, 1.5));
    }

    #[test]
    fn odd_data_still_give_an_axis() {
        for values in [vec![], vec![f64::NAN], vec![3.0], vec![0.0, 0.0], vec![-1.0, 0.0]] {
            for axis in [Axis::linear("x"), Axis::log("x")] {
                let r = Ruler::fit(&axis, values.iter().copied(), 5);
                assert!(r.low < r.high && !r.ticks().is_empty(), "{values:?} {r:?}");
            }
        }
        assert_eq!(Ruler::fit(&Axis::log("x"), [1.0].into_iter(), 4).place(-1.0), None);
    }
}
