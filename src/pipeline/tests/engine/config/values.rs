//! Parameters as values.

use pipeline::{Value, to_value};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize, Default)]
struct All {
    flag: bool,
    small: i8,
    count: usize,
    half: f32,
    rate: f64,
    nan: f64,
    letter: char,
    text: String,
    none: Option<u32>,
    some: Option<u32>,
    list: Vec<(u8, String)>,
    map: BTreeMap<String, i64>,
    numbered: BTreeMap<u16, bool>,
    inner: Option<Box<All>>,
    choices: Vec<Choice>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skipped: Vec<u8>,
    unit: (),
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum Choice {
    Plain,
    One(f64),
    Two(u8, u8),
    Named { eps: f64 },
}

/// The same as by way of JSON, whose reader makes values too.
#[test]
fn values_are_those_of_json() {
    let inner = All { text: "inner".into(), letter: 'x', ..All::default() };
    let all = All {
        flag: true,
        small: -3,
        count: 7,
        half: 0.1,
        rate: 2.0,
        nan: f64::NAN,
        letter: 'ä',
        text: "a \"b\"".into(),
        some: Some(4),
        list: vec![(1, "one".into()), (2, String::new())],
        map: [("z".to_string(), 1), ("a".to_string(), -2)].into(),
        numbered: [(10, true), (9, false)].into(),
        inner: Some(Box::new(inner)),
        choices: vec![Choice::Plain, Choice::One(1.5), Choice::Two(1, 2), Choice::Named { eps: 1e-300 }],
        ..All::default()
    };
    let by_json: Value = serde_json::from_value(serde_json::to_value(&all).unwrap()).unwrap();
    assert_eq!(to_value(&all).unwrap(), by_json);
}

#[test]
fn what_no_parameter_can_be_is_refused() {
    assert!(to_value(&u64::MAX).unwrap_err().message.contains("too large"));
    let keyed: BTreeMap<Vec<u8>, u8> = [(vec![1], 1)].into();
    assert!(to_value(&keyed).unwrap_err().message.contains("a list cannot name a parameter"));
}
