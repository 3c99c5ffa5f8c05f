//! Every exit code of the table, each from what really ends so.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use hearth::cli::exit::Exit;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::home::Home;

const SHELF: &str = "apiVersion: hearth.dev/v1\nkind: Volume\nmetadata: { name: shelf }\nspec: { instance: shelf, path: films }\n";

/// Somebody who listens in the place of a server and answers everything alike.
async fn answers(status: &'static str, body: &'static str) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut caller, _)) = listener.accept().await {
            let mut asked = [0; 4096];
            let _ = caller.read(&mut asked).await;
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
            let _ = caller.write_all(answer.as_bytes()).await;
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn every_code_of_the_table_comes_of_what_it_says() {
    let home = Home::start().await;
    let (good, bad) =
        (home.file("good.yaml", SHELF), home.file("bad.yaml", &SHELF.replace("path:", "paht:")));
    let broken =
        answers("500 Internal Server Error", r#"{"kind":"Status","code":500,"message":"it broke"}"#).await;
    let broken = home.kubeconfig_for(&broken);
    let nobody = home.kubeconfig_for("http://127.0.0.1:9");
    let stranger = answers("403 Forbidden", r#"{"kind":"Status","code":403,"message":"not yours"}"#).await;
    let stranger = home.kubeconfig_for(&stranger);
    let here = home.kubeconfig().to_owned();
    let waiting = |most| ["wait", "volume/shelf", "--for", "ready", "--timeout", most];
    let (shortly, long) = (waiting("1s"), waiting("40s"));
    let compose = home.file("compose.yml", "services: { web: { image: x } }\n");
    let token = home.file("a.token", "hearth_0000");
    let mine = home.folder.path().join("mine.kubeconfig").display().to_string();
    let login = ["login", "127.0.0.1:9", "--token-file", &token];
    let table: [(Exit, &str, &[&str]); 40] = [
        (Exit::Differs, &here, &["diff", "-f", &good]),
        (Exit::Changed, &here, &["apply", "-f", &good, "--dry-run", "--detailed-exitcode"]),
        (Exit::Changed, &here, &["apply", "-f", &good, "--detailed-exitcode"]),
        (Exit::Done, &here, &["apply", "-f", &good, "--detailed-exitcode"]),
        (Exit::Usage, &here, &["get", "nonsense"]),
        (Exit::Rejected, &here, &["apply", "-f", &bad]),
        (Exit::NotFound, &here, &["get", "volume/nothing"]),
        (Exit::Conflict, &here, &["backup", "create", &good]),
        (Exit::NotAllowed, &stranger, &["get", "volumes"]),
        // Nobody makes it true here.
        (Exit::TimedOut, &here, &shortly),
        (Exit::Unwell, &here, &long),
        (Exit::Unreachable, &nobody, &["get", "volumes"]),
        (Exit::Bug, &broken, &["get", "volumes"]),
        (Exit::Done, &here, &["set", "volume/shelf", "mode=0750", "--dry-run"]),
        (Exit::Usage, &here, &["set", "volume/shelf", "mdoe=0750"]),
        (Exit::Rejected, &here, &["set", "volume/shelf", "owner={uid: x}"]),
        (Exit::NotFound, &here, &["set", "volume/nothing", "mode=0750"]),
        (Exit::NotAllowed, &stranger, &["set", "volume/shelf", "mode=0750"]),
        (Exit::Unreachable, &nobody, &["set", "volume/shelf", "mode=0750"]),
        (Exit::TimedOut, &here, &["set", "volume/shelf", "mode=0700", "--wait", "--timeout", "1s"]),
        (Exit::Done, &here, &["install", "photos", "--compose", &compose]),
        (Exit::Conflict, &here, &["install", "photos", "--compose", &compose]),
        (Exit::Rejected, &here, &["install", "notes", "--compose", &compose, "--set", "A-B=1"]),
        (Exit::NotFound, &here, &["install", "notes", "--compose", "/nowhere"]),
        (Exit::Usage, &here, &["install", "notes"]),
        (Exit::Done, &here, &["upgrade", "photos", "--compose", &compose]),
        (Exit::NotFound, &here, &["upgrade", "nothing", "--compose", &compose]),
        (Exit::Usage, &here, &["uninstall", "photos", "--data"]),
        (Exit::NotFound, &here, &["uninstall", "nothing"]),
        (Exit::TimedOut, &here, &["uninstall", "photos", "--timeout", "1s"]),
        (Exit::Done, &here, &["export"]),
        (Exit::NotFound, &here, &["export", "app/nothing"]),
        (Exit::Rejected, &here, &["export", "tokens"]),
        (Exit::Unreachable, &mine, &login),
        (Exit::Usage, &mine, &["login", "http://home", "--token-file", &token]),
        (Exit::Done, &mine, &["context", "list"]),
        (Exit::NotFound, &mine, &["context", "use", "nothing"]),
        (Exit::Done, &nobody, &["schema", "app"]),
        (Exit::NotFound, &nobody, &["schema", "secret"]),
        (Exit::Usage, &nobody, &["schema", "ap3"]),
    ];
    for (exit, kubeconfig, words) in table {
        if exit == Exit::Unwell {
            home.see(
                "Volume",
                "shelf",
                serde_json::json!({ "summary": "NeedsYou", "reason": "MarkerMissing" }),
            )
            .await;
        }
        let said = home.run_with(kubeconfig, words).await;
        assert_eq!(said.exit, exit, "{words:?}: {said:?}");
    }
    for (told, _) in Exit::TABLE {
        // An interruption takes a program of its own, below.
        let is_tried = told == Exit::Interrupted || table.iter().any(|(exit, ..)| *exit == told);
        assert!(is_tried, "{told:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_interrupts_it_is_told_that_the_work_goes_on() {
    let home = Home::start().await;
    home.app("photos").await;
    #[expect(clippy::disallowed_methods, reason = "the program itself is what is tested")]
    let mut program = Command::new(env!("CARGO_BIN_EXE_hearth"))
        .args(["--kubeconfig", home.kubeconfig(), "get", "apps", "--watch"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(program.stdout.take().unwrap()).lines();
    let ended = tokio::task::spawn_blocking(move || {
        let first = lines.next().unwrap().unwrap();
        assert!(first.starts_with("NAME"), "{first}");
        let id = rustix::process::Pid::from_raw(program.id().try_into().unwrap()).unwrap();
        rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
        drop(lines);
        program.wait_with_output().unwrap()
    });
    let ended = tokio::time::timeout(Duration::from_secs(60), ended).await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(130), "{said}");
    assert!(said.contains("goes on"), "{said}");
}
