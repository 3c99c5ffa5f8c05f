//! The keys of a service.

use super::Rule::{Ignored, Judged, Kept, Refused};
use super::building::{BUILD, DEVELOP};
use super::parts::{
    BLKIO, CREDENTIAL, DEPENDENCY, DEPLOY, DEVICE, ENV_FILE, EXTENDS, FILE_MOUNT, GPU, HEALTH, HOOK, LOGGING,
    MODEL, NETWORK, PORT, PROVIDER, ULIMIT, VOLUME,
};
use super::{
    ANY_MAP, BOOL, BOOL_TEXT, COMMAND, Field, HOSTS, INT_TEXT, Keys, LOOSE_SET, List, MapOf, NULL, NUMBER,
    NUMBER_TEXT, PAIRS, Read, Section, Shape, TEXT, TEXT_NULL, TEXT_OR_SET, TEXT_OR_TEXTS, TEXT_SET, field,
    section,
};

/// One service.
pub(crate) const SERVICE: Section = section(FIELDS);

const HOST_RESOURCE: &str =
    "apps do not choose how the host's resources are shared; set limits on the App instead";
const MEMORY: &str = "only mem_limit is applied";
const RESOLVER: &str = "names are resolved by the app's own network";

const FIELDS: &[Field] = &[
    field("annotations", PAIRS, Read::Mapping, Ignored("annotations are not passed on")),
    field("attach", BOOL_TEXT, Read::SetBool, Ignored("logs of every service are kept")),
    field("blkio_config", Shape::Section(&BLKIO), Read::Section(&BLKIO), Ignored(HOST_RESOURCE)),
    field(
        "build",
        Shape::Either(&[TEXT, Shape::Section(&BUILD)]),
        Read::Section(&BUILD),
        Refused("images are not built here; publish the image and name it under `image`"),
    ),
    field("cap_add", TEXT_SET, Read::Texts, Refused("apps get no extra capabilities; remove it")),
    field("cap_drop", TEXT_SET, Read::Texts, Ignored("every app runs with as few capabilities as it can")),
    field("cgroup", Shape::Words(&["host", "private"]), Read::Text, Judged),
    field("cgroup_parent", TEXT, Read::Text, Refused("apps cannot choose their control group; remove it")),
    field("command", COMMAND, Read::Command, Kept),
    field("configs", Shape::List(&FILE_MOUNTS), Read::Sections(&FILE_MOUNT), Judged),
    field(
        "container_name",
        Shape::Fits(has_container_name, "a name of at least two letters, digits, `.`, `_` or `-`"),
        Read::Text,
        Ignored("containers are named after the app and the service"),
    ),
    field("cpu_count", COUNT_OR_TEXT, Read::Int, Ignored(HOST_RESOURCE)),
    field("cpu_percent", PERCENT_OR_TEXT, Read::Single, Ignored(HOST_RESOURCE)),
    field("cpu_period", NUMBER_TEXT, Read::Int, Ignored("use cpus instead")),
    field("cpu_quota", NUMBER_TEXT, Read::Int, Ignored("use cpus instead")),
    field("cpu_rt_period", NUMBER_TEXT, Read::Int, Ignored(HOST_RESOURCE)),
    field("cpu_rt_runtime", NUMBER_TEXT, Read::Int, Ignored(HOST_RESOURCE)),
    field("cpu_shares", NUMBER_TEXT, Read::Int, Ignored(HOST_RESOURCE)),
    field("cpus", NUMBER_TEXT, Read::Single, Kept),
    field("cpuset", TEXT, Read::Text, Ignored(HOST_RESOURCE)),
    field(
        "credential_spec",
        Shape::Section(&CREDENTIAL),
        Read::Section(&CREDENTIAL),
        Refused("credentials of the host are not passed to apps; remove it"),
    ),
    field("depends_on", DEPENDS_ON, Read::Named(&DEPENDENCY, false), Kept),
    field("deploy", Shape::Either(&[NULL, Shape::Section(&DEPLOY)]), Read::Section(&DEPLOY), Kept),
    field(
        "develop",
        Shape::Either(&[NULL, Shape::Section(&DEVELOP)]),
        Read::Section(&DEVELOP),
        Ignored("nothing is watched for development"),
    ),
    field(
        "device_cgroup_rules",
        TEXT_SET,
        Read::Texts,
        Refused("apps get no rules for devices; ask for the device"),
    ),
    field("devices", DEVICES, Read::Sections(&DEVICE), Judged),
    field("dns", TEXT_OR_SET, Read::TextOrTexts, Ignored(RESOLVER)),
    field("dns_opt", TEXT_SET, Read::Texts, Ignored(RESOLVER)),
    field("dns_search", TEXT_OR_SET, Read::TextOrTexts, Ignored(RESOLVER)),
    field("domainname", TEXT, Read::Text, Ignored("services are reached by their name")),
    field("entrypoint", COMMAND, Read::Command, Kept),
    field("env_file", ENV_FILES, Read::Drop, Kept),
    field("environment", PAIRS, Read::Variables, Kept),
    field("expose", LOOSE_SET, Read::Loose, Kept),
    field("extends", Shape::Either(&[TEXT, Shape::Section(&EXTENDS)]), Read::Section(&EXTENDS), Kept),
    field(
        "external_links",
        TEXT_SET,
        Read::Texts,
        Refused("apps reach no containers but their own; remove it"),
    ),
    field("extra_hosts", HOSTS, Read::Hosts, Judged),
    field(
        "gpus",
        GPUS,
        Read::Sections(&GPU),
        Refused("graphics cards are given as devices; list them under `devices`"),
    ),
    field("group_add", LOOSE_SET, Read::Texts, Judged),
    field("healthcheck", Shape::Section(&HEALTH), Read::Section(&HEALTH), Kept),
    field("hostname", TEXT, Read::Text, Kept),
    field("image", TEXT, Read::Text, Kept),
    field("init", BOOL_TEXT, Read::SetBool, Kept),
    field("ipc", TEXT, Read::Text, Judged),
    field("isolation", TEXT, Read::Text, Ignored("isolation is a setting of Windows")),
    field("label_file", TEXT_OR_TEXTS, Read::Drop, Kept),
    field("labels", PAIRS, Read::Labels, Judged),
    field("links", TEXT_SET, Read::Texts, Judged),
    field("logging", Shape::Section(&LOGGING), Read::Section(&LOGGING), Ignored("logs are kept by Hearth")),
    field("mac_address", TEXT, Read::Text, Ignored("addresses are given by Hearth")),
    field("mem_limit", NUMBER_TEXT, Read::Bytes, Kept),
    field("mem_reservation", INT_TEXT, Read::Bytes, Ignored(MEMORY)),
    field("mem_swappiness", INT_TEXT, Read::Bytes, Ignored(MEMORY)),
    field("memswap_limit", NUMBER_TEXT, Read::Bytes, Ignored(MEMORY)),
    field("models", MODELS, Read::Named(&MODEL, true), Refused("models are not run here; remove it")),
    field("network_mode", TEXT, Read::Text, Judged),
    field("networks", NETWORKS, Read::Named(&NETWORK, true), Judged),
    field("oom_kill_disable", BOOL_TEXT, Read::Bool, Ignored(HOST_RESOURCE)),
    field(
        "oom_score_adj",
        Shape::Either(&[TEXT, Shape::Range(-1000, 1000)]),
        Read::Int,
        Ignored(HOST_RESOURCE),
    ),
    field("pid", TEXT_NULL, Read::Text, Judged),
    field("pids_limit", NUMBER_TEXT, Read::Int, Kept),
    field("platform", TEXT, Read::Text, Ignored("images are chosen for this machine")),
    field("ports", PORTS, Read::Sections(&PORT), Judged),
    field(
        "post_start",
        HOOKS,
        Read::Sections(&HOOK),
        Refused("commands are not run in a service; use a service of its own"),
    ),
    field(
        "pre_stop",
        HOOKS,
        Read::Sections(&HOOK),
        Refused("commands are not run in a service; use stop_signal"),
    ),
    field("privileged", BOOL_TEXT, Read::Bool, Judged),
    field("profiles", TEXT_SET, Read::Texts, Kept),
    field(
        "provider",
        Shape::Section(&PROVIDER),
        Read::Section(&PROVIDER),
        Refused("programs of the host are not run for apps; use an image"),
    ),
    field(
        "pull_policy",
        Shape::Fits(has_pull_policy, "always, never, missing, build, daily, weekly or every_<duration>"),
        Read::Text,
        Ignored("the image an app was installed with is kept until it is updated"),
    ),
    field("pull_refresh_after", TEXT, Read::Drop, Ignored("apps are updated when you say so")),
    field("read_only", BOOL_TEXT, Read::Bool, Kept),
    field("restart", TEXT, Read::Text, Judged),
    field("runtime", TEXT, Read::Text, Refused("apps cannot choose their runtime; remove it")),
    field("scale", INT_TEXT, Read::SetInt, Judged),
    field("secrets", Shape::List(&FILE_MOUNTS), Read::Sections(&FILE_MOUNT), Judged),
    field("security_opt", TEXT_SET, Read::Texts, Judged),
    field("shm_size", NUMBER_TEXT, Read::Bytes, Kept),
    field("stdin_open", BOOL_TEXT, Read::Bool, Kept),
    field("stop_grace_period", TEXT, Read::SetDuration, Kept),
    field("stop_signal", TEXT, Read::Text, Kept),
    field("storage_opt", ANY_MAP, Read::TextMap, Ignored(HOST_RESOURCE)),
    field("sysctls", PAIRS, Read::Mapping, Refused("apps change no settings of the kernel; remove it")),
    field("tmpfs", TEXT_OR_SET, Read::TextOrTexts, Judged),
    field("tty", BOOL_TEXT, Read::Bool, Kept),
    field("ulimits", ULIMITS, Read::Ulimits, Judged),
    field("use_api_socket", BOOL, Read::Bool, Judged),
    field("user", TEXT, Read::Text, Kept),
    field("userns_mode", TEXT, Read::Text, Judged),
    field("uts", TEXT, Read::Text, Judged),
    field("volumes", VOLUMES, Read::Sections(&VOLUME), Judged),
    field("volumes_from", TEXT_SET, Read::Texts, Refused("list the volumes themselves under `volumes`")),
    field("working_dir", TEXT, Read::Text, Kept),
];

