//! Clients that ask first whether they may.

use axum::http::StatusCode;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::Api;
use kube::api::PostParams;

use super::home::Home;

#[tokio::test(flavor = "multi_thread")]
async fn the_admin_may_and_is_told_who_they_are() {
    let home = Home::start().await;
    let reviews: Api<SelfSubjectAccessReview> = Api::all(home.client.clone());
    let attributes =
        ResourceAttributes { verb: Some("get".into()), resource: Some("apps".into()), ..Default::default() };
    let spec = SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() };
    let asked = SelfSubjectAccessReview { spec, ..Default::default() };
    assert!(reviews.create(&PostParams::default(), &asked).await.unwrap().status.unwrap().allowed);
    let selves: Api<SelfSubjectReview> = Api::all(home.client.clone());
    let me = selves.create(&PostParams::default(), &SelfSubjectReview::default()).await.unwrap();
    assert_eq!(me.status.unwrap().user_info.unwrap().username.as_deref(), Some("admin"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_can_be_made_in_the_other_encoding() {
    let home = Home::start().await;
    let field =
        |number: u8, data: &[u8]| [&[number << 3 | 2, u8::try_from(data.len()).unwrap()], data].concat();
    let head = [field(1, b"v1"), field(2, b"Namespace")].concat();
    let object = field(1, &field(1, b"kids"));
    let body = [b"k8s\0".to_vec(), field(1, &head), field(2, &object)].concat();
    let kind = [("content-type", "application/vnd.kubernetes.protobuf")];
    let made = home.send(axum::http::Method::POST, "/api/v1/namespaces", &kind, body).await;
    assert_eq!(
        (made.code, &made.body["metadata"]["name"]),
        (StatusCode::CREATED, &"kids".into()),
        "{}",
        made.body
    );
}
