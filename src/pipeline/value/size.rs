//! Sizes in bytes as people write them: `500MB`, `2 GiB`, `1048576`.

use super::Value;

/// The number of bytes that a value names; `None` when it names none. Units are powers of 1024.
pub(crate) fn bytes(value: &Value) -> Option<u64> {
    if let Value::Int(i) = value {
        return u64::try_from(*i).ok();
    }
    let text = value.as_str()?.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = (text[..digits].parse::<f64>().ok()?, text[digits..].trim());
    let scale = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" | "kib" => 1024.0,
        "m" | "mb" | "mib" => 1024.0 * 1024.0,
        "g" | "gb" | "gib" => 1024.0 * 1024.0 * 1024.0,
        "t" | "tb" | "tib" => 1024.0f64.powi(4),
        _ => return None,
    };
    Some((number * scale) as u64)
}
