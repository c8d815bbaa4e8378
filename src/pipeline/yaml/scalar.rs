//! Plain scalars, typed by YAML 1.2's core schema.

use crate::value::Value;

/// The value of a plain scalar.
pub(super) fn plain_scalar(text: &str) -> Result<Value, String> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let radix = |prefix: &str, radix| digits.strip_prefix(prefix).and_then(|d| i64::from_str_radix(d, radix).ok());
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ if matches!(digits.to_ascii_lowercase().as_str(), ".inf" | ".nan") => {
            return Err(format!("`{text}` is not a finite number, and parameters must be"));
        }
        _ if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
            Value::Int(text.parse().map_err(|_| format!("`{text}` is too large for a whole number"))?)
        }
        _ if digits == text && radix("0x", 16).is_some() => Value::Int(radix("0x", 16).unwrap_or_default()),
        _ if digits == text && radix("0o", 8).is_some() => Value::Int(radix("0o", 8).unwrap_or_default()),
        _ if number(digits) => match text.parse::<f64>() {
            Ok(x) if x.is_finite() => Value::Float(x),
            _ => return Err(format!("`{text}` is too large for a number")),
        },
        _ => Value::Str(text.to_string()),
    })
}

/// `1.5`, `.5`, `1.`, `1e-3`: digits with a point or an exponent.
fn number(digits: &str) -> bool {
    let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
        Some((m, e)) => (m, Some(e.strip_prefix(['-', '+']).unwrap_or(e))),
        None => (digits, None),
    };
    let all = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    all(whole)
        && all(part)
        && !(whole.is_empty() && part.is_empty())
        && exponent.is_none_or(|e| !e.is_empty() && all(e))
}
