//! Who may ask, and what is open to everyone.

use axum::http::{Method, StatusCode};

use super::home::Home;

#[tokio::test(flavor = "multi_thread")]
async fn only_whoever_has_the_token_is_answered() {
    let home = Home::start().await;
    assert_eq!(home.get("/apis").await.code, StatusCode::OK);
    let home = home.asked_with(Some("hearth_0000")).await;
    let answer = home.get("/apis").await;
    assert_eq!((answer.code, &answer.body["reason"]), (StatusCode::UNAUTHORIZED, &"Unauthorized".into()));
    assert_eq!(
        home.send(Method::GET, "/apis", &[("authorization", "Basic YTpi")], "").await.code,
        StatusCode::UNAUTHORIZED
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_token_only_life_signs_and_the_version_are_told() {
    let home = Home::start().await;
    let home = home.asked_with(None).await;
    for open in ["/healthz", "/livez", "/readyz", "/version", "/version/"] {
        assert_eq!(home.get(open).await.code, StatusCode::OK, "{open}");
    }
    for closed in [
        "/metrics",
        "/api",
        "/apis/hearth.dev/v1/apps",
        "/hearth/v1/controllers",
        "/openapi/v3",
        "/healthz/x",
        "//healthz",
    ] {
        assert_eq!(home.get(closed).await.code, StatusCode::UNAUTHORIZED, "{closed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_version_is_one_that_clients_can_parse() {
    let home = Home::start().await;
    let version = home.client.apiserver_version().await.unwrap();
    assert!(version.git_version.starts_with("v1.37.0+hearth."), "{}", version.git_version);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_server_ends_its_watches_and_is_gone() {
    let home = Home::start().await;
    let address = home.server.address();
    let client = home.client.clone();
    let watching = tokio::spawn(async move {
        let request = axum::http::Request::get("/apis/hearth.dev/v1/apps?watch=true&timeoutSeconds=600");
        client.request_text(request.body(Vec::new()).unwrap()).await
    });
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    let begun = std::time::Instant::now();
    home.server.stop().await;
    assert!(begun.elapsed() < std::time::Duration::from_secs(5), "{:?}", begun.elapsed());
    watching.await.unwrap().unwrap();
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
    drop(home.folder);
}
