//! Somebody else's controller beside a server that is killed again and again, while people make, change and delete what
//! it looks after: nothing stays behind, nothing is forgotten, and no watch of it dies in silence.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use crate::home::{Dice, Home, budget, on_pretend};

mod controller;

use controller::{App, FINALIZER, Program, SIGNED, card_of};

/// How often the server is killed.
const KILLS: usize = 5;
/// A server lives at most so much longer than it takes to come up.
const LIFE: Duration = Duration::from_millis(2500);
/// How long people and programs have in the end.
const AT_LAST: Duration = Duration::from_secs(60);
/// How soon a change is seen where nothing stands in the way.
const SOON: Duration = Duration::from_secs(5);
const NAMESPACE: &str = "household";

#[test]
fn pretend_somebody_elses_controller_outlives_a_server_that_is_killed_again_and_again() {
    on_pretend(async |home| beside(home, &mut Dice::seeded(7), KILLS * budget()).await);
}

async fn beside(home: &Home, dice: &mut Dice, kills: usize) {
    home.stop().await;
    home.world.leave().await;
    let mut process = home.begin_process();
    home.until_accepting(&mut process).await;
    let client = client(home).await;
    let program = controller::start(&client);
    let people = People { apps: Api::namespaced(client.clone(), NAMESPACE) };
    let mut wanted = BTreeMap::new();
    for kill in 0..kills {
        let mut wishes = Vec::new();
        for name in ["one", "two", "three", "four", "five", "six"] {
            wishes.push((name, thrown(dice, wanted.get(name).copied(), kill)));
        }
        let life = dice.time_below(LIFE);
        let ((), next) = tokio::join!(people.go_on(&wishes, &mut wanted), async {
            tokio::time::sleep(life).await;
            process.kill();
            let mut next = home.begin_process();
            home.until_accepting(&mut next).await;
            next
        });
        process = next;
    }
    at_rest(&client, &program, &people, &wanted).await;
    alive(&people, &program).await;
    process.kill();
    home.world.take_back().await;
    judge(&program);
}

