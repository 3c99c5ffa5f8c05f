//! A server that takes what is sent to it and says nothing.

use std::time::Duration;

use tokio::net::UnixListener;

use super::super::exit::{Exit, Failure};
use super::{Client, JSON, PATIENCE, Reach};

impl Client {
    /// One that gives up sooner, so that a test need not wait.
    pub(in super::super) fn hurried(self, patience: Duration) -> Self {
        Self { patience: Some(patience), ..self }
    }
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up_and_the_way_around_it_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hearth.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let silent = tokio::spawn(async move {
        let mut callers = Vec::new();
        while let Ok((caller, _)) = listener.accept().await {
            callers.push(caller);
        }
    });
    let client = Reach { kubeconfig: Some(&path), ..Reach::default() }.client().await.unwrap();
    assert_eq!(client.patience, Some(PATIENCE));
    assert_eq!(client.patient(PATIENCE * 2).patience, Some(PATIENCE * 2));
    let told = Some(Duration::from_millis(50));
    let told = Reach { kubeconfig: Some(&path), timeout: told, ..Reach::default() }.client().await.unwrap();
    assert_eq!(told.patient(PATIENCE).patience, Some(Duration::from_millis(50)), "what a person said holds");
    let failure = told.download("/version", &mut Vec::new()).await.unwrap_err();
    assert!(failure.exit == Exit::Unreachable && failure.message.contains("hangs"), "{failure:?}");
    let client = client.hurried(Duration::from_millis(50));
    let (whole, stream) = (client.get("/version"), client.lines("/version", JSON));
    let (whole, stream) = tokio::join!(whole, stream);
    for trouble in [whole.err(), stream.err()] {
        let failure = Failure::from(trouble.unwrap());
        assert_eq!(failure.exit, Exit::Unreachable);
        assert!(failure.message.contains("hangs"), "{}", failure.message);
        assert!(failure.next.contains("hearth doctor --data-dir DIR"), "{}", failure.next);
    }
    silent.abort();
}
