//! The sections inside a service.

use super::Rule::{Ignored, Judged, Kept, Refused, Within};
use super::{
    BOOL, BOOL_TEXT, COMMAND, Field, INT_TEXT, Keys, List, MapOf, NUMBER, NUMBER_TEXT, OPTIONS, PAIRS, Read,
    Section, Shape, TEXT, TEXT_SET, TEXTS, Types, field, section,
};

const SWARM: &str = "only one machine runs the app";

/// `healthcheck`.
pub(crate) const HEALTH: Section = section(&[
    field("disable", BOOL_TEXT, Read::Bool, Kept),
    field("interval", TEXT, Read::SetDuration, Kept),
    field("retries", NUMBER_TEXT, Read::SetCount, Kept),
    field(
        "start_interval",
        TEXT,
        Read::SetDuration,
        Ignored("not every container engine knows it; a short interval has the same effect"),
    ),
    field("start_period", TEXT, Read::SetDuration, Kept),
    field("test", Shape::Either(&[TEXT, TEXTS]), Read::HealthTest, Kept),
    field("timeout", TEXT, Read::SetDuration, Kept),
]);

/// One entry of `depends_on`.
pub(crate) const DEPENDENCY: Section = Section {
    fields: &[
        field("condition", Shape::Words(CONDITIONS), Read::Text, Kept),
        field("required", BOOL, Read::SetBool, Kept),
        field("restart", BOOL_TEXT, Read::Bool, Kept),
    ],
    required: &["condition"],
    extensions: true,
    open: false,
};

const CONDITIONS: &[&str] = &["service_started", "service_healthy", "service_completed_successfully"];

/// One entry of `ports`.
pub(crate) const PORT: Section = section(&[
    field("app_protocol", TEXT, Read::Text, Ignored("the protocol is found by asking the app")),
    field("host_ip", TEXT, Read::Text, Judged),
    field("mode", TEXT, Read::Text, Judged),
    field("name", TEXT, Read::Text, Kept),
    field("protocol", TEXT, Read::Text, Judged),
    field("published", INT_TEXT, Read::Text, Judged),
    field("target", INT_TEXT, Read::Count, Kept),
]);

/// One entry of `volumes`.
pub(crate) const VOLUME: Section = Section {
    fields: &[
        field("bind", Shape::Section(&BIND), Read::Section(&BIND), Kept),
        field("consistency", TEXT, Read::Text, Ignored("it has no effect on Linux")),
        field("image", Shape::Section(&IMAGE_MOUNT), Read::Section(&IMAGE_MOUNT), Judged),
        field("read_only", BOOL_TEXT, Read::Bool, Kept),
        field("source", TEXT, Read::Text, Judged),
        field("target", TEXT, Read::Text, Judged),
        field("tmpfs", Shape::Section(&TMPFS), Read::Section(&TMPFS), Kept),
        field(
            "type",
            Shape::Words(&["bind", "volume", "tmpfs", "cluster", "npipe", "image"]),
            Read::Text,
            Judged,
        ),
        field("volume", Shape::Section(&NAMED_MOUNT), Read::Section(&NAMED_MOUNT), Judged),
    ],
    required: &["type"],
    extensions: true,
    open: false,
};

const BIND: Section = section(&[
    field("create_host_path", BOOL_TEXT, Read::Bool, Kept),
    field("propagation", TEXT, Read::Text, Judged),
    field(
        "recursive",
        Shape::Words(&["enabled", "disabled", "writable", "readonly"]),
        Read::Text,
        Ignored("data folders hold no other mounts"),
    ),
    field("selinux", Shape::Words(&["z", "Z"]), Read::Text, Ignored("data folders are labelled by Hearth")),
]);

const IMAGE_MOUNT: Section = section(&[field("subpath", TEXT, Read::Text, Within)]);

const TMPFS: Section = section(&[
    field("mode", NUMBER_TEXT, Read::Count, Kept),
    field("size", Shape::Either(&[TEXT, Shape::Range(0, i64::MAX)]), Read::Bytes, Kept),
]);

const NAMED_MOUNT: Section = section(&[
    field("labels", PAIRS, Read::Mapping, Within),
    field("nocopy", BOOL_TEXT, Read::Bool, Within),
    field("subpath", TEXT, Read::Text, Within),
]);

/// One entry of `networks`.
pub(crate) const NETWORK: Section = section(&[
    field("aliases", TEXT_SET, Read::Texts, Kept),
    field("driver_opts", OPTIONS, Read::Options, Refused("an app's network takes no options; remove them")),
    field("gw_priority", NUMBER, Read::Int, Ignored("an app has one network")),
    field("interface_name", TEXT, Read::Text, Ignored("an app has one network")),
    field("ipv4_address", TEXT, Read::Text, Ignored("addresses are given by Hearth")),
    field("ipv6_address", TEXT, Read::Text, Ignored("addresses are given by Hearth")),
    field("link_local_ips", TEXT_SET, Read::Texts, Ignored("addresses are given by Hearth")),
    field("mac_address", TEXT, Read::Text, Ignored("addresses are given by Hearth")),
    field("priority", NUMBER, Read::Int, Ignored("an app has one network")),
]);

