//! A mapping from names to values, sorted by name, that takes no more memory than its entries.
//!
//! A plan holds two of them per unit, most with one to ten entries. A node of a `BTreeMap` has room for eleven entries,
//! which is 632 bytes even for one, and each name would be a text of its own: a million units would take gigabytes. Here
//! an entry takes 48 bytes, and a name that many maps have is kept once.

use super::Value;
use std::cell::RefCell;
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

/// A sorted mapping.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValueMap {
    entries: Box<[(Arc<str>, Value)]>,
}

/// More names than this are not those of parameters; they are not kept.
const MOST_NAMES: usize = 4096;

thread_local! {
    static NAMES: RefCell<HashSet<Arc<str>, BuildHasherDefault<NameHasher>>> = RefCell::default();
}

/// FNV-1a. Every parameter of every unit looks its name up, and names come from the user's own file: speed counts here,
/// and protection against chosen collisions does not.
struct NameHasher(u64);

impl Default for NameHasher {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The shared form of a name.
fn shared(name: &str) -> Arc<str> {
    NAMES.with_borrow_mut(|names| match names.get(name) {
        Some(known) => known.clone(),
        None => {
            let new: Arc<str> = name.into();
            if names.len() < MOST_NAMES {
                names.insert(new.clone());
            }
            new
        }
    })
}

impl ValueMap {
    /// The value of that name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let at = self.entries.binary_search_by(|(n, _)| (**n).cmp(name)).ok()?;
        Some(&self.entries[at].1)
    }

    /// Whether there is a value of that name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Names and values, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &Value)> + ExactSizeIterator {
        self.entries.iter().map(|(name, value)| (&**name, value))
    }

    /// The names, in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(name, _)| name)
    }

    /// The values, in the order of their names.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.iter().map(|(_, value)| value)
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries as they lie, for readers that keep their place.
    pub(crate) fn entries(&self) -> &[(Arc<str>, Value)] {
        &self.entries
    }
}

impl<S: AsRef<str>> FromIterator<(S, Value)> for ValueMap {
    /// Of two values of one name the later stays.
    fn from_iter<I: IntoIterator<Item = (S, Value)>>(entries: I) -> Self {
        let mut entries: Vec<(Arc<str>, Value)> =
            entries.into_iter().map(|(name, value)| (shared(name.as_ref()), value)).collect();
        if !entries.is_sorted_by(|a, b| a.0 < b.0) {
            entries.reverse();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            entries.dedup_by(|later, first| later.0 == first.0);
        }
        Self { entries: entries.into_boxed_slice() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_sorted_and_the_later_stays() {
        let map: ValueMap = [("b", 1), ("a", 2), ("b", 3)].map(|(n, v)| (n, Value::Int(v))).into_iter().collect();
        assert_eq!(map.keys().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((map.get("b"), map.get("c"), map.len()), (Some(&Value::Int(3)), None, 2));
        let again: ValueMap = [("a", Value::Int(2))].into_iter().collect();
        assert!(Arc::ptr_eq(&map.entries[0].0, &again.entries[0].0), "a name is kept once");
    }
}
