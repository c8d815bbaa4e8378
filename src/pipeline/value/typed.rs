//! From a [`Value`] to a typed parameter struct and back, with errors that know where in the value they are.
//!
//! `serde` calls an error's constructor with the field's name or the list of right names; [`ParamError`] keeps them, and
//! the path grows as the error travels outwards. So `unknown field` in a nested map becomes
//! `solver.epohcs: unknown parameter`, with the names that exist as candidates.

use crate::value::Value;
use serde::de::{self, DeserializeOwned, DeserializeSeed, Expected, IntoDeserializer, Unexpected};
use serde::{Deserializer, Serialize, forward_to_deserialize_any};
use std::fmt;
use std::sync::Arc;

/// A parameter that a kind refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamError {
    /// Where in the parameters, dotted: `solver.epochs`, `ranks.2`. Empty for the parameters as a whole.
    pub path: String,
    /// What is wrong, in a sentence without the path.
    pub message: String,
    /// The names that would have been right, when a name is wrong.
    pub candidates: Vec<String>,
}

impl ParamError {
    /// An error about the parameter at `path`.
    pub fn new(path: impl Into<String>, message: impl fmt::Display) -> Self {
        Self { path: path.into(), message: message.to_string(), candidates: Vec::new() }
    }

    fn under(mut self, outer: &str) -> Self {
        self.path = if self.path.is_empty() { outer.to_string() } else { format!("{outer}.{}", self.path) };
        self
    }
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { f.write_str(&self.message) } else { write!(f, "{}: {}", self.path, self.message) }
    }
}

impl std::error::Error for ParamError {}

impl de::Error for ParamError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new("", message)
    }
    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new("", format!("expected {}, found {}", wanted(expected), plain(found)))
    }
    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new("", format!("expected {}, found {}", wanted(expected), plain(found)))
    }
    fn missing_field(field: &'static str) -> Self {
        Self::new("", format!("parameter `{field}` is missing"))
    }
    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let candidates = expected.iter().map(ToString::to_string).collect();
        Self { path: field.to_string(), message: format!("unknown parameter `{field}`"), candidates }
    }
    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let candidates = expected.iter().map(ToString::to_string).collect();
        Self { path: String::new(), message: format!("`{variant}` is not one of the choices"), candidates }
    }
}

/// What serde expects, in words a user of YAML knows.
fn wanted(expected: &dyn Expected) -> String {
    match expected.to_string().as_str() {
        "f32" | "f64" => "a number".into(),
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0".into(),
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number".into(),
        "a boolean" => "true or false".into(),
        "a string" => "text".into(),
        "a sequence" => "a list".into(),
        other => other.strip_prefix("struct ").map_or_else(|| other.to_string(), |_| "a map".into()),
    }
}

fn plain(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Unit | Unexpected::Option => "nothing".into(),
        Unexpected::Str(s) => format!("the text `{s}`"),
        Unexpected::Signed(i) => format!("`{i}`"),
        Unexpected::Unsigned(u) => format!("`{u}`"),
        Unexpected::Float(x) => format!("`{x}`"),
        Unexpected::Bool(b) => format!("`{b}`"),
        Unexpected::Seq => "a list".into(),
        Unexpected::Map => "a map".into(),
        other => other.to_string(),
    }
}

/// Reads a typed struct out of a value.
///
/// ```
/// # use pipeline::{Value, from_value};
/// #[derive(serde::Deserialize, Debug)]
/// #[serde(deny_unknown_fields)]
/// struct P { rank: usize }
/// let bad: Value = serde_json::from_str(r#"{"rnk": 5}"#).unwrap();
/// let error = from_value::<P>(&bad).unwrap_err();
/// assert_eq!((error.path.as_str(), error.candidates), ("rnk", vec!["rank".to_string()]));
/// ```
pub fn from_value<T: DeserializeOwned>(value: &Value) -> Result<T, ParamError> {
    T::deserialize(De(value))
}

/// Writes a typed struct as a value. Numbers that are not finite have no place in a key and are refused.
pub fn to_value<T: Serialize>(typed: &T) -> Result<Value, ParamError> {
    typed.serialize(super::ser::ToValue)
}

struct De<'a>(&'a Value);

impl<'de, 'a: 'de> Deserializer<'de> for De<'a> {
    type Error = ParamError;

    fn deserialize_any<V: de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, ParamError> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(b) => visitor.visit_bool(*b),
            Value::Int(i) => match u64::try_from(*i) {
                Ok(u) => visitor.visit_u64(u),
                Err(_) => visitor.visit_i64(*i),
            },
            Value::Float(x) => visitor.visit_f64(*x),
            Value::Str(s) => visitor.visit_borrowed_str(s),
            Value::List(items) => visitor.visit_seq(Seq { items: items.iter(), at: 0 }),
            Value::Map(map) => visitor.visit_map(Map { entries: map.entries().iter(), current: None }),
        }
    }

    fn deserialize_option<V: de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, ParamError> {
        if matches!(self.0, Value::Null) { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: de::Visitor<'de>>(self, _: &'static str, v: V) -> Result<V::Value, ParamError> {
        v.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: de::Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ParamError> {
        match self.0 {
            Value::Str(name) => visitor.visit_enum(name.as_str().into_deserializer()),
            Value::Map(map) if map.len() == 1 => visitor.visit_enum(de::value::MapAccessDeserializer::new(Map {
                entries: map.entries().iter(),
                current: None,
            })),
            other => Err(ParamError::new("", format!("expected one of the choices, found {}", other.type_name()))),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}

impl<'de, 'a: 'de> IntoDeserializer<'de, ParamError> for De<'a> {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

struct Seq<'a> {
    items: std::slice::Iter<'a, Value>,
    at: usize,
}

impl<'de, 'a: 'de> de::SeqAccess<'de> for Seq<'a> {
    type Error = ParamError;
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, ParamError> {
        let Some(item) = self.items.next() else { return Ok(None) };
        self.at += 1;
        seed.deserialize(De(item)).map(Some).map_err(|e| e.under(&(self.at - 1).to_string()))
    }
}

struct Map<'a> {
    entries: std::slice::Iter<'a, (Arc<str>, Value)>,
    current: Option<(&'a str, &'a Value)>,
}

impl<'de, 'a: 'de> de::MapAccess<'de> for Map<'a> {
    type Error = ParamError;
    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, ParamError> {
        self.current = self.entries.next().map(|(k, v)| (&**k, v));
        let Some((key, _)) = self.current else { return Ok(None) };
        seed.deserialize(key.into_deserializer()).map(Some)
    }
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, ParamError> {
        // serde asks for a value only after a key; a caller that does not gets an error, not a panic.
        let (key, value) = self.current.ok_or_else(|| ParamError::new("", "a value was asked for before its key"))?;
        seed.deserialize(De(value)).map_err(|e| e.under(key))
    }
}