const COUNT_OR_TEXT: Shape = Shape::Either(&[TEXT, Shape::Range(0, i64::MAX)]);
const PERCENT_OR_TEXT: Shape = Shape::Either(&[TEXT, Shape::Range(0, 100)]);
const FILE_MOUNTS: List = List { item: Shape::Either(&[TEXT, Shape::Section(&FILE_MOUNT)]), unique: false };
const DEPENDS_ON: Shape = Shape::Either(&[
    TEXT_SET,
    Shape::Map(&MapOf { value: Shape::Section(&DEPENDENCY), keys: Keys::Name, closed: true }),
]);
const DEVICES: Shape =
    Shape::List(&List { item: Shape::Either(&[TEXT, Shape::Section(&DEVICE)]), unique: false });
const ENV_FILES: Shape = Shape::Either(&[
    TEXT,
    Shape::List(&List { item: Shape::Either(&[TEXT, Shape::Section(&ENV_FILE)]), unique: false }),
]);
const GPUS: Shape = Shape::Either(&[
    Shape::Words(&["all"]),
    Shape::List(&List { item: Shape::Section(&GPU), unique: false }),
]);
const MODELS: Shape = Shape::Either(&[
    TEXT_SET,
    Shape::Map(&MapOf {
        value: Shape::Either(&[NULL, Shape::Section(&MODEL)]),
        keys: Keys::Name,
        closed: false,
    }),
]);
const NETWORKS: Shape = Shape::Either(&[
    TEXT_SET,
    Shape::Map(&MapOf {
        value: Shape::Either(&[NULL, Shape::Section(&NETWORK)]),
        keys: Keys::Name,
        closed: true,
    }),
]);
const PORTS: Shape =
    Shape::List(&List { item: Shape::Either(&[NUMBER, TEXT, Shape::Section(&PORT)]), unique: true });
