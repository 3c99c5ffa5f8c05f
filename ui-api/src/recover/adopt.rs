//! `hearth recover adopt`: a running server takes over what stands on its machine and is not its own.
//!
//! - An app whose record stands in an instance's folder comes back with its parts, each with the uid it had. What
//!   another store made for them is ours from then on, and nothing else of that store.
//! - Hearth's own parts (`system`) are declared anew under the uids that stand.
//! - A folder of data (`volume/NAME`) gets the marker of the Volume that is declared for it, because a person says
//!   that it is the one.
//!
//! Everything may be done twice, and be broken off between any two writes: it is done again with the same words.

use std::collections::BTreeSet;

use hearth_capabilities::volumes::{Leaf, LeafState};
use hearth_controllers::app::Record;
use hearth_controllers::naming::Naming;
use hearth_engine::store::{Deletion, Preconditions};
use hearth_engine::{Key, Store, WriteError, WriteOptions};
use hearth_kinds::{SYSTEM, Volume};

use super::look::{Standing, Thing, look, title};
use super::restore::restore;
use crate::serve::wiring::Hands;

/// Hearth's own parts, as a person names them.
const OWN_PARTS: &str = "system";

/// What came of taking over.
#[derive(Clone, Debug, Default)]
pub struct Adopted {
    /// What is ours now, in the words it was asked for.
    pub adopted: Vec<String>,
    /// What is not, and why.
    pub refused: Vec<(String, String)>,
    /// What is lacking of what was taken over.
    pub missing: Vec<String>,
}

/// An app that stands here and has no object.
#[derive(Clone, Debug)]
pub struct Offer<'a> {
    /// `namespace/name`.
    pub title: String,
    /// The uid it has.
    pub uid: &'a str,
    /// Its record.
    pub record: &'a Record,
}

/// The apps that could be taken over. One whose object stands is none of them.
pub fn offers<'a>(store: &Store, standing: &'a Standing) -> Vec<Offer<'a>> {
    let records = standing.instances.iter().filter_map(|instance| Some((instance, instance.readable()?)));
    records
        .filter(|(instance, _)| store.by_uid(&instance.name).is_none())
        .map(|(instance, record)| Offer { title: title(&record.app.key()), uid: &instance.name, record })
        .collect()
}

/// Hearth's own parts that stand here and are not this store's.
pub fn own_parts(store: &Store, standing: &Standing) -> Vec<(Key, String)> {
    let lineages: BTreeSet<&str> = standing.things.iter().map(|thing| thing.lineage.as_str()).collect();
    let parts = lineages.into_iter().flat_map(|lineage| standing.own_parts(lineage));
    let mut parts: Vec<_> = parts.filter(|(_, uid)| store.by_uid(uid).is_none()).collect();
    parts.sort();
    parts.dedup();
    parts
}

/// Takes over what was named, or everything that was not deleted.
pub struct Adoption<'a> {
    /// Into which store.
    pub store: &'a Store,
    /// What the machine is looked at with.
    pub hands: &'a Hands,
    /// How things are called there.
    pub naming: &'a Naming,
    /// Who asked.
    pub options: WriteOptions,
}

