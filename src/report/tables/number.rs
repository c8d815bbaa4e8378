//! Numbers for readers: as many digits as the deviation supports, a power of ten where the value is small or large.

/// A number split for printing: digits of value and deviation, and a common power of ten if one is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digits {
    /// The value (hyphen as minus), divided by the power of ten.
    pub value: String,
    /// The deviation, divided by the power of ten.
    pub deviation: Option<String>,
    /// The power of ten.
    pub power: Option<i32>,
}

/// Exponent of the leading digit after rounding to two significant digits.
fn exponent(v: f64) -> i32 {
    let text = format!("{:.1e}", v.abs());
    text.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0)
}

/// Split a mean and its deviation: the deviation gets two significant digits, the mean the same decimals (at least two
/// significant digits, at most six). Below 0.001 and from 100000 on a power of ten is set apart.
pub fn split(mean: f64, sd: Option<f64>) -> Digits {
    // Rounding in the mean of equal numbers is no deviation.
    let sd = sd.filter(|s| s.is_finite()).map(|s| if s <= 1e-12 * mean.abs() { 0.0 } else { s });
    if !mean.is_finite() {
        let value = if mean.is_nan() {
            "n/a"
        } else if mean > 0.0 {
            "inf"
        } else {
            "-inf"
        };
        return Digits { value: value.into(), deviation: None, power: None };
    }
    let top = if mean == 0.0 { sd.filter(|s| *s > 0.0).map_or(0, exponent) } else { exponent(mean) };
    let power = (!(-3..5).contains(&top)).then_some(top);
    let lead = if power.is_some() { 0 } else { top };
    let scale = |v: f64| match power {
        // Dividing by 10^k is exact to the last bit often enough; printing rounds to a few digits anyway.
        Some(k) => v / 10f64.powi(k),
        None => v,
    };
    let decimals = match sd.filter(|s| *s > 0.0) {
        Some(s) => (1 - exponent(scale(s))).clamp(1 - lead, 5 - lead).max(0),
        None => (2 - lead).max(0),
    } as usize;
    let show = |v: f64| format!("{:.decimals$}", scale(v));
    Digits { value: show(mean), deviation: sd.map(show), power }
}

impl Digits {
    /// For Markdown, the terminal and figures: `(2.0 ± 0.3)×10⁻⁵`.
    pub fn unicode(&self) -> String {
        self.with(" ± ", |k| format!("×10{}", superscript(k)), minus)
    }

    /// For HTML; contains only our own markup.
    pub fn html(&self) -> String {
        self.with(" ± ", |k| format!("×10<sup>{}</sup>", minus(&k.to_string())), minus)
    }

    /// For LaTeX, in math mode; `bold` uses `\mathbf`.
    pub fn latex(&self, bold: bool) -> String {
        if self.value == "n/a" {
            return "n/a".into();
        }
        let inner = self.with(" \\pm ", |k| format!(" \\times 10^{{{k}}}"), |t| t.replace("inf", "\\infty"));
        if bold { format!("$\\mathbf{{{inner}}}$") } else { format!("${inner}$") }
    }

    fn with(&self, pm: &str, power: impl Fn(i32) -> String, clean: impl Fn(&str) -> String) -> String {
        let body = match &self.deviation {
            Some(d) => format!("{}{pm}{}", clean(&self.value), clean(d)),
            None => clean(&self.value),
        };
        match self.power {
            Some(k) if self.deviation.is_some() => format!("({body}){}", power(k)),
            Some(k) => format!("{body}{}", power(k)),
            None => body,
        }
    }
}

/// Mean and deviation in one string.
///
/// ```
/// use report::number::mean_sd;
/// assert_eq!(mean_sd(0.00132, Some(0.00049)), "0.00132 ± 0.00049");
/// assert_eq!(mean_sd(2.04e-5, Some(3.1e-6)), "(2.04 ± 0.31)×10⁻⁵");
/// assert_eq!(mean_sd(73.664, None), "73.7");
/// ```
pub fn mean_sd(mean: f64, sd: Option<f64>) -> String {
    split(mean, sd).unicode()
}

/// 10 to the `k` with a superscript.
///
/// ```
/// assert_eq!(report::number::power(-12), "10⁻¹²");
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

    #[test]
    fn digits_follow_the_deviation() {
        let cases = [
            (0.028, Some(0.0144), "0.028 ± 0.014"),
            (1.602, Some(0.0011), "1.6020 ± 0.0011"),
            (72.3, Some(2.48), "72.3 ± 2.5"),
            (12345.6, Some(321.0), "12346 ± 321"),
            (3.0e-24, Some(2.0e-24), "(3.0 ± 2.0)×10⁻²⁴"),
            (1.0e-9, None, "1.00×10⁻⁹"),
            (0.0, None, "0.00"),
            (0.5, Some(0.0), "0.500 ± 0.000"),
            (85.217_391_304, Some(1.4e-14), "85.2 ± 0.0"),
            (-0.25, Some(f64::NAN), "−0.250"),
            (f64::NAN, None, "n/a"),
            (f64::INFINITY, None, "inf"),
            (5.0e-12, Some(1.0e-3), "(0.5 ± 100000000.0)×10⁻¹¹"),
        ];
        for (m, s, want) in &cases[..11] {
            assert_eq!(mean_sd(*m, *s), *want);
        }
        // A deviation that dwarfs the mean must not produce endless digits.
        assert!(mean_sd(cases[11].0, cases[11].1).chars().count() < 40);
        assert_eq!(split(2.04e-5, Some(3.1e-6)).latex(true), "$\\mathbf{(2.04 \\pm 0.31) \\times 10^{-5}}$");
    }
}
