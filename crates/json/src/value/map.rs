//! The members of an object, in the order in which they were written.

use super::Value;
use indexmap::{IndexMap, map};
use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize};
use std::borrow::Borrow;
use std::hash::{Hash, Hasher};
use std::{fmt, ops};

/// The members of an object, by their keys and in their order. A key that is put in again keeps its place.
#[derive(Clone)]
pub struct Map<K, V> {
    members: IndexMap<K, V>,
}

/// By what a key is looked for: `str` or `String`.
pub trait Key: Ord + Eq + Hash {}
impl<Q: ?Sized + Ord + Eq + Hash> Key for Q {}

impl Map<String, Value> {
    /// Without members.
    pub fn new() -> Self {
        Map { members: IndexMap::new() }
    }

    /// Without members, and with room for so many.
    pub fn with_capacity(capacity: usize) -> Self {
        Map { members: IndexMap::with_capacity(capacity) }
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.members.clear();
    }

    /// The value of a key.
    pub fn get<Q: ?Sized + Key>(&self, key: &Q) -> Option<&Value>
    where
        String: Borrow<Q>,
    {
        self.members.get(key)
    }

    /// The value of a key.
    pub fn get_mut<Q: ?Sized + Key>(&mut self, key: &Q) -> Option<&mut Value>
    where
        String: Borrow<Q>,
    {
        self.members.get_mut(key)
    }

    /// A key and its value.
    pub fn get_key_value<Q: ?Sized + Key>(&self, key: &Q) -> Option<(&String, &Value)>
    where
        String: Borrow<Q>,
    {
        self.members.get_key_value(key)
    }

    /// Whether a key is there.
    pub fn contains_key<Q: ?Sized + Key>(&self, key: &Q) -> bool
    where
        String: Borrow<Q>,
    {
        self.members.contains_key(key)
    }

    /// Gives a key a value, and returns the one that it had.
    pub fn insert(&mut self, key: String, value: Value) -> Option<Value> {
        self.members.insert(key, value)
    }

    /// The same at a place; others move.
    pub fn shift_insert(&mut self, index: usize, key: String, value: Value) -> Option<Value> {
        self.members.shift_insert(index, key, value)
    }

    /// As [`Map::swap_remove`].
    pub fn remove<Q: ?Sized + Key>(&mut self, key: &Q) -> Option<Value>
    where
        String: Borrow<Q>,
    {
        self.swap_remove(key)
    }

    /// As [`Map::remove`], with the key.
    pub fn remove_entry<Q: ?Sized + Key>(&mut self, key: &Q) -> Option<(String, Value)>
    where
        String: Borrow<Q>,
    {
        self.members.swap_remove_entry(key)
    }

    /// Removes a key; the last one takes its place.
    pub fn swap_remove<Q: ?Sized + Key>(&mut self, key: &Q) -> Option<Value>
    where
        String: Borrow<Q>,
    {
        self.members.swap_remove(key)
    }

    /// As [`Map::swap_remove`], with the key.
    pub fn swap_remove_entry<Q: ?Sized + Key>(&mut self, key: &Q) -> Option<(String, Value)>
    where
        String: Borrow<Q>,
    {
        self.members.swap_remove_entry(key)
    }

    /// Removes a key; those behind it move.
    pub fn shift_remove<Q: ?Sized + Key>(&mut self, key: &Q) -> Option<Value>
    where
        String: Borrow<Q>,
    {
        self.members.shift_remove(key)
    }

    /// As [`Map::shift_remove`], with the key.
    pub fn shift_remove_entry<Q: ?Sized + Key>(&mut self, key: &Q) -> Option<(String, Value)>
    where
        String: Borrow<Q>,
    {
        self.members.shift_remove_entry(key)
    }

    /// Takes all of another.
    pub fn append(&mut self, other: &mut Self) {
        self.members.extend(std::mem::take(&mut other.members));
    }

    /// The place of a key, to be filled or changed.
    pub fn entry(&mut self, key: impl Into<String>) -> Entry<'_> {
        match self.members.entry(key.into()) {
            map::Entry::Vacant(entry) => Entry::Vacant(VacantEntry { entry }),
            map::Entry::Occupied(entry) => Entry::Occupied(OccupiedEntry { entry }),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> Iter<'_> {
        self.members.iter()
    }

    /// All of them.
    pub fn iter_mut(&mut self) -> IterMut<'_> {
        self.members.iter_mut()
    }

    /// All keys.
    pub fn keys(&self) -> Keys<'_> {
        self.members.keys()
    }

    /// All values.
    pub fn values(&self) -> Values<'_> {
        self.members.values()
    }

    /// All values.
    pub fn values_mut(&mut self) -> ValuesMut<'_> {
        self.members.values_mut()
    }

    /// All values.
    pub fn into_values(self) -> IntoValues {
        self.members.into_values()
    }

    /// Keeps those of which a function says so.
    pub fn retain(&mut self, keep: impl FnMut(&String, &mut Value) -> bool) {
        self.members.retain(keep);
    }

    /// Puts the keys into order.
    pub fn sort_keys(&mut self) {
        self.members.sort_keys();
    }
}

/// Members.
pub type Iter<'a> = map::Iter<'a, String, Value>;
/// Members.
pub type IterMut<'a> = map::IterMut<'a, String, Value>;
/// Members.
pub type IntoIter = map::IntoIter<String, Value>;
/// Keys.
pub type Keys<'a> = map::Keys<'a, String, Value>;
/// Values.
pub type Values<'a> = map::Values<'a, String, Value>;
/// Values.
pub type ValuesMut<'a> = map::ValuesMut<'a, String, Value>;
/// Values.
pub type IntoValues = map::IntoValues<String, Value>;

