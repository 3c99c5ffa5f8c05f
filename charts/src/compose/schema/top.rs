//! The file itself, and the resources beside the services.

use super::Rule::{Ignored, Judged, Kept, Refused, Within};
use super::service::SERVICE;
use super::{
    BOOL_TEXT, INT, Keys, List, MapOf, NULL, OPTIONS, PAIRS, Read, Section, Shape, TEXT, TEXT_OR_SET, TEXTS,
    Types, field, section,
};

/// The whole file.
pub(crate) const FILE: Section = section(&[
    field("configs", Shape::Map(&named(Shape::Section(&CONFIG), true)), Read::Named(&CONFIG, false), Judged),
    field(
        "include",
        Shape::List(&List { item: Shape::Either(&[TEXT, Shape::Section(&INCLUDE)]), unique: false }),
        Read::Drop,
        Judged,
    ),
    field(
        "models",
        Shape::Map(&named(Shape::Section(&MODEL), false)),
        Read::Named(&MODEL, false),
        Refused("models are not run here; remove it"),
    ),
    field("name", TEXT, Read::Drop, Kept),
    field("networks", Shape::Map(&named(OPTIONAL_NETWORK, false)), Read::Named(&NETWORK, false), Kept),
    field("secrets", Shape::Map(&named(Shape::Section(&SECRET), true)), Read::Named(&SECRET, false), Judged),
    field("services", Shape::Map(&named(Shape::Section(&SERVICE), true)), Read::Named(&SERVICE, false), Kept),
    field("version", TEXT, Read::Drop, Kept),
    field("volumes", Shape::Map(&named(OPTIONAL_VOLUME, true)), Read::Named(&VOLUME, false), Judged),
]);

const fn named(value: Shape, closed: bool) -> MapOf {
    MapOf { value, keys: Keys::Name, closed }
}

const OPTIONAL_NETWORK: Shape = Shape::Either(&[NULL, Shape::Section(&NETWORK)]);
const OPTIONAL_VOLUME: Shape = Shape::Either(&[NULL, Shape::Section(&VOLUME)]);
const TRUE_OR_TEXT: Shape = Shape::Simple(Types(Types::BOOL | Types::TEXT));
const EXTERNAL: Shape = Shape::Either(&[TRUE_OR_TEXT, Shape::Section(&EXTERNAL_NAME)]);
const EXTERNAL_NAME: Section = section(&[field("name", TEXT, Read::Drop, Within)]);
const LOOSE_EXTERNAL: Shape = Shape::Either(&[TRUE_OR_TEXT, Shape::Section(&LOOSE_EXTERNAL_NAME)]);
const LOOSE_EXTERNAL_NAME: Section = Section {
    fields: &[field("name", TEXT, Read::Drop, Within)],
    required: &[],
    extensions: true,
    open: true,
};

const INCLUDE: Section = Section {
    fields: &[
        field("env_file", TEXT_OR_SET, Read::Drop, Judged),
        field("path", TEXT_OR_SET, Read::Drop, Judged),
        field("project_directory", TEXT, Read::Drop, Judged),
    ],
    required: &[],
    extensions: false,
    open: false,
};

const MODEL: Section = Section {
    fields: &[
        field("context_size", INT, Read::Drop, Within),
        field("model", TEXT, Read::Drop, Within),
        field("name", TEXT, Read::Drop, Within),
        field("runtime_flags", TEXTS, Read::Drop, Within),
    ],
    required: &["model"],
    extensions: true,
    open: false,
};

const ONE_NETWORK: &str = "every app has one network of its own";

/// A network.
pub(crate) const NETWORK: Section = section(&[
    field("attachable", BOOL_TEXT, Read::Bool, Ignored(ONE_NETWORK)),
    field("driver", TEXT, Read::Text, Judged),
    field("driver_opts", OPTIONS, Read::Options, Refused("an app's network takes no options; remove them")),
    field("enable_ipv4", BOOL_TEXT, Read::SetBool, Ignored(ONE_NETWORK)),
    field("enable_ipv6", BOOL_TEXT, Read::SetBool, Ignored(ONE_NETWORK)),
    field("external", EXTERNAL, Read::Bool, Judged),
    field(
        "internal",
        BOOL_TEXT,
        Read::Bool,
        Ignored("whether an app reaches the internet is set on the App"),
    ),
    field("ipam", Shape::Section(&IPAM), Read::Always(&IPAM), Ignored("addresses are given by Hearth")),
    field("labels", PAIRS, Read::Labels, Ignored(ONE_NETWORK)),
    field("name", TEXT, Read::Text, Kept),
]);

const IPAM: Section = section(&[
    field(
        "config",
        Shape::List(&List { item: Shape::Section(&POOL), unique: false }),
        Read::Sections(&POOL),
        Within,
    ),
    field("driver", TEXT, Read::Text, Within),
    field("options", Shape::Map(&TEXTS_BY_NAME), Read::Drop, Within),
]);

const TEXTS_BY_NAME: MapOf = MapOf { value: TEXT, keys: Keys::Any, closed: true };

const POOL: Section = section(&[
    field("aux_addresses", Shape::Map(&TEXTS_BY_NAME), Read::Mapping, Within),
    field("gateway", TEXT, Read::Text, Within),
    field("ip_range", TEXT, Read::Text, Within),
    field("subnet", TEXT, Read::Text, Within),
]);

/// A volume.
pub(crate) const VOLUME: Section = section(&[
    field("driver", TEXT, Read::Text, Within),
    field("driver_opts", OPTIONS, Read::Options, Within),
    field("external", EXTERNAL, Read::Bool, Within),
    field("labels", PAIRS, Read::Labels, Within),
    field("name", TEXT, Read::Text, Within),
]);

const NO_DRIVER: &str = "what is in a file comes from the package or from a value of the App; remove it";
const NO_LABELS: &str = "files have no labels here";

/// A secret.
pub(crate) const SECRET: Section = section(&[
    field("driver", TEXT, Read::Text, Refused(NO_DRIVER)),
    field("driver_opts", OPTIONS, Read::TextMap, Refused(NO_DRIVER)),
    field("environment", TEXT, Read::Text, Judged),
    field("external", LOOSE_EXTERNAL, Read::Bool, Judged),
    field("file", TEXT, Read::Text, Judged),
    field("labels", PAIRS, Read::Labels, Ignored(NO_LABELS)),
    field("name", TEXT, Read::Text, Kept),
    field("template_driver", TEXT, Read::Text, Refused(NO_DRIVER)),
]);

/// A config.
pub(crate) const CONFIG: Section = section(&[
    field("content", TEXT, Read::Text, Judged),
    field("environment", TEXT, Read::Text, Judged),
    field("external", LOOSE_EXTERNAL, Read::Bool, Judged),
    field("file", TEXT, Read::Text, Judged),
    field("labels", PAIRS, Read::Labels, Ignored(NO_LABELS)),
    field("name", TEXT, Read::Text, Kept),
    field("template_driver", TEXT, Read::Text, Refused(NO_DRIVER)),
]);
