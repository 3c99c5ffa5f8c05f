//! What a person is answered at a moment: `hearth why`, asked of the home as the program asks a server.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use hearth_engine::Store;
use hearth_wire::{Actor, Strangers, Wire};
use http::Request;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tower::{ServiceExt, service_fn};

use super::case::Named;
use super::home::Home;
use super::matching::mismatches;
use super::seen::Differing;
use crate::cli::client::Client;
use crate::cli::output::Output;
use crate::cli::why;
use crate::server::VERSION;
use crate::world::Trouble;

/// Where `hearth why` answers otherwise.
pub(super) fn why_differs(home: &mut Home, expected: &[(Named, Value)]) -> Result<Differing, Trouble> {
    let mut differ = Vec::new();
    for (named, wanted) in expected {
        let answer = home.world.answer(why(home.world.store(), named.clone()))?.into();
        let mut found = mismatches(wanted, &answer);
        found.iter_mut().for_each(|mismatch| mismatch.field = "why".into());
        differ.extend(found.into_iter().map(|mismatch| (named.written.clone(), mismatch)));
    }
    Ok(differ)
}

/// The first line of the answer.
async fn why(store: Store, named: Named) -> String {
    let (out, kept) = Output::kept(None);
    let client = Client::within(protocol(store), &named.key.namespace);
    let object = format!("{}/{}", named.kind.singular, named.key.name);
    match why::answer_for(&[object], &client, &out).await {
        Ok(()) => kept.out().lines().next().unwrap_or_default().to_owned(),
        Err(failure) => failure.message,
    }
}

/// The protocol over a store, without a socket; whoever tells a case may know everything of it.
fn protocol(store: Store) -> kube::Client {
    let wire = Wire::new(store, Arc::new(Strangers), VERSION, CancellationToken::new());
    let router = hearth_wire::router(wire);
    let admin = Actor::of_everything("case");
    let service = service_fn(move |request: Request<kube::client::Body>| {
        let router = router.clone();
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(admin.clone());
        async move { router.oneshot(request).await as Result<_, Infallible> }
    });
    kube::Client::new(service, super::HOUSEHOLD)
}
