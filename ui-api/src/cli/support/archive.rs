//! A bundle in the place of a server: the same places, answered from its parts.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use hearth_engine::store::{Requirement, parse_selector};
use http::{Method, Request, Response, StatusCode, header};
use kube::client::Body;
use serde_json::{Value, json};

use crate::support::Bundle;

/// A client of a bundle.
pub(in super::super) fn client(bundle: Bundle, namespace: &str) -> kube::Client {
    let archive = Arc::new(Archive { bundle });
    let service = tower::service_fn(move |request: Request<Body>| {
        let answer = archive.answer(&request);
        async move { Ok::<_, Infallible>(answer) }
    });
    kube::Client::new(service, namespace)
}

struct Archive {
    bundle: Bundle,
}

/// What is asked for in a path: a collection, or one object.
struct Asked<'a> {
    plural: &'a str,
    namespace: Option<String>,
    name: Option<String>,
}

impl Archive {
    fn answer(&self, request: &Request<Body>) -> Response<Body> {
        let query = request.uri().query().unwrap_or_default();
        if request.method() != Method::GET || query.contains("watch=true") || query.contains("follow=true") {
            let made = self.bundle.manifest.made_at;
            return refusal(
                StatusCode::METHOD_NOT_ALLOWED,
                &format!("this is a support bundle of {made}: it can only be read"),
            );
        }
        let path = request.uri().path();
        let as_table = request
            .headers()
            .get(header::ACCEPT)
            .is_some_and(|accept| accept.to_str().is_ok_and(|accept| accept.contains("as=Table")));
        let found = match path.strip_prefix("/hearth/v1/") {
            Some(place) if place.ends_with("/logs") => return self.log(place, query),
            Some(place) => self.part(&format!("answers/{place}.json")),
            None if path == "/version" => self.part("answers/version.json"),
            None => parse(path).and_then(|asked| self.objects(&asked, query, as_table)),
        };
        match found {
            Some(value) => reply(StatusCode::OK, "application/json", value.to_string().into_bytes()),
            None => refusal(StatusCode::NOT_FOUND, &format!("there is no {path} in this bundle")),
        }
    }

    fn part(&self, name: &str) -> Option<Value> {
        serde_json::from_slice(self.bundle.parts.get(name)?).ok()
    }

    fn log(&self, place: &str, query: &str) -> Response<Body> {
        let words: Vec<String> = place.split('/').map(decoded).collect();
        let [_, namespace, _, name, _] = words.as_slice() else {
            return refusal(StatusCode::NOT_FOUND, "there is no such log");
        };
        let Some(log) = self.bundle.parts.get(&format!("logs/{namespace}/{name}.log")) else {
            return refusal(StatusCode::NOT_FOUND, &format!("the log of {name} is not in this bundle"));
        };
        let text = String::from_utf8_lossy(log);
        let lines: Vec<&str> = text.lines().collect();
        let tail = value_of(query, "tail").and_then(|tail| tail.parse().ok()).unwrap_or(lines.len());
        let shown = lines[lines.len().saturating_sub(tail)..].join("\n") + "\n";
        reply(StatusCode::OK, "text/plain; charset=utf-8", shown.into_bytes())
    }

    fn objects(&self, asked: &Asked<'_>, query: &str, as_table: bool) -> Option<Value> {
        let (folder, list) = if as_table { ("tables", "rows") } else { ("objects", "items") };
        let mut listing = self.part(&format!("{folder}/{}.json", asked.plural))?;
        let labels = value_of(query, "labelSelector").map(|text| parse_selector(&text).unwrap_or_default());
        let field = value_of(query, "fieldSelector");
        let named =
            field.as_deref().and_then(|field| field.strip_prefix("metadata.name=")).map(str::to_owned);
        let wanted = asked.name.clone().or(named);
        let items = listing[list].as_array_mut()?;
        items.retain(|item| {
            let metadata = if as_table { &item["object"]["metadata"] } else { &item["metadata"] };
            let is_there =
                asked.namespace.as_ref().is_none_or(|namespace| metadata["namespace"] == **namespace);
            let is_named = wanted.as_ref().is_none_or(|name| metadata["name"] == **name);
            is_there && is_named && labels.as_ref().is_none_or(|labels| has_labels(metadata, labels))
        });
        match &asked.name {
            None => Some(listing),
            Some(_) if items.is_empty() => None,
            Some(_) if as_table => Some(listing),
            Some(_) => {
                let kind = super::super::resource::kinds().iter().find(|kind| kind.plural == asked.plural)?;
                let mut object = items[0].clone();
                object["apiVersion"] = kind.api_version().into();
                object["kind"] = kind.kind.into();
                Some(object)
            }
        }
    }
}

fn has_labels(metadata: &Value, labels: &[Requirement]) -> bool {
    let value = |name: &str| metadata["labels"][name].as_str().map(str::to_owned);
    labels.iter().all(|label| label.holds(value))
}

fn parse(path: &str) -> Option<Asked<'_>> {
    let rest = path.strip_prefix("/api/v1/").or_else(|| path.strip_prefix("/apis/hearth.dev/v1/"))?;
    let words: Vec<&str> = rest.split('/').collect();
    let (namespace, plural, name) = match words.as_slice() {
        ["namespaces", namespace, plural] => (Some(decoded(namespace)), *plural, None),
        ["namespaces", namespace, plural, name] => (Some(decoded(namespace)), *plural, Some(decoded(name))),
        [plural] => (None, *plural, None),
        [plural, name] => (None, *plural, Some(decoded(name))),
        _ => return None,
    };
    Some(Asked { plural, namespace, name })
}

fn value_of(query: &str, name: &str) -> Option<String> {
    let pair = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    pair.map(decoded)
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut plain, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let code = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                plain.push(byte);
                at += 3;
            }
            None => {
                plain.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

fn reply(status: StatusCode, content: &str, body: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::from(Bytes::from(body).to_vec()));
    *response.status_mut() = status;
    if let Ok(content) = content.parse() {
        response.headers_mut().insert(header::CONTENT_TYPE, content);
    }
    response
}

fn refusal(status: StatusCode, message: &str) -> Response<Body> {
    let body = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status.as_u16(), "message": message });
    reply(status, "application/json", body.to_string().into_bytes())
}
