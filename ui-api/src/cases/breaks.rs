//! What happens to the world behind Hearth's back: how it is written, carried out, and over again.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use futures::FutureExt;
use hearth_capabilities::Volumes;
use hearth_capabilities::volumes::{Leaf, LeafState};
use hearth_engine::Clock;
use hearth_meta::SignedDuration;
use hearth_pretend::{Backend, Behaviour, Machine};
use serde_json::Value;

use super::case::{Blow, Break, Broken};
use super::home::Home;
use super::machine;
use super::schema::{CONTAINER, EVENTS_OF, IMAGE, NETWORK, PARTS, VOLUME};
use crate::cli::duration;
use crate::world::{About, Trouble, World};

/// How long a failing container runs where nothing is said.
const FAILS_AFTER: Duration = Duration::from_secs(1);
/// What it ends with.
const FAILS_WITH: i64 = 1;

/// Reads what a `break` says; its shape is known to be right.
pub(super) fn parse(value: &Value) -> Result<Break, String> {
    let text = |field: &str| value[field].as_str();
    let subjects = ["container", "image", "volume", "part", "network"];
    let named: Vec<&str> = subjects.iter().copied().filter(|field| value.get(*field).is_some()).collect();
    let of = |field: &str| text(field).unwrap_or_default().to_owned();
    let is = text("is");
    let lasts = text("for").map(duration::parse).transpose()?;
    let after = text("after").map(duration::parse).transpose()?;
    let what = match (named.as_slice(), is) {
        (["container"], _) => container(value, of("container"), is, after)?,
        (["container", "network"], Some("disconnected")) => {
            Broken::Container(of("container"), Blow::Disconnected(of("network")))
        }
        (["network"], Some("removed")) => Broken::NetworkRemoved(of("network")),
        (["network"], Some("edited")) => Broken::NetworkEdited(of("network")),
        (["network"], is) => return Err(wrong("a network", is, &NETWORK)),
        (["image"], Some("failing")) => {
            let code = value["exits"].as_i64().unwrap_or(FAILS_WITH);
            Broken::ImageFails(of("image"), code, after.unwrap_or(FAILS_AFTER))
        }
        (["image"], Some(is)) if IMAGE.contains(&is) => Broken::Image(of("image"), is.into()),
        (["image"], is) => return Err(wrong("an image", is, &IMAGE)),
        (["volume"], Some(is)) if VOLUME.contains(&is) => {
            let mode = text("mode").map(parse_mode).transpose()?;
            if (is == "edited") != mode.is_some() {
                return Err("a volume that is edited needs its mode, and no other has one".into());
            }
            Broken::Volume(of("volume"), is.into(), mode)
        }
        (["volume"], is) => return Err(wrong("a volume", is, &VOLUME)),
        (["part"], is) => part(value, text("part").unwrap_or_default(), is)?,
        _ => return Err("befalls one thing: a container, a network, an image, a volume, or a part".into()),
    };
    if lasts.is_some() && !can_last(&what) {
        return Err("is over at once, so it has no `for`".into());
    }
    no_more_than(value, details(&what), &[&subjects[..], &["is", "for"]].concat())?;
    Ok(Break { what, lasts })
}

/// What more may be said of what happens, besides to what, how, and how long.
fn details(what: &Broken) -> &'static [&'static str] {
    match what {
        Broken::Container(_, Blow::Exits(_)) => &["exits"],
        Broken::Container(_, Blow::Fails(..)) | Broken::ImageFails(..) => &["exits", "after"],
        Broken::Container(_, Blow::Edited(_)) => &["env"],
        Broken::Volume(_, _, Some(_)) => &["mode"],
        Broken::Clock(_) => &["by"],
        Broken::EventsLate(..) => &["by", "of"],
        _ => &[],
    }
}

/// Nothing is said that would go unheard.
pub(super) fn no_more_than(value: &Value, details: &[&str], besides: &[&str]) -> Result<(), String> {
    let is_heard = |field: &&String| details.contains(&field.as_str()) || besides.contains(&field.as_str());
    let fields = value.as_object().into_iter().flatten().map(|(field, _)| field);
    let unheard: Vec<&str> = fields.filter(|field| !is_heard(field)).map(String::as_str).collect();
    if unheard.is_empty() {
        return Ok(());
    }
    Err(format!("{} does not go with this; leave it out", unheard.join(", ")))
}