/// One entry of `devices`.
pub(crate) const DEVICE: Section = Section {
    fields: &[
        field("permissions", TEXT, Read::Text, Judged),
        field("source", TEXT, Read::Text, Judged),
        field("target", TEXT, Read::Text, Judged),
    ],
    required: &["source"],
    extensions: true,
    open: false,
};

/// One entry of `configs` or `secrets`.
pub(crate) const FILE_MOUNT: Section = section(&[
    field("gid", TEXT, Read::Text, Judged),
    field("mode", NUMBER_TEXT, Read::Mode, Judged),
    field("source", TEXT, Read::Text, Judged),
    field("target", TEXT, Read::Text, Judged),
    field("uid", TEXT, Read::Text, Judged),
]);

/// One entry of `env_file`.
pub(crate) const ENV_FILE: Section = Section {
    fields: &[
        field("format", TEXT, Read::Drop, Kept),
        field("path", TEXT, Read::Drop, Judged),
        field("required", BOOL_TEXT, Read::Drop, Kept),
    ],
    required: &["path"],
    extensions: false,
    open: false,
};

/// `extends`.
pub(crate) const EXTENDS: Section = Section {
    fields: &[field("file", TEXT, Read::Text, Judged), field("service", TEXT, Read::Text, Kept)],
    required: &["service"],
    extensions: false,
    open: false,
};

/// A hook: `post_start`, `pre_stop`, or what a watch runs.
pub(crate) const HOOK: Section = Section {
    fields: &[
        field("command", COMMAND, Read::Command, Within),
        field("environment", PAIRS, Read::Variables, Within),
        field("privileged", BOOL_TEXT, Read::Bool, Within),
        field("user", TEXT, Read::Text, Within),
        field("working_dir", TEXT, Read::Text, Within),
    ],
    required: &["command"],
    extensions: true,
    open: false,
};

/// `logging`.
pub(crate) const LOGGING: Section = section(&[
    field("driver", TEXT, Read::Text, Within),
    field(
        "options",
        Shape::Map(&MapOf {
            value: Shape::Simple(Types(Types::TEXT | Types::NUMBER | Types::NULL)),
            keys: Keys::Any,
            closed: false,
        }),
        Read::Options,
        Within,
    ),
]);

/// `credential_spec`.
pub(crate) const CREDENTIAL: Section = section(&[
    field("config", TEXT, Read::Text, Within),
    field("file", TEXT, Read::Text, Within),
    field("registry", TEXT, Read::Text, Within),
]);

/// `provider`.
pub(crate) const PROVIDER: Section = Section {
    fields: &[
        field("options", Shape::Map(&PROVIDER_OPTIONS), Read::ManyOptions, Within),
        field("type", TEXT, Read::Text, Within),
    ],
    required: &["type"],
    extensions: true,
    open: false,
};

const PROVIDER_SCALAR: Shape = Shape::Simple(Types(Types::TEXT | Types::NUMBER | Types::BOOL));
const PROVIDER_OPTIONS: MapOf = MapOf {
    value: Shape::Either(&[PROVIDER_SCALAR, Shape::List(&List { item: PROVIDER_SCALAR, unique: false })]),
    keys: Keys::Any,
    closed: false,
};

/// One entry of `models`.
pub(crate) const MODEL: Section =
    section(&[field("endpoint_var", TEXT, Read::Text, Within), field("model_var", TEXT, Read::Text, Within)]);

/// One entry of `ulimits` in its long form.
pub(crate) const ULIMIT: Section = Section {
    fields: &[field("hard", INT_TEXT, Read::Int, Within), field("soft", INT_TEXT, Read::Int, Within)],
    required: &["soft", "hard"],
    extensions: true,
    open: false,
};

const REQUEST: &[Field] = &[
    field("capabilities", TEXT_SET, Read::Texts, Within),
    field("count", INT_TEXT, Read::DeviceCount, Within),
    field("device_ids", TEXT_SET, Read::Texts, Within),
    field("driver", TEXT, Read::Text, Within),
    field("options", PAIRS, Read::Mapping, Within),
];

/// One entry of `gpus`.
pub(crate) const GPU: Section = Section { fields: REQUEST, required: &[], extensions: true, open: true };

const DEVICE_REQUEST: Section =
    Section { fields: REQUEST, required: &["capabilities"], extensions: true, open: false };

