//! Parameters as values, not as text.
//!
//! Beside the values themselves: [`digest`] (names of content), [`typed`] (values to and from parameter structs) and
//! `size` (sizes like `2GB`).
//!
//! A parameter read from pipeline.yaml, given by `--set` or filled in by a default becomes a [`Value`]. Two spellings of
//! one value (`1e-3` and `0.001`, keys in another order) are one `Value` and hash the same: see
//! [`Value::canonical_bytes`]. Numbers that are not finite are refused when a value is read, so every value equals itself.

pub mod digest;
mod map;
mod ser;
pub(crate) mod size;
pub mod typed;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

pub use map::ValueMap;

/// A canonical parameter value. Floats are finite, maps are sorted.
///
/// ```
/// use pipeline::Value;
/// let a: Value = serde_json::from_str(r#"{"lr": 1e-3, "rank": 5}"#).unwrap();
/// let b: Value = serde_json::from_str(r#"{"rank": 5, "lr": 0.001}"#).unwrap();
/// assert_eq!(a.canonical_bytes(), b.canonical_bytes());
/// assert_eq!(Value::from(-0.0).canonical_bytes(), Value::from(0.0).canonical_bytes());
/// ```
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Value {
    /// `null`, `~` or nothing.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A finite number with a point or an exponent.
    Float(f64),
    /// Text.
    Str(String),
    /// A sequence.
    List(Vec<Value>),
    /// A mapping, sorted by key.
    Map(ValueMap),
}

impl Value {
    /// The bytes that enter a key: a tag, a length where one is needed, then the content; floats by their exact bits,
    /// with `-0.0` written as `0.0`. Injective: two values share bytes only when they are equal.
    pub fn canonical_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write_canonical(&mut out);
        out
    }

    pub(crate) fn write_canonical(&self, out: &mut Vec<u8>) {
        match self {
            Value::Null => out.push(b'n'),
            Value::Bool(b) => out.extend([b'b', u8::from(*b)]),
            Value::Int(i) => {
                out.push(b'i');
                out.extend(i.to_le_bytes());
            }
            Value::Float(x) => {
                out.push(b'f');
                let x = if *x == 0.0 { 0.0 } else { *x };
                out.extend(x.to_bits().to_le_bytes());
            }
            Value::Str(s) => {
                out.push(b's');
                write_text(s, out);
            }
            Value::List(items) => {
                out.push(b'l');
                out.extend((items.len() as u64).to_le_bytes());
                items.iter().for_each(|v| v.write_canonical(out));
            }
            Value::Map(map) => {
                out.push(b'm');
                out.extend((map.len() as u64).to_le_bytes());
                for (k, v) in map.iter() {
                    write_text(k, out);
                    v.write_canonical(out);
                }
            }
        }
    }

    /// An empty map.
    pub fn map() -> Self {
        Value::Map(ValueMap::default())
    }

    /// The value under `key`, when this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_map()?.get(key)
    }

    /// The map, when this is one.
    pub fn as_map(&self) -> Option<&ValueMap> {
        if let Value::Map(map) = self { Some(map) } else { None }
    }

    /// The text, when this is text.
    pub fn as_str(&self) -> Option<&str> {
        if let Value::Str(s) = self { Some(s) } else { None }
    }

    /// The whole number, when this is one.
    pub fn as_i64(&self) -> Option<i64> {
        if let Value::Int(i) = self { Some(*i) } else { None }
    }

    /// The number, whole or not.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Int(i) => Some(*i as f64),
            Value::Float(x) => Some(*x),
            _ => None,
        }
    }

    /// Equality that lets `1` be `1.0`: what joins use, since two stages may type one axis differently.
    pub fn same(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Int(i), Value::Float(x)) | (Value::Float(x), Value::Int(i)) => *x == *i as f64,
            (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b)),
            (Value::Map(a), Value::Map(b)) => {
                a.len() == b.len() && a.iter().zip(b.iter()).all(|((k, a), (l, b))| k == l && a.same(b))
            }
            _ => self == other,
        }
    }

    /// A value of the same kind as what [`Value::same`] compares: whole floats become integers, at any depth.
    pub(crate) fn joined(&self) -> Value {
        match self {
            Value::Float(x) if x.fract() == 0.0 && x.abs() < 9e15 => Value::Int(*x as i64),
            Value::List(items) => Value::List(items.iter().map(Value::joined).collect()),
            Value::Map(map) => Value::Map(map.iter().map(|(k, v)| (k, v.joined())).collect()),
            other => other.clone(),
        }
    }

    /// What the value is, in a word, for messages.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "nothing",
            Value::Bool(_) => "true/false",
            Value::Int(_) => "a whole number",
            Value::Float(_) => "a number",
            Value::Str(_) => "text",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

