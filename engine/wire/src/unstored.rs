//! Kinds that are served and not stored, in the words of the others.

use std::sync::Arc;

use hearth_meta::{Claim, KindInfo, Scope};
use serde_json::Value;

/// A kind of version `v1` without columns, schema or rules of its own.
pub(crate) fn kind(
    group: &'static str,
    kind: &'static str,
    (plural, singular): (&'static str, &'static str),
    scope: Scope,
) -> KindInfo {
    KindInfo {
        group,
        version: "v1",
        kind,
        plural,
        singular,
        short_names: &[],
        scope,
        has_status: false,
        is_secret: false,
        columns: Vec::new(),
        schema: None,
        finalizers: Vec::new(),
        default: |_, _| {},
        validate: |_, _| Vec::new(),
        claims: |_| Vec::new(),
        choose: Arc::new(|_: &mut Value, _: &dyn Fn(&Claim) -> bool| Vec::new()),
    }
}
