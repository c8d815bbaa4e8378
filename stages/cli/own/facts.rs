//! What a command found, collected once and printed as aligned lines or as JSON.

use super::super::text::Paint;
use super::super::{json, output};
use crate::cli::console::message;
use serde_json::{Map, Value};

/// Named findings in order.
#[derive(Debug, Default)]
pub struct Facts {
    lines: Vec<(String, String)>,
    json: Map<String, Value>,
}

impl Facts {
    /// Adds a finding: its text for people, its value for scripts.
    pub fn say(&mut self, key: &str, text: impl Into<String>, value: impl Into<Value>) {
        self.lines.push((key.into(), text.into()));
        self.json.insert(key.replace(' ', "_"), value.into());
    }

    /// Adds a value for scripts that people need not read.
    pub fn silent(&mut self, key: &str, value: impl Into<Value>) {
        self.json.insert(key.replace(' ', "_"), value.into());
    }

    /// Warns on stderr; scripts find it under `warnings`.
    pub fn warn(&mut self, text: impl Into<String>) {
        let text = text.into();
        message!("{} {text}", Paint::stderr().yellow("warning:"));
        if let Value::Array(list) = self.json.entry("warnings").or_insert_with(|| Value::Array(vec![])) {
            list.push(text.into());
        }
    }

    /// Prints everything.
    pub fn print(&self, as_json: bool) -> anyhow::Result<()> {
        if as_json {
            return json(&self.json);
        }
        let width = self.lines.iter().map(|l| l.0.chars().count()).max().unwrap_or(0);
        let text: String = self.lines.iter().map(|(k, t)| format!("{k:width$}  {t}\n")).collect();
        output(&text);
        Ok(())
    }
}

/// A number to read: three digits, exponent only where it helps.
pub fn number(v: f64) -> String {
    match v.abs() {
        0.0 => "0".into(),
        a if a.is_nan() => "not measured".into(),
        a if (0.01..1e5).contains(&a) => {
            let digits = (2 - a.log10().floor() as i32).clamp(0, 4) as usize;
            format!("{v:.digits$}")
        }
        _ => format!("{v:.2e}"),
    }
}

/// A relative error to read: what is at or below the floor is said to be rounding, not a measured number.
pub fn floored(v: f64, floor: f64) -> String {
    if v <= floor { format!("below {floor:.0e} (rounding)") } else { number(v) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_floor_is_called_rounding() {
        assert_eq!(super::floored(1e-7, 1.4e-7), "below 1e-7 (rounding)");
        assert_eq!(super::floored(0.02, 1.4e-7), "0.0200");
    }

    #[test]
    fn numbers_read_well() {
        let all = [0.0, 0.1234, 12.345, 1234.5, 1.2345e-7, 3e9].map(super::number);
        assert_eq!(all, ["0", "0.123", "12.3", "1234", "1.23e-7", "3.00e9"]);
    }
}
