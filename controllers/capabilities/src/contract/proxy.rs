//! What every hand that reaches a reverse proxy promises.
//!
//! A side gives a [`ProxyWorld`] and makes one test of each promise that [`proxy_promises`](crate::proxy_promises)
//! names.

use async_trait::async_trait;
use futures::future::BoxFuture;

use crate::proxy::{Answer, ProxyFacts, ProxyRoute, SeenRoute};
use crate::{Fault, Proxy};

/// A reverse proxy of one's own, and around it what the suite needs. It starts without any configuration.
#[async_trait]
pub trait ProxyWorld: Send + Sync {
    /// The hands.
    fn proxy(&self) -> &dyn Proxy;

    /// The address (`host:port`) of a server that answers every request with [`UPSTREAM_SAYS`].
    async fn upstream(&self) -> String;

    /// An address where nothing listens.
    async fn nobody(&self) -> String;

    /// Asks the proxy for `/` of a host, as a browser does: the status and the page.
    async fn ask(&self, host: &str) -> (u16, String);

    /// Changes the route of that id behind Hearth's back, so that its answer differs.
    async fn edit(&self, id: &str);

    /// Puts a route of somebody else before all others.
    async fn add_foreign(&self);

    /// Throws the whole configuration away, as a restarted proxy has none.
    async fn clear(&self);

    /// Ends the proxy.
    async fn end(&self);
}

/// What the server of [`ProxyWorld::upstream`] says.
pub const UPSTREAM_SAYS: &str = "upstream here";

/// One promise about a reverse proxy.
pub struct Promise {
    /// Its sentence.
    pub name: &'static str,
    /// Sees whether it is kept.
    pub keep: for<'a> fn(&'a dyn ProxyWorld) -> BoxFuture<'a, ()>,
}

/// Hands every promise about a reverse proxy to a macro, one after the other.
#[macro_export]
macro_rules! proxy_promises {
    ($callback:ident) => {
        $callback! {
            an_empty_proxy_says_what_is_wrong_and_is_not_blind
            reset_makes_everything_as_it_should_be
            reset_keeps_the_order_and_puts_the_catch_all_last
            reset_of_no_routes_leaves_the_catch_all
            reset_repairs_a_cleared_proxy
            reset_can_be_repeated
            write_replaces_the_whole_set
            write_keeps_the_catch_all_last
            write_on_an_old_read_is_a_conflict_and_changes_nothing
            write_after_an_edit_by_hand_is_a_conflict
            the_tag_stays_while_nothing_changes
            the_tag_changes_with_the_routes
            writing_the_same_again_is_fine
            many_writes_one_after_another_are_fine
            a_page_answers_with_its_status_and_text
            a_page_is_served_as_it_is_with_every_brace
            a_route_answers_for_each_of_its_hosts
            a_host_is_found_in_any_case
            a_host_without_a_route_gets_a_page_that_is_not_found
            a_forward_reaches_the_other_server
            a_forward_to_nobody_is_a_bad_gateway
            an_edited_route_is_seen_as_other
            a_foreign_route_is_seen_as_other
            routes_that_make_no_sense_are_refused_and_the_old_ones_stay
            a_proxy_that_is_not_there_is_blind
        }
    };
}

macro_rules! promises {
    ($($promise:ident)*) => {
        /// Every promise about a reverse proxy.
        pub const ALL: &[Promise] = &[$(Promise {
            name: stringify!($promise),
            keep: |world| Box::pin($promise(world)),
        }),*];
    };
}
proxy_promises!(promises);

/// Sees whether a world keeps the promise of that name.
///
/// # Panics
/// When the promise is broken or not known.
pub async fn keep(world: &dyn ProxyWorld, name: &str) {
    let promise = ALL.iter().find(|promise| promise.name == name).expect("the promise is one of ALL");
    (promise.keep)(world).await;
}

fn page(id: &str, status: u16, html: &str) -> ProxyRoute {
    ProxyRoute {
        id: id.to_owned(),
        hosts: vec![format!("{id}.local")],
        answer: Answer::Page { status, html: html.to_owned() },
    }
}

fn forward(id: &str, address: &str) -> ProxyRoute {
    let answer = Answer::Forward { address: address.to_owned() };
    ProxyRoute { id: id.to_owned(), hosts: vec![format!("{id}.local")], answer }
}

/// As the routes are read back: each as it was written, the catch-all last.
fn seen(routes: &[ProxyRoute]) -> Vec<SeenRoute> {
    routes.iter().cloned().map(SeenRoute::Ours).chain([SeenRoute::CatchAll]).collect()
}

async fn read(world: &dyn ProxyWorld) -> ProxyFacts {
    world.proxy().read().await.expect("the proxy can be read")
}

async fn reset(world: &dyn ProxyWorld, routes: &[ProxyRoute]) -> ProxyFacts {
    world.proxy().reset(routes).await.expect("the proxy takes its configuration");
    let facts = read(world).await;
    assert_eq!(facts.base_problem, None);
    assert_eq!(facts.routes, seen(routes));
    facts
}

