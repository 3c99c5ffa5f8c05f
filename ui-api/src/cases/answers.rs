//! What a person is answered at a moment: `hearth why`, asked of the home as the program asks a server.

use std::convert::Infallible;

use axum::body::Body;
use hearth_engine::Store;
use hearth_wire::Wire;
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

/// The protocol over a store, without a socket.
fn protocol(store: Store) -> kube::Client {
    let router = hearth_wire::router(Wire::new(store, VERSION, CancellationToken::new()));
    let service = service_fn(move |request: Request<kube::client::Body>| {
        let router = router.clone();
        async move { router.oneshot(request.map(Body::new)).await as Result<_, Infallible> }
    });
    kube::Client::new(service, super::HOUSEHOLD)
}