impl Adoption<'_> {
    /// `items` are `app/NAME`, `app/NAMESPACE/NAME`, a uid, `volume/NAME` or `system`; none means everything.
    ///
    /// # Errors
    /// Where the machine cannot be looked at.
    pub async fn of(&self, items: &[String]) -> Result<Adopted, String> {
        let standing = look(self.hands, self.naming)
            .await
            .map_err(|fault| format!("the machine cannot be looked at, so nothing is taken over: {fault}"))?;
        let mut adopted = Adopted::default();
        if items.is_empty() {
            self.all(&standing, &mut adopted).await;
        }
        for item in items {
            let done = if item == OWN_PARTS {
                self.own_parts(&standing).await.map(|()| Vec::new())
            } else if let Some(name) = item.strip_prefix("volume/") {
                self.volume(name).await.map(|()| Vec::new())
            } else {
                match find(&offers(self.store, &standing), item) {
                    Ok(offer) => self.app(&offer, &standing).await,
                    Err(why) => Err(why),
                }
            };
            adopted.note(item, done);
        }
        Ok(adopted)
    }

    async fn all(&self, standing: &Standing, adopted: &mut Adopted) {
        if !own_parts(self.store, standing).is_empty() {
            adopted.note(OWN_PARTS, self.own_parts(standing).await.map(|()| Vec::new()));
        }
        for offer in offers(self.store, standing).iter().filter(|offer| !offer.record.is_retired) {
            let done = self.app(offer, standing).await;
            adopted.note(&format!("app/{}", offer.title), done);
        }
    }

    /// Returns what is lacking.
    async fn app(&self, offer: &Offer<'_>, standing: &Standing) -> Result<Vec<String>, String> {
        let key = offer.record.app.key();
        if let Some(there) = self.store.get(&key) {
            return Err(format!(
                "{key} exists already (uid {}); rename or delete one of the two",
                there.uid()
            ));
        }
        let things = || standing.things.iter().filter(|thing| thing.owner_uid == offer.uid);
        // Before the objects, so that no look takes their things for another home's.
        for lineage in things().map(|thing| thing.lineage.as_str()).collect::<BTreeSet<_>>() {
            self.adopt_lineage(lineage).await?;
        }
        let is_recorded = |thing: &&Thing| offer.record.parts.iter().any(|part| part.uid() == thing.uid);
        let untold = things().filter(|thing| !is_recorded(thing));
        let mut uids: Vec<(Key, String)> =
            untold.filter_map(|thing| Some((thing.key.clone()?, thing.uid.clone()))).collect();
        let own = standing.instances.iter().filter(|instance| instance.name == offer.uid);
        uids.extend(own.flat_map(|instance| instance.untold_volumes()));
        self.store.remember(uids).await.map_err(|error| error.to_string())?;
        let restored = restore(self.store, offer.record, &self.options).await?;
        self.store.remember(restored.missing).await.map_err(|error| error.to_string())?;
        Ok(restored.problems)
    }

    async fn adopt_lineage(&self, lineage: &str) -> Result<(), String> {
        if lineage.is_empty() || lineage == self.store.lineage() || self.store.is_adopted(lineage) {
            return Ok(());
        }
        self.store.adopt_lineage(lineage).await.map_err(|error| error.to_string())
    }

    /// What this store has declared meanwhile makes way: nothing stands for it, since its place is taken.
    async fn own_parts(&self, standing: &Standing) -> Result<(), String> {
        let parts = own_parts(self.store, standing);
        let system = |thing: &&Thing| thing.key.as_ref().is_some_and(|key| key.namespace == SYSTEM);
        for lineage in standing.things.iter().filter(system).map(|thing| &thing.lineage) {
            self.adopt_lineage(lineage).await?;
        }
        self.store.remember(parts.clone()).await.map_err(|error| error.to_string())?;
        for (key, uid) in parts {
            let Some(there) = self.store.get(&key).filter(|there| there.uid() != uid) else { continue };
            let preconditions = Preconditions { uid: Some(there.uid().to_owned()), resource_version: None };
            match self.store.delete(Deletion { key, preconditions }, &self.options).await {
                Ok(_) | Err(WriteError::NotFound(_) | WriteError::Conflict(_)) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(())
    }

    async fn volume(&self, name: &str) -> Result<(), String> {
        let (namespace, name) = name.split_once('/').unwrap_or((hearth_kinds::HOUSEHOLD, name));
        let key = Key::new("Volume", namespace, name);
        let object = self.store.get(&key).ok_or_else(|| format!("{key} does not exist; declare it first"))?;
        let volume: Volume = object.typed()?;
        let leaf = Leaf { instance: volume.spec.instance.clone(), path: volume.spec.path.clone() };
        let place = format!("{}/data/{}", leaf.instance, leaf.path);
        let state = self.hands.volumes.inspect(&leaf).await.map_err(|fault| fault.to_string())?;
        let marker = match state {
            LeafState::Present(facts) => facts.marker,
            LeafState::Absent => {
                return Err(format!("there is no folder {place}; bring the data back there, then ask again"));
            }
            LeafState::Unsafe(what) => return Err(format!("{what} is in the place of {place}")),
        };
        if marker.as_deref() == Some(object.uid()) {
            return Ok(());
        }
        if let Some(owner) = marker.as_deref().and_then(|uid| self.store.by_uid(uid)) {
            return Err(format!("the folder {place} belongs to {}, which stands", owner.key()));
        }
        let done = self.hands.volumes.adopt(&leaf, marker.as_deref(), object.uid()).await;
        done.map_err(|fault| fault.to_string())
    }
}

impl Adopted {
    fn note(&mut self, item: &str, done: Result<Vec<String>, String>) {
        match done {
            Ok(missing) => {
                self.adopted.push(item.to_owned());
                self.missing.extend(missing);
            }
            Err(why) => self.refused.push((item.to_owned(), why)),
        }
    }
}

/// The offer a person means.
fn find<'a>(offers: &[Offer<'a>], item: &str) -> Result<Offer<'a>, String> {
    let name = item.strip_prefix("app/").unwrap_or(item);
    let means = |offer: &&Offer<'_>| {
        offer.uid == name || offer.title == name || offer.record.app.name() == name && !name.contains('/')
    };
    let found: Vec<&Offer<'a>> = offers.iter().filter(means).collect();
    match found.as_slice() {
        [offer] => Ok((*offer).clone()),
        [] => {
            Err("nothing of that name stands here without an object; see `hearth recover status`".to_owned())
        }
        several => {
            let uids: Vec<&str> = several.iter().map(|offer| offer.uid).collect();
            Err(format!("{} instances have that name; say which by its uid: {}", uids.len(), uids.join(", ")))
        }
    }
}