async fn write(world: &dyn ProxyWorld, routes: &[ProxyRoute], tag: &str) -> ProxyFacts {
    world.proxy().write(routes, tag).await.expect("the proxy takes its routes");
    let facts = read(world).await;
    assert_eq!(facts.base_problem, None);
    assert_eq!(facts.routes, seen(routes));
    facts
}

async fn an_empty_proxy_says_what_is_wrong_and_is_not_blind(world: &dyn ProxyWorld) {
    let facts = read(world).await;
    assert!(facts.base_problem.is_some(), "{facts:?}");
    assert_eq!(facts.routes, Vec::new());
}

async fn reset_makes_everything_as_it_should_be(world: &dyn ProxyWorld) {
    reset(world, &[page("a", 503, "soon")]).await;
}

async fn reset_keeps_the_order_and_puts_the_catch_all_last(world: &dyn ProxyWorld) {
    reset(world, &[page("c", 200, "c"), page("a", 200, "a"), forward("b", "b:80")]).await;
}

async fn reset_of_no_routes_leaves_the_catch_all(world: &dyn ProxyWorld) {
    reset(world, &[]).await;
    assert_eq!(world.ask("a.local").await.0, 404);
}

async fn reset_repairs_a_cleared_proxy(world: &dyn ProxyWorld) {
    let routes = [page("a", 200, "a")];
    reset(world, &routes).await;
    world.clear().await;
    let facts = read(world).await;
    assert!(facts.base_problem.is_some(), "{facts:?}");
    assert_eq!(facts.routes, Vec::new());
    reset(world, &routes).await;
    assert_eq!(world.ask("a.local").await, (200, "a".to_owned()));
}

async fn reset_can_be_repeated(world: &dyn ProxyWorld) {
    let routes = [page("a", 200, "a")];
    let first = reset(world, &routes).await;
    let second = reset(world, &routes).await;
    assert_eq!(first, second);
}

async fn write_replaces_the_whole_set(world: &dyn ProxyWorld) {
    let facts = reset(world, &[page("a", 200, "a"), page("b", 200, "b")]).await;
    write(world, &[page("b", 503, "b anew"), page("c", 200, "c")], &facts.tag).await;
    assert_eq!(world.ask("a.local").await.0, 404);
    assert_eq!(world.ask("b.local").await, (503, "b anew".to_owned()));
    assert_eq!(world.ask("c.local").await, (200, "c".to_owned()));
}

async fn write_keeps_the_catch_all_last(world: &dyn ProxyWorld) {
    let mut facts = reset(world, &[]).await;
    for count in [1, 3, 2, 0] {
        let routes: Vec<ProxyRoute> = (0..count).map(|n| page(&format!("r{n}"), 200, "here")).collect();
        facts = write(world, &routes, &facts.tag).await;
        assert_eq!(facts.routes.last(), Some(&SeenRoute::CatchAll));
    }
}

async fn write_on_an_old_read_is_a_conflict_and_changes_nothing(world: &dyn ProxyWorld) {
    let old = reset(world, &[]).await;
    let now = write(world, &[page("a", 200, "a")], &old.tag).await;
    let answer = world.proxy().write(&[page("b", 200, "b")], &old.tag).await;
    assert!(matches!(answer, Err(Fault::Conflict(_))), "{answer:?}");
    assert_eq!(read(world).await, now);
}

async fn write_after_an_edit_by_hand_is_a_conflict(world: &dyn ProxyWorld) {
    let routes = [page("a", 200, "a")];
    let old = reset(world, &routes).await;
    world.edit("a").await;
    let answer = world.proxy().write(&routes, &old.tag).await;
    assert!(matches!(answer, Err(Fault::Conflict(_))), "{answer:?}");
    let now = read(world).await;
    write(world, &routes, &now.tag).await;
}

async fn the_tag_stays_while_nothing_changes(world: &dyn ProxyWorld) {
    let facts = reset(world, &[page("a", 200, "a")]).await;
    world.ask("a.local").await;
    assert_eq!(read(world).await.tag, facts.tag);
}

async fn the_tag_changes_with_the_routes(world: &dyn ProxyWorld) {
    let old = reset(world, &[page("a", 200, "a")]).await;
    let now = write(world, &[page("a", 200, "b")], &old.tag).await;
    assert_ne!(now.tag, old.tag);
    world.edit("a").await;
    assert_ne!(read(world).await.tag, now.tag);
}

async fn writing_the_same_again_is_fine(world: &dyn ProxyWorld) {
    let routes = [page("a", 200, "a")];
    let facts = reset(world, &routes).await;
    write(world, &routes, &facts.tag).await;
}

async fn many_writes_one_after_another_are_fine(world: &dyn ProxyWorld) {
    let mut facts = reset(world, &[]).await;
    for n in 0..20_u16 {
        facts = write(world, &[page("a", 200, &format!("page {n}"))], &facts.tag).await;
        assert_eq!(world.ask("a.local").await, (200, format!("page {n}")));
    }
}

