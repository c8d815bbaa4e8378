//! Axes: ranges, readable ticks (1, 2, 5 steps; 10ᵏ on logarithmic axes) and the map from values to points.

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
    /// Fixed ends; from the data when `None`.
    pub range: Option<(f64, f64)>,
    /// Fixed ticks; chosen when `None`.
    pub ticks: Option<Vec<(f64, String)>>,
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Axis { label: label.into(), scale: Scale::Linear, range: None, ticks: None }
    }

    /// A logarithmic axis.
    pub fn log(label: impl Into<String>) -> Self {
        Axis { label: label.into(), scale: Scale::Log, range: None, ticks: None }
    }

    /// Fix the ends.
    pub fn between(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low, high));
        self
    }

    /// Ticks at these values only (measured grid points, say).
    pub fn ticks_at(mut self, values: &[f64]) -> Self {
        self.ticks = Some(values.iter().map(|&v| (v, plain(v))).collect());
        self
    }
}

/// An axis ready to draw: ends, ticks with labels, small ticks.
#[derive(Clone, Debug, PartialEq)]
pub struct Ruler {
    /// Linear or logarithmic.
    pub scale: Scale,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Labelled ticks.
    pub ticks: Vec<(f64, String)>,
    /// Ticks without label.
    pub minor: Vec<f64>,
}

impl Ruler {
    /// Choose ends and about `target` ticks for `values`.
    pub fn fit(axis: &Axis, values: impl Iterator<Item = f64>, target: usize) -> Self {
        let log = axis.scale == Scale::Log;
        let usable = |v: &f64| v.is_finite() && (!log || *v > 0.0);
        let (mut low, mut high) =
            values.filter(usable).fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        if low > high {
            (low, high) = if log { (0.1, 1.0) } else { (0.0, 1.0) };
        }
        match axis.range {
            Some((a, b)) if usable(&a) && usable(&b) && a < b => (low, high) = (a, b),
            _ if log => {
                // A little air at both ends, and at least 0.4 decades in all, so that 1, 2 or 5 is in sight.
                let span = (high / low).log10();
                let air = (span * 0.05).max(0.03).max(0.2 - span / 2.0);
                (low, high) = (low * 10f64.powf(-air), high * 10f64.powf(air));
            }
            _ => {
                let span = high - low;
                let air = if span > 0.0 { 0.05 * span } else { high.abs().max(1.0) * 0.1 };
                // Do not push a quantity that is never negative below zero.
                (low, high) = (if low >= 0.0 { (low - air).max(0.0) } else { low - air }, high + air);
            }
        }
        let (ticks, minor) = match &axis.ticks {
            Some(fixed) => (fixed.iter().filter(|t| t.0 >= low && t.0 <= high).cloned().collect(), Vec::new()),
            None if log => log_ticks(low, high, target),
            None => (linear_ticks(low, high, target), Vec::new()),
        };
        Ruler { scale: axis.scale, low, high, ticks, minor }
    }

    /// Position of `v` in [0, 1]; `None` when it cannot be shown at all.
    pub fn place(&self, v: f64) -> Option<f64> {
        let t = match self.scale {
            Scale::Linear => (v - self.low) / (self.high - self.low),
            Scale::Log if v > 0.0 => (v / self.low).ln() / (self.high / self.low).ln(),
            Scale::Log => return None,
        };
        t.is_finite().then_some(t)
    }

    /// Remove the labels (not the ticks) that would not fit when each needs `need(label)` of `length` points.
    pub fn thin(&mut self, length: f64, need: impl Fn(&str) -> f64) {
        let mut last = f64::NEG_INFINITY;
        let mut keep = Vec::new();
        for (v, label) in std::mem::take(&mut self.ticks) {
            let at = self.place(v).unwrap_or(0.0) * length;
            let half = need(&label) / 2.0;
            if at - half >= last {
                last = at + half;
                keep.push((v, label));
            } else {
                self.minor.push(v);
            }
        }
        self.ticks = keep;
    }
}

fn linear_ticks(low: f64, high: f64, target: usize) -> Vec<(f64, String)> {
    let raw = (high - low) / target.max(2) as f64;
    let unit = 10f64.powf(raw.log10().floor());
    let step =
        [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|m| m * unit).find(|s| *s >= raw * 0.999).unwrap_or(unit * 10.0);
    let digits = (0..=12).find(|&d| ((step * 10f64.powi(d)).round() - step * 10f64.powi(d)).abs() < 1e-6).unwrap_or(0);
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    let powers = low.abs().max(high.abs()) >= 1e5 || step < 1e-4;
    (first..=last)
        .map(|i| {
            let v = i as f64 * step;
            (v, if powers && i != 0 { scientific(v, 1) } else { minus(&format!("{v:.*}", digits as usize)) })
        })
        .collect()
}

