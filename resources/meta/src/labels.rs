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
/// Label on things made in a backend: the create-time fields as they were applied, hashed.
pub const APPLIED: &str = "hearth.dev/applied";
/// Label on a container: the names of the variables whose values are secret, with a space between, so that an older
/// value stays hidden when the spec no longer calls it secret.
pub const SECRET_ENV: &str = "hearth.dev/secret-env";
/// Annotation: no repairs until this RFC 3339 time.
pub const PAUSED_UNTIL: &str = "hearth.dev/paused-until";
/// Annotation: a person asks for another look now; the value is any new text.
pub const POKED_AT: &str = "hearth.dev/poked-at";

/// The finalizer of a controller.
pub fn finalizer(controller: &str) -> String {
    format!("{GROUP}/{controller}")
}
