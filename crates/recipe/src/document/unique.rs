//! Duplicate keys in JSON: the parser would silently take the last one. Never makes a value.

use std::{collections::HashSet, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};

use super::DocumentError;

/// The first duplicate key of this JSON, at any depth.
pub(super) fn check(json: &str) -> Result<(), DocumentError> {
    let twice = |error: serde_json::Error| {
        let place = format!(" at line {} column {}", error.line(), error.column());
        let message = error.to_string().replace(&place, "");
        DocumentError::Invalid { line: error.line(), message }
    };
    serde_json::from_str::<UniqueKeys>(json).map(|_| ()).map_err(twice)
}

/// Any JSON without such a key.
struct UniqueKeys;

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<UniqueKeys, D::Error> {
        from.deserialize_any(KeyVisitor)
    }
}

struct KeyVisitor;

impl<'de> Visitor<'de> for KeyVisitor {
    type Value = UniqueKeys;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<UniqueKeys, M::Error> {
        let mut seen = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if seen.contains(&key) {
                return Err(M::Error::custom(format!("duplicate key `{key}`")));
            }
            seen.insert(key);
            map.next_value::<UniqueKeys>()?;
        }
        Ok(UniqueKeys)
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<UniqueKeys, S::Error> {
        while list.next_element::<UniqueKeys>()?.is_some() {}
        Ok(UniqueKeys)
    }

    fn visit_unit<E: Error>(self) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }
}