fn container(
    value: &Value,
    name: String,
    is: Option<&str>,
    after: Option<Duration>,
) -> Result<Broken, String> {
    let exits = value["exits"].as_i64();
    let blow = match (is, exits) {
        (None, Some(code)) => Blow::Exits(code),
        (Some("failing"), code) => Blow::Fails(code.unwrap_or(FAILS_WITH), after.unwrap_or(FAILS_AFTER)),
        (Some("edited"), _) => {
            let env: BTreeMap<String, String> =
                serde_json::from_value(value["env"].clone()).unwrap_or_default();
            if env.is_empty() {
                return Err("a container that is edited needs `env`: which variables become what".into());
            }
            Blow::Edited(env)
        }
        (Some("disconnected"), _) => return Err("name the network it is disconnected from".into()),
        (Some(word), _) if CONTAINER.contains(&word) => Blow::Word(word.to_owned()),
        (is, _) => return Err(wrong("a container", is, &CONTAINER)),
    };
    Ok(Broken::Container(name, blow))
}

fn part(value: &Value, part: &str, is: Option<&str>) -> Result<Broken, String> {
    Ok(match (part, is) {
        ("docker", Some("unreachable")) => Broken::Unreachable(Backend::Engine),
        ("docker", Some("forgetful")) => Broken::Forgetful,
        ("docker", Some("pruned")) => Broken::Pruned,
        ("docker", Some("pruned of images")) => Broken::PrunedImages,
        ("proxy", Some("unreachable")) => Broken::Unreachable(Backend::Proxy),
        ("proxy", Some("emptied")) => Broken::ProxyEmptied,
        ("disk", Some("unreachable")) => Broken::Unreachable(Backend::Disk),
        ("registry", Some("unreachable")) => Broken::NoRegistry,
        ("store", Some("full")) => Broken::StoreFull,
        ("events", Some("lost")) => Broken::EventsLost,
        ("events", Some("late")) => late(value)?,
        ("events", Some("broken off")) => Broken::EventsBroken,
        ("server", Some("killed")) => Broken::Killed,
        ("server", Some("stopped")) => Broken::Stopped,
        ("clock", Some("moved")) => Broken::Clock(moved(value["by"].as_str().unwrap_or_default())?),
        (part, is) => {
            let words = PARTS.iter().find(|(name, _)| *name == part).map_or(&[][..], |(_, words)| words);
            return Err(wrong(&format!("the part {part}"), is, words));
        }
    })
}

fn late(value: &Value) -> Result<Broken, String> {
    let by = value["by"].as_str().ok_or("events that are late need `by`: how late, such as 20m")?;
    let by = duration::parse(by).map_err(|said| format!("by: {said}"))?;
    let about = match value["of"].as_str() {
        Some(word) => vec![about(word)?],
        None => About::ALL.to_vec(),
    };
    Ok(Broken::EventsLate(about, by))
}

fn about(word: &str) -> Result<About, String> {
    let of = EVENTS_OF.iter().position(|known| *known == word).and_then(|at| About::ALL.get(at));
    of.copied().ok_or_else(|| format!("of: events are of {}", EVENTS_OF.join(", ")))
}

fn wrong(what: &str, is: Option<&str>, words: &[&str]) -> String {
    let words = words.join(", ");
    match is {
        Some(is) => format!("{what} cannot be {is:?}; it may be {words}"),
        None => format!("say what becomes of {what} with `is`: {words}"),
    }
}

fn moved(by: &str) -> Result<SignedDuration, String> {
    let (sign, span) =
        by.strip_prefix('-').map_or((1, by.strip_prefix('+').unwrap_or(by)), |span| (-1, span));
    let span = duration::parse(span).map_err(|said| format!("by: {said}, or with a - before it"))?;
    let span = SignedDuration::try_from(span).map_err(|error| error.to_string())?;
    Ok(if sign < 0 { -span } else { span })
}

