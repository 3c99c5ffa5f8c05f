//! How people name kinds and objects on the command line, and where those are on the server.

use std::fmt;
use std::sync::{Arc, LazyLock};

use hearth_kinds::Settings;
use hearth_meta::problem::nearest;
use hearth_meta::{KindInfo, ObjectRef, Scope};
use serde_json::Value;

use super::exit::Failure;

static KINDS: LazyLock<Vec<Arc<KindInfo>>> = LazyLock::new(|| {
    let mut kinds = hearth_kinds::all(&Settings::default());
    let event = kinds.iter().find(|kind| kind.kind == "Namespace").cloned().map(|core| KindInfo {
        kind: "Event",
        plural: "events",
        singular: "event",
        short_names: &["ev"],
        scope: Scope::Namespaced,
        validate: |_, _| Vec::new(),
        ..core
    });
    kinds.extend(event);
    kinds.into_iter().map(Arc::new).collect()
});

/// Every kind, those people declare first.
pub(super) fn kinds() -> &'static [Arc<KindInfo>] {
    &KINDS
}

/// The kind that a word names.
///
/// # Errors
/// No kind of that name, with the nearest one.
pub(crate) fn kind_named(word: &str) -> Result<Arc<KindInfo>, Failure> {
    if let Some(kind) = kinds().iter().find(|kind| kind.answers_to(word)) {
        return Ok(kind.clone());
    }
    let known = kinds()
        .iter()
        .flat_map(|kind| [kind.singular, kind.plural].into_iter().chain(kind.short_names.iter().copied()));
    let next = match nearest(word, known) {
        Some(meant) => format!("did you mean {meant:?}?"),
        None => {
            format!("the kinds are {}", kinds().iter().map(|kind| kind.plural).collect::<Vec<_>>().join(", "))
        }
    };
    Err(Failure::usage(format!("there is no kind {word:?}")).next(next))
}

/// The kind that an object or a reference names exactly, such as `App`.
pub(super) fn kind_called(kind: &str) -> Option<Arc<KindInfo>> {
    kinds().iter().find(|info| info.kind == kind).cloned()
}

/// One object on the server.
#[derive(Clone)]
pub(crate) struct Target {
    /// Its kind.
    pub(crate) kind: Arc<KindInfo>,
    /// Its namespace; absent for kinds of the whole machine.
    pub(crate) namespace: Option<String>,
    /// Its name.
    pub(crate) name: String,
}

impl Target {
    /// An object of a kind; the namespace is dropped where the kind has none.
    pub(crate) fn new(kind: Arc<KindInfo>, namespace: &str, name: &str) -> Self {
        let namespace = (kind.scope == Scope::Namespaced).then(|| namespace.to_owned());
        Self { kind, namespace, name: name.to_owned() }
    }

    /// The object that an object read from the server is.
    pub(super) fn of(object: &Value) -> Option<Self> {
        let kind = kind_called(object["kind"].as_str()?)?;
        let metadata = &object["metadata"];
        Some(Self::new(kind, metadata["namespace"].as_str().unwrap_or_default(), metadata["name"].as_str()?))
    }

    /// The object a status refers to.
    pub(super) fn referred(reference: &ObjectRef) -> Option<Self> {
        let kind = kind_called(&reference.kind)?;
        Some(Self::new(kind, reference.namespace.as_deref().unwrap_or_default(), &reference.name))
    }

    /// Whether a controller makes it true, so that its status will tell how it stands. Kinds without one are
    /// only kept.
    pub(super) fn is_made_true(&self) -> bool {
        self.kind.has_status && !self.kind.finalizers.is_empty()
    }

    /// ` -n NAMESPACE`, where it is in another than the one that is meant anyway.
    pub(super) fn elsewhere(&self, usual: &str) -> String {
        elsewhere(self.namespace.as_deref(), usual)
    }

    /// Its path on the server.
    pub(super) fn path(&self) -> String {
        format!("{}/{}", collection(&self.kind, self.namespace.as_deref()), encode(&self.name))
    }

    /// The path of the collection it is in, asking for it alone.
    pub(super) fn alone(&self) -> String {
        let selector = encode(&format!("metadata.name={}", self.name));
        format!("{}?fieldSelector={selector}", collection(&self.kind, self.namespace.as_deref()))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind.singular, self.name)
    }
}

/// ` -n NAMESPACE` for advice about an object in another namespace than the one that is meant anyway.
pub(crate) fn elsewhere(namespace: Option<&str>, usual: &str) -> String {
    let other = namespace.filter(|namespace| *namespace != usual);
    other.map(|namespace| format!(" -n {namespace}")).unwrap_or_default()
}

