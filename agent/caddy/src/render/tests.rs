//! What is written for each route, to the letter.

use hearth_capabilities::proxy::{Answer, ProxyRoute};
use serde_json::json;

use super::{Listen, base, catch_all, check, config, escape, route, routes, unescape};

fn page(id: &str, host: &str, html: &str) -> ProxyRoute {
    ProxyRoute {
        id: id.into(),
        hosts: vec![host.into()],
        answer: Answer::Page { status: 503, html: html.into() },
    }
}

fn forward(address: &str) -> ProxyRoute {
    ProxyRoute {
        id: "photos".into(),
        hosts: vec!["photos.local".into()],
        answer: Answer::Forward { address: address.into() },
    }
}

#[test]
fn a_page_is_one_route_that_ends_the_search() {
    let seen = route(&page("photos", "photos.local", "<p>soon</p>"));
    assert_eq!(
        seen,
        json!({
            "@id": "photos",
            "match": [{ "host": ["photos.local"] }],
            "terminal": true,
            "handle": [{
                "handler": "static_response",
                "status_code": 503,
                "headers": { "Content-Type": ["text/html; charset=utf-8"], "Cache-Control": ["no-store"] },
                "body": "<p>soon</p>",
            }],
        })
    );
}

#[test]
fn a_forward_does_not_hold_back_what_the_app_sends() {
    let seen = route(&forward("photos-web:8080"));
    assert_eq!(seen["handle"][0]["upstreams"], json!([{ "dial": "photos-web:8080" }]));
    assert_eq!(seen["handle"][0]["flush_interval"], json!(-1));
}

#[test]
fn the_catch_all_is_last_and_has_no_matcher() {
    let all = routes(&[page("a", "a.local", "a"), page("b", "b.local", "b")]);
    assert_eq!(all.as_array().unwrap().last(), Some(&catch_all()));
    assert!(catch_all().get("match").is_none());
    assert_eq!(catch_all()["handle"][0]["status_code"], json!(404));
    assert_eq!(routes(&[]), json!([catch_all()]));
}

#[test]
fn the_whole_is_the_base_and_the_routes() {
    let listen = Listen { http: ":80".into(), admin: "unix//run/hearth/admin.sock".into() };
    let mut whole = config(&listen, &[]);
    assert_eq!(whole["admin"]["enforce_origin"], json!(true));
    assert_eq!(whole["admin"]["listen"], json!("unix//run/hearth/admin.sock"));
    whole["apps"]["http"]["servers"]["hearth"].as_object_mut().unwrap().remove("routes");
    assert_eq!(whole, base(&listen));
}

#[test]
fn braces_of_a_page_are_no_placeholders() {
    let text = r"a {env.HOME} \{b} \\{c\} {";
    assert_eq!(escape(text), r"a \{env.HOME\} \\{b\} \\\{c\\} \{");
    assert_eq!(unescape(&escape(text)), text);
}

#[test]
fn every_problem_is_said_at_once() {
    let mut bad = page("a", "a.local", "");
    bad.hosts.clear();
    let faults = check(&[
        bad,
        page("a", "b{x}.local", ""),
        forward("unix//run/hearth/admin.sock"),
        page("hearth-catchall", "c.local", ""),
    ])
    .unwrap_err()
    .to_string();
    for word in ["no host", "b{x}.local", "host:port", "is there twice", "hearth-catchall"] {
        assert!(faults.contains(word), "{word} is not in {faults}");
    }
}

#[test]
fn addresses_are_a_host_and_a_port() {
    for good in ["photos-web:8080", "10.0.0.2:80", "[fd00::1]:80", "a_b.c:65535"] {
        assert!(check(&[forward(good)]).is_ok(), "{good}");
    }
    for bad in
        ["photos", "photos:0", "photos:99999", ":80", "a:+80", "unix//x:80", "{env.X}:80", "a b:80", "[x]:80"]
    {
        assert!(check(&[forward(bad)]).is_err(), "{bad}");
    }
}