fn parse_mode(text: &str) -> Result<u32, String> {
    u32::from_str_radix(text, 8).map_err(|_| format!("mode: {text:?} is not a mode; write it as \"0700\""))
}

/// Whether it lasts until somebody mends it.
fn can_last(what: &Broken) -> bool {
    match what {
        Broken::Container(_, Blow::Word(word)) => ["unhealthy", "mute", "unstartable"].contains(&&**word),
        Broken::Container(_, Blow::Fails(..)) | Broken::ImageFails(..) => true,
        Broken::Image(_, word) => ["missing", "unreachable"].contains(&&**word),
        Broken::Unreachable(_) | Broken::NoRegistry | Broken::StoreFull => true,
        Broken::EventsLost | Broken::EventsLate(..) => true,
        // How long it is down.
        Broken::Killed => true,
        _ => false,
    }
}

impl Home {
    /// Lets something happen.
    ///
    /// # Errors
    /// What is to be broken is not there.
    pub(super) fn suffer(&mut self, broken: &Break) -> Result<(), String> {
        let machine = self.world.machine.clone();
        match &broken.what {
            Broken::Container(name, blow) => {
                let engine = there(&machine, name)?;
                strike(&machine, &engine, blow)?;
                if can_last(&broken.what) {
                    let over = move |world: &mut World| world.machine.behave_as_usual(&engine);
                    self.lasts(name, broken.lasts, over);
                }
            }
            Broken::NetworkRemoved(name) => machine.remove_network(&network(&machine, name)?),
            Broken::NetworkEdited(name) => machine.edit_network(&network(&machine, name)?, "attachable"),
            Broken::Image(reference, word) => {
                image(&machine, reference, word).map_err(|fault| fault.to_string())?;
                if can_last(&broken.what) {
                    self.image_lasts(reference, broken.lasts);
                }
            }
            Broken::ImageFails(reference, code, after) => {
                machine.behave(reference, Behaviour::Exits { after: *after, code: *code });
                self.image_lasts(reference, broken.lasts);
            }
            Broken::Volume(name, word, mode) => volume(&machine, name, word, *mode)?,
            Broken::Unreachable(backend) => {
                let backend = *backend;
                machine.unreachable_backend(backend, true);
                let over = move |world: &mut World| world.machine.unreachable_backend(backend, false);
                self.lasts(part_of(backend), broken.lasts, over);
            }
            Broken::NoRegistry => {
                machine.registry_down(true);
                self.lasts("registry", broken.lasts, |world| world.machine.registry_down(false));
            }
            Broken::Forgetful => machine.forget(),
            Broken::Pruned => machine.prune_containers(),
            Broken::PrunedImages => machine.prune_images(),
            Broken::ProxyEmptied => machine.clear_proxy(),
            Broken::StoreFull => {
                self.world.store_is_full = true;
                self.lasts("store", broken.lasts, |world| world.store_is_full = false);
            }
            Broken::EventsLost => {
                machine.drop_events(true);
                self.events_last(broken.lasts);
            }
            Broken::EventsLate(about, by) => {
                self.world.late.extend(about.iter().map(|about| (*about, *by)));
                self.events_last(broken.lasts);
            }
            Broken::EventsBroken => machine.end_event_streams(),
            Broken::Killed => {
                self.world.crash();
                self.world.stay_down(broken.lasts.unwrap_or_default());
                return self.serve().map_err(|trouble: Trouble| trouble.to_string());
            }
            Broken::Stopped => self.world.crash(),
            Broken::Clock(by) => {
                let wall = self.world.clock.now();
                self.world.clock.set_wall(wall.saturating_add(*by).map_err(|error| error.to_string())?);
            }
        }
        Ok(())
    }

    /// Notes what lasts, and lets it be over when its time has come.
    fn lasts(&mut self, name: &str, time: Option<Duration>, over: impl Fn(&mut World) + 'static) {
        match time {
            Some(time) => self.world.after(time, over),
            None => drop(self.lasting.insert(name.to_owned(), Rc::new(over))),
        }
    }