const HOOKS: Shape = Shape::List(&List { item: Shape::Section(&HOOK), unique: false });
pub(super) const ULIMITS: Shape = Shape::Map(&MapOf {
    value: Shape::Either(&[INT_TEXT, Shape::Section(&ULIMIT)]),
    keys: Keys::Lower,
    closed: false,
});
const VOLUMES: Shape =
    Shape::List(&List { item: Shape::Either(&[TEXT, Shape::Section(&VOLUME)]), unique: true });

/// A letter or digit with at least one character of a name behind it, anywhere in the text.
fn has_container_name(text: &str) -> bool {
    let follows = |b: u8| b.is_ascii_alphanumeric() || b"_.-".contains(&b);
    text.as_bytes().windows(2).any(|pair| pair[0].is_ascii_alphanumeric() && follows(pair[1]))
}

/// A policy, anywhere in the text.
fn has_pull_policy(text: &str) -> bool {
    const WORDS: [&str; 8] =
        ["always", "never", "build", "if_not_present", "missing", "refresh", "daily", "weekly"];
    let every = |rest: &str| {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        digits > 0 && rest[digits..].starts_with(['w', 'd', 'h', 'm', 's'])
    };
    WORDS.iter().any(|word| text.contains(word))
        || text.match_indices("every_").any(|(at, _)| every(&text[at + 6..]))
}
