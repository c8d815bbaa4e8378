//! A mapping from names to values, sorted by name, that takes no more memory than its entries.
//!
//! A plan holds two of them per unit, most with one to ten entries. A node of a `BTreeMap` has room for eleven entries,
//! which is 632 bytes even for one; a million units would take a gigabyte for that alone.

use super::Value;

/// A sorted mapping.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValueMap {
    entries: Box<[(String, Value)]>,
}

impl ValueMap {
    /// The value of that name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let at = self.entries.binary_search_by(|(n, _)| n.as_str().cmp(name)).ok()?;
        Some(&self.entries[at].1)
    }

    /// Whether there is a value of that name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Names and values, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&String, &Value)> + ExactSizeIterator {
        self.entries.iter().map(|(name, value)| (name, value))
    }

    /// The names, in order.
    pub fn keys(&self) -> impl Iterator<Item = &String> {
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
    pub(crate) fn entries(&self) -> &[(String, Value)] {
        &self.entries
    }
}

impl FromIterator<(String, Value)> for ValueMap {
    /// Of two values of one name the later stays.
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(entries: I) -> Self {
        let mut entries: Vec<(String, Value)> = entries.into_iter().collect();
        entries.reverse();
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        entries.dedup_by(|later, first| later.0 == first.0);
        Self { entries: entries.into_boxed_slice() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_sorted_and_the_later_stays() {
        let map: ValueMap =
            [("b", 1), ("a", 2), ("b", 3)].map(|(n, v)| (n.to_string(), Value::Int(v))).into_iter().collect();
        assert_eq!(map.keys().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((map.get("b"), map.get("c"), map.len()), (Some(&Value::Int(3)), None, 2));
    }
}