impl fmt::Display for Value {
    /// Compact and unambiguous: plain words bare, anything else as in JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Str(s) if plain(s) => f.write_str(s),
            other => f.write_str(&serde_json::to_string(other).map_err(|_| fmt::Error)?),
        }
    }
}

/// Text that can stand in a unit's label without quotes and cannot be taken for another type.
fn plain(s: &str) -> bool {
    s.chars().all(|c| c.is_ascii_alphanumeric() || "_-.+".contains(c))
        && s.chars().any(|c| c.is_ascii_alphabetic())
        && !matches!(s, "null" | "true" | "false")
        && s.parse::<f64>().is_err()
}

macro_rules! from {
    ($($from:ty => |$x:ident| $to:expr;)*) => {$(
        impl From<$from> for Value { fn from($x: $from) -> Self { $to } }
    )*};
}
from! {
    bool => |x| Value::Bool(x);
    i64 => |x| Value::Int(x);
    i32 => |x| Value::Int(x.into());
    u32 => |x| Value::Int(x.into());
    f64 => |x| Value::Float(x);
    &str => |x| Value::Str(x.to_string());
    String => |x| Value::Str(x);
    Vec<Value> => |x| Value::List(x);
    ValueMap => |x| Value::Map(x);
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => s.serialize_unit(),
            Value::Bool(b) => s.serialize_bool(*b),
            Value::Int(i) => s.serialize_i64(*i),
            Value::Float(x) => s.serialize_f64(*x),
            Value::Str(t) => s.serialize_str(t),
            Value::List(items) => s.collect_seq(items),
            Value::Map(map) => s.collect_map(map.iter()),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Value;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a parameter value")
            }
            fn visit_unit<E>(self) -> Result<Value, E> {
                Ok(Value::Null)
            }
            fn visit_none<E>(self) -> Result<Value, E> {
                Ok(Value::Null)
            }
            fn visit_some<D: Deserializer<'de>>(self, d: D) -> Result<Value, D::Error> {
                Value::deserialize(d)
            }
            fn visit_bool<E>(self, b: bool) -> Result<Value, E> {
                Ok(Value::Bool(b))
            }
            fn visit_i64<E>(self, i: i64) -> Result<Value, E> {
                Ok(Value::Int(i))
            }
            fn visit_u64<E: serde::de::Error>(self, u: u64) -> Result<Value, E> {
                i64::try_from(u).map(Value::Int).map_err(|_| E::custom(format!("{u} is too large for a parameter")))
            }
            fn visit_f64<E: serde::de::Error>(self, x: f64) -> Result<Value, E> {
                if x.is_finite() { Ok(Value::Float(x)) } else { Err(E::custom("a parameter must be a finite number")) }
            }
            fn visit_str<E>(self, s: &str) -> Result<Value, E> {
                Ok(Value::Str(s.to_string()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(Value::List(items))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = access.next_entry::<String, Value>()? {
                    entries.push(entry);
                }
                Ok(Value::Map(entries.into_iter().collect()))
            }
        }
        d.deserialize_any(Any)
    }
}
