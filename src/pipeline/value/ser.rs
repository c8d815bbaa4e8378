//! From a typed parameter struct to a [`Value`], in one step.
//!
//! Every unit of a plan goes through it. The way through `serde_json::Value` that it replaces hashed and copied each name
//! once more; `tests/engine/config/values.rs` compares the two.

use super::typed::ParamError;
use super::{Value, ValueMap};
use serde::ser::{self, Serialize};

type Result<T = Value> = std::result::Result<T, ParamError>;

impl ser::Error for ParamError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::new("", message)
    }
}

/// Makes a [`Value`] of whatever it is handed.
pub(super) struct ToValue;

fn whole<N: Copy + std::fmt::Display + TryInto<i64>>(n: N) -> Result {
    n.try_into().map(Value::Int).map_err(|_| ParamError::new("", format!("{n} is too large for a parameter")))
}

/// A map of one entry: a variant that holds something.
fn variant(name: &str, value: Value) -> Value {
    Value::Map(std::iter::once((name, value)).collect())
}

macro_rules! whole {
    ($($method:ident $type:ty)*) => {$(fn $method(self, n: $type) -> Result { whole(n) })*};
}

impl ser::Serializer for ToValue {
    type Ok = Value;
    type Error = ParamError;
    type SerializeSeq = Items;
    type SerializeTuple = Items;
    type SerializeTupleStruct = Items;
    type SerializeTupleVariant = Items;
    type SerializeMap = Entries;
    type SerializeStruct = Entries;
    type SerializeStructVariant = Entries;

    whole! { serialize_i8 i8 serialize_i16 i16 serialize_i32 i32 serialize_i64 i64 serialize_i128 i128 }
    whole! { serialize_u8 u8 serialize_u16 u16 serialize_u32 u32 serialize_u64 u64 serialize_u128 u128 }

    fn serialize_bool(self, b: bool) -> Result {
        Ok(Value::Bool(b))
    }
    fn serialize_f32(self, x: f32) -> Result {
        self.serialize_f64(f64::from(x))
    }
    /// JSON has no name for a number that is not finite, so it counts as none; kinds refuse it before.
    fn serialize_f64(self, x: f64) -> Result {
        Ok(if x.is_finite() { Value::Float(x) } else { Value::Null })
    }
    fn serialize_char(self, c: char) -> Result {
        Ok(Value::Str(c.to_string()))
    }
    fn serialize_str(self, s: &str) -> Result {
        Ok(Value::Str(s.to_string()))
    }
    fn serialize_bytes(self, bytes: &[u8]) -> Result {
        Ok(Value::List(bytes.iter().map(|b| Value::Int((*b).into())).collect()))
    }
    fn serialize_none(self) -> Result {
        Ok(Value::Null)
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Result {
        Ok(Value::Null)
    }
    fn serialize_unit_struct(self, _: &'static str) -> Result {
        Ok(Value::Null)
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, name: &'static str) -> Result {
        self.serialize_str(name)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        value: &T,
    ) -> Result {
        Ok(variant(name, value.serialize(self)?))
    }
    fn serialize_seq(self, length: Option<usize>) -> Result<Items> {
        Ok(Items { items: Vec::with_capacity(length.unwrap_or(0)), variant: None })
    }
    fn serialize_tuple(self, length: usize) -> Result<Items> {
        self.serialize_seq(Some(length))
    }
    fn serialize_tuple_struct(self, _: &'static str, length: usize) -> Result<Items> {
        self.serialize_seq(Some(length))
    }
    fn serialize_tuple_variant(self, _: &'static str, _: u32, name: &'static str, length: usize) -> Result<Items> {
        Ok(Items { items: Vec::with_capacity(length), variant: Some(name) })
    }
    fn serialize_map(self, length: Option<usize>) -> Result<Entries> {
        Ok(Entries { entries: Vec::with_capacity(length.unwrap_or(0)), key: String::new(), variant: None })
    }
    fn serialize_struct(self, _: &'static str, length: usize) -> Result<Entries> {
        self.serialize_map(Some(length))
    }
    fn serialize_struct_variant(self, _: &'static str, _: u32, name: &'static str, length: usize) -> Result<Entries> {
        Ok(Entries { variant: Some(name), ..self.serialize_map(Some(length))? })
    }
}

/// A list under construction.
pub(super) struct Items {
    items: Vec<Value>,
    variant: Option<&'static str>,
}

impl Items {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.items.push(value.serialize(ToValue)?);
        Ok(())
    }
    fn finish(self) -> Result {
        let list = Value::List(self.items);
        Ok(if let Some(name) = self.variant { variant(name, list) } else { list })
    }
}

macro_rules! items {
    ($($part:ident $method:ident)*) => {$(
        impl ser::$part for Items {
            type Ok = Value;
            type Error = ParamError;
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> { self.push(value) }
            fn end(self) -> Result { self.finish() }
        }
    )*};
}
items! { SerializeSeq serialize_element SerializeTuple serialize_element SerializeTupleStruct serialize_field }
items! { SerializeTupleVariant serialize_field }

/// A map under construction. The names of structs are static, those of maps are not.
pub(super) struct Entries {
    entries: Vec<(std::borrow::Cow<'static, str>, Value)>,
    key: String,
    variant: Option<&'static str>,
}

impl Entries {
    fn finish(self) -> Result {
        let map = Value::Map(self.entries.into_iter().collect::<ValueMap>());
        Ok(if let Some(name) = self.variant { variant(name, map) } else { map })
    }
}

impl ser::SerializeMap for Entries {
    type Ok = Value;
    type Error = ParamError;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<()> {
        self.key = match key.serialize(ToValue)? {
            Value::Str(key) => key,
            key @ (Value::Int(_) | Value::Bool(_)) => key.to_string(),
            other => return Err(ParamError::new("", format!("{} cannot name a parameter", other.type_name()))),
        };
        Ok(())
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.entries.push((std::mem::take(&mut self.key).into(), value.serialize(ToValue)?));
        Ok(())
    }
    fn end(self) -> Result {
        self.finish()
    }
}

macro_rules! fields {
    ($($part:ident)*) => {$(
        impl ser::$part for Entries {
            type Ok = Value;
            type Error = ParamError;
            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<()> {
                self.entries.push((name.into(), value.serialize(ToValue)?));
                Ok(())
            }
            fn end(self) -> Result { self.finish() }
        }
    )*};
}
fields! { SerializeStruct SerializeStructVariant }
