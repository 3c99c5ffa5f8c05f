//! The shape of a case file: one JSON Schema, which is published for editors and is what files are checked against.

use serde_json::{Map, Value, json};

/// What stands in `apiVersion` of a case.
pub const API_VERSION: &str = "test.hearth.dev/v1";
/// What stands in `kind` of a case.
pub const KIND: &str = "Case";
/// Verbs that may stand alone, as one word.
pub(super) const BARE: [&str; 3] = ["settle", "restart", "mend"];

/// What may befall a container, by its word.
pub(super) const CONTAINER: [&str; 12] = [
    "killed",
    "stopped",
    "started",
    "removed",
    "edited",
    "out of memory",
    "disconnected",
    "unhealthy",
    "mute",
    "failing",
    "unstartable",
    "as usual",
];
/// What may befall a network.
pub(super) const NETWORK: [&str; 2] = ["removed", "edited"];
/// What may befall an image.
pub(super) const IMAGE: [&str; 5] = ["missing", "unreachable", "published", "failing", "as usual"];
/// What may befall the folder of a volume.
pub(super) const VOLUME: [&str; 5] = ["removed", "emptied", "a link", "a file", "edited"];
/// What may befall a part of the home, by the part.
pub(super) const PARTS: [(&str, &[&str]); 8] = [
    ("docker", &["unreachable", "forgetful", "pruned", "pruned of images"]),
    ("proxy", &["unreachable", "emptied"]),
    ("disk", &["unreachable"]),
    ("registry", &["unreachable"]),
    ("store", &["full"]),
    ("events", &["lost", "late", "broken off"]),
    ("server", &["killed", "stopped"]),
    ("clock", &["moved"]),
];
/// What events are of, in the order of `About::ALL`.
pub(super) const EVENTS_OF: [&str; 3] = ["containers", "networks", "images"];
/// How a call to the machine may go wrong.
pub(super) const CALL_ANSWERS: [&str; 9] =
    ["blind", "failed", "lost", "hangs", "slow", "stale", "empty", "partial", "refused"];
/// How an event may go wrong.
pub(super) const EVENT_ANSWERS: [&str; 3] = ["lost", "twice", "late"];

/// The schema of a case.
pub fn schema() -> Value {
    let fields = [
        ("apiVersion", one_of(&[API_VERSION], "Always this one.")),
        ("kind", one_of(&[KIND], "Always this one.")),
        ("name", text("What the case shows, as a sentence: the name it is told by.")),
        ("namespace", text("The namespace of objects that name none. Default: household.")),
        ("seed", count(0, "The order in which things happen, of all that are possible. Default: 1.")),
        (
            "restless",
            text(
                "Why the home never comes to rest at the end, where that is so; it is not held to rest then.",
            ),
        ),
        ("steps", list(&step(), "What is done and what must come of it, in order.")),
    ];
    let mut schema = object(&fields, "A case: what is asked for, what happens, and what must come of it.");
    schema["required"] = json!(["apiVersion", "kind", "name", "steps"]);
    schema
}

/// The same for editors: as JSON Schema says what may be left empty, and steps that are one word.
pub fn published() -> Value {
    let mut published = schema();
    let step = published["properties"]["steps"]["items"].take();
    published["properties"]["steps"]["items"] = json!({ "anyOf": [{ "enum": BARE }, plain(step)] });
    published["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    published["title"] = json!(KIND);
    published
}

/// JSON Schema has no word for "may be null" but the type.
fn plain(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(fields) => {
            if fields.remove("nullable").is_some() {
                let kind = fields.remove("type").unwrap_or_default();
                fields.insert("type".into(), json!([kind, "null"]));
            }
            fields.remove("x-kubernetes-preserve-unknown-fields");
            let fields = std::mem::take(fields).into_iter().map(|(name, value)| (name, plain(value)));
            Value::Object(fields.collect())
        }
        Value::Array(items) => items.drain(..).map(plain).collect(),
        _ => schema,
    }
}

fn step() -> Value {
    let mut fields = Map::new();
    let mut add = |name: &str, schema: Value| drop(fields.insert(name.to_owned(), schema));
    add("apply", any("Declares objects: a file or a folder beside the case, an object, or a list of these."));
    add("change", by_object("Changes fields of objects that stand, by KIND/NAME; null removes one."));
    add("refused", any("The step it stands in must be refused, and the refusal says this."));
    add("delete", any("Deletes an object, KIND/NAME or KIND/NAMESPACE/NAME, or a list of them."));
    add("settle", empty("Goes on until nothing moves any more."));
    add("wait", text("Lets so much time pass, such as 90s, 10m or 2h."));
    add("until", by_object("Goes on until these parts of objects are so; see within."));
    add("within", text("How long `until` may take. Default: 30m."));
    add(
        "assert",
        by_object("These parts of objects are so, by KIND/NAME; absent: true for one that is not there."),
    );
    add("assertMachine", machine());
    add("break", breakage());
    add(
        "mend",
        any("Ends what lasts: everything, a part such as docker, a container, an image, or a list of these."),
    );
    add(
        "restart",
        nullable(object(
            &[("seed", count(0, "From then on the order is this seed's."))],
            "Kills the server, with no chance to finish anything, and starts it again.",
        )),
    );
    add("why", by_object("What `hearth why` answers, in its first line, by KIND/NAME."));
    add(
        "events",
        by_object("What is among the events of an object, by KIND/NAME: a list of parts of events."),
    );
    add("others", others());
    add("disturb", disturb());
    json!({ "type": "object", "properties": fields })
}

