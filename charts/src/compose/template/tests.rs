//! Every form of a variable, and the corners of the grammar.

use super::{substitute, uses};

fn check(text: &str, wanted: Result<&str, &str>) {
    let lookup = |name: &str| match name {
        "A" => Some("a".to_owned()),
        "EMPTY" => Some(String::new()),
        _ => None,
    };
    match (substitute(text, &lookup), wanted) {
        (Ok(found), Ok(wanted)) => assert_eq!(found, wanted, "{text}"),
        (Err(found), Err(wanted)) => assert!(found.contains(wanted), "{text}: {found}"),
        (found, wanted) => assert_eq!(found.as_deref().map_err(String::as_str), wanted, "{text}"),
    }
}

#[test]
fn every_form_gives_what_it_should() {
    for (text, wanted) in [
        ("$A ${A} $U|${U}", "a a |"),
        ("${A:-d} ${EMPTY:-d} ${U:-d}", "a d d"),
        ("${A-d} ${EMPTY-d} ${U-d}", "a  d"),
        ("${A:+r} ${EMPTY:+r} ${U:+r}", "r  "),
        ("${A+r} ${EMPTY+r} ${U+r}", "r r "),
        ("${A:?m} ${EMPTY?m}", "a "),
        ("$$A $${A} $$$A", "$A ${A} $a"),
        ("5$ $5 $", "5$ $5 $"),
        ("${U:-${V:-${A}}}", "a"),
        ("${U:-{x}} ${U:-a}}", "{x} a}"),
        ("${U:-one} and ${U:-two}", "one and two"),
        ("${U:-$$}${A}", "$a"),
    ] {
        check(text, Ok(wanted));
    }
}

#[test]
fn what_is_no_form_is_an_error_and_what_is_required_is_named() {
    check("${U:?say which}", Err("the value U is required: say which"));
    check("${EMPTY:?}", Err("the value EMPTY is required"));
    for text in ["${", "${}", "${A", "${1}", "${A!x}", "${A:-x\ny}", "${A b}"] {
        check(text, Err("is not a variable"));
    }
    check(&format!("{}{}", "${U:-".repeat(50), "}".repeat(50)), Err("nested deeper"));
}

#[test]
fn uses_are_found_inside_defaults_too() {
    let found: Vec<_> =
        uses("$A ${B:-${C}} $$D ${E:?x}").into_iter().map(|u| (u.name, u.has_default)).collect();
    let wanted =
        [("A", false), ("B", true), ("C", false), ("E", false)].map(|(name, has)| (name.to_owned(), has));
    assert_eq!(found, wanted);
}
