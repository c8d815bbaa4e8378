//! Which parameters enter a unit's seed.

use crate::kind::Kind;
use crate::value::Value;
use std::collections::HashMap;

/// The default values of a stage's parameters, each found when a unit first sets the parameter.
#[derive(Default)]
pub(super) struct Defaults {
    known: HashMap<String, Option<Value>>,
}

impl Defaults {
    /// The parameters that enter a unit's seed: those that the user set to something else than the default, without
    /// those that do not matter to randomness ([`Kind::seedless`]). So a new parameter with a default changes no seed, nor
    /// does writing a default out.
    pub(super) fn seed_params(&mut self, kind: &dyn Kind, written: &Value, params: &Value) -> Value {
        let (Value::Map(written), Value::Map(params)) = (written, params) else { return params.clone() };
        let mut out = Vec::new();
        for key in written.keys().filter(|key| !kind.seedless().contains(key)) {
            let Some(value) = params.get(key) else { continue };
            if !self.known.contains_key(key) {
                let without = written.iter().filter(|(k, _)| *k != key).map(|(k, v)| (k, v.clone())).collect();
                let default = kind.check(&Value::Map(without)).ok().and_then(|params| params.get(key).cloned());
                self.known.insert(key.to_string(), default);
            }
            if self.known.get(key).and_then(Option::as_ref) != Some(value) {
                out.push((key, value.clone()));
            }
        }
        Value::Map(out.into_iter().collect())
    }
}
