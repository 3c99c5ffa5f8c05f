//! Servers that are remembered: who they are is checked before anything is told to them, and kubectl reads the very file.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use hearth::cli::exit::Exit;

use super::home::{Home, Said};

/// A home with a token for Anna in a file, and its address.
async fn with_anna() -> (Home, String, String) {
    let home = Home::start().await;
    let made = home.run(&["token", "create", "anna", "--role", "member", "--namespace", "anna"]).await;
    let token = home.file("anna.token", &made.out);
    let text = std::fs::read_to_string(home.kubeconfig()).unwrap();
    let server = text.lines().find_map(|line| line.trim().strip_prefix("server: ")).unwrap().to_owned();
    (home, token, server)
}

async fn login(home: &Home, file: &str, words: &[&str]) -> Said {
    let kubeconfig = home.folder.path().join(file).display().to_string();
    home.run_with(&kubeconfig, &[&["login"][..], words].concat()).await
}

fn fingerprint(home: &Home) -> String {
    let authority = home.folder.path().join("data/pki/ca.crt");
    let text = std::fs::read_to_string(authority).unwrap();
    let body: String = text.lines().filter(|line| !line.starts_with('-')).collect();
    let body: k8s_openapi::ByteString = serde_json::from_value(body.into()).unwrap();
    let bytes = <sha2::Sha256 as sha2::Digest>::digest(&body.0);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_remembered_once_it_is_trusted_and_took_the_token() {
    let (home, token, server) = with_anna().await;
    let unasked = login(&home, "mine", &[&server, "--token-file", &token]).await;
    assert_eq!(unasked.exit, Exit::Usage, "{unasked:?}");
    let print = fingerprint(&home);
    let pairs: Vec<&str> = (0..32).map(|at| &print[2 * at..2 * at + 2]).collect();
    let shown = pairs.join(":").to_uppercase();
    assert!(unasked.err.contains(&print) && unasked.err.contains("--fingerprint"), "{unasked:?}");
    let other = print.replace(['0', '1', '2'], "3");
    let said = login(&home, "mine", &[&server, "--token-file", &token, "--fingerprint", &other]).await;
    assert!(said.exit == Exit::NotAllowed && said.err.contains("no token was sent"), "{said:?}");
    let wrong = home.file("wrong.token", "hearth_0000");
    let said = login(&home, "mine", &[&server, "--token-file", &wrong, "--fingerprint", &print]).await;
    assert!(said.exit == Exit::NotAllowed && said.err.contains("does not take this token"), "{said:?}");
    assert!(!home.folder.path().join("mine").exists(), "nothing that failed is written");

    let said = login(&home, "mine", &[&server, "--token-file", &token, "--fingerprint", &shown]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    assert!(said.out.contains("anna at https://") && said.out.contains("in namespace anna"), "{said:?}");
    let file = home.folder.path().join("mine");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let file = file.display().to_string();
    let said = home.run_with(&file, &["get", "apps"]).await;
    assert!(said.exit == Exit::Done && said.err.contains("in namespace anna"), "{said:?}");
    // Another address of the same server is said beside it; one that is not there is told.
    let said =
        home.run_with(&file, &["get", "apps", "--server", &server.replace("127.0.0.1", "localhost")]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    let said =
        home.run_with(&file, &["get", "apps", "--server", "https://127.0.0.1:9", "--timeout", "5s"]).await;
    assert!(said.exit == Exit::Unreachable && said.err.contains("127.0.0.1:9"), "{said:?}");
    let plain = server.replace("https", "http");
    for (address, exit, part) in [
        (plain.as_str(), Exit::Usage, "does not prove who it is"),
        ("a b", Exit::Usage, "cannot be read"),
        ("127.0.0.1:9", Exit::Unreachable, "https://127.0.0.1:9"),
        (server.trim_start_matches("https://"), Exit::Done, ""),
    ] {
        let said = home.run_with(&file, &["get", "apps", "--server", address]).await;
        assert!(said.exit == exit && said.err.contains(part), "{address}: {said:?}");
    }
    // Whoever answers there would be given the token of a file that does not check who that is.
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
         clusters: [{{name: c, cluster: {{server: '{server}', insecure-skip-tls-verify: true}}}}]\n\
         users: [{{name: u, user: {{token: t}}}}]\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n"
    );
    let careless = home.file("careless", &text);
    let said = home.run_with(&careless, &["get", "apps", "--server", "127.0.0.1:9"]).await;
    assert!(said.exit == Exit::Usage && said.err.contains("does not check who answers"), "{said:?}");
    let said = home.run_with(&careless, &["get", "apps"]).await;
    assert!(said.exit == Exit::NotAllowed, "its own server is asked: {said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_context_uses_and_another_persons_context_stay_as_they_are() {
    let (home, token, server) = with_anna().await;
    let ca = home.folder.path().join("data/pki/ca.crt").display().to_string();
    let words =
        |name| [server.as_str(), "--token-file", &token, "--ca", &ca, "--name", name].map(str::to_owned);
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: admin@cabin\n\
         clusters: [{{name: cabin, cluster: {{server: 'https://cabin:1'}}}}, {{name: here, cluster: {{server: '{server}'}}}}]\n\
         users: [{{name: admin, user: {{token: t}}}}]\n\
         contexts: [{{name: admin@cabin, context: {{cluster: cabin, user: admin}}}}, {{name: home, context: {{cluster: here, user: admin}}}}]\n"
    );
    home.file("mine", &text);
    for (name, part) in [("cabin", "in use by its context admin@cabin"), ("home", "context home for admin")] {
        let words = words(name);
        let said = login(&home, "mine", &words.each_ref().map(String::as_str)).await;
        assert!(said.exit == Exit::Conflict && said.err.contains(part), "{said:?}");
        assert!(said.err.contains("--name NAME"), "{said:?}");
    }
    assert_eq!(std::fs::read_to_string(home.folder.path().join("mine")).unwrap(), text, "nothing is written");
}

#[tokio::test(flavor = "multi_thread")]
async fn ones_own_file_leads_nowhere_once_its_last_context_is_forgotten() {
    let (home, token, server) = with_anna().await;
    let ca = home.folder.path().join("data/pki/ca.crt").display().to_string();
    std::fs::create_dir(home.folder.path().join("hearth")).unwrap();
    let words = [&server, "--token-file", &token, "--ca", &ca, "--name", "cabin"];
    assert_eq!(login(&home, "hearth/kubeconfig", &words).await.exit, Exit::Done);
    let own = home.folder.path().join("hearth/kubeconfig").display().to_string();
    let listed = || {
        #[expect(clippy::disallowed_methods, reason = "the program finds its file by its environment")]
        let mut asked = Command::new(env!("CARGO_BIN_EXE_hearth"));
        asked.env("XDG_CONFIG_HOME", home.folder.path()).env_remove("HEARTH_KUBECONFIG");
        let said = asked.args(["context", "list"]).output().unwrap();
        String::from_utf8_lossy(&[said.stdout, said.stderr].concat()).into_owned()
    };
    assert!(tokio::task::block_in_place(listed).contains("cabin"));
    assert_eq!(home.run_with(&own, &["context", "delete", "cabin"]).await.exit, Exit::Done);
    let said = tokio::task::block_in_place(listed);
    assert!(said.contains("/var/lib/hearth/") && !said.contains(&own), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_authoritys_file_will_do_and_another_homes_will_not() {
    let (home, token, server) = with_anna().await;
    let other = Home::start().await;
    let ca = |home: &Home| home.folder.path().join("data/pki/ca.crt").display().to_string();
    let said = login(&home, "mine", &[&server, "--token-file", &token, "--ca", &ca(&other)]).await;
    assert!(said.exit == Exit::Unreachable && said.err.contains("cannot be trusted"), "{said:?}");
    let said =
        login(&home, "mine", &[&server, "--token-file", &token, "--ca", &ca(&home), "--name", "cabin"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    let cases: [(&[&str], Exit, &str); 5] = [
        (&["http://127.0.0.1:1", "--token-file", &token], Exit::Usage, "does not prove who it is"),
        (&["127.0.0.1:9", "--token-file", &token], Exit::Unreachable, "no server shows a certificate"),
        (&[&server, "--token-file", "/nowhere"], Exit::Usage, "no token is in /nowhere"),
        (&[&server, "--token-file", &token, "--ca", &token], Exit::Usage, "holds no certificate"),
        (&["127.0.0.1:9", "--token-file", &token, "--name", "cabin"], Exit::Conflict, "--name NAME"),
    ];
    for (words, exit, part) in cases {
        let said = login(&home, "mine", words).await;
        assert!(said.exit == exit && said.err.contains(part), "{words:?}: {said:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn contexts_are_listed_chosen_and_forgotten() {
    let (home, token, server) = with_anna().await;
    let ca = home.folder.path().join("data/pki/ca.crt").display().to_string();
    for name in ["cabin", "flat"] {
        let words = [&server, "--token-file", &token, "--ca", &ca, "--name", name];
        assert_eq!(login(&home, "mine", &words).await.exit, Exit::Done);
    }
    let file = home.folder.path().join("mine").display().to_string();
    let used = async || {
        let said = home.run_with(&file, &["context", "list"]).await;
        let line = said.out.lines().find(|line| line.starts_with('*')).unwrap_or_default().to_owned();
        line.split_whitespace().nth(1).unwrap_or_default().to_owned()
    };
    assert_eq!(used().await, "flat", "the one that was made last");
    assert_eq!(home.run_with(&file, &["context", "use", "cabin"]).await.exit, Exit::Done);
    assert_eq!(used().await, "cabin");
    let said = home.run_with(&file, &["context", "use", "cabbin"]).await;
    assert!(said.exit == Exit::NotFound && said.err.contains("did you mean \"cabin\"?"), "{said:?}");
    assert_eq!(home.run_with(&file, &["context", "delete", "cabin"]).await.exit, Exit::Done);
    assert_eq!(used().await, "", "none is used");
    let said = home.run_with(&file, &["get", "apps", "--context", "flat"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    assert_eq!(home.run_with(&file, &["context", "delete", "cabin"]).await.exit, Exit::NotFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_made_for_kubernetes_read_the_very_file() {
    let (home, token, server) = with_anna().await;
    let ca = home.folder.path().join("data/pki/ca.crt").display().to_string();
    assert_eq!(login(&home, "mine", &[&server, "--token-file", &token, "--ca", &ca]).await.exit, Exit::Done);
    let file = home.folder.path().join("mine");
    let read = kube::config::Kubeconfig::read_from(&file).unwrap();
    let mut config = kube::Config::from_custom_kubeconfig(read, &kube::config::KubeConfigOptions::default())
        .await
        .unwrap();
    assert_eq!(config.default_namespace, "anna");
    config.proxy_url = None;
    let client = kube::Client::try_from(config).unwrap();
    let version = client.apiserver_version().await.unwrap();
    assert!(version.git_version.contains("hearth"), "{}", version.git_version);
    let kubectl = std::env::var_os("PATH").and_then(|path| {
        std::env::split_paths(&path).map(|folder| folder.join("kubectl")).find(|program| program.is_file())
    });
    // A machine without it has read the file by the library alone.
    if let Some(kubectl) = kubectl {
        #[expect(clippy::disallowed_methods, reason = "another program is what is tested")]
        let mut asked = Command::new(kubectl);
        asked.env("KUBECONFIG", &file).env("NO_PROXY", "*").args(["get", "apps", "-o", "name"]);
        let answered = tokio::task::spawn_blocking(move || asked.output().unwrap()).await.unwrap();
        assert!(answered.status.success(), "{}", String::from_utf8_lossy(&answered.stderr));
    }
}