/// As people's programs are given it.
async fn client(home: &Home) -> Client {
    let file = Kubeconfig::read_from(home.config.data_dir.join("admin.kubeconfig")).unwrap();
    let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

/// What becomes of an App: its spec by a number, or that it goes.
fn thrown(dice: &mut Dice, stands: Option<usize>, round: usize) -> Option<usize> {
    match (stands, dice.below(3)) {
        (Some(_), 0) => None,
        _ => Some(round),
    }
}

fn app(name: &str, number: usize) -> Value {
    json!({
        "apiVersion": "hearth.dev/v1", "kind": "App",
        "metadata": { "name": name, "labels": { "cards.example.org/wanted": "yes" } },
        "spec": {
            "slug": name, "state": "Stopped",
            "compose": format!("services: {{ web: {{ image: \"sample/web:1\", environment: {{ N: \"{number}\" }} }} }}"),
        },
    })
}

/// Those who make, change and delete Apps, and ask again while no server answers.
struct People {
    apps: Api<App>,
}

impl People {
    async fn go_on(
        &self,
        wishes: &[(&'static str, Option<usize>)],
        wanted: &mut BTreeMap<&'static str, usize>,
    ) {
        for (name, wish) in wishes {
            match wish {
                Some(number) => {
                    self.declare(name, *number).await;
                    wanted.insert(name, *number);
                }
                None => {
                    self.delete(name).await;
                    wanted.remove(name);
                }
            }
        }
    }

    async fn declare(&self, name: &str, number: usize) {
        let params = PatchParams::apply("people").force();
        until(AT_LAST, "an App is declared", async || {
            let written = self.apps.patch(name, &params, &Patch::Apply(app(name, number))).await;
            match written {
                // One that goes is waited for: it would take the new wish with it.
                Ok(app) => app.metadata.deletion_timestamp.is_none(),
                Err(error) => passes(&error),
            }
        })
        .await;
    }

    async fn delete(&self, name: &str) {
        until(AT_LAST, "an App is deleted", async || {
            match self.apps.delete(name, &DeleteParams::default()).await {
                Ok(_) => true,
                Err(kube::Error::Api(status)) if status.is_not_found() => true,
                Err(error) => passes(&error),
            }
        })
        .await;
    }
}

/// What goes by itself: no server, one that stops, or somebody who was quicker.
fn passes(error: &kube::Error) -> bool {
    let code = if let kube::Error::Api(status) = error { Some(status.code) } else { None };
    assert!(code.is_none_or(|code| [409, 503].contains(&code)), "{error}");
    false
}

/// Waits until all is as it was last wished, and looks after everything the program has made.
async fn at_rest(
    client: &Client,
    program: &Program,
    people: &People,
    wanted: &BTreeMap<&'static str, usize>,
) {
    let cards: Api<Secret> = Api::namespaced(client.clone(), NAMESPACE);
    let began = Instant::now();
    while let Err(why) = looked(people, &cards, program, wanted).await {
        assert!(began.elapsed() < AT_LAST, "{why}\n{:#?}", program.log.all());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn looked(
    people: &People,
    cards: &Api<Secret>,
    program: &Program,
    wanted: &BTreeMap<&'static str, usize>,
) -> Result<(), String> {
    let apps = people.apps.list(&ListParams::default()).await.map_err(|error| error.to_string())?.items;
    let cards = cards.list(&ListParams::default()).await.map_err(|error| error.to_string())?.items;
    let names: Vec<String> = apps.iter().map(ResourceExt::name_any).collect();
    if !names.iter().map(String::as_str).eq(sorted(wanted)) {
        return Err(format!("apps {names:?}, wanted {wanted:?}"));
    }
    for app in &apps {
        let name = app.name_any();
        let generation = app.metadata.generation.unwrap_or_default().to_string();
        let signed = app.annotations().get(SIGNED);
        if signed != Some(&generation) || !app.finalizers().iter().any(|each| each == FINALIZER) {
            return Err(format!("{name}: generation {generation}, signed {signed:?}"));
        }
        let card = cards.iter().find(|card| card.name_any() == card_of(&name));
        let written = card.and_then(|card| card.data.as_ref()?.get("generation")).map(|text| text.0.clone());
        if written.as_deref() != Some(generation.as_bytes()) {
            return Err(format!("{name}: generation {generation}, on its card {written:?}"));
        }
        let uid = card.and_then(|card| card.owner_references().first().map(|owner| owner.uid.clone()));
        if uid != app.uid() {
            return Err(format!("{name}: the card is of one that was there before"));
        }
    }
    let left: Vec<_> =
        cards.iter().map(ResourceExt::name_any).filter(|name| name.ends_with("-card")).collect();
    if left.len() != apps.len() {
        return Err(format!("cards {left:?} for apps {names:?}"));
    }
    let mut known: Vec<(String, Option<String>)> =
        program.apps.state().iter().map(|app| (app.name_any(), app.resource_version())).collect();
    known.sort();
    let there: Vec<_> = apps.iter().map(|app| (app.name_any(), app.resource_version())).collect();
    if known == there { Ok(()) } else { Err(format!("it knows {known:?}, there are {there:?}")) }
}

fn sorted<'a>(wanted: &'a BTreeMap<&'static str, usize>) -> impl Iterator<Item = &'a str> {
    wanted.keys().copied()
}

/// After the last start every watch hears: of an App, of a card, and of an App that goes.
async fn alive(people: &People, program: &Program) {
    let made =
        people.apps.create(&PostParams::default(), &serde_json::from_value(app("last", 0)).unwrap()).await;
    let made = made.unwrap();
    until(SOON, "a new App is signed", async || {
        let app = people.apps.get("last").await.unwrap();
        app.annotations()
            .get(SIGNED)
            .is_some_and(|signed| *signed == made.metadata.generation.unwrap().to_string())
    })
    .await;
    until(SOON, "the store has heard of it", async || {
        program.apps.state().iter().any(|app| app.name_any() == "last")
    })
    .await;
    let cards: Api<Secret> = Api::namespaced(people.apps.clone().into_client(), NAMESPACE);
    cards.delete(&card_of("last"), &DeleteParams::default()).await.unwrap();
    until(SOON, "a card that somebody threw away is written again", async || {
        cards.get_opt(&card_of("last")).await.unwrap().is_some()
    })
    .await;
    people.delete("last").await;
    until(SOON, "it is gone, with its card", async || {
        people.apps.get_opt("last").await.unwrap().is_none()
            && cards.get_opt(&card_of("last")).await.unwrap().is_none()
            && program.apps.state().iter().all(|app| app.name_any() != "last")
    })
    .await;
}

/// What was logged is what anybody logs whose server goes away: no answer, or one that says to try again, or that what was
/// asked for before the answer was lost is done.
fn judge(program: &Program) {
    let fair = [404, 409, 410, 422, 503];
    let all = program.log.all();
    let unfair: Vec<_> =
        all.iter().filter(|trouble| trouble.code.is_some_and(|code| !fair.contains(&code))).collect();
    assert!(unfair.is_empty(), "{unfair:#?}");
    // Two who add a finalizer at once: one of them finds it there.
    let odd = all.iter().filter(|trouble| trouble.code == Some(422) && !trouble.text.contains("test"));
    assert_eq!(odd.count(), 0, "{all:#?}");
}

async fn until(limit: Duration, what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !is_so().await {
        assert!(began.elapsed() < limit, "it never came about that {what}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