/// The path of a kind's objects, in one namespace or everywhere.
pub(super) fn collection(kind: &KindInfo, namespace: Option<&str>) -> String {
    let root = if kind.group.is_empty() {
        format!("/api/{}", kind.version)
    } else {
        format!("/apis/{}", kind.api_version())
    };
    match namespace.filter(|_| kind.scope == Scope::Namespaced) {
        Some(namespace) => format!("{root}/namespaces/{}/{}", encode(namespace), kind.plural),
        None => format!("{root}/{}", kind.plural),
    }
}

/// Text as it may stand in a path or a query.
pub(super) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// What the words after a verb ask for: kinds, or objects by name.
pub(super) enum Asked {
    /// Everything of these kinds.
    Kinds(Vec<Arc<KindInfo>>),
    /// These objects.
    Objects(Vec<Target>),
}

/// Reads `KIND`, `KIND,KIND`, `all`, `KIND NAME...`, or `KIND/NAME...`.
///
/// # Errors
/// An unknown kind, or a mixture of the forms.
pub(super) fn parse_asked(words: &[String], namespace: &str) -> Result<Asked, Failure> {
    let [first, names @ ..] = words else {
        return Err(Failure::usage(
            "name a kind, as in `hearth get apps`, or an object, as in `hearth get app/photos`",
        ));
    };
    if words.iter().any(|word| word.contains('/')) {
        return words
            .iter()
            .map(|word| parse_pair(word, namespace))
            .collect::<Result<_, _>>()
            .map(Asked::Objects);
    }
    if first == "all" && names.is_empty() {
        return Ok(Asked::Kinds(kinds().iter().filter(|kind| is_in_all(kind)).cloned().collect()));
    }
    let asked = first.split(',').map(kind_named).collect::<Result<Vec<_>, _>>()?;
    match (asked.as_slice(), names) {
        (_, []) => Ok(Asked::Kinds(asked)),
        ([kind], names) => {
            Ok(Asked::Objects(names.iter().map(|name| Target::new(kind.clone(), namespace, name)).collect()))
        }
        _ => Err(Failure::usage("names can be given for one kind only; write KIND/NAME for each")),
    }
}

fn parse_pair(word: &str, namespace: &str) -> Result<Target, Failure> {
    match word.split_once('/') {
        Some((kind, name)) if !name.is_empty() && !name.contains('/') => {
            Ok(Target::new(kind_named(kind)?, namespace, name))
        }
        _ => Err(Failure::usage(format!("{word:?} does not name an object")).next("write it as app/photos")),
    }
}

/// What `all` means: every kind of ours, but for those that let people in.
fn is_in_all(kind: &KindInfo) -> bool {
    !kind.group.is_empty() && kind.hidden.is_empty()
}

/// Reads `KIND/NAME` or `KIND NAME`: exactly one object.
///
/// # Errors
/// None, or several.
pub(super) fn parse_one(words: &[String], namespace: &str) -> Result<Target, Failure> {
    match parse_asked(words, namespace)? {
        Asked::Objects(mut targets) if targets.len() == 1 => Ok(targets.remove(0)),
        Asked::Objects(_) => Err(Failure::usage("name one object only")),
        Asked::Kinds(_) => {
            let word = words.first().map_or("app", String::as_str);
            Err(Failure::usage(format!("{word:?} names a kind; an object is wanted"))
                .next(format!("write it as {word}/NAME")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Asked, encode, parse_asked, parse_one};

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn objects_are_named_with_a_slash_or_a_space() {
        for text in ["app/photos", "apps photos", "ap photos", "App/photos"] {
            let target = parse_one(&words(text), "household").unwrap();
            assert_eq!(target.path(), "/apis/hearth.dev/v1/namespaces/household/apps/photos", "{text}");
        }
        assert_eq!(parse_one(&words("ns/ana"), "household").unwrap().path(), "/api/v1/namespaces/ana");
    }

    #[test]
    fn an_unknown_kind_is_told_the_nearest_one() {
        let failure = parse_one(&words("ap/photos"), "x").err();
        assert!(failure.is_none());
        let failure = parse_one(&words("contaner/photos"), "x").err().unwrap();
        assert_eq!(failure.next, "did you mean \"container\"?");
    }

    #[test]
    fn all_means_every_kind_of_ours() {
        let Asked::Kinds(kinds) = parse_asked(&words("all"), "household").unwrap() else {
            panic!("kinds were asked for")
        };
        assert!(kinds.len() >= 7 && kinds.iter().all(|kind| kind.group == "hearth.dev"));
    }

    #[test]
    fn selectors_are_encoded() {
        assert_eq!(encode("metadata.name=a b"), "metadata.name%3Da%20b");
    }
}