    fn image_lasts(&mut self, reference: &str, time: Option<Duration>) {
        let of = reference.to_owned();
        self.lasts(reference, time, move |world| {
            world.machine.unknown_image(&of, false);
            world.machine.unreachable_image(&of, false);
            world.machine.behave_as_usual(&of);
        });
    }

    fn events_last(&mut self, time: Option<Duration>) {
        self.lasts("events", time, |world| {
            world.machine.drop_events(false);
            world.late.clear();
        });
    }

    /// What lasts is over: all of it, or what is named.
    ///
    /// # Errors
    /// Nothing of that name was broken.
    pub(super) fn mend(&mut self, names: Option<&[String]>) -> Result<(), String> {
        let all: Vec<String> = self.lasting.keys().cloned().collect();
        for name in names.unwrap_or(&all) {
            let mend = self.lasting.remove(name).ok_or_else(|| {
                format!("nothing called {name:?} is broken; broken are: {}", all.join(", "))
            })?;
            mend(&mut self.world);
        }
        Ok(())
    }
}

/// What a case calls a part of the machine.
fn part_of(backend: Backend) -> &'static str {
    match backend {
        Backend::Engine => "docker",
        Backend::Proxy => "proxy",
        Backend::Disk => "disk",
    }
}

fn there(machine: &Machine, name: &str) -> Result<String, String> {
    machine::find(machine, "containers", name)
        .ok_or_else(|| format!("there is no container {name} on the machine"))
}

fn network(machine: &Machine, name: &str) -> Result<String, String> {
    machine::find(machine, "networks", name)
        .ok_or_else(|| format!("there is no network {name} on the machine"))
}

fn strike(machine: &Machine, name: &str, blow: &Blow) -> Result<(), String> {
    match blow {
        Blow::Exits(code) => machine.exit(name, *code),
        Blow::Fails(code, after) => {
            machine.behave(name, Behaviour::Exits { after: *after, code: *code });
            machine.exit(name, *code);
        }
        Blow::Edited(env) => {
            let env = env.clone();
            machine.edit(name, move |facts| facts.env.extend(env));
        }
        Blow::Disconnected(from) => machine.disconnect(&network(machine, from)?, name),
        Blow::Word(word) => match word.as_str() {
            "killed" => machine.kill(name),
            "stopped" => machine.stop_by_hand(name),
            "started" => machine.start_by_hand(name).map_err(|fault| fault.to_string())?,
            "removed" => machine.remove_by_hand(name),
            "out of memory" => machine.run_out_of_memory(name),
            "unhealthy" => machine.behave(name, Behaviour::Unhealthy),
            "mute" => machine.behave(name, Behaviour::Mute),
            "unstartable" => {
                let why = "the program is not there".to_owned();
                machine.behave(name, Behaviour::CannotStart { why });
            }
            _ => machine.behave_as_usual(name),
        },
    }
    Ok(())
}

fn image(machine: &Machine, reference: &str, word: &str) -> Result<(), hearth_capabilities::Fault> {
    match word {
        "missing" => machine.unknown_image(reference, true),
        "unreachable" => machine.unreachable_image(reference, true),
        "published" => machine.publish(reference)?,
        _ => machine.behave_as_usual(reference),
    }
    Ok(())
}

fn volume(machine: &Machine, name: &str, word: &str, mode: Option<u32>) -> Result<(), String> {
    let leaf = leaf(machine, name)?;
    match word {
        "removed" => machine.remove_leaf_by_hand(&leaf),
        "emptied" => machine.lose_leaf(&leaf),
        "a link" => machine.link_leaf(&leaf),
        "a file" => machine.file_leaf(&leaf),
        _ => machine.chmod_leaf(&leaf, mode.unwrap_or_default()),
    }
    Ok(())
}

/// The folder of a volume that is there.
fn leaf(machine: &Machine, name: &str) -> Result<Leaf, String> {
    let leaf =
        machine::leaf(machine, name).ok_or_else(|| format!("there is no volume {name} on the machine"))?;
    match Volumes::inspect(machine, &leaf).now_or_never() {
        Some(Ok(LeafState::Absent)) | None => Err(format!("there is no folder for volume {name}")),
        _ => Ok(leaf),
    }
}
