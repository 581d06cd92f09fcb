//! What is known of conditions before all names have their values.

use std::collections::HashSet;

use super::*;
use crate::scope::Foreseen;

fn decided(text: &str) -> Option<bool> {
    let unknown = HashSet::from(["late".to_owned(), "v1.2".to_owned()]);
    let scope = Foreseen { scope: &scope(), unknown: &unknown };
    read(text).decide(&scope).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn operands_without_effect_decide_nothing() {
    for (text, expected) in [
        ("late", None),
        ("late.deep[0]", None),
        ("v1.2", None),
        ("v1.2.z", None),
        ("v1", Some(false)),
        ("n == 5", Some(true)),
        ("n == 6 and late == 'x'", Some(false)),
        ("late == 'x' and n == 6", Some(false)),
        ("n == 5 and late == 'x'", None),
        ("false and late", Some(false)),
        ("n == 5 or late", Some(true)),
        ("late or n == 5", Some(true)),
        ("late or n == 6", None),
        ("not late", None),
        ("not (n == 5 or late)", Some(false)),
        ("not (late and no)", Some(true)),
        ("(late or yes) and (late and no or n)", Some(true)),
        ("late == late", None),
        ("late != 'x'", None),
        ("'a' in late", None),
        ("len(late) > 0", None),
        ("late.strip() == ''", None),
        ("late.strip() == '' and no", Some(false)),
        ("csv.startswith(late)", None),
        ("list[late]", None),
        ("n in [5, late]", None),
        ("max(n, late) == 5", None),
        ("(n or late) == 5", Some(true)),
        ("(late or n) == 5", None),
        ("bool(no and late)", Some(false)),
        // a mistake that a run may never come to
        ("late and n.strip()", None),
        ("no and n.strip()", Some(false)),
    ] {
        assert_eq!(decided(text), expected, "{text}");
    }
}

#[test]
fn a_mistake_that_a_run_is_bound_to_make_is_one() {
    let unknown = HashSet::from(["late".to_owned()]);
    for text in ["n.strip()", "n.strip() and late", "yes and n.strip() or late"] {
        assert!(read(text).decide(&Foreseen { scope: &scope(), unknown: &unknown }).is_err(), "{text}");
    }
}