async fn a_page_answers_with_its_status_and_text(world: &dyn ProxyWorld) {
    reset(world, &[page("a", 503, "<p>starting</p>"), page("b", 200, "<p>stopped</p>")]).await;
    assert_eq!(world.ask("a.local").await, (503, "<p>starting</p>".to_owned()));
    assert_eq!(world.ask("b.local").await, (200, "<p>stopped</p>".to_owned()));
}

async fn a_page_is_served_as_it_is_with_every_brace(world: &dyn ProxyWorld) {
    let html = r#"<style>p{color:red}</style>{env.PATH} {http.request.host} \{a\} \\ "quoted" ü {"#;
    reset(world, &[page("a", 200, html)]).await;
    assert_eq!(world.ask("a.local").await, (200, html.to_owned()));
}

async fn a_route_answers_for_each_of_its_hosts(world: &dyn ProxyWorld) {
    let mut route = page("a", 200, "a");
    route.hosts = vec!["one.local".into(), "two.example.org".into()];
    reset(world, &[route]).await;
    for host in ["one.local", "two.example.org"] {
        assert_eq!(world.ask(host).await, (200, "a".to_owned()));
    }
    assert_eq!(world.ask("a.local").await.0, 404);
}

async fn a_host_is_found_in_any_case(world: &dyn ProxyWorld) {
    reset(world, &[page("a", 200, "a")]).await;
    assert_eq!(world.ask("A.LOCAL").await, (200, "a".to_owned()));
}

async fn a_host_without_a_route_gets_a_page_that_is_not_found(world: &dyn ProxyWorld) {
    reset(world, &[page("a", 200, "a")]).await;
    let (status, html) = world.ask("other.local").await;
    assert_eq!(status, 404);
    assert!(html.contains("<h1>"), "{html}");
}

async fn a_forward_reaches_the_other_server(world: &dyn ProxyWorld) {
    let address = world.upstream().await;
    reset(world, &[page("b", 200, "b"), forward("a", &address)]).await;
    let (status, text) = world.ask("a.local").await;
    assert_eq!(status, 200);
    assert!(text.contains(UPSTREAM_SAYS), "{text}");
}

async fn a_forward_to_nobody_is_a_bad_gateway(world: &dyn ProxyWorld) {
    let address = world.nobody().await;
    reset(world, &[forward("a", &address)]).await;
    assert_eq!(world.ask("a.local").await.0, 502);
}

async fn an_edited_route_is_seen_as_other(world: &dyn ProxyWorld) {
    reset(world, &[page("a", 200, "a"), page("b", 200, "b")]).await;
    world.edit("a").await;
    let facts = read(world).await;
    assert_eq!(facts.base_problem, None);
    let is_a = |route: &&SeenRoute| matches!(route, SeenRoute::Other { id: Some(id), .. } if id == "a");
    assert_eq!(facts.routes.iter().filter(is_a).count(), 1, "{facts:?}");
    assert!(facts.routes.contains(&SeenRoute::Ours(page("b", 200, "b"))), "{facts:?}");
}

async fn a_foreign_route_is_seen_as_other(world: &dyn ProxyWorld) {
    let routes = [page("a", 200, "a")];
    reset(world, &routes).await;
    world.add_foreign().await;
    let facts = read(world).await;
    assert!(matches!(facts.routes.first(), Some(SeenRoute::Other { .. })), "{facts:?}");
    assert_eq!(facts.routes.get(1..), Some(seen(&routes).as_slice()));
    write(world, &routes, &facts.tag).await;
}

async fn routes_that_make_no_sense_are_refused_and_the_old_ones_stay(world: &dyn ProxyWorld) {
    let facts = reset(world, &[page("good", 200, "good")]).await;
    let mut hostless = page("a", 200, "a");
    hostless.hosts.clear();
    let mut placeholder = page("a", 200, "a");
    placeholder.hosts = vec!["{env.HOME}".into()];
    for routes in [
        vec![page("a", 200, "a"), page("a", 200, "b")],
        vec![hostless],
        vec![placeholder],
        vec![forward("a", "unix//run/other.sock")],
        vec![forward("a", "no-port")],
    ] {
        let written = world.proxy().write(&routes, &facts.tag).await;
        assert!(matches!(written, Err(Fault::Refused(_))), "{routes:?}: {written:?}");
        let reset = world.proxy().reset(&routes).await;
        assert!(matches!(reset, Err(Fault::Refused(_))), "{routes:?}: {reset:?}");
    }
    assert_eq!(read(world).await, facts);
    assert_eq!(world.ask("good.local").await, (200, "good".to_owned()));
}

async fn a_proxy_that_is_not_there_is_blind(world: &dyn ProxyWorld) {
    let facts = reset(world, &[]).await;
    world.end().await;
    let seen = world.proxy().read().await;
    assert!(matches!(seen, Err(Fault::Blind(_))), "{seen:?}");
    let written = world.proxy().write(&[], &facts.tag).await;
    assert!(matches!(written, Err(Fault::Blind(_))), "{written:?}");
    let reset = world.proxy().reset(&[]).await;
    assert!(matches!(reset, Err(Fault::Blind(_))), "{reset:?}");
}
