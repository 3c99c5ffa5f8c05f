//! Reading YAML with places: what manifests need.

use super::parse_documents;

fn problems(text: &str) -> Vec<String> {
    parse_documents("app.yaml", text).unwrap_err().iter().map(ToString::to_string).collect()
}

#[test]
fn every_field_has_its_place() {
    let text = "# two documents\nkind: App\nspec:\n  values:\n    - { name: TZ, value: x }\n    - name: B\n      value: 1\n---\nkind: Route\nmetadata: {labels: {hearth.dev/app: a}}\n";
    let documents = parse_documents("app.yaml", text).unwrap();
    assert_eq!(documents.len(), 2);
    assert_eq!(documents[0].value["spec"]["values"][1]["value"], 1);
    let place = |index: usize, path: &str| documents[index].position(path).map(|p| (p.line, p.column));
    assert_eq!(place(0, "kind"), Some((2, 1)));
    assert_eq!(place(0, "spec.values[0].value"), Some((5, 19)));
    assert_eq!(place(0, "spec.values[1].value"), Some((7, 7)));
    assert_eq!(place(0, "spec.values[1].missing"), Some((6, 7)));
    assert_eq!(place(1, "metadata.labels.hearth.dev/app"), Some((10, 21)));
    assert_eq!(place(0, ""), Some((2, 1)));
}

#[test]
fn problems_name_file_line_and_column() {
    assert_eq!(
        problems("a: 1\na: 2\n"),
        ["app.yaml:2:1: a: the key `a` is already set on line 1; keep one of them"]
    );
    assert!(problems("a: [1, 2\nb: 3")[0].starts_with("app.yaml:"), "{:?}", problems("a: [1, 2\nb: 3"));
    assert_eq!(problems("a: *nowhere")[0].split(": ").next(), Some("app.yaml:1:4"));
    assert_eq!(problems("1: a\ntrue: b\n").len(), 2);
}

#[test]
fn documents_that_say_nothing_are_left_out() {
    assert_eq!(parse_documents("a.yaml", "").unwrap().len(), 0);
    assert_eq!(parse_documents("a.yaml", "# nothing\n").unwrap().len(), 0);
    assert_eq!(parse_documents("a.yaml", "---\na: 1\n---\n# nothing\n---\nb: 2\n").unwrap().len(), 2);
}

#[test]
fn an_alias_bomb_is_refused() {
    let levels: String =
        (1..12).map(|n| format!("x{n}: &x{n} [{}]\n", format!("*x{}, ", n - 1).repeat(9))).collect();
    assert!(problems(&format!("x0: &x0 [a]\n{levels}"))[0].contains("repeats too much"));
}

#[test]
fn lines_left_of_their_bracket_keep_their_columns() {
    let documents = parse_documents("a.yaml", "spec:\n  list: [\n a,\nb]\n").unwrap();
    let place = |path: &str| documents[0].position(path).map(|p| (p.line, p.column));
    assert_eq!((place("spec.list[0]"), place("spec.list[1]")), (Some((3, 2)), Some((4, 1))));
    assert_eq!(documents[0].value["spec"]["list"][1], "b");
}
