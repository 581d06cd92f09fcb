//! Tests of the search for mutants: which there are, and that all together are still Rust.

use super::*;

fn check(source: &str, expected: &[&str]) {
    let (found, text) = mutants_of("a.rs", source, 1).unwrap();
    let names: Vec<String> =
        found.iter().map(|mutant| format!("{}: {}", mutant.function, mutant.change)).collect();
    assert_eq!(names, expected, "{source}");
    syn::parse_file(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(text.matches("crate::mutant(").count(), expected.len(), "{text}");
}

#[test]
fn functions_return_at_once() {
    check("fn f() {}", &["f: return ()"]);
    check("fn f() -> bool { g() }", &["f: return true", "f: return false"]);
    check("fn f() -> Option<&str> { g() }", &["f: return None"]);
    check("fn f() -> Option<impl Fn()> { g() }", &[]);
    check("fn f() -> &Vec<u8> { g() }", &[]);
    check("const fn f() -> bool { true }", &[]);
    check("#[cfg(test)] mod tests { fn f() {} }", &[]);
    check("impl A<'_> { fn f(&self) -> u32 { 7 } }", &["A::f: return 0", "A::f: return 1"]);
    check("impl fmt::Display for A { fn f() {} }", &[]);
}

#[test]
fn operators_are_turned_round() {
    check("fn f() -> T { g(a == b) }", &["f: == → != in `a == b`"]);
    check("fn f() -> T { g(a && b < c) }", &["f: && → || in `a && b < c`", "f: < → <= in `b < c`"]);
    check("fn f() -> T { a + b }", &["f: without + `b` in `a + b`"]);
    check("fn f() -> T { g(!a) }", &["f: without ! in `!a`"]);
    check("fn f() -> T { if a && let Some(b) = c && !d { e } else { h } }", &["f: without ! in `!d`"]);
    check("fn f() -> T { [x; 2 + 3] }", &[]);
    check("fn f() -> T { const A: usize = 2 + 3; A }", &[]);
}

#[test]
fn arms_are_left_out_where_another_takes_over() {
    check("fn f() -> T { match a { A | B => c, _ => d } }", &["f: without arm `A | B`"]);
    check("fn f() -> T { match a { A => c, B => d } }", &[]);
    check("fn f() -> T { match a { A if c => d, other => e } }", &["f: guard of `A` holds"]);
    check("fn f() -> T { match a { A => c, None => d } }", &[]);
}

#[test]
fn statements_are_left_out_that_are_there_for_their_effect() {
    check("fn f() -> T { g(a); b }", &["f: without `g(a);`"]);
    check("fn f() -> T { a = true; b }", &["f: without `a = true;`", "f: true → false"]);
    check("fn f() -> T { let a; a = 1; a }", &[]);
    check("fn f() -> T { g()?; return b; }", &[]);
    check("fn f() -> T { a += 1; a += 1; a }", &["f: without `a += 1;`", "f: without `a += 1;` #2"]);
}
