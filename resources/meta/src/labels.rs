//! The names of the labels, annotations and finalizers that Hearth writes.

/// The API group of every kind of ours.
pub const GROUP: &str = "hearth.dev";
/// The version of every kind of ours.
pub const VERSION: &str = "v1";
/// Group and version as manifests write them.
pub const API_VERSION: &str = "hearth.dev/v1";

/// Label: the App an object or a container belongs to, by name.
pub const APP: &str = "hearth.dev/app";
/// Label: the service of the App.
pub const SERVICE: &str = "hearth.dev/service";
/// Label on things made in a backend: the uid of the object they were made for.
pub const UID: &str = "hearth.dev/uid";
/// Label on things made in a backend: the uid of that object's owner.
pub const OWNER_UID: &str = "hearth.dev/owner-uid";
/// Label on things made in a backend: which store made them.
pub const LINEAGE: &str = "hearth.dev/lineage";
/// Label on things made in a backend: the resourceVersion their store had come to when they were made, so that a
/// store that was restored whole from an older time is noticed.
pub const MADE_AT: &str = "hearth.dev/made-at";
/// Label on things made in a backend: the create-time fields as they were applied, hashed.
pub const APPLIED: &str = "hearth.dev/applied";
/// Label on a container: the names of the variables whose values are secret, with a space between, so that an older
/// value stays hidden when the spec no longer calls it secret.
pub const SECRET_ENV: &str = "hearth.dev/secret-env";
/// Annotation: no repairs until this RFC 3339 time. On a Namespace it holds for everything in it, and on the Namespace
/// [`SYSTEM`] for the whole home.
pub const PAUSED_UNTIL: &str = "hearth.dev/paused-until";
/// Annotation: a person asks to put back what was changed from outside, once. The value is an RFC 3339 time, and only a
/// change that was seen by then is put back; after a space may follow the id of the one change that is meant.
pub const PUT_BACK_AT: &str = "hearth.dev/put-back-at";
/// Annotation: the file of the manifests folder that declares an object, by its path within the folder.
pub const DECLARED_IN: &str = "hearth.dev/declared-in";
/// Annotation: a person asks for another look now; the value is any new text.
pub const POKED_AT: &str = "hearth.dev/poked-at";

/// The namespace of Hearth's own parts. What is said of the whole home is said on its Namespace.
pub const SYSTEM: &str = "system";

/// Annotation on the Namespace [`SYSTEM`]: the set of a kind's orphans, by its id, that a person wants removed.
pub fn remove_orphans(kind: &str) -> String {
    format!("{GROUP}/remove-orphans-of-{}", kind.to_lowercase())
}

/// Annotation on the Namespace [`SYSTEM`]: the orphans of a kind that a person wants kept, by their ids, with a comma
/// between.
pub fn keep_orphans(kind: &str) -> String {
    format!("{GROUP}/keep-orphans-of-{}", kind.to_lowercase())
}

/// Whether an annotation is an order of a person, which is recorded in the history as a change of the spec is.
pub fn is_order(annotation: &str) -> bool {
    let of_orphans = ["remove-orphans-of-", "keep-orphans-of-"];
    [PAUSED_UNTIL, PUT_BACK_AT, POKED_AT].contains(&annotation)
        || annotation
            .strip_prefix(GROUP)
            .and_then(|rest| rest.strip_prefix('/'))
            .is_some_and(|rest| of_orphans.iter().any(|start| rest.starts_with(start)))
}

/// The finalizer of a controller.
pub fn finalizer(controller: &str) -> String {
    format!("{GROUP}/{controller}")
}