fn machine() -> Value {
    let names = |what: &str| by_object(what);
    object(
        &[
            (
                "containers",
                names("By name, as their objects are called: state, health, image, env, mounts, ..."),
            ),
            ("networks", names("By name: subnet, internal, attached.")),
            ("images", names("By reference.")),
            ("volumes", names("By APP/PATH of the folder: is, owner, mode, marked.")),
            ("routes", names("By host: status, container and page that a browser gets.")),
            (
                "changes",
                names(
                    "How often each change was asked of the machine so far, such as `create container photos-web: 1`.",
                ),
            ),
        ],
        "These parts of the machine are so.",
    )
}

fn breakage() -> Value {
    let mut words: Vec<&str> = [&CONTAINER[..], &NETWORK, &IMAGE, &VOLUME].concat();
    words.extend(PARTS.iter().flat_map(|(_, words)| words.iter()));
    words.sort_unstable();
    words.dedup();
    let parts: Vec<&str> = PARTS.iter().map(|(part, _)| *part).collect();
    object(
        &[
            ("container", text("It befalls this container, by the name of its object.")),
            ("network", text("It befalls this network; of a disconnected container, the network it leaves.")),
            ("image", text("It befalls this image in its registry, by reference.")),
            ("volume", text("It befalls the folder of this volume, as APP/PATH.")),
            ("part", one_of(&parts, "It befalls this part of the home.")),
            ("is", one_of(&words, "What becomes of it.")),
            (
                "exits",
                json!({ "type": "integer", "minimum": 0, "maximum": 255, "description": "The container's process ends with this code; of one that is failing, each time." }),
            ),
            ("after", text("A failing container ends after so long, each time. Default: 1s.")),
            (
                "env",
                json!({ "type": "object", "additionalProperties": { "type": "string" }, "description": "What is edited into a container's variables." }),
            ),
            ("mode", text("What is edited on a volume's folder, such as \"0777\".")),
            ("by", text("How far the clock is moved, such as 3h or -3h; how late events are.")),
            ("of", one_of(&EVENTS_OF, "Only events of these are late. Default: all.")),
            ("for", text("It is over after so long; without it, when it is mended, or the case is over.")),
        ],
        "Something happens to the world behind Hearth's back.",
    )
}

fn others() -> Value {
    object(
        &[
            ("container", text("A container of that name, as the engine calls it.")),
            (
                "network",
                text("A network of that name, as the engine calls it; of a container, the network it is on."),
            ),
            ("subnet", text("The network's subnet. Default: 192.168.7.0/24.")),
            ("image", text("The container's image. Default: stranger:1.")),
            ("is", one_of(&["running", "stopped"], "How the container is. Default: running.")),
            (
                "labels",
                json!({ "type": "object", "additionalProperties": { "type": "string" }, "description": "Labels of it." }),
            ),
        ],
        "Something that is not Hearth's is made on the machine.",
    )
}

fn disturb() -> Value {
    let answers: Vec<&str> = [&CALL_ANSWERS[..], &EVENT_ANSWERS[1..], &["full"]].concat();
    let fault = object(
        &[
            ("call", text("A call to the machine, such as createContainer or listNetworks.")),
            ("of", text("Only calls about this thing, as the engine calls it.")),
            ("event", count(0, "The so-manieth thing the machine tells, from 0.")),
            ("write", count(0, "The so-manieth write of the store, from 0.")),
            ("nth", count(0, "The so-manieth such call, from 0. Default: 0.")),
            ("times", count(1, "So many in a row. Default: 1.")),
            (
                "answer",
                one_of(
                    &answers,
                    "How it goes on: `lost` is carried out without an answer, `blind` and `failed` are not carried out, `refused` and `full` are what a disk says to a write, `late` is an event that comes in behind later ones.",
                ),
            ),
            ("looks", count(1, "A stale answer is that of so many looks ago. Default: 4.")),
            (
                "for",
                text(
                    "How long something that hangs or is slow takes, or how late an event is. Default: 30s.",
                ),
            ),
            ("at", count(0, "After so many happenings, from where the step begins.")),
            ("apply", any("Asks for objects then.")),
            ("change", by_object("Asks for changes of objects then.")),
            ("delete", any("Asks that objects be no more then.")),
            ("break", breakage()),
            (
                "restart",
                nullable(object(
                    &[],
                    "Kills the server then, and starts it again; what lasts is over by then.",
                )),
            ),
        ],
        "One fault, or what is done at a moment.",
    );
    object(
        &[
            (
                "happenings",
                count(
                    1,
                    "For so many happenings; a home that has nothing to do makes some 50 a minute. Default: 500.",
                ),
            ),
            ("faults", list(&fault, "What goes wrong, and what is done meanwhile.")),
        ],
        "Goes on for a while with faults at counted moments; a moment is the same in every run of a seed. A fault that never comes up fails the case.",
    )
}

fn object(fields: &[(&str, Value)], about: &str) -> Value {
    let fields: Map<String, Value> =
        fields.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({ "type": "object", "properties": fields, "description": about })
}

fn by_object(about: &str) -> Value {
    json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true, "description": about })
}

fn list(items: &Value, about: &str) -> Value {
    json!({ "type": "array", "items": items, "description": about })
}

fn one_of(words: &[&str], about: &str) -> Value {
    json!({ "type": "string", "enum": words, "description": about })
}

fn text(about: &str) -> Value {
    json!({ "type": "string", "description": about })
}

/// A number of something, which has to be so many at least.
fn count(least: u64, about: &str) -> Value {
    json!({ "type": "integer", "minimum": least, "description": about })
}

fn any(about: &str) -> Value {
    json!({ "description": about })
}

fn empty(about: &str) -> Value {
    nullable(object(&[], about))
}

fn nullable(mut schema: Value) -> Value {
    schema["nullable"] = true.into();
    schema
}
