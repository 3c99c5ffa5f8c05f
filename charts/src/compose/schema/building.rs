//! `build` and `develop`: read like everything else, and never honoured.

use super::Rule::Within;
use super::parts::{FILE_MOUNT, HOOK};
use super::service::ULIMITS;
use super::{
    BOOL, BOOL_TEXT, HOSTS, INT_TEXT, List, PAIRS, Read, Section, Shape, TEXT, TEXT_OR_SET, TEXTS, field,
    section,
};

/// `build`.
pub(crate) const BUILD: Section = section(&[
    field("additional_contexts", PAIRS, Read::Mapping, Within),
    field("args", PAIRS, Read::Variables, Within),
    field("cache_from", TEXTS, Read::TextOrTexts, Within),
    field("cache_to", TEXTS, Read::TextOrTexts, Within),
    field("context", TEXT, Read::Text, Within),
    field("dockerfile", TEXT, Read::Text, Within),
    field("dockerfile_inline", TEXT, Read::Text, Within),
    field("entitlements", TEXTS, Read::Texts, Within),
    field("extra_hosts", HOSTS, Read::Hosts, Within),
    field("isolation", TEXT, Read::Text, Within),
    field("labels", PAIRS, Read::Labels, Within),
    field("network", TEXT, Read::Text, Within),
    field("no_cache", BOOL_TEXT, Read::Bool, Within),
    field("platforms", TEXTS, Read::TextOrTexts, Within),
    field("privileged", BOOL_TEXT, Read::Bool, Within),
    field("provenance", BOOL_TEXT, Read::Text, Within),
    field("pull", BOOL_TEXT, Read::Bool, Within),
    field("sbom", BOOL_TEXT, Read::Text, Within),
    field("secrets", Shape::List(&SECRETS), Read::Sections(&FILE_MOUNT), Within),
    field("shm_size", INT_TEXT, Read::Bytes, Within),
    field("ssh", PAIRS, Read::SshKeys, Within),
    field("tags", TEXTS, Read::TextOrTexts, Within),
    field("target", TEXT, Read::Text, Within),
    field("ulimits", ULIMITS, Read::Ulimits, Within),
]);

const SECRETS: List = List { item: Shape::Either(&[TEXT, Shape::Section(&FILE_MOUNT)]), unique: false };

/// `develop`.
pub(crate) const DEVELOP: Section = section(&[field(
    "watch",
    Shape::List(&List { item: Shape::Section(&TRIGGER), unique: false }),
    Read::Sections(&TRIGGER),
    Within,
)]);

const TRIGGER: Section = Section {
    fields: &[
        field("action", Shape::Words(ACTIONS), Read::Text, Within),
        field("exec", Shape::Section(&HOOK), Read::Always(&HOOK), Within),
        field("ignore", TEXT_OR_SET, Read::Texts, Within),
        field("include", TEXT_OR_SET, Read::Texts, Within),
        field("initial_sync", BOOL, Read::Bool, Within),
        field("path", TEXT, Read::Text, Within),
        field("target", TEXT, Read::Text, Within),
    ],
    required: &["path", "action"],
    extensions: true,
    open: false,
};

const ACTIONS: &[&str] = &["rebuild", "sync", "restart", "sync+restart", "sync+exec"];
