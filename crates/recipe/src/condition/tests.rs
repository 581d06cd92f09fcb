//! Tables of conditions: their meaning, their mistakes, and that no text makes them panic.

mod foreseen;
mod functions;
mod meaning;
mod mistakes;
mod random;

use super::*;
use crate::value::{Map, Number};

/// A context with something of every type.
fn scope() -> Map {
    let json = r#"{
        "status": "ok", "name": "  Test_One  ", "empty": "", "n": 5, "zero": 0, "pi": 3.10, "big": 9007199254740993,
        "yes": true, "no": false, "nothing": null, "list": ["a", "b", 3], "none_list": [], "object": {"k": "v"},
        "none_object": {}, "result": {"status": "OK", "data": {"count": 3}, "tags": ["x", "y"], "in": 1},
        "text": "{\"a\": [1, {\"b\": \"deep\"}]}", "build-all": "built", "in_progress": "", "i": 1, "key": "k",
        "count5": "5", "csv": "a,b,c,d", "path": "C:\\home\\me", "log": "ERROR one ERROR two", "2fa": "on",
        "umlaut": "äö", "not-ready": "wait", "truthy_text": "True"
    }"#;
    match Value::from_json(json) {
        Ok(Value::Map(members)) => Map::clone(&members),
        other => panic!("{other:?}"),
    }
}

fn read(text: &str) -> Condition {
    Condition::parse(text).unwrap_or_else(|error| panic!("{text}: {error:?}"))
}
