//! What happens to the world behind Hearth's back: how it is written, carried out, and over again.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::FutureExt;
use hearth_capabilities::Volumes;
use hearth_capabilities::volumes::{Leaf, LeafState};
use hearth_engine::Clock;
use hearth_meta::SignedDuration;
use hearth_pretend::{Backend, Behaviour, Machine};
use serde_json::Value;

use super::case::{Blow, Break, Broken};
use super::home::{Home, Mend};
use super::machine::{self, engine_name};
use super::schema::{CONTAINER, IMAGE, NETWORK, PARTS, VOLUME};
use crate::cli::duration;
use crate::world::Trouble;

/// How long a failing container runs where nothing is said.
const FAILS_AFTER: Duration = Duration::from_secs(1);
/// What it ends with.
const FAILS_WITH: i64 = 1;

/// Reads what a `break` says; its shape is known to be right.
pub(super) fn parse(value: &Value) -> Result<Break, String> {
    let text = |field: &str| value[field].as_str();
    let subjects = ["container", "image", "volume", "part", "network"];
    let named: Vec<&str> = subjects.iter().copied().filter(|field| value.get(*field).is_some()).collect();
    let is = text("is");
    let lasts = text("for").map(duration::parse).transpose()?;
    let after = text("after").map(duration::parse).transpose()?;
    let what = match (named.as_slice(), is) {
        (["container"], _) => container(value, text("container").unwrap_or_default(), is, after)?,
        (["container", "network"], Some("disconnected")) => {
            let network = text("network").unwrap_or_default().to_owned();
            Broken::Container(text("container").unwrap_or_default().to_owned(), Blow::Disconnected(network))
        }
        (["network"], Some("removed")) => Broken::NetworkRemoved(text("network").unwrap_or_default().into()),
        (["network"], Some("edited")) => Broken::NetworkEdited(text("network").unwrap_or_default().into()),
        (["network"], is) => return Err(wrong("a network", is, &NETWORK)),
        (["image"], Some("failing")) => {
            let code = value["exits"].as_i64().unwrap_or(FAILS_WITH);
            Broken::ImageFails(text("image").unwrap_or_default().into(), code, after.unwrap_or(FAILS_AFTER))
        }
        (["image"], Some(is)) if IMAGE.contains(&is) => {
            Broken::Image(text("image").unwrap_or_default().into(), is.into())
        }
        (["image"], is) => return Err(wrong("an image", is, &IMAGE)),
        (["volume"], Some(is)) if VOLUME.contains(&is) => {
            let mode = text("mode").map(parse_mode).transpose()?;
            if (is == "edited") != mode.is_some() {
                return Err("a volume that is edited needs its mode, and no other has one".into());
            }
            Broken::Volume(text("volume").unwrap_or_default().into(), is.into(), mode)
        }
        (["volume"], is) => return Err(wrong("a volume", is, &VOLUME)),
        (["part"], is) => part(value, text("part").unwrap_or_default(), is)?,
        _ => return Err("befalls one thing: a container, a network, an image, a volume, or a part".into()),
    };
    if lasts.is_some() && !can_last(&what) {
        return Err("is over at once, so it has no `for`".into());
    }
    Ok(Break { what, lasts })
}

fn container(value: &Value, name: &str, is: Option<&str>, after: Option<Duration>) -> Result<Broken, String> {
    let exits = value["exits"].as_i64();
    let blow = match (is, exits) {
        (None, Some(code)) => Blow::Exits(code),
        (Some("failing"), code) => Blow::Fails(code.unwrap_or(FAILS_WITH), after.unwrap_or(FAILS_AFTER)),
        (Some("edited"), None) => {
            let env: BTreeMap<String, String> =
                serde_json::from_value(value["env"].clone()).unwrap_or_default();
            if env.is_empty() {
                return Err("a container that is edited needs `env`: which variables become what".into());
            }
            Blow::Edited(env)
        }
        (Some("disconnected"), None) => return Err("name the network it is disconnected from".into()),
        (Some(word), None) if CONTAINER.contains(&word) => Blow::Word(word.to_owned()),
        (is, _) => return Err(wrong("a container", is, &CONTAINER)),
    };
    Ok(Broken::Container(name.to_owned(), blow))
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
        Broken::Unreachable(_) | Broken::NoRegistry | Broken::StoreFull | Broken::EventsLost => true,
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
            Broken::Container(name, blow) => strike(&machine, &there(&machine, name)?, blow)?,
            Broken::NetworkRemoved(name) => machine.remove_network(&network(&machine, name)?),
            Broken::NetworkEdited(name) => machine.edit_network(&network(&machine, name)?, "attachable"),
            Broken::Image(reference, word) => {
                image(&machine, reference, word).map_err(|fault| fault.to_string())?;
            }
            Broken::ImageFails(reference, code, after) => {
                machine.behave(reference, Behaviour::Exits { after: *after, code: *code });
            }
            Broken::Volume(name, word, mode) => volume(&machine, name, word, *mode)?,
            Broken::Unreachable(backend) => machine.unreachable_backend(*backend, true),
            Broken::NoRegistry => machine.registry_down(true),
            Broken::Forgetful => machine.forget(),
            Broken::Pruned => machine.prune_containers(),
            Broken::PrunedImages => machine.prune_images(),
            Broken::ProxyEmptied => machine.clear_proxy(),
            Broken::StoreFull => self.store_is_full.set(true),
            Broken::EventsLost => machine.drop_events(true),
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
        if can_last(&broken.what) && !matches!(broken.what, Broken::Killed) {
            self.lasts(&broken.what, broken.lasts);
        }
        Ok(())
    }

    /// Notes what lasts, and lets it be over when its time has come.
    fn lasts(&mut self, what: &Broken, time: Option<Duration>) {
        let full = self.store_is_full.clone();
        let (name, mend): (String, Mend) = match what {
            Broken::Container(name, _) => {
                let engine = engine_name(name);
                (name.clone(), Box::new(move |machine| machine.behave_as_usual(&engine)))
            }
            Broken::ImageFails(reference, ..) | Broken::Image(reference, _) => {
                let of = reference.clone();
                let mend = move |machine: &Machine| {
                    machine.unknown_image(&of, false);
                    machine.unreachable_image(&of, false);
                    machine.behave_as_usual(&of);
                };
                (reference.clone(), Box::new(mend))
            }
            Broken::Unreachable(backend) => {
                let backend = *backend;
                let name = match backend {
                    Backend::Engine => "docker",
                    Backend::Proxy => "proxy",
                    Backend::Disk => "disk",
                };
                (name.into(), Box::new(move |machine| machine.unreachable_backend(backend, false)))
            }
            Broken::NoRegistry => ("registry".into(), Box::new(|machine| machine.registry_down(false))),
            Broken::StoreFull => ("store".into(), Box::new(move |_| full.set(false))),
            _ => ("events".into(), Box::new(|machine| machine.drop_events(false))),
        };
        match time {
            Some(time) => self.world.after(time, mend),
            None => drop(self.lasting.insert(name, mend)),
        }
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
            mend(&self.world.machine);
        }
        Ok(())
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