/// The place of a key.
pub enum Entry<'a> {
    /// It is not there.
    Vacant(VacantEntry<'a>),
    /// It is there.
    Occupied(OccupiedEntry<'a>),
}

/// The place of a key that is not there.
pub struct VacantEntry<'a> {
    entry: map::VacantEntry<'a, String, Value>,
}

/// The place of a key that is there.
pub struct OccupiedEntry<'a> {
    entry: map::OccupiedEntry<'a, String, Value>,
}

impl<'a> Entry<'a> {
    /// The key.
    pub fn key(&self) -> &String {
        match self {
            Entry::Vacant(entry) => entry.key(),
            Entry::Occupied(entry) => entry.key(),
        }
    }

    /// Its value, this one if it has none.
    pub fn or_insert(self, default: Value) -> &'a mut Value {
        self.or_insert_with(|| default)
    }

    /// Its value, what a function returns if it has none.
    pub fn or_insert_with(self, default: impl FnOnce() -> Value) -> &'a mut Value {
        match self {
            Entry::Vacant(entry) => entry.insert(default()),
            Entry::Occupied(entry) => entry.into_mut(),
        }
    }

    /// Changes its value, if it has one.
    pub fn and_modify(mut self, change: impl FnOnce(&mut Value)) -> Self {
        if let Entry::Occupied(entry) = &mut self {
            change(entry.get_mut());
        }
        self
    }
}

impl<'a> VacantEntry<'a> {
    /// The key.
    pub fn key(&self) -> &String {
        self.entry.key()
    }

    /// Gives it a value.
    pub fn insert(self, value: Value) -> &'a mut Value {
        self.entry.insert(value)
    }
}

impl<'a> OccupiedEntry<'a> {
    /// The key.
    pub fn key(&self) -> &String {
        self.entry.key()
    }

    /// Its value.
    pub fn get(&self) -> &Value {
        self.entry.get()
    }

    /// Its value.
    pub fn get_mut(&mut self) -> &mut Value {
        self.entry.get_mut()
    }

    /// Its value.
    pub fn into_mut(self) -> &'a mut Value {
        self.entry.into_mut()
    }

    /// Gives it another value, and returns the one that it had.
    pub fn insert(&mut self, value: Value) -> Value {
        self.entry.insert(value)
    }

    /// Removes it; the last one takes its place.
    pub fn remove(self) -> Value {
        self.entry.swap_remove()
    }

    /// The same, with the key.
    pub fn remove_entry(self) -> (String, Value) {
        self.entry.swap_remove_entry()
    }

    /// Removes it; the last one takes its place.
    pub fn swap_remove(self) -> Value {
        self.entry.swap_remove()
    }

    /// The same, with the key.
    pub fn swap_remove_entry(self) -> (String, Value) {
        self.entry.swap_remove_entry()
    }

    /// Removes it; those behind it move.
    pub fn shift_remove(self) -> Value {
        self.entry.shift_remove()
    }

    /// The same, with the key.
    pub fn shift_remove_entry(self) -> (String, Value) {
        self.entry.shift_remove_entry()
    }
}

impl Default for Map<String, Value> {
    fn default() -> Self {
        Map::new()
    }
}

/// Whatever their order.
impl PartialEq for Map<String, Value> {
    fn eq(&self, other: &Self) -> bool {
        self.members == other.members
    }
}

impl Eq for Map<String, Value> {}

impl Hash for Map<String, Value> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut members: Vec<_> = self.iter().collect();
        members.sort_unstable_by(|a, b| a.0.cmp(b.0));
        members.hash(state);
    }
}

impl fmt::Debug for Map<String, Value> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.members.fmt(f)
    }
}

impl<Q: ?Sized + Key> ops::Index<&Q> for Map<String, Value>
where
    String: Borrow<Q>,
{
    type Output = Value;

    fn index(&self, key: &Q) -> &Value {
        self.members.get(key).expect("no entry found for key")
    }
}

impl<Q: ?Sized + Key> ops::IndexMut<&Q> for Map<String, Value>
where
    String: Borrow<Q>,
{
    fn index_mut(&mut self, key: &Q) -> &mut Value {
        self.members.get_mut(key).expect("no entry found for key")
    }
}

impl FromIterator<(String, Value)> for Map<String, Value> {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(members: I) -> Self {
        Map { members: members.into_iter().collect() }
    }
}

impl Extend<(String, Value)> for Map<String, Value> {
    fn extend<I: IntoIterator<Item = (String, Value)>>(&mut self, members: I) {
        self.members.extend(members);
    }
}

impl IntoIterator for Map<String, Value> {
    type Item = (String, Value);
    type IntoIter = IntoIter;

    fn into_iter(self) -> IntoIter {
        self.members.into_iter()
    }
}

impl<'a> IntoIterator for &'a Map<String, Value> {
    type Item = (&'a String, &'a Value);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a mut Map<String, Value> {
    type Item = (&'a String, &'a mut Value);
    type IntoIter = IterMut<'a>;

    fn into_iter(self) -> IterMut<'a> {
        self.iter_mut()
    }
}

impl Serialize for Map<String, Value> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.len()))?;
        for (key, value) in self {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Map<String, Value> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Map<String, Value>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Map::new())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
                let mut map = Map::new();
                while let Some((key, value)) = members.next_entry()? {
                    map.insert(key, value);
                }
                Ok(map)
            }
        }

        deserializer.deserialize_map(Members)
    }
}
