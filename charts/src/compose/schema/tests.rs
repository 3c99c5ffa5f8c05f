//! The table has every key of the official schema, and no other.

use std::collections::BTreeSet;

use super::top::FILE;
use super::{Read, Rule, Section, Shape};

/// Every key of the official schema by its path, `*` for a name people choose, `[]` for an item.
const OFFICIAL: &str = include_str!("../../../tests/fixtures/schema-keys.txt");

fn collect(shape: &Shape, path: &str, out: &mut BTreeSet<String>) {
    match shape {
        Shape::Section(section) => collect_section(section, path, out),
        Shape::List(list) => collect(&list.item, &format!("{path}.[]"), out),
        Shape::Map(map) => collect(&map.value, &format!("{path}.*"), out),
        Shape::Either(shapes) => shapes.iter().for_each(|shape| collect(shape, path, out)),
        _ => {}
    }
}

fn collect_section(section: &Section, path: &str, out: &mut BTreeSet<String>) {
    for field in section.fields {
        let path = if path.is_empty() { field.key.to_owned() } else { format!("{path}.{}", field.key) };
        collect(&field.shape, &path, out);
        out.insert(path);
    }
}

#[test]
fn the_table_has_every_key_of_the_official_schema_and_no_other() {
    let mut ours = BTreeSet::new();
    collect_section(&FILE, "", &mut ours);
    let official: BTreeSet<String> = OFFICIAL.lines().map(str::to_owned).collect();
    assert!(official.len() > 300, "the list of keys is cut: {}", official.len());
    let missing: Vec<_> = official.difference(&ours).collect();
    let invented: Vec<_> = ours.difference(&official).collect();
    assert!(missing.is_empty() && invented.is_empty(), "missing {missing:#?}\ninvented {invented:#?}");
}

#[test]
fn what_is_not_honoured_says_why() {
    fn check(section: &Section, whole: bool, path: &str) {
        for field in section.fields {
            let path = format!("{path}.{}", field.key);
            let inner_whole = match field.rule {
                Rule::Ignored(why) | Rule::Refused(why) => {
                    assert!(why.len() > 10 && !why.ends_with('.'), "{path}: {why}");
                    false
                }
                Rule::Within => {
                    assert!(!whole, "{path} is judged with nothing");
                    false
                }
                Rule::Kept => true,
                Rule::Judged => false,
            };
            if let Read::Section(section) | Read::Sections(section) | Read::Named(section, _) = &field.read {
                check(section, inner_whole, &path);
            }
        }
    }
    check(&FILE, true, "");
}