fn log_ticks(low: f64, high: f64, target: usize) -> (Vec<(f64, String)>, Vec<f64>) {
    let first = (low.log10() - 1e-9).ceil() as i32;
    let last = (high.log10() + 1e-9).floor() as i32;
    let decades = last - first + 1;
    if decades < 2 {
        // Less than two powers of ten in sight: label 1, 2, 5 as well.
        let mut ticks = Vec::new();
        for k in first - 1..=last + 1 {
            for m in [1.0, 2.0, 5.0] {
                let v = m * 10f64.powi(k);
                if v >= low * 0.999 && v <= high * 1.001 {
                    ticks.push((v, if (-3..=4).contains(&k) { plain(v) } else { scientific(v, 0) }));
                }
            }
        }
        return (ticks, Vec::new());
    }
    // Small whole powers read better as plain numbers (ranks: 1, 10, 100).
    let plainly = first >= -1 && last <= 4;
    let name = |k: i32| if plainly { plain(10f64.powi(k)) } else { power(k) };
    let step = (1..).find(|s| decades / s <= target.max(2) as i32).unwrap_or(1);
    let ticks = (first..=last).filter(|k| k.rem_euclid(step) == 0).map(|k| (10f64.powi(k), name(k))).collect();
    let mut minor = Vec::new();
    if step == 1 && decades <= 5 {
        for k in first - 1..=last {
            minor.extend((2..10).map(|m| f64::from(m) * 10f64.powi(k)).filter(|v| *v >= low && *v <= high));
        }
    } else if step > 1 {
        minor.extend((first..=last).filter(|k| k.rem_euclid(step) != 0).map(|k| 10f64.powi(k)));
    }
    (ticks, minor)
}

/// 10 to the `k` with a superscript.
///
/// ```
/// assert_eq!(report::axis::power(-12), "10⁻¹²");
/// ```
pub fn power(k: i32) -> String {
    format!("10{}", superscript(k))
}

/// `k` as superscript signs.
pub fn superscript(k: i32) -> String {
    const SUP: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    k.to_string().chars().map(|c| c.to_digit(10).map_or('⁻', |d| SUP[d as usize])).collect()
}

/// `v` as mantissa times a power of ten.
pub fn scientific(v: f64, digits: usize) -> String {
    if v == 0.0 || !v.is_finite() {
        return minus(&format!("{v:.0}"));
    }
    let text = format!("{v:.digits$e}");
    let (m, e) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{}×{}", minus(m), power(e.parse().unwrap_or(0)))
}

/// A short plain number: no trailing zeros.
pub fn plain(v: f64) -> String {
    if v != 0.0 && (v.abs() < 1e-4 || v.abs() >= 1e6) {
        return scientific(v, 1);
    }
    let text = format!("{v:.6}");
    minus(text.trim_end_matches('0').trim_end_matches('.'))
}

/// A real minus sign in place of the hyphen.
pub fn minus(text: &str) -> String {
    text.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(r: &Ruler) -> Vec<&str> {
        r.ticks.iter().map(|t| t.1.as_str()).collect()
    }

    #[test]
    fn linear_ticks_are_round() {
        let r = Ruler::fit(&Axis::linear("x").between(0.0, 100.0), [].into_iter(), 5);
        assert_eq!(labels(&r), ["0", "20", "40", "60", "80", "100"]);
        let r = Ruler::fit(&Axis::linear("x").between(-0.3, 0.3), [].into_iter(), 4);
        assert_eq!(labels(&r), ["−0.2", "0.0", "0.2"]);
    }

    #[test]
    fn log_ticks_are_powers_and_skip_evenly() {
        let r = Ruler::fit(&Axis::log("y"), [1e-24, 5e3].into_iter(), 6);
        assert_eq!(labels(&r), ["10⁻²⁵", "10⁻²⁰", "10⁻¹⁵", "10⁻¹⁰", "10⁻⁵", "10⁰", "10⁵"]);
        let r = Ruler::fit(&Axis::log("y"), [2.0, 11.0].into_iter(), 6);
        assert_eq!(labels(&r), ["2", "5", "10"]);
    }

    #[test]
    fn odd_data_still_gives_an_axis() {
        for values in [vec![], vec![f64::NAN], vec![3.0], vec![0.0, 0.0], vec![-1.0, 0.0]] {
            for axis in [Axis::linear("x"), Axis::log("x")] {
                let r = Ruler::fit(&axis, values.iter().copied(), 5);
                assert!(r.low < r.high && !r.ticks.is_empty(), "{values:?} {r:?}");
            }
        }
        assert_eq!(Ruler::fit(&Axis::log("x"), [1.0].into_iter(), 4).place(-1.0), None);
    }
}
