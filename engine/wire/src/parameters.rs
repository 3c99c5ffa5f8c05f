//! What the query string asks for, read as forgivingly as clients need it and no more.

use std::time::Duration;

use axum::extract::Query;
use axum::http::Uri;
use hearth_engine::store::{Requirement, parse_selector};

use crate::failure::Failure;

/// What unknown fields in a body lead to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    /// They are refused.
    #[default]
    Strict,
    /// They are dropped, and the answer warns of each.
    Warn,
    /// They are dropped.
    Ignore,
}

/// How much of each object the rows of a table carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum IncludeObject {
    None,
    #[default]
    Metadata,
    Object,
}

/// How a resourceVersion is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    /// Just that one.
    Exact,
    /// That one or a newer one.
    NotOlderThan,
}

/// Everything the query string may say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parameters {
    pub(crate) watch: bool,
    pub(crate) labels: Vec<Requirement>,
    pub(crate) fields: Vec<Requirement>,
    pub(crate) resource_version: Option<u64>,
    pub(crate) resource_version_match: Option<Match>,
    /// At most so many objects on a page.
    pub(crate) limit: Option<usize>,
    /// The mark at the end of the page before.
    pub(crate) next: Option<String>,
    pub(crate) bookmarks: bool,
    pub(crate) initial_events: Option<bool>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) dry_run: bool,
    pub(crate) field_validation: FieldValidation,
    pub(crate) field_manager: Option<String>,
    pub(crate) force: bool,
    pub(crate) include: IncludeObject,
    pub(crate) propagation: Option<String>,
    pub(crate) orphan_dependents: Option<bool>,
}

impl Parameters {
    /// Reads a query string. What it does not know is left alone, as the protocol wants it.
    pub(crate) fn parse(uri: &Uri) -> Result<Self, Failure> {
        let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(uri)
            .map_err(|error| Failure::bad_request(format!("the query string is not understood: {error}")))?;
        let mut read = Self::default();
        for (name, value) in pairs.iter().filter(|(_, value)| !value.is_empty()) {
            read.take(name, value)?;
        }
        Ok(read)
    }

    fn take(&mut self, name: &str, value: &str) -> Result<(), Failure> {
        let wrong = |what: String| Failure::bad_request(format!("{name}: {what}"));
        match name {
            "watch" => self.watch = is_true(value),
            "allowWatchBookmarks" => self.bookmarks = is_true(value),
            "sendInitialEvents" => self.initial_events = Some(is_true(value)),
            "force" => self.force = is_true(value),
            "labelSelector" => self.labels = parse_selector(value).map_err(wrong)?,
            "fieldSelector" => self.fields = parse_fields(value).map_err(wrong)?,
            "resourceVersion" => {
                let number = value
                    .parse()
                    .map_err(|_| wrong(format!("{value:?} is not a resourceVersion of this server")))?;
                self.resource_version = Some(number);
            }
            "resourceVersionMatch" => {
                self.resource_version_match = match value {
                    "Exact" => Some(Match::Exact),
                    "NotOlderThan" => Some(Match::NotOlderThan),
                    _ => return Err(wrong(format!("{value:?} is not one of Exact, NotOlderThan"))),
                }
            }
            "limit" => {
                let number: i64 =
                    value.parse().map_err(|_| wrong(format!("{value:?} is not a number of objects")))?;
                // None at all would be no list; the protocol takes it for no bound.
                self.limit = usize::try_from(number).ok().filter(|number| *number > 0);
            }
            "continue" => self.next = Some(value.to_owned()),
            "timeoutSeconds" => {
                let seconds =
                    value.parse().map_err(|_| wrong(format!("{value:?} is not a number of seconds")))?;
                // None at all would be no watch; the protocol takes it for not said.
                self.timeout = Some(seconds).filter(|seconds| *seconds > 0).map(Duration::from_secs);
            }
            "dryRun" if value == "All" => self.dry_run = true,
            "dryRun" => return Err(wrong(format!("{value:?} is not known; write All"))),
            "fieldValidation" => {
                self.field_validation = match value {
                    "Strict" => FieldValidation::Strict,
                    "Warn" => FieldValidation::Warn,
                    "Ignore" => FieldValidation::Ignore,
                    _ => return Err(wrong(format!("{value:?} is not one of Strict, Warn, Ignore"))),
                }
            }
            "fieldManager" if value.chars().count() > 128 => {
                return Err(wrong("is longer than 128 characters".into()));
            }
            "fieldManager" => self.field_manager = Some(value.to_owned()),
            "includeObject" => {
                self.include = match value {
                    "None" => IncludeObject::None,
                    "Metadata" => IncludeObject::Metadata,
                    "Object" => IncludeObject::Object,
                    _ => return Err(wrong(format!("{value:?} is not one of None, Metadata, Object"))),
                }
            }
            "orphanDependents" => self.orphan_dependents = Some(is_true(value)),
            "propagationPolicy" => self.propagation = Some(value.to_owned()),
            _ => {}
        }
        Ok(())
    }
}

/// Anything but `false` and `0` is true: clients write `true`, `1` and `True`.
fn is_true(value: &str) -> bool {
    !value.eq_ignore_ascii_case("false") && value != "0"
}

/// Of the metadata only name and namespace can be selected by; a term that is never true would hide objects.
fn parse_fields(text: &str) -> Result<Vec<Requirement>, String> {
    let fields = parse_selector(text)?;
    for requirement in &fields {
        let (Requirement::In(path, _)
        | Requirement::NotIn(path, _)
        | Requirement::Exists(path)
        | Requirement::Absent(path)) = requirement;
        if path.starts_with("metadata.") && path != "metadata.name" && path != "metadata.namespace" {
            return Err(format!(
                "field {path:?} cannot be selected by; use metadata.name, metadata.namespace or a field of spec or status"
            ));
        }
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::Parameters;

    fn parse(query: &str) -> Result<Parameters, String> {
        let uri = format!("/things?{query}").parse().unwrap();
        Parameters::parse(&uri).map_err(|failure| failure.to_value()["message"].to_string())
    }

    #[test]
    fn stray_ampersands_and_unknown_words_make_no_difference() {
        let read = parse("&limit=500&&pretty=true&watch=True&timeoutSeconds=7").unwrap();
        assert!(read.watch);
        assert_eq!(read.timeout.unwrap().as_secs(), 7);
    }

    #[test]
    fn what_is_not_understood_is_refused_by_name() {
        for (query, word) in [
            ("dryRun=Some", "dryRun"),
            ("resourceVersion=abc", "resourceVersion"),
            ("labelSelector=a%20b", "labelSelector"),
            ("fieldSelector=metadata.uid%3Dx", "metadata.uid"),
            ("fieldValidation=strict", "fieldValidation"),
            ("limit=many", "limit"),
            ("resourceVersionMatch=Newest", "resourceVersionMatch"),
        ] {
            assert!(parse(query).unwrap_err().contains(word), "{query}");
        }
    }
}