/// `blkio_config`.
pub(crate) const BLKIO: Section = Section {
    fields: &[
        field("device_read_bps", THROTTLES, Read::Throttle("Rate"), Within),
        field("device_read_iops", THROTTLES, Read::Throttle("Rate"), Within),
        field("device_write_bps", THROTTLES, Read::Throttle("Rate"), Within),
        field("device_write_iops", THROTTLES, Read::Throttle("Rate"), Within),
        field("weight", INT_TEXT, Read::Count, Within),
        field("weight_device", WEIGHTS, Read::Throttle("Weight"), Within),
    ],
    required: &[],
    extensions: false,
    open: false,
};

const THROTTLES: Shape = Shape::List(&List { item: Shape::Section(&THROTTLE), unique: false });
const WEIGHTS: Shape = Shape::List(&List { item: Shape::Section(&WEIGHT), unique: false });
const THROTTLE: Section =
    closed(&[field("path", TEXT, Read::Text, Within), field("rate", INT_TEXT, Read::Bytes, Within)]);
const WEIGHT: Section =
    closed(&[field("path", TEXT, Read::Text, Within), field("weight", INT_TEXT, Read::Count, Within)]);

const fn closed(fields: &'static [Field]) -> Section {
    Section { fields, required: &[], extensions: false, open: false }
}

/// `deploy`.
pub(crate) const DEPLOY: Section = section(&[
    field("endpoint_mode", TEXT, Read::Text, Ignored(SWARM)),
    field("labels", PAIRS, Read::Labels, Ignored(SWARM)),
    field("mode", TEXT, Read::Text, Ignored(SWARM)),
    field("placement", Shape::Section(&PLACEMENT), Read::Always(&PLACEMENT), Ignored(SWARM)),
    field("replicas", INT_TEXT, Read::SetInt, Judged),
    field("resources", Shape::Section(&RESOURCES), Read::Always(&RESOURCES), Kept),
    field("restart_policy", Shape::Section(&RESTART), Read::Section(&RESTART), Judged),
    field("rollback_config", Shape::Section(&UPDATE), Read::Section(&UPDATE), Ignored(SWARM)),
    field("update_config", Shape::Section(&UPDATE), Read::Section(&UPDATE), Ignored(SWARM)),
]);

const PLACEMENT: Section = section(&[
    field("constraints", TEXTS, Read::Texts, Within),
    field("max_replicas_per_node", INT_TEXT, Read::Count, Within),
    field(
        "preferences",
        Shape::List(&List { item: Shape::Section(&PREFERENCE), unique: false }),
        Read::Sections(&PREFERENCE),
        Within,
    ),
]);
const PREFERENCE: Section = section(&[field("spread", TEXT, Read::Text, Within)]);

const RESTART: Section = section(&[
    field("condition", TEXT, Read::Text, Judged),
    field("delay", TEXT, Read::SetDuration, Ignored("delays between restarts are chosen by Hearth")),
    field("max_attempts", INT_TEXT, Read::SetCount, Ignored("services are always brought back")),
    field("window", TEXT, Read::SetDuration, Ignored("services are always brought back")),
]);

const UPDATE: Section = section(&[
    field("delay", TEXT, Read::Duration, Within),
    field("failure_action", TEXT, Read::Text, Within),
    field("max_failure_ratio", NUMBER_TEXT, Read::Single, Within),
    field("monitor", TEXT, Read::Duration, Within),
    field("order", Shape::Words(&["start-first", "stop-first"]), Read::Text, Within),
    field("parallelism", INT_TEXT, Read::SetCount, Within),
]);

const RESOURCES: Section = section(&[
    field("limits", Shape::Section(&LIMITS), Read::Section(&LIMITS), Kept),
    field("reservations", Shape::Section(&RESERVATIONS), Read::Section(&RESERVATIONS), Kept),
]);

const LIMITS: Section = section(&[
    field("cpus", NUMBER_TEXT, Read::Single, Kept),
    field("memory", TEXT, Read::Bytes, Kept),
    field("pids", INT_TEXT, Read::Int, Kept),
]);

const UNRESERVED: &str = "nothing is reserved; set a limit instead";

const RESERVATIONS: Section = section(&[
    field("cpus", NUMBER_TEXT, Read::Single, Ignored(UNRESERVED)),
    field(
        "devices",
        Shape::List(&List { item: Shape::Section(&DEVICE_REQUEST), unique: false }),
        Read::Sections(&DEVICE_REQUEST),
        Refused("graphics cards are given as devices; list them under `devices`"),
    ),
    field("generic_resources", GENERIC, Read::Sections(&GENERIC_RESOURCE), Ignored(UNRESERVED)),
    field("memory", TEXT, Read::Bytes, Ignored(UNRESERVED)),
]);

const GENERIC: Shape = Shape::List(&List { item: Shape::Section(&GENERIC_RESOURCE), unique: false });
const GENERIC_RESOURCE: Section =
    section(&[field("discrete_resource_spec", Shape::Section(&DISCRETE), Read::Section(&DISCRETE), Within)]);
const DISCRETE: Section =
    section(&[field("kind", TEXT, Read::Text, Within), field("value", NUMBER_TEXT, Read::Int, Within)]);
