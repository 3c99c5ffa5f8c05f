//! What holds of server-side apply over random schemas and objects: it is idempotent, managers of different fields
//! commute, force transfers, and a field goes with its only owner.

use std::collections::BTreeSet;

use hearth_meta::Timestamp;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::super::fields::{FieldSet, Path};
use super::super::structure::Structure;
use super::super::{Author, Operation, Owners};
use super::{Applied, Conflict, apply};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// Random choices, which a test shrinks by taking bytes away: no bytes left means the first of everything.
#[derive(Debug)]
struct Dice(std::vec::IntoIter<u8>);

impl Dice {
    fn below(&mut self, end: u8) -> u8 {
        self.0.next().unwrap_or(0) % end
    }
}

fn dice() -> impl Strategy<Value = Dice> {
    proptest::collection::vec(any::<u8>(), 0..250).prop_map(|bytes| Dice(bytes.into_iter()))
}

/// A schema of every way values are put together.
fn schema(dice: &mut Dice, depth: u8) -> Value {
    let kinds = if depth == 0 { 4 } else { 8 };
    match dice.below(kinds) {
        0 => json!({ "type": "integer" }),
        1 => json!({ "type": "array", "items": { "type": "integer" } }),
        2 => json!({ "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "integer" } }),
        3 => json!({ "type": "object", "x-kubernetes-map-type": "atomic",
                     "additionalProperties": { "type": "integer" } }),
        4 => json!({ "type": "object", "additionalProperties": schema(dice, depth - 1) }),
        5 => {
            let mut items = object_schema(dice, depth - 1);
            items["properties"]["name"] = json!({ "type": "string" });
            json!({ "type": "array", "items": items,
                    "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] })
        }
        _ => object_schema(dice, depth - 1),
    }
}

fn object_schema(dice: &mut Dice, depth: u8) -> Value {
    let count = usize::from(1 + dice.below(4));
    let properties: Map<String, Value> =
        NAMES[..count].iter().map(|name| ((*name).to_owned(), schema(dice, depth))).collect();
    json!({ "type": "object", "properties": properties })
}

/// A value that fits a schema. Equal rolls make equal values, so that managers often agree.
fn value(dice: &mut Dice, schema: &Value) -> Value {
    let some = |dice: &mut Dice| NAMES.into_iter().filter(|_| dice.below(2) == 1).collect::<Vec<_>>();
    if let Some(properties) = schema["properties"].as_object() {
        let chosen: Vec<_> = properties.iter().filter(|_| dice.below(2) == 1).collect();
        return chosen.into_iter().map(|(name, inner)| (name.clone(), value(dice, inner))).collect();
    }
    match (schema["type"].as_str(), schema["x-kubernetes-list-type"].as_str()) {
        (Some("object"), _) => some(dice)
            .into_iter()
            .map(|name| (name.to_owned(), value(dice, &schema["additionalProperties"])))
            .collect(),
        (_, Some("map")) => {
            let item = |name: &str| {
                let mut item = value(dice, &schema["items"]);
                item["name"] = name.into();
                item
            };
            let names: Vec<_> = NAMES.into_iter().take(3).collect();
            names.into_iter().map(item).collect()
        }
        (_, Some("set")) => (0..dice.below(4)).map(Value::from).collect(),
        (Some("array"), _) => (0..dice.below(3)).map(|_| Value::from(dice.below(3))).collect(),
        _ => dice.below(3).into(),
    }
}

/// A kind and what can be said of its objects.
struct Kind(Value);

impl Kind {
    fn roll(dice: &mut Dice) -> Self {
        Self(json!({ "properties": { "spec": object_schema(dice, 3) } }))
    }

    fn structure(&self) -> Structure<'_> {
        Structure::new(Some(&self.0), true)
    }

    fn wish(&self, dice: &mut Dice) -> Value {
        config(value(dice, &self.0["properties"]["spec"]))
    }

    fn say(&self, live: &Value, name: &str, config: &Value, force: bool) -> Result<Value, Vec<Conflict>> {
        let manager = Author { name: name.into(), api_version: "v1".into(), now: Timestamp::UNIX_EPOCH };
        apply(live, &Applied { config, manager: &manager, force }, &self.structure())
    }

    fn fields(&self, object: &Value) -> FieldSet {
        self.structure().fields_of(object)
    }
}

fn config(spec: Value) -> Value {
    json!({ "metadata": { "name": "x" }, "spec": spec })
}

fn empty() -> Value {
    json!({ "metadata": { "name": "x" } })
}

/// The leaves of an object: each field that is one value, without those that only hold others.
fn leaves(fields: &FieldSet) -> Vec<&Path> {
    fields.iter().filter(|path| !fields.has_within(path)).collect()
}

/// What stands, whatever the order of items that have none: each leaf with its value, and who owns what.
fn in_any_order(kind: &Kind, object: &Value) -> (BTreeSet<String>, BTreeSet<String>) {
    let fields = kind.fields(object);
    let leaf = |path: &&Path| format!("{path} = {}", path.find(object).unwrap_or(&Value::Null));
    let owned = Owners::of(object).all.into_iter();
    let owner = |owned: super::super::Owned| format!("{:?} {}", owned.entry.manager, owned.fields.write());
    (leaves(&fields).iter().map(leaf).collect(), owned.map(owner).collect())
}

/// Whether a path leads to nothing but an empty map or list, which may stay behind when what lay within is gone.
fn is_hollow(object: &Value, path: &Path) -> bool {
    path.find(object).is_none_or(|value| {
        value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
    })
}

/// Splits what is said in two that agree: each field to one of them, or to both.
fn split(dice: &mut Dice, schema: &Value, whole: &Value) -> [Value; 2] {
    let part = |dice: &mut Dice, fields: &Map<String, Value>, of: &dyn Fn(&str) -> Value| {
        let mut parts = [Map::new(), Map::new()];
        for (name, value) in fields {
            let inner = split(dice, &of(name), value);
            let who = dice.below(4);
            for (index, inner) in inner.into_iter().enumerate() {
                match (who, value.is_object() || value.is_array()) {
                    (2, true) => drop(parts[index].insert(name.clone(), inner)),
                    (3, _) => drop(parts[index].insert(name.clone(), value.clone())),
                    (0 | 1, _) if usize::from(who) == index => {
                        drop(parts[index].insert(name.clone(), value.clone()))
                    }
                    _ => {}
                }
            }
        }
        parts.map(Value::Object)
    };
    let is_atomic = schema["x-kubernetes-map-type"] == "atomic";
    match (whole, schema["x-kubernetes-list-type"].as_str()) {
        (Value::Object(fields), _) if !is_atomic && !fields.is_empty() => {
            let of = |name: &str| match schema["properties"].get(name) {
                Some(inner) => inner.clone(),
                None => schema["additionalProperties"].clone(),
            };
            part(dice, fields, &of)
        }
        (Value::Array(items), Some("map")) if !items.is_empty() => {
            let mut parts = [Vec::new(), Vec::new()];
            for item in items {
                for (index, mut inner) in split(dice, &schema["items"], item).into_iter().enumerate() {
                    inner["name"] = item["name"].clone();
                    if dice.below(3) != 0 {
                        parts[index].push(inner);
                    }
                }
            }
            parts.map(Value::Array)
        }
        (Value::Array(items), Some("set")) if !items.is_empty() => {
            let half = |dice: &mut Dice| items.iter().filter(|_| dice.below(2) == 1).cloned().collect();
            [half(dice), half(dice)].map(Value::Array)
        }
        _ => [whole.clone(), whole.clone()],
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever three managers said before: what is said holds, is owned, and saying it again changes nothing; nothing
    /// of others changes but what was said otherwise; and every field that stands has an owner.
    #[test]
    fn what_is_said_holds_is_owned_and_changes_nothing_when_said_again(mut dice in dice()) {
        let kind = Kind::roll(&mut dice);
        let mut live = empty();
        for turn in 0..6 {
            let name = ["one", "two", "three"][usize::from(dice.below(3))];
            let wish = kind.wish(&mut dice);
            let before = live.clone();
            live = kind.say(&live, name, &wish, true).unwrap();
            let wanted = kind.fields(&wish);
            for path in leaves(&wanted) {
                let said = path.find(&wish);
                prop_assert!(
                    path.find(&live) == said || is_hollow(&wish, path), "turn {}: {} of {} in {}", turn, path, wish, live
                );
            }
            prop_assert_eq!(Owners::of(&live).fields_of(name, Operation::Apply), wanted.clone());
            prop_assert_eq!(&kind.say(&live, name, &wish, false).unwrap(), &live, "turn {}", turn);
            let own = Owners::of(&before).fields_of(name, Operation::Apply);
            let fields = kind.fields(&before);
            for path in leaves(&fields) {
                let is_own = own.touches(path) || wanted.touches(path) || wanted.iter().any(|said| path.is_within(said));
                prop_assert!(
                    is_own || path.find(&live) == path.find(&before), "turn {}: {} is another's", turn, path
                );
            }
            let all = Owners::of(&live).all;
            let stands = kind.fields(&live);
            for path in leaves(&stands) {
                let is_owned = all.iter().any(|owned| owned.fields.touches(path));
                prop_assert!(is_owned || is_hollow(&live, path), "turn {}: {} has no owner in {}", turn, path, live);
            }
        }
        for name in ["one", "two", "three"] {
            live = kind.say(&live, name, &empty(), false).unwrap();
        }
        prop_assert!(Owners::of(&live).all.is_empty());
        let left = kind.fields(&live);
        prop_assert!(left.iter().all(|path| is_hollow(&live, path)), "nobody's: {}", live);
    }

    /// Two that agree wherever both speak never conflict, and it does not matter who was first.
    #[test]
    fn managers_that_agree_commute_and_each_takes_only_what_it_alone_said(mut dice in dice()) {
        let kind = Kind::roll(&mut dice);
        let whole = kind.wish(&mut dice);
        let [one, two] = split(&mut dice, &kind.0["properties"]["spec"], &whole["spec"]).map(config);
        let say = |live: &Value, name: &str, wish: &Value| kind.say(live, name, wish, false);
        let there = say(&say(&empty(), "one", &one).unwrap(), "two", &two);
        let back = say(&say(&empty(), "two", &two).unwrap(), "one", &one);
        prop_assert!(there.is_ok() && back.is_ok(), "{} and {}: {:?} {:?}", one, two, there, back);
        let (there, back) = (there.unwrap(), back.unwrap());
        prop_assert_eq!(in_any_order(&kind, &there), in_any_order(&kind, &back));
        let left = say(&there, "one", &empty()).unwrap();
        let theirs = kind.fields(&two);
        for path in leaves(&theirs) {
            prop_assert!(
                is_hollow(&two, path) || path.find(&left) == path.find(&there), "{} is two's in {}", path, left
            );
        }
        let stands = kind.fields(&left);
        for path in leaves(&stands) {
            prop_assert!(theirs.touches(path) || is_hollow(&left, path), "{} was one's alone", path);
        }
    }

    /// What another set otherwise is told, all of it and nothing else; force takes it, and only it.
    #[test]
    fn force_takes_just_what_was_in_conflict(mut dice in dice()) {
        let kind = Kind::roll(&mut dice);
        let (theirs, mine) = (kind.wish(&mut dice), kind.wish(&mut dice));
        let live = kind.say(&empty(), "them", &theirs, false).unwrap();
        let told: BTreeSet<String> = match kind.say(&live, "me", &mine, false) {
            Ok(_) => BTreeSet::new(),
            Err(conflicts) => conflicts.into_iter().map(|conflict| conflict.field).collect(),
        };
        let (owned, wanted) = (kind.fields(&theirs), kind.fields(&mine));
        let differs = |path: &&Path| {
            owned.touches(path) && path.find(&theirs) != path.find(&mine) && !wanted.has_within(path)
                && !(is_hollow(&mine, path) && path.find(&live) == path.find(&kind.structure().merged(&live, &mine)))
        };
        let expected: BTreeSet<String> = wanted.iter().filter(differs).map(ToString::to_string).collect();
        prop_assert_eq!(&told, &expected, "{} over {}", mine, theirs);
        let taken = kind.say(&live, "me", &mine, true).unwrap();
        let left = Owners::of(&taken).fields_of("them", Operation::Apply);
        for path in owned.iter() {
            let was_told = wanted.iter().any(|said| path.is_within(said) && told.contains(&said.to_string()));
            prop_assert_eq!(left.touches(path), !was_told, "{} of {}", path, taken);
        }
        if !told.is_empty() {
            prop_assert!(kind.say(&taken, "them", &theirs, false).is_err(), "now it is theirs to ask");
        }
    }
}
