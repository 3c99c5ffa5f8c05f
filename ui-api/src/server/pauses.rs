//! A home or a namespace that is paused says so with every answer, in the header that kubectl and our own command line
//! show: whoever wonders why nothing happens must not have to look for it.

use axum::extract::{Request, State};
use axum::http::HeaderValue;
use axum::http::header::WARNING;
use axum::middleware::Next;
use axum::response::Response;
use hearth_engine::Store;
use hearth_engine::pause::{self, Pause};
use hearth_meta::Timestamp;
use hearth_wire::{Actor, Asked};

/// Adds what is paused to an answer, as far as whoever asks may look into it.
pub(super) async fn tell(State(store): State<Store>, request: Request, next: Next) -> Response {
    let Some(actor) = request.extensions().get::<Actor>().cloned() else { return next.run(request).await };
    let mut answer = next.run(request).await;
    let sees = |pause: &Pause| {
        let asked = Asked::resource("get", ("", "namespaces", ""), "", &pause.namespace);
        pause.is_home || actor.may(&asked)
    };
    for pause in pause::standing(&store).into_iter().filter(sees) {
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{}\"", sentence(&pause))) {
            answer.headers_mut().append(WARNING, value);
        }
    }
    answer
}

/// What a pause means, in one sentence without quotes.
pub(super) fn sentence(pause: &Pause) -> String {
    let seconds = Timestamp::from_second(pause.until.as_second()).unwrap_or(pause.until);
    let (what, end) = if pause.is_home {
        ("everything is paused".to_owned(), "hearth resume --all".to_owned())
    } else {
        let name = &pause.namespace;
        (format!("everything in namespace {name} is paused"), format!("hearth resume namespace/{name}"))
    };
    format!("{what} until {seconds}: nothing is changed or repaired before that; end it with {end}")
}
